"""Tiers: one part of a log, checked by itself, so that many processes can share a log.

Tier 1 compares the file with its signed digest and parses the very bytes that were compared. Tier 2 recomputes every entry: what the
payload commits to, the link to the entry before, the header, the place in the sequence. It needs the hash before the first entry, which a
commit says; where only the part before it can say that, `start` is left for whoever has both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from refold.errors import Corrupt, UnsupportedVersion, VerificationIncomplete
from refold.log import entry, ranges
from refold.log.entry import Header
from refold.log.parts import SCHEMA, Part, Rows
from refold.log.ranges import Range
from refold.model import BLANKING, EntryKind
from refold.recover import located
from refold.recover.located import Columns, Fault
from refold.recover.survey import read_file
from refold.verdict import DamageKind

KINDS = np.zeros(256, bool)
CONTROL = np.zeros(256, bool)
KINDS[[kind.value for kind in EntryKind]] = True
CONTROL[[kind.value for kind in EntryKind if kind.is_control]] = True


@dataclass(frozen=True, slots=True)
class Job:
    """A part to check, with what commits say of it."""

    part: Part
    epoch: int  # the newest that an entry can have
    anchors: tuple[tuple[int, bytes], ...] = ()  # seqs in [first, end], each with the hash of the entry before it
    control: tuple[tuple[int, int], ...] = ()  # its control entries with their kinds, as far as good commits name them
    cuts: tuple[int, ...] = ()  # sizes of the log, within the part, of which the root is wanted
    deep: bool = False
    rooted: bool = False
    is_told: bool = True  # whether good commits speak of all its entries, so that `control` names every one


@dataclass(frozen=True, slots=True)
class PartSeen:
    """What a part turned out to be."""

    part: Part
    sha256: str | None  # of the file; None: there is none
    faults: tuple[Fault, ...] = ()
    start: tuple[bytes, bytes, bytes] | None = None  # header, payload commit, hash of the first entry, if no commit says what it follows
    last: bytes | None = None  # hash of the last entry
    nulls: tuple[tuple[int, int], ...] = ()  # ranges without payloads
    erased: tuple[tuple[int, tuple[int, ...]], ...] = ()  # what each erasure entry in it names
    given_up: tuple[tuple[int, bytes], ...] = ()  # size and root of each head that a `restored` entry in it names
    ranges: tuple[Range, ...] | None = None  # cut at `cuts`; None: not wanted, or its hashes are not to be had

    @property
    def is_signed(self) -> bool:
        """Whether the file is the one that was signed."""
        return self.sha256 == self.part.sha256


def check(folder: Path, job: Job) -> PartSeen:
    """Read and check one part. Raises VerificationIncomplete."""
    part = job.part
    raw = read_file(folder / part.path)
    if raw is None:
        return PartSeen(part, None, ((part.first, part.end, DamageKind.MISSING),))
    sha256 = hashlib.sha256(raw).hexdigest()
    signed = is_what_was_signed(raw, sha256, part)
    rows = parse(raw, part)
    if rows is None:
        return PartSeen(part, sha256, ((part.first, part.end, DamageKind.PART),))
    if not is_counted(rows, part):
        columns = Columns.of(rows)
        return PartSeen(part, sha256, located.miscounted(columns, part, dict(job.anchors)))
    return _rows(rows, job, sha256, signed=signed)


def check_all(folder: Path, jobs: Sequence[Job]) -> list[PartSeen]:
    """Check some parts, one after the other: what one process is handed at a time."""
    return [check(folder, job) for job in jobs]


def is_what_was_signed(raw: bytes, sha256: str, part: Part) -> bool:
    """Whether a file has the size and the digest that a signed commit names."""
    return (len(raw), sha256) == (part.size, part.sha256)


def is_counted(rows: Rows, part: Part) -> bool:
    """Whether there are as many entries as a signed commit says."""
    return len(rows) == part.count


def parse(raw: bytes, part: Part) -> Rows | None:
    """Return the rows of a file, or None where it is no part of a log. Its bytes may be anything."""
    try:
        table = pq.ParquetFile(pa.BufferReader(raw)).read(use_threads=False)
        if table.schema != SCHEMA or not table.num_rows:
            return None
        table.validate(full=True)
        return Rows(part.first, table.combine_chunks().to_batches()[0])
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError, OverflowError):
        return None


def _rows(rows: Rows, job: Job, sha256: str, *, signed: bool) -> PartSeen:
    part, anchors = job.part, dict(job.anchors)
    columns = Columns.of(rows)
    ends = hashes_at_anchors(columns, anchors)
    faults: list[Fault] = [] if signed and not job.deep and not ends else list(entries(columns, job, anchors))
    faults += ends if not faults else []
    if not signed and not faults:
        faults = [(part.first, part.end, DamageKind.PART)]
    spoiled = {kind for _, _, kind in faults} - {DamageKind.PAYLOAD, DamageKind.HEADER, DamageKind.PART}
    return PartSeen(
        part,
        sha256,
        tuple(faults),
        None if part.first in anchors or spoiled else (columns.header(0), columns.commit(0), columns.hash(0)),
        None if spoiled else columns.hash(len(rows) - 1),
        tuple(_nulls(rows)),
        () if spoiled else tuple(_erased(rows, job)),
        () if spoiled else tuple(_given_up(rows, job)),
        None if spoiled or not job.rooted else tuple(_ranges(part, columns, job.cuts)),
    )


def entries(columns: Columns, job: Job, anchors: dict[int, bytes]) -> Iterator[Fault]:
    """Recompute every entry, and say which are not what they should be."""
    linked = located.links(columns, anchors.get(columns.first))
    paid = payloads(columns)
    yield from located.rows(columns, anchors, linked, paid)
    wrong = headers(columns, job, linked & paid)
    yield from ((columns.first + row, columns.first + row + 1, DamageKind.HEADER) for row in wrong)


def payloads(columns: Columns) -> np.ndarray:
    """Tell for each entry whether its payload is what it commits to; one without a payload is not asked."""
    sha256, prefix = hashlib.sha256, entry.PAYLOAD
    rows = columns.rows.payloads()
    commits = columns.commits
    found = b"".join([sha256(prefix + payload).digest() if payload is not None else b"-" * 32 for payload in rows])
    if found == commits:
        return np.ones(len(rows), bool)
    same = (np.frombuffer(found, np.uint8) == np.frombuffer(commits, np.uint8)).reshape(-1, 32).all(axis=1)
    return same | columns.nulls


def headers(columns: Columns, job: Job, sound: np.ndarray) -> list[int]:
    """Return the sound rows whose header is none: of a suite that does not fit, of a later epoch, or another kind than the commit says.

    Raises VerificationIncomplete for an entry of a later release, which its own link vouches for.
    """
    table = np.frombuffer(columns.headers, np.uint8).reshape(-1, entry.HEADER.size)
    version, kind, suite = table[:, 0], table[:, 1], table[:, 2]
    epoch = table[:, 3:7].copy().view(">u4").ravel()
    control = CONTROL[kind]
    wrong = (control != (suite == entry.CLEAR)) | (epoch > job.epoch) | (epoch == 0)
    wrong |= ~columns.nulls & (columns.firsts(0) != entry.VERSION)
    wrong |= ~columns.nulls & (columns.firsts(1) != suite)
    if job.is_told:
        told = np.zeros(len(table), np.uint8)
        for seq, named in job.control:
            told[seq - columns.first] = named
        wrong |= np.where(control, kind, 0) != told
    wrong |= _unreadable(columns, control & ~wrong)
    later = (version != entry.VERSION) | ~KINDS[kind] | (~control & (suite > entry.AES_GCM))
    _refuse_later(columns, later & sound)
    return np.flatnonzero(wrong & ~later & sound).tolist()


def _unreadable(columns: Columns, control: np.ndarray) -> np.ndarray:
    """Tell which control entries have no closed, clear payload."""
    found = np.zeros(len(control), bool)
    for row in np.flatnonzero(control & ~columns.nulls).tolist():
        try:
            entry.control_body(columns.payload(row) or b"", columns.first + row)
        except Corrupt:
            found[row] = True
    return found


def _refuse_later(columns: Columns, later: np.ndarray) -> None:
    for row in np.flatnonzero(later).tolist()[:1]:
        try:
            entry.check_known(Header.of(columns.header(row)), columns.first + row)
        except (UnsupportedVersion, Corrupt) as error:
            raise VerificationIncomplete(error.message, entry_id=str(columns.first + row), hint="refold --version") from None


def hashes_at_anchors(columns: Columns, anchors: dict[int, bytes]) -> list[Fault]:
    """Say up to where hashes in a part are not those that commits name at their ends."""
    wrong = [seq for seq, value in anchors.items() if seq > columns.first and columns.hash(seq - columns.first - 1) != value]
    if not wrong:
        return []
    return [(columns.first, max(wrong), DamageKind.LINK)]


def _nulls(rows: Rows) -> Iterator[tuple[int, int]]:
    column = rows.batch.column(1)
    if column.null_count:
        edges = np.flatnonzero(np.diff(np.concatenate([[False], column.is_null().to_numpy(zero_copy_only=False), [False]])))
        for first, end in edges.reshape(-1, 2).tolist():
            yield rows.first + first, rows.first + end


def _erased(rows: Rows, job: Job) -> Iterator[tuple[int, tuple[int, ...]]]:
    for seq, kind in job.control:
        if kind in BLANKING:
            payload = rows.batch.column(1)[seq - rows.first].as_py()
            try:
                seqs = entry.control_body(payload or b"", seq)["seqs"]
                yield seq, tuple(int(each) for each in seqs)
            except (Corrupt, KeyError, TypeError, ValueError):
                continue  # an entry that names nothing excuses nothing


def _given_up(rows: Rows, job: Job) -> Iterator[tuple[int, bytes]]:
    for seq, kind in job.control:
        if kind == EntryKind.RESTORED:
            payload = rows.batch.column(1)[seq - rows.first].as_py()
            try:
                size, root = entry.given_up(payload or b"", seq)
            except Corrupt:
                continue  # an entry that names nothing excuses nothing
            if size > seq:  # what lies below the entry it vouches for itself
                yield size, root


def _ranges(part: Part, columns: Columns, cuts: tuple[int, ...]) -> Iterator[Range]:
    edges = [part.first, *cuts, part.end]
    for first, end in pairwise(edges):
        yield ranges.of(first, columns.hashes[(first - part.first) * 32 : (end - part.first) * 32])
