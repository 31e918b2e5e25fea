"""Read: verified parts, opened cells, events. What a signed commit does not vouch for is never parsed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from refold.errors import Corrupt, KeyMissing, Usage
from refold.keys import crypto
from refold.keys.crypto import NONCE_BYTES
from refold.log import entry, parts
from refold.log.entry import Header, Opened
from refold.log.events import SubjectEntry, decode_events, decode_subjects
from refold.log.head import Head
from refold.log.parts import Part, Rows
from refold.model import EntryKind, Event
from refold.recent import Recent

if TYPE_CHECKING:
    from refold.log.log import Log

KINDS = (EntryKind.EVENT, EntryKind.SUBJECT)
CACHE_BYTES_MAX = 128 << 20
KeyOf = Callable[[int, bytes, tuple[Any, ...], int], bytes]  # of epoch, id, ids in front of the payload and suite; raises KeyMissing


@dataclass(frozen=True, slots=True)
class Blank:
    """The payloads that are gone, and from where on what is derived lacks what damage took."""

    entries: tuple[int, ...] = ()  # those that say so
    seqs: frozenset[int] = frozenset()
    incomplete_since: int | None = None


class Reader:
    """Reads the parts of one log; keeps the most recently used ones, already verified, up to a bound."""

    def __init__(self, log: Log, *, cache_bytes_max: int = CACHE_BYTES_MAX) -> None:
        self._log = log
        self._bound_to = entry.aad_prefix(log.place.origin)
        self.cache: Recent[str, Rows] = Recent(bytes_max=cache_bytes_max)
        self._blank = Blank()

    def rows(self, first: int, end: int | None) -> Iterator[Rows]:
        """Yield verified rows. A part that a compaction took away meanwhile is found under its new name."""
        end = self._log.head.size if end is None else end
        if not 0 <= first <= end <= self._log.head.size:
            raise Usage(f"entries {first} to {end} are asked for; the log has {self._log.head.size}")
        while first < end:
            rows = self._part_with(first, self._log.head, self._read).cut(first, end)
            yield rows
            first = rows.end

    def opened(self, first: int, end: int | None, *, kinds: Container[int], tally: Counter[str] | None = None) -> Iterator[list[Opened]]:
        """Yield opened cells, part by part, of the kinds asked for."""
        for rows in self.rows(first, end):
            yield open_rows(rows, self._log.keyring.event_key, self._bound_to, kinds=kinds, tally=tally)

    def entries(
        self, first: int, end: int | None, *, kinds: Container[int] = KINDS, tally: Counter[str] | None = None
    ) -> Iterator[tuple[list[Event], list[SubjectEntry]]]:
        """Yield events and subject entries, part by part, of the kinds asked for."""
        for opened in self.opened(first, end, kinds=kinds, tally=tally):
            events = decode_events([cell for cell in opened if cell[1][1] == EntryKind.EVENT])
            yield events, decode_subjects([cell for cell in opened if cell[1][1] == EntryKind.SUBJECT])

    def row(self, seq: int) -> Rows:
        """Return one verified entry, from the parts that were read last if it is there."""
        head = self._log.head
        if not 0 <= seq < head.size:
            raise Usage(f"there is no entry {seq}; the log has {head.size}", entry_id=str(seq))
        return self._part_with(seq, head, self._cached).cut(seq, seq + 1)

    def event(self, seq: int) -> Event:
        rows = self.row(seq)
        header = Header.of(rows.headers()[0])
        if header.kind != EntryKind.EVENT:
            raise Usage(f"entry {seq} is not an event", entry_id=str(seq))
        events = decode_events(open_rows(rows, self._log.keyring.event_key, self._bound_to, kinds=(EntryKind.EVENT,)))
        if not events:
            raise KeyMissing(f"entry {seq} was erased", entry_id=str(seq))
        return events[0]

    def _part_with(self, seq: int, head: Head, get: Callable[[Part, Head], Rows]) -> Rows:
        try:
            return get(head.parts_over(seq, seq + 1)[0], head)
        except (FileNotFoundError, Corrupt) as error:
            newer, _ = self._log.refresh()
            part, again = head.parts_over(seq, seq + 1)[0], newer.parts_over(seq, seq + 1)[0]
            if part != again:
                return get(again, newer)
            if isinstance(error, FileNotFoundError):
                raise parts.missing(self._log.place.folder, part) from None
            raise

    def _unchecked(self, part: Part, head: Head) -> Rows:
        return parts.read(self._log.place.folder, part)

    def _read(self, part: Part, head: Head) -> Rows:
        rows = self._unchecked(part, head)
        if rows.batch.column(1).null_count:
            self._check_erased(rows, head)
        return rows

    def _cached(self, part: Part, head: Head) -> Rows:
        rows = self.cache.get(part.path)
        if rows is None:
            rows = self._read(part, head)
            self.cache.put(part.path, rows, rows.batch.nbytes)
        return rows

    def _check_erased(self, rows: Rows, head: Head) -> None:
        """Refuse a payload that is missing where no erasure entry says so. Raises Corrupt."""
        erased = self.blank(head).seqs
        for row in np.flatnonzero(rows.batch.column(1).is_null().to_numpy(zero_copy_only=False)).tolist():
            seq = rows.first + row
            if seq not in erased:
                raise Corrupt(f"the payload of entry {seq} is missing without an erasure", entry_id=str(seq), hint="refold help damage")

    def blank(self, head: Head) -> Blank:
        """Return which payloads are gone, as the entries that took them say. Raises Corrupt."""
        if self._blank.entries != head.erasures:
            seqs: set[int] = set()
            gaps: set[int] = set()
            for seq in head.erasures:
                row = self._part_with(seq, head, self._unchecked).cut(seq, seq + 1)
                named = entry.control_body(row.payloads()[0] or b"", seq)["seqs"]
                seqs.update(named)
                gaps.update(named if Header.of(row.headers()[0]).kind == EntryKind.GAP else ())
            self._blank = Blank(head.erasures, frozenset(seqs), min(gaps, default=None))
        return self._blank


def open_rows(rows: Rows, key_of: KeyOf, bound_to: bytes, *, kinds: Container[int], tally: Counter[str] | None = None) -> list[Opened]:
    """Return the opened cells of some kinds; count in `tally` what is not there to be opened. Raises Corrupt."""
    counts = Counter() if tally is None else tally
    opened: list[Opened] = []
    unseal = crypto.unseal
    for seq, (raw, payload) in enumerate(zip(rows.headers(), rows.payloads(), strict=True), rows.first):
        version, kind, suite, epoch, _, event_id, _ = entry.HEADER.unpack(raw)
        if version != entry.VERSION:
            entry.check_known(Header.of(raw), seq)
        if kind not in kinds:
            counts[_kind_name(raw, seq)] += 1
        elif payload is None:
            counts["erased"] += 1
        else:
            try:
                ids, end = entry.ids_of(payload)
                key = key_of(epoch, event_id, ids, suite)
                padded = unseal(key, payload[end : end + NONCE_BYTES], payload[end + NONCE_BYTES :], bound_to + raw + payload[:end])
            except KeyMissing:
                counts["dark"] += 1
                continue
            except (crypto.Unauthentic, ValueError, IndexError):
                entry.check_known(Header.of(raw), seq)
                raise Corrupt(f"entry {seq} does not open under its key", entry_id=str(seq), hint="refold help damage") from None
            opened.append((seq, raw, ids, padded[4 : 4 + int.from_bytes(padded[:4], "big")]))
    return opened


def columns(batches: Iterable[Rows]) -> pa.Table:
    """Return headers as columns: seq, kind, epoch, recorded_at, event_id, ingest, size of the payload in bytes, erased."""
    return pa.concat_tables([COLUMNS.empty_table(), *map(_columns, batches)])


COLUMNS = pa.schema(
    [
        ("seq", pa.uint64()),
        ("kind", pa.uint8()),
        ("epoch", pa.uint32()),
        ("recorded_at", pa.timestamp("us")),
        ("event_id", pa.binary(16)),
        ("ingest", pa.binary(16)),
        ("size", pa.uint32()),
        ("erased", pa.bool_()),
    ]
)


def _columns(rows: Rows) -> pa.Table:
    raw = np.frombuffer(b"".join(rows.headers()), np.uint8).reshape(len(rows), entry.HEADER.size)
    payload = rows.batch.column(1)
    sizes = [0 if one is None else len(one) for one in rows.payloads()]
    values = [
        pa.array(np.arange(rows.first, rows.end, dtype=np.uint64)),
        pa.array(raw[:, 1].copy()),
        pa.array(raw[:, 3:7].copy().view(">u4").ravel().astype(np.uint32)),
        pa.array(raw[:, 7:15].copy().view(">u8").ravel().astype("datetime64[us]")),
        _ids(raw[:, 15:31]),
        _ids(raw[:, 31:47]),
        pa.array(sizes, pa.uint32()),
        payload.is_null(),
    ]
    return pa.table(values, schema=COLUMNS)


def _ids(column: np.ndarray) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(column), [None, pa.py_buffer(column.tobytes())])


_NAMED: dict[bytes, str] = {}  # what the first three bytes of a header are called, where this release knows them


def _kind_name(raw: bytes, seq: int) -> str:
    begins = raw[:3]
    if begins not in _NAMED:
        header = Header.of(raw)
        entry.check_known(header, seq)
        kind = EntryKind(header.kind)
        _NAMED[begins] = "control" if kind.is_control else kind.name.lower()
    return _NAMED[begins]
