"""What a recovery from a checkpoint replays: what follows it, however much lies before."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from refold import folding, ingest, recipes
from refold.model import Draft, Scope
from refold.outside import clock
from refold.recover.replay import replay
from refold.state.generation import State
from refold.store import Store, create, places
from tests.benchmarks import Row, timed

BEFORE = {"small": 2_000, "full": 20_000}
TIMES_LONGER = 10
AFTER = 200  # entries that follow the checkpoint
ROUNDS = 5


def rows(size: str) -> Iterator[Row]:
    with TemporaryDirectory() as name:
        short = made(Path(name, "short"), BEFORE[size])
        long = made(Path(name, "long"), BEFORE[size] * TIMES_LONGER)
        taken: dict[Store, list[float]] = {short: [], long: []}
        for _ in range(ROUNDS + 1):
            for store, times in taken.items():
                say(store, AFTER)
                times.append(timed(lambda: replayed(store), time.process_time))  # noqa: B023
        theirs, mine = (statistics.median(times[1:]) for times in taken.values())  # the first warms caches and imports
        name = f"replay of {AFTER} events after a checkpoint, {TIMES_LONGER} times as many before"
        yield Row(name, mine / theirs, 1.3, note=f"{mine * 1e3:.1f} ms of CPU against {theirs * 1e3:.1f} ms")


def made(folder: Path, count: int) -> Store:
    """Make a store of so many folded events, and some that are not."""
    store = create(places(folder / "store", folder / "vault", folder / "root", env={}), now=clock, random=os.urandom)
    say(store, count)
    folding.fold(store, State.open(store), relations=recipes.relations(), recipe=recipes.search(), now=clock)
    return store


def say(store: Store, count: int) -> None:
    drafts = [Draft(f"I live in Town {at % 97}.", scope=Scope(f"user {at % 50}")) for at in range(count)]
    for first in range(0, count, 1_000):
        ingest.add(store, drafts[first : first + 1_000], now=clock, random=os.urandom)


def replayed(store: Store) -> None:
    """Fold what follows onto the state, as a recovery would: what lies before is not read."""
    store.log.refresh()
    state = State.open(store)
    replay(store, state, store.log.head.size, now=clock, random=os.urandom)
    state.close()
