"""Residue: whether anything of a footprint is left, in every byte of the three places and in every row that a living key opens."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from refold import canonical
from refold.calls.recordings import Recordings
from refold.erase.find import fields
from refold.erase.footprint import SEPARATOR, needles_of
from refold.erase.model import Footprint
from refold.outside import clock
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
        for number, raw in _batches(rows):
            count += number
            looker.look_into("rows", raw, view)
        hits = tuple(Hit(f"rows of {name}", each.needle, each.encoding, each.offset) for each in nearest(view.seen))
        looked.append(Looked(f"rows of {name}", 0, Status.HIT if hits else Status.CLEAN, hits, encodings=frozenset(view.encodings)))
    return looked, count


def _batches(rows: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    batch, size = list[bytes](), 0
    for row in rows:
        batch.append(row)
        size += len(row)
        if size >= BATCH_BYTES:
            yield len(batch), SEPARATOR.join(batch)
            batch, size = [], 0
    yield len(batch), SEPARATOR.join(batch)


def _events(store: Store) -> Iterator[bytes]:
    """Yield all that events say, as it is: a value that is spelled otherwise would have to be read once more."""
    for events in store.log.events():
        for event in events:
            said = [event.text, *(text for _, text in fields(event)), event.source.kind]
            yield "\n".join(said).encode(errors="surrogateescape")
            if event.metadata:
                yield canonical.encode(event.metadata)  # its numbers too


def _subjects(store: Store) -> Iterator[bytes]:
    for entry in store.log.subjects():
        yield "\n".join(alias for _, alias in entry.aliases).encode()


def _calls(store: Store) -> Iterator[bytes]:
    for recorded in Recordings(store, now=clock, random=os.urandom).every():
        one = recorded.recording
        yield from (one.request, one.wire, one.answer, one.canonical_form)
        yield "\n".join((one.host, one.model, one.answered_by, one.finish_reason, one.currency)).encode(errors="surrogateescape")


def _state(store: Store) -> Iterator[bytes]:
    state = State.open(store)
    try:
        if state.absent is not None:
            return
        for table in TABLES:
            for column in state.table(table).columns:
                if not pa.types.is_primitive(column.type):  # numbers, times, yes and no
                    values = column.drop_null().to_pylist()
                    yield from (value if isinstance(value, bytes) else str(value).encode() for value in values)
    finally:
        state.close()
