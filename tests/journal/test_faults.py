"""A disk that is full, or whose fsync fails, at any call: a clear error, nothing half forgotten, and the way on or back is open."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from refold import files, journal
from refold.errors import Drifted, RefoldError, WriteFailed
from refold.journal import Direction
from refold.store import Places
from tests.journal import CALLS, LISTS, SAMPLE, changes_of, ground, half_done, in_child, left, on, picture, recover, reversible
from tests.log import Disk, failing


def full_at(at: int) -> Disk:
    return Disk(failing(at, errno.ENOSPC), calls=tuple(name for name in CALLS if name != "fsync"))


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("name", LISTS)
def test_r3_a_full_disk_at_any_call_ends_in_a_clear_error_and_a_way_on(
    tmp_path: Path, name: str, direction: Direction, monkeypatch: pytest.MonkeyPatch
):
    model = ground(tmp_path / "model")
    before = picture(model)
    count = changes_of(lambda: journal.commit(model, SAMPLE, LISTS[name](model)))
    after = picture(model)
    outcomes = set()
    for at in range(1, count + 1):
        places = ground(tmp_path / f"{at}")
        steps = LISTS[name](places)
        disk = full_at(at)
        with monkeypatch.context() as patched:
            patched.setattr(files, "os", disk)
            hint = hint_of_failure(places, steps)
        if hint is None:
            assert disk.count < at  # fewer calls than there are, because fsync was not among them
            break
        assert left(places) == [] or hint.startswith("refold recover --transaction-id")
        if not left(places):
            outcomes.add("as before" if picture(places) == before else "done")
            assert picture(places) in (before, after)
            with journal.mutating(places):
                assert journal.entries(places) == []
            continue
        outcomes.add("unfinished")
        (entry,) = left(places)
        if journal.inspect(places, entry.id).is_safe(direction):
            recover(places, direction)
            assert picture(places) == (after if direction is Direction.COMPLETE else before)
    assert outcomes >= {"as before", "unfinished"}


def hint_of_failure(places: Places, steps: list[journal.Step]) -> str | None:
    """Commit; return the hint of the error that it ends in, or None."""
    try:
        journal.commit(places, SAMPLE, steps)
    except WriteFailed as error:
        return error.hint or ""
    return None


@pytest.mark.parametrize("direction", list(Direction))
def test_r3_a_disk_that_fills_up_while_it_recovers_leaves_the_same_way_open(
    tmp_path: Path, direction: Direction, monkeypatch: pytest.MonkeyPatch
):
    model = half_done(tmp_path / "model")
    count = changes_of(lambda: journal.recover(model, left(model)[0].id, direction))
    end = picture(model)
    failed = 0
    for at in range(1, count + 1):
        places = half_done(tmp_path / f"{at}")
        (entry,) = left(places)
        with monkeypatch.context() as patched:
            patched.setattr(files, "os", full_at(at))
            try:
                journal.recover(places, entry.id, direction)
            except WriteFailed:
                failed += 1
        if left(places):
            recover(places, direction)
        assert picture(places) == end
    assert failed > 5


def test_a_failed_fsync_at_any_call_stops_the_process_and_another_one_recovers(tmp_path: Path):
    model = ground(tmp_path / "model")
    before = picture(model)
    syncs = Disk(lambda number, name, call: None, calls=("fsync",))
    kept, files.os = files.os, syncs  # ty: ignore[invalid-assignment]
    try:
        journal.commit(model, SAMPLE, reversible(model))
    finally:
        files.os = kept
    after = picture(model)
    for at in range(1, syncs.count + 1):
        places = ground(tmp_path / f"{at}")
        assert in_child(lambda: fail_and_try_again(places, at)) == 0  # noqa: B023
        if left(places):
            (entry,) = left(places)
            assert entry.condition in (journal.Condition.UNFINISHED, journal.Condition.ENDED)
            recover(places, Direction.COMPLETE)
            assert picture(places) == after
        else:
            assert picture(places) in (before, after)


@pytest.mark.parametrize("direction", list(Direction))
def test_a_failed_fsync_at_any_call_of_a_recovery_stops_the_process_and_leaves_the_same_way_open(tmp_path: Path, direction: Direction):
    model = half_done(tmp_path / "model")
    syncs = Disk(lambda number, name, call: call(), calls=("fsync",))
    kept, files.os = files.os, syncs  # ty: ignore[invalid-assignment]
    try:
        journal.recover(model, left(model)[0].id, direction)
    finally:
        files.os = kept
    end = picture(model)
    assert syncs.count > 5
    for at in range(1, syncs.count + 1):
        places = half_done(tmp_path / f"{at}")
        failed = Disk(failing(at, errno.EIO), calls=("fsync",))
        (entry,) = left(places)
        assert in_child(lambda: journal.recover(places, entry.id, direction), failed) == WriteFailed.exit_code  # noqa: B023
        if left(places):
            recover(places, direction)
        assert picture(places) == end


def fail_and_try_again(places: Places, at: int) -> None:
    """Commit while the `at`-th fsync fails: a process to which this happened writes no more, not even to clean up."""
    files.os = Disk(failing(at, errno.EIO), calls=("fsync",))  # ty: ignore[invalid-assignment]
    with pytest.raises(WriteFailed):
        journal.commit(places, SAMPLE, reversible(places))
    now = picture(places)
    with pytest.raises(RefoldError):
        journal.commit(places, SAMPLE, [journal.write(on("store", "next"), b"")])
    for entry in left(places):
        with pytest.raises((WriteFailed, Drifted)):
            journal.recover(places, entry.id, Direction.COMPLETE)
    assert picture(places) == now


def count_up(folder: Path, times: int) -> None:
    places = Places(folder / "store", folder / "vault", folder / "root", "0f" * 16)
    for _ in range(times):
        with journal.mutating(places) as turn:
            one, two = (int((places.store / name).read_bytes()) for name in ("one", "two"))
            assert one == two
            steps = [
                journal.write(on("store", name), str(one + 1).encode(), before=journal.digest(str(one).encode())) for name in ("one", "two")
            ]
            turn.commit(SAMPLE, steps)


def test_two_processes_at_once_take_turns(tmp_path: Path):
    places = ground(tmp_path)
    for name in ("one", "two"):
        (places.store / name).write_bytes(b"0")
        (places.store / name).chmod(0o600)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=count_up, args=(tmp_path, 25)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert (places.store / "one").read_bytes() == (places.store / "two").read_bytes() == b"50"
    assert journal.entries(places) == []


def test_two_recoveries_at_once_are_one(tmp_path: Path):
    places = half_done(tmp_path)
    (entry,) = left(places)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=recover_quietly, args=(places, entry.id)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(worker.exitcode or 0 for worker in workers) in ([0, 2], [0, 11])  # the other finds nothing, or the lock taken
    assert left(places) == []


def recover_quietly(places: Places, transaction_id: str) -> None:
    try:
        journal.recover(places, transaction_id, Direction.COMPLETE)
    except RefoldError as error:
        os._exit(error.exit_code)
