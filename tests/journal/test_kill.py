"""Killed at every change of a disk, a transaction can be completed or rolled back, and recovery too can be killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from refold import journal
from refold.errors import Drifted
from refold.journal import Condition, Direction
from refold.store import Places
from tests.conftest import points
from tests.journal import (
    CALLS,
    KILLED,
    LISTS,
    SAMPLE,
    Torn,
    changes_of,
    ground,
    half_done,
    in_child,
    interrupted,
    killing,
    left,
    picture,
    recover,
    unsynced,
)
from tests.log import Disk

DIRECTIONS = list(Direction)


def ends(folder: Path, name: str) -> tuple[dict, dict, int]:
    """Return how places look before and after a transaction, and how many changes of a disk it takes."""
    places = ground(folder)
    before = picture(places)
    count = changes_of(lambda: journal.commit(places, SAMPLE, LISTS[name](places)))
    return before, picture(places), count


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", LISTS)
def test_killed_at_any_change_it_ends_in_one_of_its_two_ends(tmp_path: Path, name: str, direction: Direction):
    before, after, count = ends(tmp_path / "model", name)
    phases, refused = set(), 0
    for at in [*points(count - 6, every=2), *range(count - 5, count + 1)]:  # the last few are those behind the commit
        places = ground(tmp_path / f"{at}")
        assert interrupted(places, LISTS[name](places), at) == KILLED
        if not left(places):
            assert picture(places) in (before, after)
            continue
        (entry,) = left(places)
        assert entry.journal is not None
        phases.add(entry.journal.phase)
        inspection = journal.inspect(places, entry.id)
        if entry.condition is Condition.ENDED:
            assert picture(places) == after
        elif inspection.is_safe(direction):
            recover(places, direction)
            assert picture(places) == (after if direction is Direction.COMPLETE else before)
            assert not left(places)
        else:
            refused += 1
            now = picture(places)
            with pytest.raises(Drifted):
                recover(places, direction)
            assert picture(places) == now
            recover(places, Direction.COMPLETE)
            assert picture(places) == after
    assert {"committing", "committed"} == phases
    assert (refused > 0) == (direction is Direction.ROLL_BACK and name != "reversible")


@pytest.mark.parametrize("name", LISTS)
def test_a_write_torn_in_the_middle_is_no_transaction_or_one_that_can_be_completed(tmp_path: Path, name: str):
    _, after, count = ends(tmp_path / "model", name)
    torn = 0
    for at in range(1, count + 1):
        places = ground(tmp_path / f"{at}")
        before = picture(places)
        steps = LISTS[name](places)
        if in_child(lambda: journal.commit(places, SAMPLE, steps), Torn(at)) != KILLED:  # noqa: B023
            break
        torn += 1
        if left(places):
            recover(places, Direction.COMPLETE)
            assert picture(places) == after
        else:
            assert picture(places) == before
    assert torn >= 2


@pytest.mark.slow
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_r21_killed_while_it_recovers_it_keeps_its_direction_and_reaches_the_same_end(tmp_path: Path, direction: Direction):
    before, after, _ = ends(tmp_path / "model", "reversible")
    end = after if direction is Direction.COMPLETE else before
    other = next(one for one in DIRECTIONS if one is not direction)
    for done, every in ((3, 2), (0, 6), (6, 6)):  # in the middle; nothing done yet; and all but the authority
        places = half_done(tmp_path / f"model{done}", step=done - 1)
        (entry,) = left(places)
        count = changes_of(lambda: journal.recover(places, entry.id, direction))  # noqa: B023
        decided = 0
        for at in points(count, every=every):
            places = half_done(tmp_path / f"{done}-{at}", step=done - 1)
            (entry,) = left(places)
            found = picture(places)
            assert in_child(lambda: journal.recover(places, entry.id, direction), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
            if left(places):
                (again,) = left(places)
                assert again.journal is not None
                assert again.journal.phase.has_direction or picture(places) == found
                if again.journal.phase.has_direction:
                    decided += 1
                    now = picture(places)
                    with pytest.raises(Drifted):
                        recover(places, other)
                    assert picture(places) == now
                recover(places, direction)
            assert picture(places) == end
            assert not left(places)
        assert decided


def test_a_next_transaction_clears_away_what_one_left_that_had_ended_or_never_begun(tmp_path: Path):
    *_, count = ends(tmp_path / "model", "reversible")
    cleared = set()
    for at in range(1, count + 1):
        places = ground(tmp_path / f"{at}")
        interrupted(places, LISTS["reversible"](places), at)
        found = {entry.condition for entry in journal.entries(places)}
        if found and found <= {Condition.ENDED, Condition.UNNAMED}:
            with unsynced(), journal.mutating(places):
                assert journal.entries(places) == []
            cleared |= found
    assert cleared == {Condition.ENDED, Condition.UNNAMED}


def in_pieces(places: Places) -> None:
    """Carry out the reversible steps as three lists, the last of which makes the transaction whole."""
    steps = LISTS["reversible"](places)
    with journal.mutating(places) as turn:
        transaction = turn.begin(SAMPLE)
        transaction.carry_out(steps[:2], last=False)
        transaction.carry_out(steps[2:4], last=False)
        transaction.carry_out(steps[4:], last=True)


def test_in_pieces_it_goes_back_until_it_is_whole_and_either_way_from_then_on(tmp_path: Path):
    model = ground(tmp_path / "model")
    before = picture(model)
    count = changes_of(lambda: in_pieces(model))
    after = picture(model)
    completable = []
    for at in points(count, every=2):
        for direction in DIRECTIONS if at % 3 == 0 else [Direction.COMPLETE]:
            places = ground(tmp_path / f"{at}-{direction}")
            assert in_child(lambda: in_pieces(places), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
            if not left(places):
                assert picture(places) in (before, after)
                continue
            (entry,) = left(places)
            inspection = journal.inspect(places, entry.id)
            if entry.condition is Condition.ENDED:
                continue
            assert inspection.is_safe(Direction.ROLL_BACK)
            if inspection.is_safe(direction):
                recover(places, direction)
                assert picture(places) == (after if direction is Direction.COMPLETE else before)
            if direction is Direction.COMPLETE:
                completable.append(inspection.is_safe(direction))
    assert completable == sorted(completable)
    assert {True, False} == set(completable)
