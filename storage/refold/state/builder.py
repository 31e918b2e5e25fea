"""The builder: folds rows into runs and publishes a generation.

Runs are written as soon as enough events came together, so memory is bounded; until CURRENT moves they are debris that nobody reads.
Publishing holds `mutate.lock`, and only if CURRENT and the epoch are still what the builder started from.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from refold import files, journal
from refold.errors import Corrupt, Drifted, Locked
from refold.keys.subjects import alias_tag, seen_tags
from refold.log.events import SubjectEntry
from refold.model import Event
from refold.outside import Clock, Random
from refold.reading import Folded
from refold.search_recipe import Recipe
from refold.state import tables
from refold.state.generation import EMPTY, State, read_current, state_folder
from refold.state.manifest import CURRENT, RUNS, Manifest, Pointer, RunRef, Segment, file_name, numbers, voided
from refold.state.rows import NOTHING, Rows
from refold.state.runs import Run, encrypted, run_name
from refold.state.segments import merged, newest_to_merge
from refold.state.sweep import remove_runs, sweep
from refold.state.tables import TABLES
from refold.state.tags import Tags

if TYPE_CHECKING:
    from refold.store import Store

FLUSH_EVENTS = 1 << 16
PUBLISH_WAIT_SECONDS_MAX = 60.0  # for whoever changes the store: changes take seconds, and one that hangs must not hang every fold
GRACE = 86_400_000_000  # µs that a file which nothing refers to is left alone: its writer may still be at work


class Point(Protocol):
    """A point of the log: the head, or where a part of it ends."""

    @property
    def size(self) -> int: ...

    @property
    def last_hash(self) -> bytes: ...


class Moved(Drifted):
    """CURRENT or the epoch is not what the builder started from: plan again."""

    code = "RF-DRIFT-002"


@dataclass(frozen=True, slots=True)
class Published:
    """A new generation, and what it cost: merges are reported apart, for they pay for many publishes."""

    state: State
    events: int
    rows: int
    merged_rows: int
    merge_seconds: float
    swept_files: int


class Builder:
    """Builds the next generation on a base, or a whole one where `base` is None."""

    def __init__(
        self,
        store: Store,
        base: State | None,
        *,
        relations: bytes,
        recipe: Recipe,
        flush_events: int = FLUSH_EVENTS,
        random: Random = os.urandom,
    ) -> None:
        self.store = store
        self._folder = state_folder(store)
        self._keyring = store.keyring
        self._started_from = read_current(self._folder) if base is None else base.current
        self._base = base if base is not None and base.absent is None else None
        self._digests = (relations, recipe.digest)
        if self._base is not None and not can_extend(self._base, relations=relations, recipe=recipe):
            raise Moved("relations or search recipe changed since the last fold", hint="refold fold --full")
        self._key, self._random, self._flush_events = self._keyring.state_key, random, flush_events
        self._rows = Rows(Tags(self._key), recipe)
        self._new: list[Segment] = []
        self._written: set[str] = set()
        self._events = 0
        self._voids: set[int] = set()
        self._pending: set[int] = set()
        self._profiles = self._base.manifest.profiles if self._base else None
        files.make_folder(self._folder / RUNS)

    def add(self, events: Sequence[Event], folded: Folded = NOTHING, *, subjects: Iterable[SubjectEntry] = ()) -> None:
        """Take in events in the order of the log, what was folded from them, and the subject entries among them."""
        keyring = self._keyring
        self._rows.add(events, folded)
        self._rows.add_rows(tables.SEEN, ((tag, event.seq) for event in events for tag in seen_tags(keyring, event)))
        self._rows.add_rows(
            tables.ALIASES,
            (
                (alias_tag(keyring, text), entry.subject, str(kind), text, entry.seq, entry.epoch)
                for entry in subjects
                for kind, text in entry.aliases
            ),
        )
        self._events += len(events)
        if self._rows.events >= self._flush_events:
            self._flush()

    def add_folded(self, events: Sequence[Event], folded: Folded, *, voids: Iterable[int] = ()) -> None:
        """Take in what was folded from events that are taken in by themselves, in place of what the base holds of the seqs `voids`."""
        self._rows.add_folded(events, folded)
        self._voids.update(voids)

    def add_vectors(self, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Take in what a model says each of some events is about; of one it is taken in once."""
        self._rows.add_rows(tables.VECTORS, vectors)

    def add_rows(self, rows: Mapping[str, pa.Table]) -> None:
        """Take in finished rows of several tables, each in its order, of events that are taken in by themselves."""
        runs = self._write_runs((name, [table]) for name, table in rows.items() if table.num_rows)
        if runs:
            self._new.append(Segment(runs))

    def leave_pending(self, seqs: Iterable[int]) -> None:
        """Keep events for a later fold: a model did not answer about them."""
        self._pending.update(seqs)

    def put_profiles(self, rows: pa.Table) -> None:
        """Take in all profiles, in their order, in place of those of the base."""
        runs = self._write_runs([(tables.PROFILES.name, [rows])] if rows.num_rows else [])
        self._profiles = runs.get(tables.PROFILES.name)

    def whole(self) -> State:
        """Return the state as it would be published now, but for its profiles. The caller closes it, and adds nothing meanwhile."""
        self._flush()
        return self._unpublished(*(self._base.manifest.segments if self._base else ()), *self._new)

    def added(self) -> State:
        """Return what came since the base, as a state of its own; its segments say which rows of the base it voids."""
        self._flush()
        return self._unpublished(*self._new)

    def _unpublished(self, *segments: Segment) -> State:
        return State(self.store, Manifest(EMPTY, *self._digests, segments), current=None)

    def prepare(self, head: Point) -> Manifest:
        """Write the manifest of all that was added, folded up to `head`, for whoever makes it current. The caller holds `mutate.lock`.

        Raises Moved, WriteFailed.
        """
        self._flush()
        segments, _ = self._merge(self._new)
        manifest = self._manifest(head, segments)
        self._write(manifest)
        self.discard(keeping=manifest.runs)
        return manifest

    def discard(self, *, keeping: Collection[str] = ()) -> None:
        """Remove the runs that were written, where nothing comes of them, but those to keep."""
        remove_runs(self._folder, self._written - set(keeping))

    def publish(self, head: Point, *, now: Clock, clock: Callable[[], float] = time.perf_counter) -> Published:
        """Make all that was added the current generation, folded up to `head`. Raises Moved, Locked, WriteFailed."""
        self._flush()
        base = self._base.manifest.segments if self._base else ()
        rows = sum(segment.rows for segment in self._new)
        try:
            start = clock()
            segments, merged_rows = self._merge([*base, *self._new])
            merge_seconds = clock() - start
            with journal.mutating(self.store.places, wait_seconds=PUBLISH_WAIT_SECONDS_MAX):
                manifest = self._manifest(head, segments)
                self._write(manifest)
                files.replace(self._folder / CURRENT, manifest.pointer.raw)
                swept = sweep(self.store, manifest, before=now() - GRACE)
        except (Moved, Locked) as error:
            remove_runs(self._folder, self._written)
            if isinstance(error, Locked):
                error.hint = "refold recover"  # says what is at work
            raise
        remove_runs(self._folder, self._written - manifest.runs)  # they were merged before anybody could read them
        return Published(State(self.store, manifest, current=manifest.pointer.raw), self._events, rows, merged_rows, merge_seconds, swept)

    def _flush(self) -> None:
        runs = self._write_runs((name, [rows]) for name, rows in self._rows.take().items() if rows.num_rows)
        if runs or self._voids:
            self._new.append(Segment(runs, tuple(sorted(self._voids))))
            self._voids = set()

    def _write_runs(self, contents: Iterable[tuple[str, Iterable[pa.Table]]]) -> dict[str, RunRef]:
        """Write one run for each table. Their names are random, so they replace nothing."""
        runs: dict[str, RunRef] = {}

        def encoded() -> Iterator[tuple[Path, bytes]]:
            for table, rows in contents:
                name = run_name(self._random(16))
                raw, count = encrypted(self._key, name, TABLES[table], rows)
                runs[table] = RunRef(name, count, len(raw))
                self._written.add(name)
                yield self._folder / RUNS / name, raw

        files.create_all(self._folder / RUNS, encoded())
        return runs

    def _merge(self, segments: list[Segment]) -> tuple[list[Segment], int]:
        """Merge the newest segments where they have grown too many; return what is left and the rows rewritten."""
        count = newest_to_merge([segment.rows for segment in segments])
        if not count:
            return segments, 0
        kept, joined = segments[:-count], segments[-count:]
        gone = voided(joined)
        parts = {
            name: [(segment.runs[name], seqs) for segment, seqs in zip(joined, gone, strict=True) if name in segment.runs]
            for name in TABLES
        }
        again = {name for name, table in TABLES.items() if table.is_read and any(len(seqs) for _, seqs in parts[name])}
        try:
            rewritten = self._write_runs((name, self._merged(name, refs)) for name, refs in parts.items() if len(refs) > 1 or name in again)
        except Corrupt:
            self._check_not_moved()  # whoever published meanwhile may have removed the runs of the base
            raise
        alone = {name: refs[0][0] for name, refs in parts.items() if len(refs) == 1}
        voids = {seq for segment in joined for seq in segment.voids} if kept else ()  # there is nothing older for them to void
        return [*kept, Segment(alone | rewritten, tuple(sorted(voids)))], sum(run.rows for run in rewritten.values())

    def _merged(self, name: str, refs: list[tuple[RunRef, np.ndarray]]) -> Iterator[pa.Table]:
        folder, table = self._folder / RUNS, TABLES[name]
        runs = [Run(folder / ref.name, state_key=self._key, table=table, voided=gone) for ref, gone in refs]
        yield from merged(runs, TABLES[name])
        for run in runs:
            run.close()

    def _check_not_moved(self) -> None:
        if self.store.log.recheck_keys().epoch != self._keyring.epoch:
            raise Moved("a new epoch came while this fold ran", path=self._folder / CURRENT)
        if read_current(self._folder) != self._started_from:
            raise Moved("another fold published meanwhile", path=self._folder / CURRENT)

    def _point(self, head: Point) -> Pointer:
        """Return the next pointer, if nobody published and no epoch came since this builder started."""
        self._check_not_moved()
        last = max(numbers(files.names(self._folder)), default=0)
        return Pointer(last + 1, self._keyring.epoch, head.size, head.last_hash)

    def _manifest(self, head: Point, segments: Sequence[Segment]) -> Manifest:
        pending, earlier = tuple(sorted(self._pending)), self._base.manifest.chain if self._base else ()
        return Manifest(self._point(head), *self._digests, tuple(segments), pending, earlier, self._profiles)

    def _write(self, manifest: Manifest) -> None:
        files.create(self._folder / file_name(manifest.pointer.number), manifest.seal(self._key, random=self._random))


def can_extend(base: State, *, relations: bytes, recipe: Recipe) -> bool:
    """Whether new events may be folded onto a state, or relations or recipe changed and all has to be folded again."""
    return base.absent is None and (base.manifest.relations, base.manifest.recipe) == (relations, recipe.digest)
