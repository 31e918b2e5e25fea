"""Walk: every file below some folders, its name, its extended attributes and every byte of it."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from refold import files
from refold.errors import Usage
from refold.scan import databases
from refold.scan.chance import without_drawn
from refold.scan.contained import DAMAGES_OF_VALUES
from refold.scan.forms import without_words
from refold.scan.found import Hit, Looked, Scanned, Status, gather
from refold.scan.joined import Data
from refold.scan.look import Looker, View
from refold.scan.needles import Needles
from refold.scan.recognised import ROOT_NAME, is_inside, is_own, is_own_name, is_sealed

MAPPED_MIN = 64 << 20  # from so many bytes on a file is not read into memory
SIDE_FILES = ("-wal", "-journal", ".wal")  # of databases: what is in them moves into the database, and they go
Progress = Callable[[int, int], None]  # files and bytes so far


def scan(
    places: Sequence[Path],
    needles: Needles,
    *,
    unnamed: Sequence[Path] = (),
    shown: Callable[[Path], str] = str,
    rows: Callable[[Looker], tuple[list[Looked], int]] | None = None,
    progress: Progress = lambda files, size: None,
) -> Scanned:
    """Look for needles in everything below some folders. Links are not followed; nothing is written.

    The names of the places that are `unnamed` are not looked at: somebody chose them, and they are no part of what is in them. `shown` is
    how a path is told; `rows` looks into what is sealed, with keys that the caller has, and says
    how many rows that were. Raises Usage.
    """
    for place in places:
        if files.look(place) is None:
            raise Usage("there is nothing at this place to look into", path=place)
    looker = Looker(needles)
    looked, size = [], 0
    for path in _paths(places):
        if (each := _look(path, shown(path), looker, is_named=path not in unnamed)) is not None:
            looked.append(each)
            size += each.size
            progress(len(looked), size)
    inside, count = rows(looker) if rows else ([], 0)
    short = len(needles.short - {needles.control})
    return gather([*looked, *inside], needles=needles.count, control=needles.control, rows=count, short=short)


def _paths(places: Sequence[Path]) -> Iterator[Path]:
    """Yield the names below some folders, each once, folders too."""
    seen: set[tuple[int, int]] = set()
    for place in places:
        yield from _below(place, seen)


def _below(path: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    try:
        state = path.lstat()
    except FileNotFoundError:
        return  # gone since its folder was listed
    is_folder = stat.S_ISDIR(state.st_mode)
    if is_folder and (state.st_dev, state.st_ino) in seen:
        return
    yield path
    if is_folder:
        seen.add((state.st_dev, state.st_ino))
        try:
            names = sorted(os.listdir(path), key=_turn)  # noqa: PTH208
        except (PermissionError, FileNotFoundError, NotADirectoryError):
            return  # _look says so, unless it is gone since
        for name in names:
            yield from _below(path / name, seen)


def _turn(name: str) -> tuple[bool, str]:
    """Return the place of a name among the others of its folder: before a database comes what may move into it while it is read."""
    return not name.endswith(SIDE_FILES), name


def _look(path: Path, shown: str, looker: Looker, *, is_named: bool) -> Looked | None:
    """Look at one name and what stands under it; None of a folder with nothing in its name, and of what is gone meanwhile."""
    try:
        state = path.lstat()
        view, status = _contents(path, state, looker)
        named = looker.look(_names(path, is_named=is_named))
    except FileNotFoundError:
        return None
    except OSError as error:
        return Looked(shown, 0, Status.UNDECODABLE, reason=f"it cannot be read ({type(error).__name__})")
    hits = [Hit(shown, each.needle, each.encoding, each.offset) for each in view.seen]
    hits += [Hit(shown, each.needle, f"path name > {each.encoding}", each.offset) for each in named.seen]
    is_folder = stat.S_ISDIR(state.st_mode)
    if is_folder and not hits and not view.reasons:
        return None
    status = Status.HIT if hits else Status.UNDECODABLE if view.reasons else status
    size = 0 if is_folder else state.st_size
    reasons, encodings, prescribed = "; ".join(dict.fromkeys(view.reasons)), frozenset(view.encodings), frozenset(view.prescribed)
    return Looked(shown, size, status, tuple(hits), reasons, encodings, prescribed)


def _names(path: Path, *, is_named: bool) -> bytes:
    """Return the last name of a path, unless it is one that Refold gives; where a link leads, and extended attributes."""
    name = os.fsencode(path.name) if is_named and not ROOT_NAME.fullmatch(path.name) and not is_own_name(path) else b""
    said = [without_drawn(name) if is_inside(path) else name]
    if path.is_symlink():
        said.append(os.fsencode(path.readlink()))
    if hasattr(os, "listxattr"):
        for name in os.listxattr(path, follow_symlinks=False):
            said += [os.fsencode(name), os.getxattr(path, name, follow_symlinks=False)]
    return b"\n".join(said)


def _contents(path: Path, state: os.stat_result, looker: Looker) -> tuple[View, Status]:
    view = View()
    if stat.S_ISDIR(state.st_mode) and not os.access(path, os.R_OK | os.X_OK):
        view.reasons.append("it cannot be read (PermissionError)")
    if not stat.S_ISREG(state.st_mode):
        return view, Status.CLEAN
    data = _read(path, state.st_size)
    if (is_ciphertext := is_sealed(path, data)) or is_own(path, data):
        return _own(path, data, looker, is_sealed=is_ciphertext), Status.SEALED if is_ciphertext else Status.CLEAN
    if bytes(memoryview(data)[8:12]) == b"DUCK":
        return _duckdb(path, data, looker), Status.CLEAN
    if path.name.endswith("-wal") and (database := path.with_name(path.name[:-4])).is_file():
        data = databases.with_wal(database.read_bytes(), bytes(data))
    return looker.look(data), Status.CLEAN


def _own(path: Path, data: Data, looker: Looker, *, is_sealed: bool) -> View:
    """Look into a file of Refold, without the words that its form prescribes: they are told apart only where something was met."""
    view = looker.look_written(data, is_sealed=is_sealed)
    if not view.seen:
        return view
    left = looker.look_written(without_words(path, bytes(data)), is_sealed=is_sealed)
    left.prescribed = {each.needle for each in view.seen} - {each.needle for each in left.seen}
    return left


def _duckdb(path: Path, data: Data, looker: Looker) -> View:
    """Look into a DuckDB file by its tables. What was deleted inside stays in it compressed, so without a hit nothing is claimed."""
    view = looker.look_only(data)
    view.encodings.add("duckdb")
    try:
        for name, values in databases.duckdb_file(path):
            looker.look_into(name, values, view)
        view.reasons.append("a DuckDB file keeps what was deleted in it, where no query reaches")
    except (*DAMAGES_OF_VALUES, databases.duckdb_error()) as error:
        view.reasons.append(f"a damaged, encrypted or open DuckDB file ({type(error).__name__})")
    return view


def _read(path: Path, size: int) -> Data:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        return file.readall() if size < MAPPED_MIN else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
