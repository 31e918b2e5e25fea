"""The journal room. What its tests share: places with something in them, transactions to interrupt, and a child that dies on time.

A child that is killed loses nothing the system took from it, so `fsync` is only counted here: what must be durable before what is
held by a test of its own, and the system's part of it cannot be tested by killing.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from refold import files, journal
from refold.errors import RefoldError
from refold.journal import FOLDER, Direction, Kind, Place, Step, Target
from refold.store import Places
from tests.log import Disk

ORIGIN = "0f" * 16
SAMPLE = Kind("sample")
HOLDING = Kind("holding", blocks_appends=True)
CALLS = ("write", "fsync", "link", "unlink", "rename", "mkdir", "rmdir", "chmod", "fchmod")  # what changes a disk, after O_CREAT
KILLED = -signal.SIGKILL
LOCKS = ("vault/journal", "vault/mutate.lock", "vault/readers.lock", "store/log/turn")


def on(place: str, path: str) -> Target:
    return Target(Place(place), path)


def ground(folder: Path) -> Places:
    """Make three places with a few files in them, as a transaction may find them."""
    places = Places(folder / "store", folder / "vault", folder / "root", ORIGIN)
    for name, data in {
        "store/state/CURRENT": b"one",
        "store/old": b"old words" * 100,
        "store/gone/inside": b"inside",
        "store/stays": b"stays",
        "vault/keys/seeds": b"seeds",
        "root/root.000001": b"r" * 32,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o600)
    (folder / "store/old").chmod(0o640)
    return places


def before(places: Places, target: Target) -> bytes:
    return journal.digest((target.place.of(places) / target.path).read_bytes())


def reversible(places: Places) -> list[Step]:
    """Return a list with every kind of change, each with its way back: the authority last."""
    old, inside, seeds, current = (
        on("store", "old"),
        on("store", "gone/inside"),
        on("vault", "keys/seeds"),
        on("store", "state/CURRENT"),
    )
    return [
        journal.add_folder(on("store", "made")),
        journal.write(on("store", "made/new"), b"new words", mode=0o640),
        journal.write(seeds, b"other seeds", before=before(places, seeds)),
        journal.remove(old, before=before(places, old)),
        journal.remove(inside, before=before(places, inside)),
        journal.remove(on("store", "gone"), before=FOLDER),
        journal.write(current, b"two", before=before(places, current)),
    ]


def decisive(places: Places) -> list[Step]:
    """Return a list that can be rolled back up to a step, and only be completed from there on."""
    current, root, old = on("store", "state/CURRENT"), on("root", "root.000001"), on("store", "old")
    return [
        journal.write(on("vault", "keys/more"), b"more"),
        journal.write(on("vault", "keys/SEALED"), b"sealed", point_of_no_return=True),
        journal.write(current, b"two", before=before(places, current)),
        journal.remove(root, before=before(places, root), keeps_before=False),
        journal.remove(old, before=before(places, old), keeps_before=False),
    ]


def erasing(places: Places) -> list[Step]:
    """Return a list of removals of which no copy is kept."""
    inside, old = on("store", "gone/inside"), on("store", "old")
    return [
        journal.remove(inside, before=before(places, inside), keeps_before=False),
        journal.remove(on("store", "gone"), before=FOLDER),
        journal.remove(old, before=before(places, old), keeps_before=False),
    ]


LISTS: dict[str, Callable[[Places], list[Step]]] = {"reversible": reversible, "decisive": decisive, "erasing": erasing}


def picture(places: Places) -> dict[str, tuple[int, bytes]]:
    """Return every name at the three places with its mode and bytes, but for locks and the journal's own."""
    found = {}
    for place in Place:
        top = place.of(places)
        for path in [top, *sorted(top.rglob("*"))]:
            name = f"{place}/{path.relative_to(top).as_posix()}"
            if not name.startswith(LOCKS):
                data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
                found[name] = path.lstat().st_mode, data
    return found


def tree(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Return everything under a folder: type and mode, inode, mtime, bytes. Two that are equal mean that nothing was written."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        seen = path.lstat()
        data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if stat.S_ISREG(seen.st_mode) else b""
        found[str(path.relative_to(folder))] = seen.st_mode, seen.st_ino, seen.st_mtime_ns, data
    return found


def killing(at: int) -> Callable[[int, str, Callable[[], Any]], Any]:
    """Return a step that kills the process right before its `at`-th change of a disk; fsync is only counted."""

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return None if name == "fsync" else call()

    return step


class Torn(Disk):
    """A disk that takes half of the bytes of its `at`-th write, and then the process dies."""

    def __init__(self, at: int) -> None:
        super().__init__(lambda number, name, call: call(), calls=())
        self._at = at

    def write(self, descriptor: int, data: memoryview) -> int:
        self.count += 1
        if self.count == self._at:
            os.write(descriptor, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        return None


def in_child(work: Callable[[], object], disk: Disk | None = None) -> int:
    """Run something in a child process over a disk of its own; return its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if disk is not None:
                files.os = disk  # ty: ignore[invalid-assignment]
            work()
            code = 0
        except RefoldError as error:
            code = error.exit_code
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            code = 99
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def unsynced() -> Generator[None]:
    """Let this process's own fsync cost nothing."""
    kept = files.os
    files.os = Disk(lambda number, name, call: None, calls=("fsync",))  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        files.os = kept


def changes_of(work: Callable[[], object]) -> int:
    """Return how many changes of a disk something makes, by making them."""
    disk = Disk(lambda number, name, call: None if name == "fsync" else call(), calls=CALLS)
    kept = files.os
    files.os = disk  # ty: ignore[invalid-assignment]
    try:
        work()
    finally:
        files.os = kept
    return disk.count


def interrupted(places: Places, steps: Sequence[Step], at: int, *, kind: Kind = SAMPLE) -> int:
    """Commit steps in a child that dies at its `at`-th change of a disk."""
    return in_child(lambda: journal.commit(places, kind, steps), Disk(killing(at), calls=CALLS))


def left(places: Places) -> list[journal.Entry]:
    """Return what a transaction left that says anything."""
    return [entry for entry in journal.entries(places) if entry.condition is not journal.Condition.UNNAMED]


def recover(places: Places, direction: Direction) -> None:
    """Recover the only transaction there is."""
    (entry,) = left(places)
    with unsynced():
        journal.recover(places, entry.id, direction)


def half_done(folder: Path, name: str = "reversible", *, step: int | None = None) -> Places:
    """Return places where a transaction died after about half of its steps, or right after step `step`."""
    places = ground(folder)
    steps = LISTS[name](places)
    done = len(steps) // 2 if step is None else step + 1
    assert stopped_after(lambda: journal.commit(places, SAMPLE, steps), done) == KILLED
    return places


def stopped_after(work: Callable[[], object], done: int) -> int:
    """Run something in a child that dies when the transaction it makes has done so many steps."""
    return in_child(lambda: _die_after(work, done))


def _die_after(work: Callable[[], object], done: int) -> None:
    from refold.journal import carry

    count = 0

    def counted(real: Callable[..., None]) -> Any:
        def call(*arguments: Any) -> None:
            nonlocal count
            if count == done:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            real(*arguments)

        return call

    carry._move, carry._commit = counted(carry._move), counted(carry._commit)
    files.os = Disk(killing(0), calls=CALLS)  # ty: ignore[invalid-assignment]
    work()
