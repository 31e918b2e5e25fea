"""Crash states, in the manner of ALICE (Pillai et al., OSDI 2014): what a disk may hold after a crash, from the operations that were made.

A file's bytes last once it is synced; before, there may be none of them, half, zeros in their place, or all. A name lasts once its folder
is synced; before, any subset of the changes to a folder may have happened, whatever their order. A rename is one change. Names that
begin as temporary ones stand for nothing, so whether they last is not tried. The states are those right before each sync and at the end:
an earlier crash leaves nothing that is not among them.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refold import files

SUBSETS_OF_MAX = 6  # changes of one folder
EXHAUSTIVE = bool(os.environ.get("REFOLD_EXHAUSTIVE"))
RECORDED = ("open", "write", "fsync", "link", "unlink", "rename", "mkdir", "rmdir", "close")
Event = tuple[Any, ...]


@dataclass(eq=False)
class File:
    """Bytes as a program sees them, and as they would last."""

    data: bytes
    lasting: bytes


@dataclass(eq=False)
class Folder:
    """Names as a program sees them, those that would last, and the changes in between."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    lasting: dict[str, File | Folder] = field(default_factory=dict)
    pending: list[dict[str, File | Folder | None]] = field(default_factory=list)

    def change(self, change: dict[str, File | Folder | None]) -> None:
        self.pending.append(change)
        apply(self.names, change)


def apply(names: dict[str, File | Folder], change: dict[str, File | Folder | None]) -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Recorder:
    """Stands where `refold.files` finds `os`: makes every call, and notes those that change a disk."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._open: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return getattr(self, f"_{name}_")(real) if name in RECORDED else real

    def _opened(self, real: Callable[..., int], path: Any, flags: int, *more: Any) -> int:
        descriptor = real(path, flags, *more)
        self._open[descriptor] = str(path)
        if flags & os.O_CREAT and flags & os.O_EXCL:
            self.events.append(("create", str(path)))
        return descriptor

    def _open_(self, real: Any) -> Any:
        return lambda *given: self._opened(real, *given)

    def _write_(self, real: Any) -> Any:
        def write(descriptor: int, data: Any) -> int:
            count = real(descriptor, data)
            self.events.append(("write", self._open[descriptor], bytes(data[:count])))
            return count

        return write

    def _fsync_(self, real: Any) -> Any:
        return lambda descriptor: self.events.append(("sync", self._open[descriptor]))

    def _close_(self, real: Any) -> Any:
        def close(descriptor: int) -> None:
            self._open.pop(descriptor, None)
            real(descriptor)

        return close

    def _noted(self, name: str, real: Any) -> Any:
        def called(*given: Any) -> None:
            real(*given)
            self.events.append((name, *(str(each) for each in given if not isinstance(each, int))))

        return called

    def _link_(self, real: Any) -> Any:
        return self._noted("link", real)

    def _unlink_(self, real: Any) -> Any:
        return self._noted("unlink", real)

    def _rename_(self, real: Any) -> Any:
        return self._noted("rename", real)

    def _mkdir_(self, real: Any) -> Any:
        return self._noted("mkdir", real)

    def _rmdir_(self, real: Any) -> Any:
        return self._noted("rmdir", real)


def recorded(work: Callable[[], object]) -> list[Event]:
    """Return the changes of a disk that something makes, by making them."""
    recorder, kept = Recorder(), files.os
    files.os = recorder  # ty: ignore[invalid-assignment]
    try:
        work()
    finally:
        files.os = kept
    return recorder.events


def syncs(events: list[Event]) -> dict[str, frozenset[int]]:
    """Return where in a list of events each file and folder is synced. A temporary name stands for the one that it becomes."""
    becomes = {event[1]: event[2] for event in events if event[0] in ("link", "rename")}
    found: dict[str, frozenset[int]] = {}
    for at, event in enumerate(events):
        if event[0] == "sync":
            name = becomes.get(event[1], event[1])
            found[name] = found.get(name, frozenset()) | {at}
    return found


class World:
    """What stands under a folder, and what of it would last."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.top = _read(base)

    def make(self, event: Event) -> None:
        """Let one event happen."""
        what, path, *more = event
        if not Path(path).is_relative_to(self.base):
            return
        folder, name = self._at(path)
        if what == "create":
            folder.change({name: File(b"", b"")})
        elif what == "write":
            file = folder.names[name]
            assert isinstance(file, File)
            file.data += more[0]
        elif what == "sync":
            _sync(folder.names[name] if name else folder)
        elif what == "mkdir":
            folder.change({name: Folder()})
        elif what in ("unlink", "rmdir"):
            folder.change({name: None})
        else:
            target, new = self._at(more[0])
            node = folder.names[name]
            if what == "rename" and target is folder:
                folder.change({name: None, new: node})
            else:
                target.change({new: node})
                assert what == "link", "only within one folder is anything renamed here"

    def _at(self, path: str) -> tuple[Folder, str]:
        parts = Path(path).relative_to(self.base).parts
        folder = self.top
        for name in parts[:-1]:
            found = folder.names[name]
            assert isinstance(found, Folder)
            folder = found
        return folder, parts[-1] if parts else ""


def _read(path: Path) -> Folder:
    names: dict[str, File | Folder] = {}
    for each in path.iterdir():
        data = b"" if each.is_dir() else each.read_bytes()
        names[each.name] = _read(each) if each.is_dir() else File(data, data)
    return Folder(names, dict(names))


def _sync(node: File | Folder) -> None:
    if isinstance(node, File):
        node.lasting = node.data
    else:
        node.lasting, node.pending = dict(node.names), []


@dataclass(frozen=True)
class Crash:
    """One thing that a disk may hold: which changes of each folder happened, and what became of each file that was not synced."""

    point: int  # events that were made
    happened: dict[int, tuple[int, ...]]  # by id of the folder
    became: dict[int, bytes]  # by id of the file
    top: Folder

    def put(self, target: Path) -> None:
        """Make it so, in a new folder."""
        self._put(self.top, target)

    def _put(self, folder: Folder, target: Path) -> None:
        target.mkdir(mode=0o700)
        names = dict(folder.lasting)
        for at in self.happened.get(id(folder), range(len(folder.pending))):
            apply(names, folder.pending[at])
        for name, node in names.items():
            if isinstance(node, Folder):
                self._put(node, target / name)
            else:
                (target / name).write_bytes(self.became.get(id(node), node.lasting))
                (target / name).chmod(0o600)


def crashes(
    base: Path, events: list[Event], *, without: frozenset[int] = frozenset(), at_most: int = 16, end_only: bool = False
) -> Iterator[Crash]:
    """Yield what a disk may hold after a crash; `without` leaves some events out, `at_most` bounds the states at one point."""
    made = [event for at, event in enumerate(events) if at not in without]
    world = World(base)
    chance = random.Random(len(events))
    for point, event in enumerate([*made, ("end", "")]):
        if event[0] == "end" or (event[0] == "sync" and not end_only):
            yield from _states(world, point, 4096 if EXHAUSTIVE else at_most, chance)
        if event[0] != "end":
            world.make(event)


def _states(world: World, point: int, at_most: int, chance: random.Random) -> Iterator[Crash]:
    folders = [folder for folder in _folders(world.top) if _counting(folder)]
    unsynced = [file for file in _files(world.top) if file.data != file.lasting]
    choices: list[list[Any]] = [list(_subsets(folder)) for folder in folders] + [_became(file) for file in unsynced]
    total = 1
    for each in choices:
        total *= len(each)
    picks = itertools.product(*(range(len(each)) for each in choices)) if total <= at_most else _picked(choices, at_most, chance)
    for pick in picks:
        chosen = [choices[at][one] for at, one in enumerate(pick)]
        happened = {id(folder): chosen[at] for at, folder in enumerate(folders)}
        became = {id(file): chosen[len(folders) + at] for at, file in enumerate(unsynced)}
        yield Crash(point, happened, became, world.top)


def _picked(choices: list[list[Any]], at_most: int, chance: random.Random) -> Iterator[tuple[int, ...]]:
    """Yield the extremes, each single deviation from them, and some by chance."""
    last = tuple(len(each) - 1 for each in choices)
    met = dict.fromkeys([tuple(0 for _ in choices), last])
    for one in range(max(map(len, choices))):
        for at, each in enumerate(choices):
            if one < len(each):
                met[*last[:at], one, *last[at + 1 :]] = None
    while len(met) < at_most:
        met[tuple(chance.randrange(len(each)) for each in choices)] = None
    yield from list(met)[: max(at_most, 2 + len(choices))]


def _counting(folder: Folder) -> list[int]:
    """Return the pending changes that matter: not those of temporary names alone."""
    return [at for at, change in enumerate(folder.pending) if any(not name.startswith(files.TEMPORARY) for name in change)]


def _subsets(folder: Folder) -> Iterator[tuple[int, ...]]:
    """Yield which changes of a folder happened: none first, all last. Of many, those up to a moment, and all but one."""
    counting = _counting(folder)
    if len(counting) > SUBSETS_OF_MAX:
        yield from (tuple(counting[:end]) for end in range(len(counting)))
        yield from (tuple(each for each in counting if each != left) for left in counting)
        yield tuple(counting)
        return
    for size in range(len(counting) + 1):
        yield from itertools.combinations(counting, size)


def _became(file: File) -> list[bytes]:
    whole = file.data
    return [file.lasting, b"", whole[: len(whole) // 2], bytes(len(whole)), whole]


def _folders(folder: Folder) -> Iterator[Folder]:
    """Yield every folder that may be there after a crash."""
    yield folder
    for node in _nodes(folder):
        if isinstance(node, Folder):
            yield from _folders(node)


def _files(folder: Folder) -> Iterator[File]:
    met: dict[int, File] = {}
    for each in _folders(folder):
        met.update({id(node): node for node in _nodes(each) if isinstance(node, File)})
    yield from met.values()


def _nodes(folder: Folder) -> Iterator[File | Folder]:
    met = {id(node): node for node in folder.lasting.values()}
    for change in folder.pending:
        for name, node in change.items():
            if node is not None and not name.startswith(files.TEMPORARY):
                met[id(node)] = node
    yield from met.values()
