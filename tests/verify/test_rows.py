"""What the key itself could sign: entries that do not follow each other are found, located, and named as what they are."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from refold.errors import VerificationIncomplete
from refold.log import commit as commits
from refold.log.commit import Commit
from refold.log.parts import Part
from refold.store import Places
from refold.verdict import Kind
from tests.verify import (
    Edit,
    commit_path,
    flipped,
    forge,
    kinds,
    located,
    ordered,
    part_path,
    resign,
    rewrite,
    spots,
    verify,
    with_part,
    with_value,
)

# The first part holds entries 0, 1, 2; the second 3, 4.
SIGNED = {
    "a garbage hash in the middle": (0, with_value(1, "hash", lambda _: os.urandom(32)), (1, 2, "link")),
    "a garbage hash at the end of a part": (0, with_value(2, "hash", lambda _: os.urandom(32)), (2, 3, "link")),
    "another payload": (0, with_value(1, "payload", flipped(60)), (1, 2, "payload")),
    "another payload commit": (0, with_value(1, "commit", flipped(0)), (1, 2, "payload")),
    "another header": (0, with_value(1, "header", flipped(10)), (1, 2, "header")),
    "another header at the end of a part": (1, with_value(1, "header", flipped(40)), (4, 5, "header")),
    "a payload that is gone": (0, with_value(1, "payload", lambda _: None), (1, 2, "payload")),
    "a gap in the middle": (0, ordered(0, 2), (1, 2, "gap")),
    "a gap at the beginning": (0, ordered(1, 2), (0, 1, "gap")),
    "a gap at the end": (0, ordered(0, 1), (2, 3, "gap")),
    "a gap of two": (0, ordered(2), (0, 2, "gap")),
    "a gap at the end of two": (1, ordered(0), (4, 5, "gap")),
    "a duplicate": (0, ordered(0, 1, 1, 2), (2, 3, "duplicate")),
    "a duplicate at the end": (0, ordered(0, 1, 2, 2), (2, 3, "duplicate")),
    "a duplicate in the place of another": (0, ordered(0, 0, 2), (1, 2, "duplicate")),
}


@pytest.mark.parametrize("case", SIGNED)
def test_r18_what_is_wrong_in_a_signed_part_is_named_and_located(case: str, places: Places):
    number, edit, expected = SIGNED[case]
    forge(places, number, edit)
    verdict = verify(places, deep=True)
    assert expected in spots(verdict), spots(verdict)
    assert kinds(verdict) == [expected[2]]
    assert verdict.first_bad == expected[0]
    assert located(verdict) == {f"log/parts/{part_path(places, number).name}"}


@pytest.mark.parametrize(
    ("edit", "expected"), [(ordered(1, 0, 2), (0, 2)), (ordered(0, 2, 1), (1, 3)), (ordered(2, 1, 0), (0, 3)), (ordered(1, 2, 0), (0, 3))]
)
def test_r18_reorder_replay_entries_that_were_exchanged_are_out_of_order(edit: Edit, expected: tuple[int, int], places: Places):
    forge(places, 0, edit)
    verdict = verify(places, deep=True)
    assert set(kinds(verdict)) == {"order"}
    assert (min(each.first for each in verdict.damage), max(each.end for each in verdict.damage)) == expected


def test_an_entry_of_a_later_release_is_not_called_damaged(places: Places, monkeypatch: pytest.MonkeyPatch):
    from refold.log import append
    from refold.store import open_store
    from tests.log import say

    monkeypatch.setattr(append, "VERSION", 2)
    with open_store(places) as store:
        say(store, "from the future")
    with pytest.raises(VerificationIncomplete, match="entry 7 has version 2"):
        verify(places, deep=True)


def moved(commit: Commit, by: int, *, at: int = 2) -> Commit:
    """Return a commit from `at` on with all its sequence numbers moved."""
    if commit.version < at:
        return commit

    def shifted(part: Part) -> Part:
        return replace(part, first=part.first + by)

    return replace(
        commit, first_seq=commit.first_seq + by, next_seq=commit.next_seq + by, parts=tuple(shifted(part) for part in commit.parts)
    )


@pytest.mark.parametrize(
    ("by", "expected"),
    [(1, (3, 4, "gap")), (-1, (2, 3, "duplicate")), (1 << 62, (3, 3 + (1 << 62), "gap")), (1 << 80, (3, 3 + (1 << 80), "gap"))],
)
def test_r18_a_signed_commit_that_leaves_entries_out_or_tells_them_twice_is_named(by: int, expected: tuple, places: Places):
    resign(places, lambda commit: moved(commit, by))
    verdict = verify(places)
    assert expected in spots(verdict)
    assert verdict.kind is Kind.BOUNDARY
    assert verdict.first_bad == expected[0]


def test_r18_a_negative_number_is_no_commit(places: Places):
    path = commit_path(places, 2)
    rewrite(path, lambda raw: raw.replace(b'"first_seq":3', b'"first_seq":-3'))
    assert spots(verify(places)) == [(3, 5, "commit")]


def test_r7_a_part_that_is_shorter_than_its_commit_says_is_damage_at_that_commit(places: Places):
    part = part_path(places, 1)
    resign(places, lambda commit: with_part(commit, _longer(commit, part.name)))
    damage = verify(places).damage
    assert {(each.version, each.path) for each in damage} == {(2, f"log/parts/{part.name}")}


def _longer(commit: Commit, name: str) -> Part:
    found = [each for each in commit.parts if each.path == f"parts/{name}"]
    return replace(found[0], size=found[0].size + 1) if found else Part("", 0, "", 0, 0)


def test_a_signed_commit_dated_before_the_one_before_it_is_out_of_order(places: Places):
    resign(places, lambda commit: replace(commit, time=commit.time - 10**15 * (commit.version == 2)))
    assert spots(verify(places)) == [(3, 5, "order")]


def test_a_signed_commit_with_another_chain_is_a_broken_link(places: Places):
    resign(places, lambda commit: replace(commit, prev_hash="00" * 32) if commit.version == 2 else commit)
    assert (3, 5, "link") in spots(verify(places))


@pytest.mark.parametrize("change", [{"epoch": 2}, {"fence": 2}, {"control": ((3, 17),)}, {"control": ((6, 16),)}])
def test_a_signed_commit_with_an_epoch_a_fence_or_a_control_entry_that_cannot_be_is_damage(change: dict, places: Places):
    resign(places, lambda commit: replace(commit, **change) if commit.version == 2 else commit)
    verdict = verify(places, deep=True)
    assert verdict.kind is not Kind.INTACT
    assert {each.version for each in verdict.damage} <= {2, 3}
    assert min(each.version or 0 for each in verdict.damage) == 2


def test_a_full_list_that_is_not_the_list_is_damage_even_if_signed(places: Places):
    def edit(commit: Commit) -> Commit:
        parts = (replace(commit.parts[0], first=0),) if commit.version == 3 else ()
        return replace(commit, live=commits.Live(parts, ())) if commit.version == 3 else commit

    resign(places, edit)
    assert {each.version for each in verify(places).damage} == {3}
