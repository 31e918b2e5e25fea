"""Durable writes: complete under their name or not there, private, and never again after a failed fsync."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from refold import files
from refold.errors import Corrupt, Locked, NotAllowed, Usage, VerificationIncomplete, WriteFailed
from tests.log import Disk, failing


@pytest.fixture(autouse=True)
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_poisoned", None)


def listed(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_create_writes_a_private_file(tmp_path: Path):
    files.create(tmp_path / "new", b"words")
    assert (tmp_path / "new").read_bytes() == b"words"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_create_refuses_a_name_that_is_taken(tmp_path: Path):
    files.create(tmp_path / "new", b"first")
    with pytest.raises(FileExistsError):
        files.create(tmp_path / "new", b"second")
    assert (tmp_path / "new").read_bytes() == b"first"


def test_link_new_gives_a_name_once(tmp_path: Path):
    assert files.link_new(tmp_path / "name", b"first")
    assert not files.link_new(tmp_path / "name", b"second")
    assert (tmp_path / "name").read_bytes() == b"first"
    assert listed(tmp_path) == ["name"]


def test_replace_swaps_the_contents(tmp_path: Path):
    files.replace(tmp_path / "CURRENT", b"one")
    files.replace(tmp_path / "CURRENT", b"two")
    assert (tmp_path / "CURRENT").read_bytes() == b"two"
    assert listed(tmp_path) == ["CURRENT"]


def test_make_folder_makes_private_parents(tmp_path: Path):
    files.make_folder(tmp_path / "a" / "b")
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}


def test_make_folder_says_that_a_file_is_in_the_way(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(Usage):
        files.make_folder(tmp_path / "a" / "b")


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Slow:
        def __getattr__(self, name: str):
            return getattr(os, name)

        def write(self, descriptor: int, data: memoryview) -> int:
            return os.write(descriptor, data[:3])

    monkeypatch.setattr(files, "os", Slow())
    files.create(tmp_path / "new", b"more than three")
    assert (tmp_path / "new").read_bytes() == b"more than three"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOSPC, WriteFailed),
        (errno.EDQUOT, WriteFailed),
        (errno.EIO, WriteFailed),
        (errno.EACCES, NotAllowed),
        (errno.EROFS, NotAllowed),
    ],
)
def test_a_failed_write_has_a_name_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, expected: type[Exception]
):
    monkeypatch.setattr(files, "os", Disk(failing(1, code), calls=("write",)))
    with pytest.raises(expected):
        files.create(tmp_path / "new", b"words")
    assert listed(tmp_path) == []


def test_after_a_failed_fsync_this_process_writes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as failing_disk:
        failing_disk.setattr(files, "os", Disk(failing(1, errno.EIO), calls=("fsync",)))
        with pytest.raises(WriteFailed):
            files.create(tmp_path / "new", b"words")
    for write in (
        lambda: files.create(tmp_path / "other", b""),
        lambda: files.link_new(tmp_path / "other", b""),
        lambda: files.replace(tmp_path / "other", b""),
        lambda: files.remove(tmp_path / "other"),
        lambda: files.make_folder(tmp_path / "folder"),
    ):
        with pytest.raises(WriteFailed, match="earlier fsync"):
            write()


@pytest.mark.parametrize(
    ("code", "expected"), [(errno.EIO, VerificationIncomplete), (errno.ESTALE, VerificationIncomplete), (errno.EACCES, NotAllowed)]
)
def test_a_read_error_is_not_corruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, expected: type[Exception]):
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files, "open", refuse, raising=False)
    with pytest.raises(expected):
        files.read(tmp_path / "any")


@pytest.mark.parametrize("how", ["folder", "link", "link to nothing", "pipe"])
def test_only_a_file_itself_is_read(tmp_path: Path, how: str):
    (tmp_path / "file").write_bytes(b"bytes of somebody else")
    path = tmp_path / "ours"
    if how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / ("file" if how == "link" else "nothing"))
    with pytest.raises(Corrupt, match="stands where a file should be"):
        files.read(path)


def test_a_file_in_the_place_of_a_folder_on_the_way_is_a_mistake_of_the_caller(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Usage):
        files.read(tmp_path / "file" / "inside")


def test_a_lock_excludes_others_until_it_ends(tmp_path: Path):
    with files.lock(tmp_path / "lock"), pytest.raises(Locked), files.lock(tmp_path / "lock", wait_seconds=0.01):
        pass
    with files.lock(tmp_path / "lock", wait_seconds=0):
        pass


def test_shared_locks_stand_together(tmp_path: Path):
    with files.lock(tmp_path / "lock", exclusive=False), files.lock(tmp_path / "lock", exclusive=False, wait_seconds=0):
        pass


def test_a_waiter_gets_the_lock_when_it_ends(tmp_path: Path):
    taken = threading.Event()

    def wait() -> None:
        with files.lock(tmp_path / "lock", wait_seconds=10):
            taken.set()

    with files.lock(tmp_path / "lock"):
        waiter = threading.Thread(target=wait)
        waiter.start()
        assert not taken.wait(0.05)
    waiter.join()
    assert taken.is_set()


def test_this_file_system_refuses_to_link_onto_a_name(tmp_path: Path):
    assert files.refuses_existing_names(tmp_path)
    assert listed(tmp_path) == []


def test_a_file_system_that_lets_a_link_replace_a_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Careless:
        def __getattr__(self, name: str):
            return getattr(os, name)

        def link(self, source: Path, target: Path) -> None:
            target.unlink(missing_ok=True)
            os.link(source, target)

    monkeypatch.setattr(files, "os", Careless())
    assert not files.refuses_existing_names(tmp_path)


@pytest.mark.parametrize("hold", [files.lock, files.unlocked])
def test_a_lock_whose_file_does_not_close_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hold: Any):
    path = tmp_path / "lock"
    path.touch()
    monkeypatch.setattr(files, "os", Disk(failing(1, errno.EIO), calls=("close",)))
    with pytest.raises(WriteFailed) as caught, hold(path):
        pass
    assert caught.value.path == str(path)
