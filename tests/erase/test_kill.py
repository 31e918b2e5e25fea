"""Killed anywhere, an erasure is rolled back before SEALED and completed after it; completed, nothing of the person is anywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from refold import journal
from refold.errors import Drifted, Locked
from refold.journal import Condition, Direction
from refold.recover.intents import KNOWN
from refold.recover.verify import verify
from refold.state.generation import State
from refold.store import Places, open_store
from refold.store import places as find_places
from tests.erase.small import CANARY, Heard, draft, erase, everything_under, filled, fold, folded_without, person, rows, ruth, say
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, left, stopped_after, unsynced
from tests.log import Disk


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Places:
    with unsynced():
        return filled(tmp_path_factory.mktemp("model"))


def copied(model: Places, folder: Path) -> Places:
    shutil.copytree(model.store.parent, folder)
    return find_places(folder / "store", folder / "vault", folder / "root", env={})


def run(places: Places) -> None:
    with open_store(places) as store:
        erase(store, ruth(store))


def recover(places: Places, direction: Direction) -> None:
    (entry,) = left(places)
    with unsynced():
        journal.recover(places, entry.id, direction, open_store=lambda: open_store(places), intents=KNOWN)


def require_as_before(places: Places, heard: Heard) -> None:
    """See that nothing was erased, and that life, and a later erasure, go on."""
    with unsynced(), open_store(places) as store:
        assert Heard.of(store) == heard
        assert (store.log.head.fence, store.keyring.epoch, State.open(store).absent) == (False, 1, None)
        say(store, draft("ada", "70", "I like jazz."))
        fold(store)
        erase(store, ruth(store))
        assert not any(CANARY in event.text for event, _ in Heard.of(store).events)


def require_erased(places: Places, heard: Heard, gone: set[int], subject: bytes) -> None:
    """See that what had to go is gone from every file, and everything else is there."""
    bytes_left = everything_under(places)
    assert CANARY.encode() not in bytes_left
    assert subject not in bytes_left
    with unsynced(), open_store(places) as store:
        assert [event for event, _ in Heard.of(store).events] == [event for event, _ in heard.events if event.seq not in gone]
        assert (store.log.head.fence, store.keyring.epoch) == (False, 2)
        assert [path.name for path in store.vault.keys.iterdir()] == ["epoch-000002"]
        assert [path.name for path in places.root.iterdir()] == ["root.000002"]
        state = rows(State.open(store))
        assert rows(folded_without(store, heard, gone)) == state
        assert verify(places, deep=True).is_whole
        say(store, draft("ada", "70", "I like jazz."))


@pytest.fixture(scope="module")
def known(model: Places) -> tuple[Heard, set[int], bytes]:
    with open_store(model) as store:
        heard = Heard.of(store)
        return heard, heard.reached(ruth(store)), person(store, "ruth")


def steps_of(model: Places, folder: Path) -> list[str]:
    """Return the steps of the whole transaction, as they are recorded."""
    places = copied(model, folder)
    assert stopped_after(lambda: run(places), 2) == KILLED
    (entry,) = left(places)
    assert entry.journal is not None
    return [str(step.target) if isinstance(step, journal.RecordedChange) else step.intent for step in entry.journal.steps]


@pytest.mark.slow
def test_killed_after_any_step_it_ends_as_before_or_as_erased_and_never_between(tmp_path: Path, model: Places, known):
    heard, gone, subject = known
    steps = steps_of(model, tmp_path / "steps")
    sealed = next(at for at, step in enumerate(steps) if step.endswith("SEALED"))
    directions = []
    for done in range(len(steps)):
        for direction in Direction:
            places = copied(model, tmp_path / f"{done}-{direction}")
            assert stopped_after(lambda: run(places), done) == KILLED  # noqa: B023
            (entry,) = left(places)
            inspection = journal.inspect(places, entry.id, open_store=lambda: open_store(places), intents=KNOWN)  # noqa: B023
            directions.append((done, direction, inspection.is_safe(direction)))
            if not inspection.is_safe(direction):
                with pytest.raises(Drifted):
                    recover(places, direction)
                continue
            recover(places, direction)
            assert not left(places)
            if direction is Direction.COMPLETE:
                require_erased(places, heard, gone, subject)
            else:
                require_as_before(places, heard)
    safe = {(done, direction) for done, direction, is_safe in directions if is_safe}
    assert {done for done, direction in safe if direction is Direction.ROLL_BACK} == set(range(sealed + 1))
    assert {done for done, direction in safe if direction is Direction.COMPLETE} >= {done for done, *_ in directions if done > 1}


@pytest.mark.slow
def test_killed_at_any_change_of_the_disk_it_can_be_ended(tmp_path: Path, model: Places, known):
    heard, gone, subject = known
    count = changes_of(lambda: run(copied(model, tmp_path / "count")))
    ends = set()
    for at in range(1, count, max(1, count // 40)):
        places = copied(model, tmp_path / f"{at}")
        assert in_child(lambda: run(places), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
        found = left(places)
        if not found:
            with unsynced(), open_store(places) as store:
                if store.keyring.epoch == 1:
                    ends.add("not begun")
                    continue
            require_erased(places, heard, gone, subject)
            continue
        (entry,) = found
        inspection = journal.inspect(places, entry.id, open_store=lambda: open_store(places), intents=KNOWN)  # noqa: B023
        ended = entry.condition is Condition.ENDED
        direction = Direction.COMPLETE if ended or inspection.is_safe(Direction.COMPLETE) else Direction.ROLL_BACK
        ends.add(direction)
        recover(places, direction)
        if direction is Direction.COMPLETE:
            require_erased(places, heard, gone, subject)
        else:
            require_as_before(places, heard)
    assert {"not begun", Direction.COMPLETE} <= ends


def test_behind_its_fence_nothing_is_added_until_it_is_ended(tmp_path: Path, model: Places):
    places = copied(model, tmp_path / "fenced")
    assert stopped_after(lambda: run(places), 3) == KILLED
    with open_store(places) as store, pytest.raises(Locked):
        say(store, draft("ada", "80", "It rains."))
    recover(places, Direction.ROLL_BACK)
    with open_store(places) as store:
        say(store, draft("ada", "80", "It rains."))


def test_an_attempt_that_died_before_its_transaction_is_in_nobodys_way(tmp_path: Path, model: Places, known):
    heard, gone, subject = known
    places = copied(model, tmp_path / "again")
    assert in_child(lambda: run(places), Disk(killing(12), calls=CALLS)) == KILLED
    assert not left(places)
    with open_store(places) as store:
        assert Heard.of(store) == heard
    with unsynced():
        run(places)
    require_erased(places, heard, gone, subject)
