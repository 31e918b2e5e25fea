"""What generations cost: publishing what is new, opening, looking up, and the memory of a full build. Without extraction."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from refold.model import Draft, Event, EventId, Source, SubjectId
from refold.search_recipe import shipped
from refold.state.builder import Builder, Published
from refold.state.generation import State
from refold.store import Store, create, open_store, places
from tests.benchmarks import Row, median_ms
from tests.benchmarks.corpus import START, STEP, chats

SIZES = {"small": (5_000, 50_000, 1_000), "full": (100_000, 1_000_000, 10_000)}  # events of two states, and of what is new
PUBLISHES = 10
PEOPLE = 300
BATCH = 5_000
MEBIBYTE = 1 << 20
RELATIONS = bytes(32)


def rows(size: str) -> Iterator[Row]:
    less, more, new = SIZES[size]
    with TemporaryDirectory() as name:
        yield memory(Path(name, "memory"), more)
        few, many = (build(Path(name, str(events)), events) for events in (less, more))
        yield opening(many, more)
        yield looking_up(many, more)
        yield from publishing(few, less, many, more, new)


def memory(folder: Path, events: int) -> Row:
    """The peak of a process that builds a whole state."""
    command = [sys.executable, "-m", "tests.benchmarks.state", str(folder), str(events)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, seconds = done.stdout.split()
    note = f"{events:,} events in {float(seconds):.0f} s, without extraction"
    return Row(f"peak memory of building a state of {events:,} events", int(peak) / 1024, 4096, "MiB", note=note)


def opening(store: Store, events: int) -> Row:
    """Opening a state in an open store."""

    def opened() -> None:
        state = State.open(store)
        assert state.number
        state.close()

    return Row(f"opening a state of {events:,} events", median_ms(opened), 200, "ms")


def looking_up(store: Store, events: int) -> Row:
    """Reading the row groups that can hold one key."""
    state = State.open(store)
    keys = iter(range(7, events, events // 50))

    def look() -> None:
        assert state.lookup("events", [next(keys)]).num_rows == 1

    return Row(f"one row of {events:,} events", median_ms(look), 10, "ms")


def publishing(few: Store, less: int, many: Store, more: int, new: int) -> Iterator[Row]:
    """Folding new events on a small and on a big state, turn by turn; geometric merges are counted apart."""
    ends = {few: less, many: more}
    states = {store: State.open(store) for store in ends}
    seconds: dict[Store, list[float]] = {few: [], many: []}
    merges: dict[Store, list[Published]] = {few: [], many: []}
    for _ in range(PUBLISHES):
        for store, taken in seconds.items():
            new_events = list(events_of(ends[store], ends[store] + new))
            start = time.perf_counter()
            published = publish(store, states[store], new_events, ends[store] + new)
            taken.append(time.perf_counter() - start - published.merge_seconds)
            merges[store].append(published)
            states[store], ends[store] = published.state, ends[store] + new
    small, big = statistics.median(seconds[few]) * 1e3, statistics.median(seconds[many]) * 1e3
    note = f"{big:.0f} ms against {small:.0f} ms"
    yield Row(f"publishing {new:,} new events on {more:,} against {less:,}", big / small, 1.5, note=note)
    rewritten = sum(one.merged_rows for one in merges[many]) / sum(one.rows for one in merges[many])
    spent = statistics.mean(one.merge_seconds for one in merges[many]) * 1e3
    yield Row("rows rewritten by merges for one that is new", rewritten, None, "count", note=f"{spent:.0f} ms for each publish, on average")


def build(folder: Path, events: int) -> Store:
    """Make a store with a state of so many events. They are not in its log: only the state is measured."""
    store = create(places(folder / "store", folder / "vault", folder / "root", env={}), now=lambda: START)
    builder = Builder(store, None, relations=RELATIONS, recipe=shipped())
    for first in range(0, events, BATCH):
        builder.add(list(events_of(first, min(first + BATCH, events))))
    builder.publish(store.log.head, now=lambda: START)
    return store


def publish(store: Store, base: State, events: list[Event], end: int) -> Published:
    builder = Builder(store, base, relations=RELATIONS, recipe=shipped())
    builder.add(events)
    return builder.publish(store.log.head, now=lambda: START)


def events_of(first: int, end: int) -> Iterator[Event]:
    """Yield events as the log would give them."""
    for seq, draft in enumerate(chats(end - first, people=PEOPLE, seed=first, first=first), first):
        yield event(seq, draft)


def event(seq: int, draft: Draft) -> Event:
    user = draft.scope.user or ""
    subject = SubjectId(user.encode().ljust(16, b".")[:16])
    return Event(
        event_id=EventId(seq.to_bytes(16, "big")),
        seq=seq,
        recorded_at=START + seq * STEP,
        ingest=bytes(16),
        text=draft.text,
        source=draft.source or Source("note", str(seq)),
        said_at=START + seq * STEP,
        author=None,
        speaker=subject if draft.role.asserts else None,
        role=draft.role,
        scope=draft.scope,
        audience=(),
        subjects=(subject,),
        metadata={},
        epoch=1,
    )


if __name__ == "__main__":
    begun = time.perf_counter()
    with build(Path(sys.argv[1]), int(sys.argv[2])) as built:
        took = time.perf_counter() - begun
        with open_store(built.places, random=os.urandom) as again:
            assert State.open(again).number
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, took)
