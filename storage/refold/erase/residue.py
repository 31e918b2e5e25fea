"""Residue: whether anything of a footprint is left, in every byte of the three places and in every row that a living key opens."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from refold import canonical
from refold.calls.recordings import Recordings
from refold.erase.find import fields
from refold.erase.footprint import SEPARATOR, needles_of
from refold.erase.model import Footprint
from refold.outside import clock
from refold.scan.chance import is_drawn
from refold.scan.found import Hit, Looked, Scanned, Status
from refold.scan.look import Looker, View, nearest
from refold.scan.needles import Needles
from refold.scan.walk import Progress, scan
from refold.state.generation import State
from refold.state.tables import TABLES
from refold.store import Places, Store

BATCH_BYTES = 4 << 20


def residue(
    store: Store, footprint: Footprint | Needles, *, extra: Sequence[Path] = (), progress: Progress = lambda files, size: None
) -> Scanned:
    """Look for what a footprint names: in store, vault and root, the orchestrator's home among them, and wherever else is named.

    What the store itself sealed is read with its living keys, row by row. Raises Usage.
    """
    needles = footprint if isinstance(footprint, Needles) else needles_of(footprint)
    places = [path for path in (store.places.store, store.places.vault, store.places.root) if path.exists()]
    return scan(
        [*places, *extra],
        needles,
        shown=lambda path: _shown(path, store.places),
        rows=lambda looker: _rows(store, looker),
        progress=progress,
    )


def _shown(path: Path, places: Places) -> str:
    """Return a path by the place it lies at."""
    for name in ("store", "vault", "root"):
        place: Path = getattr(places, name)
        if path.is_relative_to(place):
            return (Path(name) / path.relative_to(place)).as_posix()
    return str(path)


def _rows(store: Store, looker: Looker) -> tuple[list[Looked], int]:
    looked, count = [], 0
    for name, rows in (("events", _events(store)), ("subjects", _subjects(store)), ("calls", _calls(store)), ("state", _state(store))):
        view = View()
        for number, written, drawn in _batches(rows):
            count += number
            looker.look_into("rows", written, view)
            looker.long.look_into("rows", drawn, view)
        hits = tuple(Hit(f"rows of {name}", each.needle, each.encoding, each.offset) for each in nearest(view.seen))
        looked.append(Looked(f"rows of {name}", 0, Status.HIT if hits else Status.CLEAN, hits, encodings=frozenset(view.encodings)))
    return looked, count


def _batches(rows: Iterator[object]) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield some rows at a time: how many, what was written in them, and the ids and tags, in which chance writes short needles."""
    batch, size, count = _Batch(), 0, 0
    for row in rows:
        size, count = size + _spread(row, batch), count + 1
        if size >= BATCH_BYTES:
            yield count, *batch.joined()
            batch, size, count = _Batch(), 0, 0
    yield count, *batch.joined()


@dataclass(slots=True)
class _Batch:
    written: list[bytes] = field(default_factory=list)
    drawn: list[bytes] = field(default_factory=list)

    def joined(self) -> tuple[bytes, bytes]:
        return SEPARATOR.join(self.written), SEPARATOR.join(self.drawn)


def _spread(value: object, batch: _Batch) -> int:
    """Add every value in a row to a batch, and return how many bytes that is."""
    if isinstance(value, dict):
        return sum(_spread(each, batch) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return sum(_spread(each, batch) for each in value)
    raw = value if isinstance(value, bytes) else str(value).encode(errors="surrogateescape")
    (batch.drawn if is_drawn(raw) else batch.written).append(raw)
    return len(raw)


def _events(store: Store) -> Iterator[object]:
    """Yield all that events say, as it is: a value that is spelled otherwise would have to be read once more."""
    for events in store.log.events():
        for event in events:
            said = [event.text, *(text for _, text in fields(event)), event.source.kind]
            yield "\n".join(said).encode(errors="surrogateescape")
            if event.metadata:
                yield canonical.encode(event.metadata)  # its numbers too


def _subjects(store: Store) -> Iterator[object]:
    for entry in store.log.subjects():
        yield [alias for _, alias in entry.aliases]


def _calls(store: Store) -> Iterator[object]:
    for recorded in Recordings(store, now=clock, random=os.urandom).every():
        one = recorded.recording
        yield from (one.request, one.wire, one.answer, one.canonical_form)
        yield "\n".join((one.host, one.model, one.answered_by, one.finish_reason, one.currency)).encode(errors="surrogateescape")


def _state(store: Store) -> Iterator[object]:
    state = State.open(store)
    try:
        if state.absent is not None:
            return
        for table in TABLES:
            for column in state.table(table).columns:
                if not pa.types.is_primitive(column.type):  # numbers, times, yes and no
                    yield from column.drop_null().to_pylist()
    finally:
        state.close()
