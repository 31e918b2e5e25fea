"""Killed at any change of a disk, a move is completed by running it again, or by recovery: every record is there exactly once."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refold import journal
from refold.errors import RefoldError, Usage
from refold.journal import Condition, Direction
from refold.migrate import capture, finalize
from refold.recover.intents import KNOWN
from refold.store import Places, create, open_store
from refold.store import places as find_places
from tests.conftest import now, points
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, left, unsynced
from tests.log import Disk
from tests.migrate import ANSWERS, canonicalized, moved, prepared, said


def made(folder: Path) -> str:
    """Make a store with a move that is ready, and return the move's id."""
    places = find_places(folder / "store", folder / "vault", folder / "root", env={})
    with unsynced(), create(places, now=now, random=os.urandom) as store:
        move = prepared(store, folder, "mem0", "letta")
        canonicalized(store, move, ANSWERS)
        return move.id


def copied(model: Path, folder: Path) -> Places:
    for name in ("store", "vault", "root"):
        shutil.copytree(model / name, folder / name)
    return find_places(folder / "store", folder / "vault", folder / "root", env={})


def move_in(places: Places, move_id: str) -> None:
    with open_store(places) as store:
        moved(store, capture.find(store, move_id), batch=5)


def run_again(places: Places, move_id: str) -> None:
    """Run the same command again; where nothing is left of the move, it says so, and then it was made."""
    with unsynced(), open_store(places) as store:
        try:
            finalize.finalize(store, move_id, confirm=move_id, now=now, random=os.urandom, batch=5)
        except Usage:
            assert said(store)


def complete(places: Places, move_id: str) -> None:
    """Recover what is unfinished; where nothing was begun, begin."""
    for entry in left(places):
        if entry.condition is Condition.UNFINISHED:
            with unsynced():
                journal.recover(places, entry.id, Direction.COMPLETE, open_store=lambda: open_store(places), intents=KNOWN)
    run_again(places, move_id)


@pytest.mark.slow
@pytest.mark.parametrize("go_on", [run_again, complete])
def test_killed_at_any_change_each_record_is_there_exactly_once(go_on: Callable[[Places, str], None], tmp_path: Path):
    move_id = made(tmp_path / "model")
    reference = copied(tmp_path / "model", tmp_path / "reference")
    count = changes_of(lambda: move_in(reference, move_id))
    with open_store(reference) as store:
        expected = said(store)
    assert (len(expected), len(set(expected))) == (14, 14)
    met = set()
    for at in points(count, every=3):
        places = copied(tmp_path / "model", tmp_path / f"{at}")
        assert in_child(lambda: move_in(places, move_id), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
        with open_store(places) as store:
            met.add(len(said(store)))
        go_on(places, move_id)
        with open_store(places) as store:
            assert said(store) == expected, at
            assert capture.moves(store) == {}
        assert not left(places)
        shutil.rmtree(tmp_path / f"{at}")
    assert len(met) == 4  # nothing, and after each of three commits


def full(at: int) -> Callable[[int, str, Callable[[], Any]], Any]:
    """Return a step that finds the disk full, once, at its `at`-th change."""

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        if number == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return None if name == "fsync" else call()

    return step


@pytest.mark.slow
def test_where_the_disk_is_full_for_once_it_says_so_and_is_completed_afterwards(tmp_path: Path):
    move_id = made(tmp_path / "model")
    reference = copied(tmp_path / "model", tmp_path / "reference")
    count = changes_of(lambda: move_in(reference, move_id))
    with open_store(reference) as store:
        expected = said(store)
    codes = set()
    for at in points(count, every=3):
        places = copied(tmp_path / "model", tmp_path / f"{at}")
        codes.add(in_child(lambda: move_in(places, move_id), Disk(full(at), calls=CALLS)))  # noqa: B023
        run_again(places, move_id)
        with open_store(places) as store:
            assert said(store) == expected, at
        assert not left(places)
        shutil.rmtree(tmp_path / f"{at}")
    assert codes <= {0, 1}
    assert 1 in codes


def test_recovery_knows_how_the_commits_of_a_move_are_made():
    assert finalize.INTENTS.items() <= KNOWN.items()


def test_of_two_processes_that_move_the_same_one_does(tmp_path: Path):
    move_id = made(tmp_path)
    places = find_places(tmp_path / "store", tmp_path / "vault", tmp_path / "root", env={})
    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                move_in(places, move_id)
                code = 0
            except RefoldError as error:
                code = error.exit_code
            finally:
                os._exit(code)
        children.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    assert sorted(codes) == [0, 2]
    with open_store(places) as store:
        assert len(said(store)) == len(set(said(store))) == 14
