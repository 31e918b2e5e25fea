"""What a search costs in an open process: for one user and over everybody, folded and just said, by words and with vectors."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

from refold import ingest, settings
from refold.memory import Memory
from refold.model import Scope, View
from refold.search_recipe import Recipe, shipped
from refold.state import score
from refold.state.builder import Builder
from refold.state.corpus import NOBODY
from refold.state.embedding import DIMENSIONS
from refold.state.generation import State
from refold.state.likeness import Likeness, lengths
from refold.state.search import search
from refold.store import Store
from tests.benchmarks import Row, timed
from tests.benchmarks.corpus import CITIES, FIRMS, NAMES, START, THINGS, big_store, chats
from tests.state.made import with_vectors

EVENTS = {"small": (20_000,), "full": (100_000, 1_000_000)}
LIMITS_MS = {20_000: 25, 100_000: 25, 1_000_000: 100}
WITH_VECTORS_MAX = 100_000  # events of which vectors are made as well: at a million that alone takes a minute
QUERIES = 60
BATCH = 20_000
LIKENED = {"small": 100_000, "full": 1_000_000}
ASKED = (
    "where does {name} live now?",
    "when did {name} move to {city}?",
    "who works at {firm}?",
    "what did we plan for the meeting with {firm} in {city}",
    "does {name} like {thing}?",
    "late train to {city}",
)


def rows(size: str) -> Iterator[Row]:
    yield likening(LIKENED[size])
    for events in EVENTS[size]:
        with TemporaryDirectory() as name, folded(Path(name), events) as store:
            state = State.open(store)
            yield Row(f"the first search in {events:,} events", timed_ms(store, state, View(Scope(user="ada-0"))), None, "ms")
            for who, view in (("one user", View(Scope(user="ada-0"))), ("everybody", View())):
                yield Row(f"search of {who} in {events:,} events, median", p50(store, state, view), LIMITS_MS[events], "ms")
            yield Row(f"search with ten new turns in {events:,} events, median", after_adding(store, state), 2 * LIMITS_MS[events], "ms")
            if events <= WITH_VECTORS_MAX:
                yield from with_vectors_beside(store, state, events)
            state.close()
        yield from told_by_a_memory(events)


def told_by_a_memory(events: int) -> Iterator[Row]:
    """The whole search of a memory with facts, which also says of what it finds whether that still holds."""
    with TemporaryDirectory() as name:
        where = big_store(Path(name), events)
        where.close()
        with Memory.open(where.places.store, vault=where.places.vault, root=where.places.root) as memory:
            memory.fold()
            of_one = partial(memory.search, user_id="ada-0")
            for who, asking in (("one user", of_one), ("everybody", memory.seen_by(settings.load().principal("operator")).search)):
                asked = queries()
                asking(next(asked))
                taken = [timed(lambda: asking(next(asked)), time.perf_counter) * 1e3 for _ in range(QUERIES)]  # noqa: B023
                yield Row(f"search of {who} by a memory with facts of {events:,} events", statistics.median(taken), LIMITS_MS[events], "ms")


def likening(events: int) -> Row:
    """The likeness of a query to every event of a memory, and the best of them: vectors by chance, for their making takes a minute."""
    draw, recipe = np.random.default_rng(1), with_vectors().vectors
    assert recipe is not None
    vectors = draw.integers(-127, 128, (events, DIMENSIONS), dtype=np.int8)
    length, count = lengths(vectors), shipped().query.candidates
    event_at = np.full(events + 4, NOBODY, np.int64)
    event_at[2:-2] = draw.permutation(events)  # in the order of sessions, which is not that of the log

    def look() -> None:
        mixed = Likeness(vectors[0], recipe, event_at, vectors, length).mixed()
        score.best(mixed, mixed > 0, lambda places: event_at[places], count)

    taken = [(timed(look, time.perf_counter) * 1e3, timed(look, time.process_time) * 1e3) for _ in range(7)]
    wall, busy = (statistics.median(column) for column in zip(*taken, strict=True))
    return Row(f"likeness of {events:,} events to a query, median", wall, 100, "ms", note=f"{busy:.0f} ms of them of the CPU")


def with_vectors_beside(store: Store, state: State, events: int) -> Iterator[Row]:
    """Fold once more, with vectors, and search both states in turns."""
    start = time.perf_counter()
    build(store, shipped())
    by_words = time.perf_counter() - start
    start = time.perf_counter()
    build(store, with_vectors())
    yield Row(f"a fold of {events:,} events with vectors", (time.perf_counter() - start) / by_words, None, "x by words")
    alike = State.open(store)
    size = sum(run.size for table, run in alike.manifest.listed if table == "vectors")
    yield Row(f"vectors of {events:,} events on disk, for each", size / events, 300, "bytes")
    for who, view in (("one user", View(Scope(user="ada-0"))), ("everybody", View())):
        asked, taken = queries(), []
        for query in (next(asked) for _ in range(QUERIES)):
            both = [timed_search(store, each, view, query, [], recipe) for each, recipe in ((state, shipped()), (alike, with_vectors()))]
            taken.append(both)
        words, vectors = (statistics.median(column) for column in zip(*taken, strict=True))
        yield Row(f"search of {who} with vectors in {events:,} events, median", vectors, None, "ms")
        yield Row(f"the same against words alone, {words:.1f} ms", vectors / words, None, "x")
    alike.close()


def folded(folder: Path, events: int) -> Store:
    """Make a store of which everything is folded, without extraction."""
    store = big_store(folder, events)
    build(store, shipped())
    return store


def build(store: Store, recipe: Recipe) -> None:
    """Fold a whole store by a search recipe, without extraction."""
    builder = Builder(store, None, relations=bytes(32), recipe=recipe)
    for first in range(0, store.log.head.size, BATCH):
        for batch, subjects in store.log.entries(first, min(first + BATCH, store.log.head.size)):
            builder.add(batch, subjects=subjects)
    builder.publish(store.log.head, now=lambda: START).state.close()


def queries() -> Iterator[str]:
    """Yield questions, the same ones every time."""
    draw = Random(3)
    for form in cycle(ASKED):
        yield form.format(name=draw.choice(NAMES), city=draw.choice(CITIES), firm=draw.choice(FIRMS), thing=draw.choice(THINGS))


def timed_ms(store: Store, state: State, view: View) -> float:
    return timed_search(store, state, view, "late train to Oslo", [])


def timed_search(store: Store, state: State, view: View, query: str, tail: list, recipe: Recipe | None = None) -> float:
    return timed(lambda: search(state, tail, store.log, view, query, recipe=recipe), time.perf_counter) * 1e3


def p50(store: Store, state: State, view: View) -> float:
    asked = queries()
    return statistics.median(timed_search(store, state, view, next(asked), []) for _ in range(QUERIES))


def after_adding(store: Store, state: State) -> float:
    """The median of searches each of which meets a turn that was just added, over everybody."""
    draw, asked, taken = Random(5), queries(), []
    for draft in chats(10, people=300, seed=9, first=7):
        ingest.add(store, [draft], index=state, now=lambda: START + (1 << 50), random=draw.randbytes)
        tail = [event for batch in store.log.events(state.size) for event in batch]
        taken.append(timed_search(store, state, View(), next(asked), tail))
    return statistics.median(taken)
