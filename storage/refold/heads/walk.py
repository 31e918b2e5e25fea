"""The walk: every entry read from disk and recomputed, in order, into a tree, with the roots of some sizes and ranges on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from refold.errors import Corrupt
from refold.log import entry
from refold.log.log import Log
from refold.log.parts import Rows
from refold.log.tree import Range, Tree

Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk found."""

    tree: Tree
    roots: dict[int, bytes]  # by size
    ranges: dict[Range, bytes]


def walk(
    log: Log,
    tree: Tree,
    end: int,
    *,
    sizes: Iterable[int] = (),
    ranges: Iterable[Range] = (),
    progress: Report | None = None,
) -> Walked:
    """Read the entries from the tree's size to `end` into it. Sizes and ranges must lie there, or end where the tree ends.

    Raises Corrupt where an entry is not what its hash says, VerificationIncomplete.
    """
    stops = sorted({size for size in sizes if tree.size <= size <= end})
    open_ranges = {each: Tree() for each in set(ranges)}
    roots: dict[int, bytes] = {}
    first = tree.size
    for start, hashes in hashed(log, first, end):
        for (low, high), part in open_ranges.items():
            part.extend(hashes[max(low - start, 0) : max(high - start, 0)])
        while stops and stops[0] <= start + len(hashes):
            tree.extend(hashes[tree.size - start : stops[0] - start])
            roots[stops.pop(0)] = tree.root()
        tree.extend(hashes[tree.size - start :])
        if progress:
            progress(tree.size - first, end - first)
    roots |= {size: tree.root() for size in stops}
    assert tree.size == end, "an entry was left out"
    return Walked(tree, roots, {each: part.root() for each, part in open_ranges.items()})


def hashed(log: Log, first: int, end: int) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Yield the hashes of entries, each recomputed, with the sequence number of the first of them. Raises Corrupt."""
    previous = entry.genesis(log.place.origin)
    if first:
        previous = next(iter(log.rows(first - 1, first))).hashes()[0]
    if first < end:
        for rows in log.rows(first, end):
            hashes = check(rows, previous)
            previous = hashes[-1]
            yield rows.first, hashes


def check(rows: Rows, previous: bytes) -> list[bytes]:
    """Return the hashes of rows that follow `previous`, all of them recomputed. Raises Corrupt at the first that is not what it says."""
    commits, hashes = rows.commits(), rows.hashes()
    for seq, (payload, commit) in enumerate(zip(rows.payloads(), commits, strict=True), rows.first):
        if payload is not None and entry.payload_commit(payload) != commit:
            raise Corrupt(f"the payload of entry {seq} is not what its hash covers", entry_id=str(seq), hint="refold audit --log --deep")
    for seq, (found, expected) in enumerate(
        zip(hashes, entry.chain(rows.first, previous, rows.headers(), commits), strict=True), rows.first
    ):
        if found != expected:
            raise Corrupt(f"entry {seq} does not follow the one before it", entry_id=str(seq), hint="refold audit --log --deep")
    return hashes
