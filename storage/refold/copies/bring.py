"""Bringing a log to another place: new files only, each read again where it arrived, the commits last and in their order.

What is brought is what the newest commit lists as live, and every commit, each checked against the one after it and the newest by its
signature. Writers go on meanwhile: what they add comes with the next run. A compaction goes on too: a part that it took away is found
under its new name, once the head is read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from refold import files
from refold.errors import Corrupt
from refold.log import commit as commits
from refold.log.head import Head, Place, newest, read_commit
from refold.log.parts import Part, missing

TRIES_MAX = 5
ASIDE = ("checkpoints", "receipts")  # signed files that stand by themselves
ELSEWHERE = "; if an end of the log was given up, by a restore or by hand, go on in a new folder"
DAMAGED = "refold recover --log"


@dataclass(frozen=True, slots=True)
class Brought:
    """What came to the other place, and up to where the copy reaches."""

    head: Head
    files: int
    size: int  # bytes

    def __add__(self, more: tuple[int, int]) -> Brought:
        return Brought(self.head, self.files + more[0], self.size + more[1])


def bring_log(source: Place, target: Place, *, deep: bool = False) -> Brought:
    """Bring what is new of a log. `deep` reads again what came before. Raises Corrupt: of the source, or of the target."""
    for folder in (target.commits, target.parts):
        files.make_folder(folder)
        _sweep(folder)
    held = _held(target)
    if held is not None and deep:
        check(target, held)
    count = size = 0
    for _ in range(TRIES_MAX):
        head = newest(source)
        chain = _new_commits(source, head, held)
        try:
            for part, raw in _new_parts(source, target, head):
                _put(target.folder / part.path, raw)
                count, size = count + 1, size + len(raw)
        except FileNotFoundError:
            continue  # a compaction took it away: the newest head says where its entries are now
        for path, raw in chain:
            _put(target.commits / path.name, raw)
            count, size = count + 1, size + len(raw)
        return Brought(head, count, size)
    raise Corrupt("parts that the log lists are missing", path=source.parts, hint=DAMAGED)


def aside(source: Path) -> list[str]:
    """Return the signed files that stand by themselves, as paths within the store."""
    found = []
    for folder in ASIDE:
        if files.look(source / folder) is not None:
            found += [f"{folder}/{name}" for name in sorted(files.names(source / folder)) if not name.startswith(files.TEMPORARY)]
    return found


def bring_aside(source: Path, target: Path, listed: Iterable[str]) -> tuple[int, int]:
    """Bring the listed files that are not there yet; return how many, and their bytes."""
    count = size = 0
    for folder in {path.split("/")[0] for path in listed}:
        files.make_folder(target / folder)
        _sweep(target / folder)
    for path in listed:
        if files.look(target / path) is None:
            raw = files.read(source / path)
            _put(target / path, raw)
            count, size = count + 1, size + len(raw)
    return count, size


def bring_file(source: Path, target: Path) -> None:
    """Bring one file that never changes, unless it is there."""
    raw = files.read(source)
    if not files.link_new(target, raw) and files.read(target) != raw:
        raise Corrupt("the copy holds other bytes than the store", path=target)


def check(place: Place, head: Head) -> None:
    """Read every live part and every commit of a copy. Raises Corrupt."""
    for part in head.parts:
        read_part(place, part)
    for _ in _chain(place, head, since=-1, previous=""):
        pass


def read_part(place: Place, part: Part) -> bytes:
    """Return the bytes that a commit lists. Raises Corrupt, and FileNotFoundError where there is no such file."""
    path = place.folder / part.path
    raw = files.read(path)
    if len(raw) != part.size or hashlib.sha256(raw).hexdigest() != part.sha256:
        message = f"the part with entries {part.first} to {part.end - 1} is not what was signed"
        raise Corrupt(message, path=path, hint=DAMAGED, details={"first": part.first, "end": part.end})
    return raw


def _held(target: Place) -> Head | None:
    return newest(target) if any(commits.version_of(name) is not None for name in files.names(target.commits)) else None


def _new_commits(source: Place, head: Head, held: Head | None) -> list[tuple[Path, bytes]]:
    """Return the commits after those that the copy holds. Raises Corrupt where they do not continue them."""
    if held is None:
        return list(_chain(source, head, since=-1, previous=""))
    if head.version < held.version:
        message = f"the log ends at commit {head.version}; this copy of it holds {held.version}{ELSEWHERE}"
        raise Corrupt(message, path=source.commits, hint=DAMAGED)
    if head.version == held.version:
        if head.digest != held.digest:
            raise _other_history(source, head.version)
        return []
    return list(_chain(source, head, since=held.version, previous=held.digest))


def _chain(place: Place, head: Head, *, since: int, previous: str) -> Iterator[tuple[Path, bytes]]:
    """Yield the commits after version `since` up to a head, each of them the one that the next one names."""
    for version in range(since + 1, head.version + 1):
        path = place.commit(version)
        raw = read_commit(path)
        if commits.decode(raw, path, expected=place.format).previous != previous:
            raise _other_history(place, version - 1) if version == since + 1 and since >= 0 else _broken(path)
        previous = commits.digest(raw)
        yield path, raw
    if previous != head.digest:
        raise _broken(place.commit(head.version))


def _broken(path: Path) -> Corrupt:
    return commits.damage("is not between the commits before and after it", path)


def _other_history(place: Place, version: int) -> Corrupt:
    message = f"the copy holds another commit {version} than the log: two histories of one log{ELSEWHERE}"
    return Corrupt(message, path=place.commit(version), hint=DAMAGED)


def _new_parts(source: Place, target: Place, head: Head) -> Iterator[tuple[Part, bytes]]:
    for part in head.parts:
        seen = files.look(target.folder / part.path)
        if seen is None:
            try:
                yield part, read_part(source, part)
            except FileNotFoundError:
                if newest(source).version == head.version:
                    raise missing(source.folder, part) from None
                raise
        elif seen.size != part.size:
            raise Corrupt("the copy holds a part of another size; a copy replaces nothing", path=target.folder / part.path)


def _put(path: Path, raw: bytes) -> None:
    """Give new bytes their name and read them back. Raises Corrupt where others arrived, or were there."""
    files.link_new(path, raw)
    if files.read_back(path) != raw:
        raise Corrupt("what arrived at the copy is not what was sent", path=path)


def _sweep(folder: Path) -> None:
    """Remove what an interrupted run left under temporary names: whoever brings files holds the folder of the copy."""
    for name in files.names(folder):
        if name.startswith(files.TEMPORARY):
            files.remove(folder / name, sync=False)
