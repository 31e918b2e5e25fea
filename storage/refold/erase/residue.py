"""Residue: whether anything of a footprint is left, in every byte of the three places and in every row that a living key opens."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refold import canonical
from refold.calls.recordings import Recordings
from refold.erase.find import strings
from refold.erase.footprint import SEPARATOR, needles_of
from refold.erase.model import Footprint
from refold.fold.extraction import EXTRACTOR
from refold.log.events import decode_texts
from refold.model import AliasKind, EntryKind
from refold.outside import clock
from refold.scan.chance import are_drawn, is_drawn
from refold.scan.found import Hit, Looked, Scanned, Status
from refold.scan.look import Looker, View, nearest
from refold.scan.needles import Needles
from refold.scan.walk import Progress, scan
from refold.state.generation import State
from refold.state.tables import TABLES
from refold.store import Places, Store

BATCH_BYTES = 4 << 20

# By table and column of the state: what stands there whoever is in the store.
PRESCRIBED = {
    ("aliases", "kind"): frozenset(kind.encode() for kind in AliasKind),
    ("assertions", "extractor"): frozenset({EXTRACTOR.encode()}),
}


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
        unnamed=places,
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
        for batch in _batches(rows):
            count += batch.count
            looker.look_into("rows", SEPARATOR.join(batch.written), view)
            looker.long.look_into("rows", SEPARATOR.join(batch.drawn), view)
        hits = tuple(Hit(f"rows of {name}", each.needle, each.encoding, each.offset) for each in nearest(view.seen))
        looked.append(Looked(f"rows of {name}", 0, Status.HIT if hits else Status.CLEAN, hits, encodings=frozenset(view.encodings)))
    prescribed = frozenset(each.needle for each in looker.look_only(SEPARATOR.join(sorted(set().union(*PRESCRIBED.values())))).seen)
    looked[-1] = replace(looked[-1], prescribed=prescribed)
    return looked, count


@dataclass(slots=True)
class _Batch:
    """Some rows at a time: what was written in them, and the ids and tags, in which chance writes short needles."""

    count: int = 0  # rows, and of tables values
    written: list[bytes] = field(default_factory=list)
    drawn: list[bytes] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(map(len, self.written)) + sum(map(len, self.drawn))

    def add(self, other: _Batch) -> None:
        self.count += other.count
        self.written += other.written
        self.drawn += other.drawn


def _batches(rows: Iterator[_Batch]) -> Iterator[_Batch]:
    """Put what is yielded a little at a time together, for a look at much costs little more than one at little."""
    batch, size = _Batch(), 0
    for each in rows:
        batch.add(each)
        size += each.size
        if size >= BATCH_BYTES:
            yield batch
            batch, size = _Batch(), 0
    yield batch


def _events(store: Store) -> Iterator[_Batch]:
    """Yield all that events say, as it is: a value that is spelled otherwise would have to be read once more."""
    for cells in store.log.opened(kinds=(EntryKind.EVENT,)):
        rows = []
        for said, metadata in decode_texts(cells):
            rows.append("\n".join((said, *strings(metadata))).encode(errors="surrogateescape"))
            if metadata:
                rows.append(canonical.encode(metadata))  # its numbers too
        yield _Batch(len(rows), rows)


def _subjects(store: Store) -> Iterator[_Batch]:
    for entry in store.log.subjects():
        yield _Batch(1, [alias.encode(errors="surrogateescape") for _, alias in entry.aliases])


def _calls(store: Store) -> Iterator[_Batch]:
    for recorded in Recordings(store, now=clock, random=os.urandom).every():
        one = recorded.recording
        said = "\n".join((one.host, one.model, one.answered_by, one.finish_reason, one.currency)).encode(errors="surrogateescape")
        values = [one.request, one.wire, one.answer, one.canonical_form, said]
        raw = [value if isinstance(value, bytes) else str(value).encode(errors="surrogateescape") for value in values]
        yield _Batch(len(raw), [each for each in raw if not is_drawn(each)], [each for each in raw if is_drawn(each)])


def _state(store: Store) -> Iterator[_Batch]:
    """Yield what stands in the tables of the state, each value once in a group of rows: most repeat."""
    state = State.open(store)
    try:
        if state.absent is not None:
            return
        for table in TABLES:
            for run in state.runs(table):
                for group in range(run.groups):
                    rows = run.read([group])
                    for name, column in zip(rows.column_names, rows.columns, strict=True):
                        yield _column(column, PRESCRIBED.get((table, name), frozenset()))
    finally:
        state.close()


def _column(column: pa.ChunkedArray, prescribed: frozenset[bytes]) -> _Batch:
    """Return the values of a column, and of lists those in them, but for numbers, times, yes and no, and the words of its form."""
    if pa.types.is_list(column.type):
        column = pc.call_function("list_flatten", [column])
    if pa.types.is_primitive(column.type):
        return _Batch()
    count = len(column) - column.null_count
    values = pc.call_function("unique", [column]).drop_null()
    if pa.types.is_fixed_size_binary(values.type) and len(values):
        width = values.type.byte_width
        rows = np.frombuffer(values.buffers()[1], np.uint8)[values.offset * width :][: len(values) * width].reshape(-1, width)
        random = are_drawn(rows)
        return _Batch(count, [row.tobytes() for row in rows[~random]], [_apart(rows[random])])
    raw = [value if isinstance(value, bytes) else value.encode() for value in values.to_pylist()]
    raw = [each for each in raw if each not in prescribed]
    return _Batch(count, [each for each in raw if not is_drawn(each)], [each for each in raw if is_drawn(each)])


def _apart(rows: np.ndarray) -> bytes:
    """Return values of one length with a separator after each."""
    between = np.broadcast_to(np.frombuffer(SEPARATOR, np.uint8), (len(rows), len(SEPARATOR)))
    return np.hstack([rows, between]).tobytes()
