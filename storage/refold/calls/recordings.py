"""Recordings on disk: the log of the calls, in the log's own format, written beside it and opened through the events behind each.

A recording names its input events in front of its payload and is sealed under a key that follows from theirs: where one of those was
destroyed, it is dark. What is dark before it could be written is not written at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from refold import files, journal
from refold.calls.index import Index
from refold.calls.keys import QUERY, Input, call_key, material, query_key, replay_tag
from refold.calls.recording import Recording, decode, encode
from refold.calls.totals import Totals
from refold.calls.totals import decode as decode_totals
from refold.calls.totals import encode as encode_totals
from refold.errors import KeyMissing, UnsupportedVersion, Usage
from refold.fold.request import Task
from refold.keys.keyring import Keyring
from refold.log import append, entry, stored, succession
from refold.log.append import Sealable
from refold.log.head import Head
from refold.log.log import Log
from refold.log.parts import Rows
from refold.log.read import KeyOf, open_rows
from refold.model import EntryKind, Event, EventId, SubjectId
from refold.outside import Clock, Random
from refold.store import Store

ID_AT = slice(15, 31)  # the id in a header


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """An attempt that is still to be recorded, and the events behind it."""

    inputs: tuple[Input, ...]
    recording: Recording

    @property
    def ids(self) -> tuple[EventId, ...]:
        """Return what stands in front of the payload."""
        asks = (QUERY,) if self.recording.task is Task.RERANK else ()
        return (*asks, *sorted(source.event_id for source in self.inputs))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording that lies in the log of the calls."""

    call_id: bytes  # 16
    seq: int
    run: bytes  # 16 random bytes: the fold that asked
    inputs: tuple[EventId, ...]  # sorted
    recording: Recording


class Recordings:
    """The recordings of a store. One thread at a time."""

    def __init__(self, store: Store, *, now: Clock, random: Random) -> None:
        self._store = store
        self._now = now
        self._random = random
        self._index = Index()
        self._totals = 0, Totals()  # as of this size of the log of the calls
        self._bound_to = entry.aad_prefix(store.origin)

    def record(self, attempts: Sequence[Unrecorded], *, run: bytes, txn: str | None = None) -> list[bytes | None]:
        """Record attempts as one commit; return their call ids, None for those that are left out: an input went dark meanwhile.

        A `txn` is one that `has_recorded` may be asked for. Raises Locked while an erasure holds a fence, WriteFailed.
        """
        log = self._store.begin_calls(now=self._now)
        self._follow_epoch(log)
        entries = {self._sealable(one, run): one.recording for one in attempts}
        written: list[Sealable] = []
        made: list[Totals] = []

        def plan(head: Head, keyring: Keyring) -> Sequence[Sealable]:
            written[:] = [one for one in entries if _is_readable(one, keyring)]
            made[:] = [self._totals_of(log, head).plus(entries[one] for one in written)]
            return [*written, self._totals_entry(made[0], run)] if written else []

        done = log.append(plan, now=self._now, random=self._random, txn=txn)
        if done:
            self._totals = done.first + done.count, made[0]
            self._index.learn(done.first, [*(one.subjects for one in written), ()])
        kept = {one.event_id for one in written}
        return [one.event_id if one.event_id in kept else None for one in entries]

    def require_open(self) -> None:
        """Make sure that what is asked now could be recorded.

        Raises Locked under a fence, Blocked, Usage for a copy, NotAllowed, Corrupt, KeyMissing, WriteFailed.
        """
        journal.require_clear(self._store.places)
        self._store.log.require_reached()
        append.refuse_fence(self._store.log.refresh()[0], self._store.log.recheck_keys())
        log = self._store.begin_calls(now=self._now)
        self._follow_epoch(log)
        append.refuse_fence(*log.refresh())
        stored.require_intact(self._store.vault.path, self._store.places.store)
        log.probe()
        files.refuses_existing_names(log.place.commits)  # what tries to link there also tells whether anything may be written

    def has_recorded(self, txn: str) -> bool:
        """Whether the attempts that were to be recorded under a transaction id are: where that was interrupted, it is not clear."""
        return self._store.calls is not None and self._store.calls.committed(txn)

    def events_of(self, recorded: Recorded) -> dict[str, Event]:
        """Return the events that a model saw, by the hex of their ids."""
        found = self._inputs(recorded.inputs).items()
        return {event_id.hex(): self._store.log.event(seq) for event_id, (seq, _) in found}

    def totals(self) -> Totals:
        """Return what all calls so far have cost."""
        log = self._store.calls
        return Totals() if log is None else self._totals_of(log, log.refresh()[0])

    def follow(self) -> None:
        """Learn of what was recorded since, here or by others."""
        if self._store.calls is not None:
            self._index.follow(self._store.calls)

    def find(self, inputs: Sequence[Input], joined: bytes, canonical_form: bytes, body: bytes) -> list[Recorded]:
        """Return the recordings of exactly this request, of every draw and attempt, oldest first, as far as was followed.

        `joined` is K. Raises Corrupt.
        """
        log = self._store.calls
        if log is None:
            return []
        ids = tuple(sorted(one.event_id for one in inputs))
        key_of = _only(ids, joined)
        found = [one for seq in self._index.find(ids) for one in self._open(log.row(seq), key_of, Counter())]
        return [one for one in found if one.recording.replay_tag == replay_tag(joined, canonical_form, body, one.recording.draw)]

    def inputs(self) -> Mapping[bytes, tuple[int, Input]]:
        """Return the events that all recordings rest on, each with its seq, as far as they are still there."""
        log = self._store.calls
        if log is None:
            return {}
        log.refresh()
        return self._inputs({one for rows in log.rows() for one in _named(rows)})

    def all(self, *, tally: Counter[str] | None = None, inputs: Mapping[bytes, tuple[int, Input]] | None = None) -> Iterator[Recorded]:
        """Yield all that can be opened, newest first; count in `tally` what is dark or erased.

        Without `inputs`, the log is read for each part of the calls: for whoever takes a few of the newest.
        """
        log = self._store.calls
        if log is None:
            return
        head, _ = log.refresh()
        for part in reversed(head.parts):
            for rows in log.rows(part.first, part.end):
                key_of = self._through(self._inputs(_named(rows)) if inputs is None else inputs)
                yield from reversed(self._open(rows, key_of, Counter() if tally is None else tally))

    def every(self) -> Iterator[Recorded]:
        """Yield what `all` does, for who needs every one: the log is read once."""
        return self.all(inputs=self.inputs())

    def get(self, call_id: bytes) -> Recorded:
        """Return a recording by its id, or by how it begins. Raises Usage where there is none, or several; KeyMissing."""
        log = self._store.calls
        found: list[tuple[bytes, int]] = []
        if log is not None:
            log.refresh()
            for rows in log.rows():
                ids = [(header[ID_AT], seq) for seq, header in enumerate(rows.headers(), rows.first) if header[1] == EntryKind.CALL]
                found += [(one, seq) for one, seq in ids if one.startswith(call_id)]
        if log is None or len(found) != 1:
            raise Usage("no call has this id" if not found else "several calls have ids that begin so", hint="refold calls list")
        rows = log.row(found[0][1])
        opened = self._open(rows, self._through(self._inputs(_named(rows))), Counter())
        if not opened:
            raise KeyMissing("this call is dark: an event that the model saw was erased", entry_id=found[0][0].hex())
        return opened[0]

    def _sealable(self, one: Unrecorded, run: bytes) -> Sealable:
        call_id = EventId(self._random(entry.ID_BYTES))
        ids = one.ids

        def key_of(keyring: Keyring) -> bytes:
            return call_key(material(keyring, one.inputs) + _of_query(keyring, keyring.epoch, ids), call_id)

        return Sealable(
            EntryKind.CALL, call_id, cast("tuple[SubjectId, ...]", ids), encode(one.recording), one.recording.ended_at, run, key_of
        )

    def _totals_entry(self, totals: Totals, run: bytes) -> Sealable:
        return Sealable(EntryKind.TOTALS, EventId(self._random(entry.ID_BYTES)), (), encode_totals(totals), self._now(), run)

    def _totals_of(self, log: Log, head: Head) -> Totals:
        """Return the newest totals; those of a commit of ours were kept."""
        if self._totals[0] != head.size:
            key_of = log.keyring.event_key
            rows = (log.row(seq) for seq in range(head.size - 1, -1, -1))
            cells = (one for each in rows for one in open_rows(each, key_of, self._bound_to, kinds=(EntryKind.TOTALS,)))
            newest = next(cells, None)
            self._totals = head.size, Totals() if newest is None else decode_totals(newest[3])
        return self._totals[1]

    def _open(self, rows: Rows, key_of: KeyOf, tally: Counter[str]) -> list[Recorded]:
        opened = open_rows(rows, key_of, self._bound_to, kinds=(EntryKind.CALL,), tally=tally)
        return [_recorded(*cell) for cell in opened]

    def _through(self, inputs: Mapping[bytes, tuple[int, Input]]) -> KeyOf:
        """Return what derives the keys of recordings from the events that they name."""
        keyring = self._store.keyring

        def key_of(epoch: int, call_id: bytes, ids: tuple[bytes, ...], suite: int) -> bytes:
            events = set(ids) - {QUERY}
            if not inputs.keys() >= events:
                raise KeyMissing("an event that the model saw was erased")
            return call_key(material(keyring, [inputs[one][1] for one in events]) + _of_query(keyring, epoch, ids), call_id)

        return key_of

    def _inputs(self, wanted: Collection[bytes]) -> Mapping[bytes, tuple[int, Input]]:
        """Find events in the log by their ids, newest first, as far as they are still there."""
        log, found = self._store.log, {}
        head, _ = log.refresh()
        for part in reversed(head.parts):
            if len(found) == len(wanted):
                break
            for rows in log.rows(part.first, part.end):
                for seq, (header, payload) in enumerate(zip(rows.headers(), rows.payloads(), strict=True), rows.first):
                    if header[ID_AT] in wanted and payload is not None:
                        epoch = entry.Header.of(header).epoch
                        found[header[ID_AT]] = seq, Input(EventId(header[ID_AT]), epoch, entry.ids_of(payload)[0])
        return found

    def _follow_epoch(self, log: Log) -> None:
        """Bring the log of the calls to the epoch of the log, where an erasure has not. Raises Locked under a fence, Blocked."""
        head, keyring = self._store.log.refresh()
        append.refuse_fence(head, keyring)
        succession.follow(log, head.epoch, now=self._now, random=self._random)


def _named(rows: Rows) -> set[bytes]:
    """Return the ids of events in front of some payloads."""
    payloads = [payload for payload in rows.payloads() if payload is not None and payload[:2] == entry.SEALED_PREFIX]
    return {one for payload in payloads for one in entry.ids_of(payload)[0]} - {QUERY}


def _of_query(keyring: Keyring, epoch: int, ids: Collection[bytes]) -> bytes:
    return query_key(keyring, epoch) if QUERY in ids else b""


def _is_readable(one: Sealable, keyring: Keyring) -> bool:
    assert one.key_of is not None
    try:
        one.key_of(keyring)
    except KeyMissing:
        return False
    return True


def _only(expected: tuple[bytes, ...], joined: bytes) -> KeyOf:
    """Return what opens the recordings over exactly these events; others count as dark."""

    def key_of(epoch: int, call_id: bytes, ids: tuple[bytes, ...], suite: int) -> bytes:
        if ids != expected:
            raise KeyMissing("another call")
        return call_key(joined, call_id)

    return key_of


def _recorded(seq: int, raw: bytes, ids: tuple[EventId, ...], plaintext: bytes) -> Recorded:
    header = entry.Header.of(raw)
    try:
        recording = decode(plaintext)
    except (ValueError, TypeError, KeyError):
        raise UnsupportedVersion(f"call {seq} has a form that this release does not know", entry_id=header.event_id.hex()) from None
    return Recorded(header.event_id, seq, header.ingest, tuple(one for one in ids if one != QUERY), recording)
