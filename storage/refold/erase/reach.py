"""Reach: which entries of the log an erasure meets, found by what stands in clear in front of every payload.

All of the log is read, part by part, and nothing is opened: subject ids stand before the ciphertext, event ids in the headers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from refold.log import entry
from refold.log.parts import Rows
from refold.model import EntryKind, EventId, SubjectId

ID = entry.ID_BYTES
IDS_AT = 4  # where the first id stands in a payload


@dataclass(frozen=True, slots=True)
class Reach:
    """What an erasure meets of a log. Sequence numbers are sorted."""

    seqs: tuple[int, ...] = ()  # events, and the subject entries of those who are erased
    ids: tuple[EventId, ...] = ()  # of these entries, in the same order
    there: tuple[int, ...] = ()  # of these, the events that are to be read: not those whose ciphertext an earlier erasure kept
    shared: int = 0  # of the events, that concern others too

    @property
    def events(self) -> int:
        return len(self.there)


@dataclass(slots=True)
class Census:
    """The clear side of a log, gathered part by part: how each entry's key is derived, and whom it concerns."""

    subjects: frozenset[SubjectId]
    events: frozenset[EventId]
    epoch: int  # the live one
    erased: frozenset[int] = frozenset()  # entries that are gone already, also where their ciphertext was kept
    end: int = 0
    met: list[tuple[int, EventId, int, bool]] = field(default_factory=list)  # seq, id, kind, whether it concerns others
    declared: set[SubjectId] = field(default_factory=set)  # ids with a subject entry of the live epoch
    _kinds: list[np.ndarray] = field(default_factory=list)
    _epochs: list[np.ndarray] = field(default_factory=list)
    _ids: list[np.ndarray] = field(default_factory=list)

    def take(self, batches: Iterable[Rows]) -> None:
        """Read on."""
        for rows in batches:
            assert rows.first == self.end
            self._take(rows)
            self.end = rows.end

    @property
    def reach(self) -> Reach:
        """Return what was met so far."""
        there = self.there
        seqs, ids = tuple(seq for seq, *_ in self.met), tuple(each[1] for each in self.met)
        return Reach(seqs, ids, tuple(seq for seq, *_ in there), sum(others for *_, others in there))

    @property
    def there(self) -> list[tuple[int, EventId, bool]]:
        """Return the events that were met and are to be read: seq, id, whether it concerns others."""
        return [(seq, one, others) for seq, one, kind, others in self.met if kind == EntryKind.EVENT and seq not in self.erased]

    @property
    def gone(self) -> dict[int, list[EventId]]:
        """Return the events that lose their shares, by the epoch that sealed them."""
        found: dict[int, list[EventId]] = {}
        if self.events:
            kinds, epochs, ids = self._columns
            for row in np.flatnonzero((kinds == EntryKind.EVENT) & _among(ids, self.events)).tolist():
                found.setdefault(int(epochs[row]), []).append(EventId(ids[row].tobytes()))
        return found

    def survivors(self, epoch: int, batch: bytes) -> Iterator[EventId]:
        """Yield the ids of the entries of one batch of keys whose payloads are there."""
        kinds, epochs, ids = self._columns
        alike = (epochs == epoch) & (ids[:, 0] == batch[0]) & (ids[:, 1] == batch[1]) & (kinds < EntryKind.CALL)
        return (EventId(ids[row].tobytes()) for row in np.flatnonzero(alike).tolist())

    @property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if len(self._kinds) > 1:
            self._kinds, self._epochs, self._ids = ([np.concatenate(each)] for each in (self._kinds, self._epochs, self._ids))
        return self._kinds[0], self._epochs[0], self._ids[0]

    def _take(self, rows: Rows) -> None:
        raw = np.frombuffer(b"".join(rows.headers()), np.uint8).reshape(len(rows), entry.HEADER.size)
        there = ~rows.batch.column(1).is_null().to_numpy(zero_copy_only=False)
        kinds = np.where(there, raw[:, 1], 0)  # of what is gone already nothing is asked
        epochs = raw[:, 3:7].copy().view(">u4").ravel()
        ids = raw[:, 15:31].copy()
        self._kinds.append(kinds)
        self._epochs.append(epochs)
        self._ids.append(ids)
        met = _among(ids, self.events) & (kinds == EntryKind.EVENT) if self.events else np.zeros(len(rows), bool)
        if self.subjects:
            met |= _concerns(rows, there & (kinds < EntryKind.CALL), self.subjects)
        self._meet(rows, np.flatnonzero(met), kinds, ids)
        self._declare(rows, np.flatnonzero((kinds == EntryKind.SUBJECT) & (epochs == self.epoch)))

    def _meet(self, rows: Rows, found: np.ndarray, kinds: np.ndarray, ids: np.ndarray) -> None:
        payloads = rows.batch.column(1)
        for row in found.tolist():
            others = not self.subjects.issuperset(entry.ids_of(payloads[row].as_py())[0])
            self.met.append((rows.first + row, EventId(ids[row].tobytes()), int(kinds[row]), others))

    def _declare(self, rows: Rows, found: np.ndarray) -> None:
        payloads = rows.batch.column(1)
        declared = (SubjectId(entry.ids_of(payloads[row].as_py())[0][0]) for row in found.tolist())
        self.declared.update(one for one in declared if one not in self.subjects)


def inputs_meet(rows: Rows, events: Collection[bytes]) -> np.ndarray:
    """Return which recordings rest on one of some events."""
    there = ~rows.batch.column(1).is_null().to_numpy(zero_copy_only=False)
    kinds = np.array([header[1] for header in rows.headers()], np.uint8)
    return _concerns(rows, there & (kinds == EntryKind.CALL), events)


def _concerns(rows: Rows, asked: np.ndarray, wanted: Collection[bytes]) -> np.ndarray:
    """Return for which of the entries asked about one of the wanted ids stands in front of the payload."""
    column = rows.batch.column(1)
    data = np.frombuffer(column.buffers()[2], np.uint8)
    starts = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column)].astype(np.int64)
    found = np.zeros(len(rows), bool)
    left = np.flatnonzero(asked)
    counts = data[starts[left] + 2].astype(np.int64) << 8 | data[starts[left] + 3]
    for place in range(int(counts.max(initial=0))):
        left, counts = left[counts > place], counts[counts > place]
        ids = data[(starts[left] + IDS_AT + ID * place)[:, None] + np.arange(ID)]
        found[left[_among(ids, wanted)]] = True
    return found


def _among(ids: np.ndarray, wanted: Collection[bytes]) -> np.ndarray:
    """Return which of the ids, rows of 16 bytes, are wanted: by their first half in bulk, then as a whole."""
    halves = np.unique(np.frombuffer(b"".join([one[:8] for one in wanted]), np.uint64))
    found = np.isin(np.ascontiguousarray(ids[:, :8]).view(np.uint64).ravel(), halves)
    for row in np.flatnonzero(found).tolist():
        found[row] = ids[row].tobytes() in wanted
    return found
