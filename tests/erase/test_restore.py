"""A backup from before an erasure is erased again before it is a store; nothing of the person comes back with it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from refold.copies.backup import backup
from refold.copies.restore import Restoration, restore
from refold.model import EntryKind
from refold.recover.verify import verify
from refold.store import Places, open_store
from refold.store import places as find_places
from refold.verdict import SeenHead
from tests.conftest import now
from tests.erase.small import CANARY, Heard, draft, erase, filled, fold, person, ruth, say, target
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, left, unsynced
from tests.log import Disk


def restored(places: Places, source: Path, seen: list[SeenHead] | None = None) -> Restoration | None:
    return restore(places, source, confirm=places.origin, seen=seen or [], now=now, random=os.urandom)


def elsewhere(places: Places, folder: Path) -> Places:
    """Return an empty place for a store, with the vault and the roots that are there."""
    return find_places(folder, places.vault, places.root, env={}, origin=places.origin)


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Places, Path, Heard, bytes, set[int]]:
    """Return a memory after two erasures, a backup from before both, what was heard, Ruth's id, and what was erased."""
    places = filled(tmp_path / "memory")
    with open_store(places) as store:
        heard, subject = Heard.of(store), person(store, "ruth")
        backup(places, tmp_path / "backup", now=now, random=os.urandom)
        first = ruth(store)
        erase(store, first)
        second = target(store, parts=("9",))
        erase(store, second)
        say(store, draft("ada", "90", "I like jazz."))
    return places, tmp_path / "backup", heard, subject, heard.reached(first) | heard.reached(second)


def left_of(heard: Heard, gone: set[int]) -> list[object]:
    return [event for event, _ in heard.events if event.seq not in gone]


def test_e8_a_backup_of_before_is_erased_again_before_it_opens(kept, tmp_path: Path):
    places, source, heard, subject, gone = kept
    where = elsewhere(places, tmp_path / "new")
    done = restored(where, source)
    assert done is not None
    assert (done.epochs, done.erased) == (2, len(gone))
    bytes_left = b"".join(path.read_bytes() for path in where.store.rglob("*") if path.is_file())
    assert subject not in bytes_left
    assert CANARY.encode() not in bytes_left
    with open_store(where) as store:
        assert [event for event, _ in Heard.of(store).events] == left_of(heard, gone)
        assert store.log.head.epoch == 3
        payloads = [payload for rows in store.log.rows() for payload in rows.payloads()]
        assert {seq for seq, payload in enumerate(payloads) if payload is None} == gone
        assert verify(where, deep=True).is_whole
        assert fold(store).absent is None
        say(store, draft("ada", "91", "I like tea."))


def test_what_was_given_up_is_named_before_the_epochs_that_came_since(kept, tmp_path: Path):
    places, source, _, _, _ = kept
    where = elsewhere(places, tmp_path / "new")
    assert restored(where, source, [SeenHead(40, bytes(32), is_external=False)])
    with open_store(where) as store:
        kinds = [header[1] for rows in store.log.rows() for header in rows.headers() if header[1] >= EntryKind.ERASURE]
        assert kinds == [EntryKind.RESTORED, EntryKind.FENCE, EntryKind.LIFT, EntryKind.FENCE, EntryKind.ERASURE, EntryKind.LIFT]


@pytest.mark.slow
def test_killed_at_any_change_the_restore_can_be_ended_and_nothing_comes_back(kept, tmp_path: Path):
    places, source, heard, subject, gone = kept

    def fresh(name: str) -> Places:
        shutil.copytree(places.vault.parent, tmp_path / name, ignore=shutil.ignore_patterns("store"))
        return find_places(tmp_path / name / "store", tmp_path / name / "vault", tmp_path / name / "root", env={}, origin=places.origin)

    count = changes_of(lambda: restored(fresh("count"), source))
    for at in range(1, count, 7):
        where = fresh(f"{at}")
        assert in_child(lambda: restored(where, source), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
        with unsynced():
            if left(where) or not (where.store / "store.json").exists():
                restored(where, source)
            with open_store(where) as store:
                assert [event for event, _ in Heard.of(store).events] == left_of(heard, gone)
        assert subject not in b"".join(path.read_bytes() for path in where.store.rglob("*") if path.is_file())
