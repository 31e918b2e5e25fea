"""Compaction: many small parts become few, row for row, while readers and writers go on.

The chain does not change: entries are copied as they are, and a `replaces` commit swaps the lists. Old parts stay for a
grace of 24 h, for readers that still hold an older list; then they are swept together with what interrupted writers left.
Merging and sweeping hold the vault's mutate.lock, so they never meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from refold import files
from refold.errors import Blocked, Corrupt, Locked
from refold.keys.keyring import Keyring
from refold.log import append, parts
from refold.log import commit as commits
from refold.log.append import Clock, Proposal, Random
from refold.log.commit import Replacement
from refold.log.head import Head, Place, at, read_commit
from refold.log.parts import BYTES_MAX, PATH, ROWS_MAX, Part, Rows

if TYPE_CHECKING:
    from refold.log.log import Log

PARTS_MAX = 256
GRACE = 24 * 3600 * 1_000_000  # µs
FRAME_BYTES = 1_200  # of an almost empty part: what merging saves


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did: parts merged into fewer ones, and files swept away."""

    merged: int
    into: int
    swept: int


def compact(log: Log, *, parts_max: int, now: Clock, random: Random, guard: Callable[[], None] = lambda: None) -> Compacted:
    """Merge small parts if more than `parts_max` are live, and sweep what has outlived its grace.

    `guard` is asked once nobody else can change the store. Raises what it raises, and Locked if another process changes the
    store, or under a fence.
    """
    with files.lock(log.vault.mutate_lock, wait_seconds=0):
        guard()
        swept = sweep(log, now=now)
        head, keyring = log.refresh()
        groups = list(groups_of(head.parts)) if len(head.parts) > parts_max else []
        if not groups:
            return Compacted(0, 0, swept)
        append.refuse_fence(head, keyring)
        added = _merge(log, groups, random=random)
        removed = tuple(part.path for group in groups for part in group)
        if _swap(log, Replacement(removed, added), now=now, random=random):
            return Compacted(len(removed), len(added), swept)
        return Compacted(0, 0, swept)


def groups_of(live: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    """Yield runs of neighbouring parts that fit into one of about 8,192 rows or 8 MiB."""
    run: list[Part] = []
    rows = size = 0
    for part in live:
        content = max(part.size - FRAME_BYTES, 0)
        if run and (rows + part.count > ROWS_MAX or size + content > BYTES_MAX):
            if len(run) > 1:
                yield tuple(run)
            run, rows, size = [], 0, 0
        run.append(part)
        rows, size = rows + part.count, size + content
    if len(run) > 1:
        yield tuple(run)


def debris(log: Log) -> list[Path]:
    """Return the files in the log's folders that no live list names: replaced parts, and what interrupted writers left."""
    head, _ = log.refresh()
    live = {part.path for part in head.parts}
    folder = log.place.folder
    found = [folder / "parts" / name for name in files.names(folder / "parts") if f"parts/{name}" not in live]
    left = [folder / "commits" / name for name in files.names(folder / "commits") if commits.version_of(name) is None]
    return sorted(found + left)


def sweep(log: Log, *, now: Clock) -> int:
    """Remove what nobody can need any more; return how many files."""
    before = now() - GRACE
    old = _head_before(log.place, log.refresh()[0], before)
    if old is None:
        return 0
    needed = {part.path for part in old.parts}
    gone = [path for path in debris(log) if _is_past(path, before, log.head.size) and f"parts/{path.name}" not in needed]
    for path in gone:
        files.remove(path, sync=False)
    for folder in {path.parent for path in gone}:
        files.sync_folder(folder)
    return len(gone)


def _is_past(path: Path, before: int, size: int) -> bool:
    """Whether a file that is not live was written before a time and can become live no more.

    A part is written for the seq in its name: once the log has that seq, whoever wrote it has lost its race.
    """
    if not path.name.startswith(files.TEMPORARY) and not (PATH.fullmatch(f"parts/{path.name}") and int(path.name[:20]) < size):
        return False
    if files.is_folder(path):
        return False  # no writer of ours left it
    try:
        return files.written_at(path) <= before
    except FileNotFoundError:
        return False


def _head_before(place: Place, head: Head, time: int) -> Head | None:
    """Return the newest head that is not younger than `time`; None if the log is."""
    low, high = 0, head.version + 1  # the first version that is younger lies in [low, high]
    while low < high:
        middle = (low + high) // 2
        path = place.commit(middle)
        if commits.decode(read_commit(path), path, expected=place.format).time <= time:
            low = middle + 1
        else:
            high = middle
    return at(place, low - 1) if low else None


def _merge(log: Log, groups: list[tuple[Part, ...]], *, random: Random) -> tuple[Part, ...]:
    added: list[Part] = []

    def contents() -> Iterator[tuple[Path, bytes]]:
        for group in groups:
            rows = _joined([rows for part in group for rows in log.rows(part.first, part.end)])
            raw = parts.encode(rows)
            added.append(parts.describe(parts.name(rows.first, random(8)), raw, rows))
            yield log.place.folder / added[-1].path, raw

    files.create_all(log.place.parts, contents())
    for group, part in zip(groups, added, strict=True):
        before = _joined([rows for old in group for rows in log.rows(old.first, old.end)])
        if not parts.read(log.place.folder, part).batch.equals(before.batch):
            raise Corrupt("a merged part does not hold the entries it was made of", path=log.place.folder / part.path)
    return tuple(added)


def _swap(log: Log, change: Replacement, *, now: Clock, random: Random) -> bool:
    """Commit the new list, or remove the new parts where it certainly was not committed."""
    try:
        done = append.run(log, _replacing(change), now=now, random=random)
    except (Locked, Blocked):
        _discard(log, change)
        raise
    if done is None:
        _discard(log, change)
    return done is not None


def _discard(log: Log, change: Replacement) -> None:
    for part in change.added:
        files.remove(log.place.folder / part.path, sync=False)
    files.sync_folder(log.place.parts)


def _joined(rows: list[Rows]) -> Rows:
    return Rows(rows[0].first, pa.Table.from_batches([one.batch for one in rows]).combine_chunks().to_batches()[0])


def _replacing(change: Replacement) -> append.Propose:
    """Return what proposes to swap the lists, as long as every part to be replaced is live."""

    def propose(head: Head, keyring: Keyring) -> Proposal | None:
        append.refuse_fence(head, keyring)
        live = {part.path for part in head.parts}
        return Proposal(epoch=keyring.epoch, replaces=change) if live.issuperset(change.removed) else None

    return propose
