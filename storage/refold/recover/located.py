"""Located: which entries of a part are to blame, and for what. Pure.

Each entry's hash binds its seq, the hash before it, its payload commit and its header. So an entry whose link does not hold, while the
next one's does, has another header than it had; where the next one's fails too, it is the hash itself. Entries that hold at another place
of the sequence than their own were exchanged, left out or told twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refold.log import entry
from refold.log.parts import Part, Rows
from refold.verdict import DamageKind

Fault = tuple[int, int, DamageKind]  # half-open range of seqs
SEARCHED_MAX = 16  # rows whose true place is looked for; more are a range
SEQ, HASH, HEADER = 8, 32, entry.HEADER.size
STRIDE = len(entry.ENTRY) + SEQ + HASH + HASH + HEADER


@dataclass(frozen=True, slots=True)
class Columns:
    """The rows of a part as plain bytes, one value after the other."""

    rows: Rows
    first: int
    headers: bytes
    commits: bytes
    hashes: bytes
    nulls: np.ndarray  # bool

    @classmethod
    def of(cls, rows: Rows) -> Columns:
        batch = rows.batch
        nulls = batch.column(1).is_null().to_numpy(zero_copy_only=False)
        return cls(rows, rows.first, _raw(batch.column(0)), _raw(batch.column(2)), _raw(batch.column(3)), nulls)

    def __len__(self) -> int:
        return len(self.nulls)

    def header(self, row: int) -> bytes:
        return self.headers[row * HEADER : (row + 1) * HEADER]

    def commit(self, row: int) -> bytes:
        return self.commits[row * HASH : (row + 1) * HASH]

    def hash(self, row: int) -> bytes:
        return self.hashes[row * HASH : (row + 1) * HASH]

    def payload(self, row: int) -> bytes | None:
        return self.rows.batch.column(1)[row].as_py()

    def firsts(self, at: int) -> np.ndarray:
        """Return one of the first bytes of each payload; 255 where it is too short to have it."""
        column = self.rows.batch.column(1)
        offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
        data = column.buffers()[2]
        raw = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        where = np.minimum(offsets[:-1] + at, max(len(raw) - 1, 0))
        has = np.diff(offsets) > at
        return np.where(has, raw[where], 255) if len(raw) else np.full(len(column), 255)


def _raw(column: pa.FixedSizeBinaryArray) -> bytes:
    width = column.type.byte_width
    return column.buffers()[1].to_pybytes()[column.offset * width : (column.offset + len(column)) * width]


def links(columns: Columns, previous: bytes | None, *, shift: int = 0) -> np.ndarray:
    """Tell for each row whether its hash follows from the row before it; the first is not asked where nothing says what it follows.

    `shift` supposes that each row stands so many places later in the sequence.
    """
    count = len(columns)
    table = np.empty((count, STRIDE), np.uint8)
    before = (previous or bytes(HASH)) + columns.hashes[:-HASH]
    at = 0
    for width, values in (
        (len(entry.ENTRY), np.frombuffer(entry.ENTRY, np.uint8)),
        (SEQ, np.arange(columns.first + shift, columns.first + shift + count, dtype=">u8").view(np.uint8).reshape(count, SEQ)),
        (HASH, np.frombuffer(before, np.uint8).reshape(count, HASH)),
        (HASH, np.frombuffer(columns.commits, np.uint8).reshape(count, HASH)),
        (HEADER, np.frombuffer(columns.headers, np.uint8).reshape(count, HEADER)),
    ):
        table[:, at : at + width] = values
        at += width
    raw, sha256 = table.tobytes(), hashlib.sha256
    found = b"".join([sha256(raw[at : at + STRIDE]).digest() for at in range(0, count * STRIDE, STRIDE)])
    if found == columns.hashes:
        return np.ones(count, bool)
    same = (np.frombuffer(found, np.uint8) == np.frombuffer(columns.hashes, np.uint8)).reshape(count, HASH).all(axis=1)
    same[0] |= previous is None
    return same


def rows(columns: Columns, anchors: dict[int, bytes], linked: np.ndarray, paid: np.ndarray) -> Iterator[Fault]:
    """Yield the faults of a part that has as many rows as it should."""
    first = columns.first
    broken = np.flatnonzero(~linked).tolist()
    found = moved(columns, broken, anchors.get(first)) if broken else {}
    displaced = {row for row, seq in found.items() if seq != first + row}
    repeated = twice(columns, broken)
    for row in sorted({*broken, *np.flatnonzero(~paid).tolist()}):
        if row in repeated:
            yield first + row, first + row + 1, DamageKind.DUPLICATE
        elif row in displaced:
            yield first + row, first + row + 1, DamageKind.ORDER
        elif not linked[row] and row - 1 in displaced | repeated:
            continue  # what it follows was moved or repeated, not itself
        elif not linked[row] and row and not linked[row - 1] and row - 1 not in displaced and _is_hash(columns, anchors, linked, row - 1):
            continue  # it is the hash before it that is wrong
        elif not linked[row]:
            is_hash = _is_hash(columns, anchors, linked, row)
            yield first + row, first + row + 1, DamageKind.LINK if is_hash else DamageKind.HEADER if paid[row] else DamageKind.PAYLOAD
        elif not paid[row]:
            yield first + row, first + row + 1, DamageKind.PAYLOAD


def _is_hash(columns: Columns, anchors: dict[int, bytes], linked: np.ndarray, row: int) -> bool:
    """Whether it is the hash of a row that is wrong: what comes after it does not confirm it."""
    if row + 1 < len(columns):
        return not linked[row + 1]
    after = anchors.get(columns.first + row + 1)
    return after is not None and after != columns.hash(row)


def moved(columns: Columns, broken: list[int], previous: bytes | None) -> dict[int, int]:
    """Find, for a few rows whose links fail, the seq at which each holds behind some other row."""
    if len(broken) > SEARCHED_MAX:
        return {}
    found: dict[int, int] = {}
    befores = [(columns.first, previous)] if previous is not None else []
    befores += [(columns.first + row + 1, columns.hash(row)) for row in range(len(columns))]
    # What stands before a moved row may itself have been moved: its seq is then any of the broken ones'.
    befores += [(columns.first + at, columns.hash(row)) for row in broken for at in {*broken, *(each + 1 for each in broken)}]
    for row in broken:
        commit, header, mine = columns.commit(row), columns.header(row), columns.hash(row)
        seq = next((seq for seq, before in befores if entry.entry_hash(seq, before, commit, header) == mine), None)
        if seq is not None:
            found[row] = seq
    return found


def twice(columns: Columns, broken: list[int]) -> set[int]:
    """Return the rows, among those whose links fail, that repeat an earlier one."""
    if not broken:
        return set()
    seen: dict[bytes, int] = {}
    for row in range(len(columns)):
        seen.setdefault(columns.hash(row), row)
    return {row for row in broken if seen[columns.hash(row)] < row}


def miscounted(columns: Columns, part: Part, anchors: dict[int, bytes]) -> tuple[Fault, ...]:
    """Return where a part that has more or fewer rows than it should gained or lost them."""
    more = len(columns) - part.count
    linked = links(columns, anchors.get(part.first))
    if more < 0:
        return _lost(columns, part, linked, -more)
    breaks = np.flatnonzero(~linked).tolist()
    repeated = sorted(twice(columns, breaks))
    at = part.first + min(repeated[0] if repeated else part.count, part.count - 1)
    return ((at, min(at + more, part.end), DamageKind.DUPLICATE),)


def _lost(columns: Columns, part: Part, linked: np.ndarray, lost: int) -> tuple[Fault, ...]:
    """Say which entries are gone: one run, where all that follow hold so many places later; else all from the first break on."""
    if linked.all():
        return ((part.first + len(columns), part.end, DamageKind.GAP),)  # nothing is moved: it is the end that is gone
    misplaced = np.flatnonzero(~links(columns, None, shift=lost)).tolist()
    start = misplaced[-1] if misplaced else 0  # the first row after the hole: what it follows is gone
    breaks = np.flatnonzero(~linked).tolist()
    if breaks[0] < start:
        return ((part.first + breaks[0], part.end, DamageKind.GAP),)
    return ((part.first + start, part.first + start + lost, DamageKind.GAP),)
