"""Ends: whether the end that a copy has for a log is that log's. What no later commit vouches for has to agree with all that was seen.

A log whose newest commits are damaged could be gone on with from any copy whose commits its key has signed, also from one that was given
up. So an end is held against every head that was signed or seen, but for those that its own `restored` entries give up, and against the
parts that lie there: if they are the end's own, it is confirmed; if they are none of its own, they are another end's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from refold import files
from refold.errors import Corrupt
from refold.log import entry, parts
from refold.log.commit import Commit
from refold.log.head import Head, Place
from refold.log.parts import Part
from refold.log.tree import Tree
from refold.model import EntryKind
from refold.recover.survey import read_file

Seen = tuple[int, bytes]  # size and root of a head
FIRST_AT = slice(0, 20)  # in the name of a part: its first entry
WAY_OUT = "`refold restore DIR --store NEW` makes a store of it elsewhere"


@dataclass(frozen=True, slots=True)
class End:
    """The commits that a copy has behind the newest one that the log still has."""

    source: Place
    head: Head  # of the copy
    size: int  # entries below it, of which the log has the commits
    commits: tuple[Commit, ...]  # of the copy, all of them, the oldest first

    @property
    def parts(self) -> dict[str, Part]:
        """Return every part that the copy's commits ever listed, by its path."""
        listed = (part for each in self.commits for part in (*each.parts, *(each.replaces.added if each.replaces else ())))
        return {part.path: part for part in listed}


def is_confirmed(place: Place, end: End, seen: Collection[Seen]) -> bool:
    """Whether something that was seen says that an end is this log's. Raises Corrupt where something says that it is not."""
    confirmed = _is_among(end, seen) or any(_lies(place, part) for part in end.parts.values() if part.first >= end.size)
    if not confirmed and _strange(place, end):
        raise another(end, f"the log holds other entries from {end.size} on than the copy")
    return confirmed


def another(end: End, what: str) -> Corrupt:
    """Return the error for a copy of another history."""
    return Corrupt(f"{what}: {WAY_OUT}", path=end.source.folder)


def _is_among(end: End, seen: Collection[Seen]) -> bool:
    """Whether a head that was seen lies within the end, and all that lie on the copy are its own. Raises Corrupt."""
    wanted = sorted(set(seen) - set(_given_up(end)))
    confirmed = False
    for size, found, root in _roots(end, wanted):
        if found != root:
            raise another(end, f"the copy is of another history than the head of {size} entries that was signed or seen")
        confirmed = confirmed or size > end.size
    return confirmed


def _roots(end: End, seen: Iterable[Seen]) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield size, root of the copy and root of each head that lies on it, as far as its parts can be read."""
    grown = Tree()
    for size, root in seen:
        if size > end.head.size:
            return
        try:
            for part in end.head.parts_over(grown.size, size):
                grown.extend(parts.read(end.source.folder, part).cut(grown.size, size).hashes())
        except (Corrupt, FileNotFoundError):
            return
        yield size, grown.root(), root


def _given_up(end: End) -> Iterator[Seen]:
    """Yield the heads that the copy's own `restored` entries give up, as far as they can be read."""
    for seq in (seq for each in end.commits for seq, kind in each.control if kind == EntryKind.RESTORED):
        for part in end.head.parts_over(seq, seq + 1):
            try:
                payload = parts.read(end.source.folder, part).cut(seq, seq + 1).payloads()[0]
                yield entry.given_up(payload or b"", seq)
            except (Corrupt, FileNotFoundError):
                continue


def _lies(place: Place, part: Part) -> bool:
    raw = read_file(place.folder / part.path)
    return raw is not None and len(raw) == part.size and hashlib.sha256(raw).hexdigest() == part.sha256


def _strange(place: Place, end: End) -> list[str]:
    """Return the parts of the log, from the end on, that the copy never listed."""
    try:
        names: Sequence[str] = files.names(place.parts)
    except FileNotFoundError:
        return []
    paths = (f"{place.parts.name}/{name}" for name in names)
    known = end.parts
    return [path for path in paths if parts.PATH.fullmatch(path) and path not in known and int(path.split("/")[1][FIRST_AT]) >= end.size]
