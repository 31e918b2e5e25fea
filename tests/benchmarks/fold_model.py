"""What a fold by a model costs beside the model: against the calls alone, against a fold by patterns, and how many calls a loss repeats."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from refold import folding, recipes
from refold.fold.blocks import Block, Turn, blocks
from refold.fold.recipe import ModelRecipe
from refold.state.generation import State
from refold.store import Store
from tests.benchmarks import Row, timed
from tests.conftest import now
from tests.fold_model.scripted import add, asking, fold, reads, says
from tests.openai_server import Server, slow
from tests.state.made import a_store

CALL_SECONDS = 0.05
IN_FLIGHT = 8
PEOPLE, TURNS = 300, 2_000  # of the log from which one person goes


def rows(size: str) -> Iterator[Row]:
    """Yield wall time over the ideal, a full fold from recordings over one by patterns, and the calls that one person's erasure repeats."""
    count = 1_000 if size == "full" else 160
    with a_store() as store, Server(lambda asked: slow(reads(asked), CALL_SECONDS), keeps=False) as server:
        add(store, *(says(f"user{at % 20}", at // 20, f"I live in Town{at}.") for at in range(count)))
        by = asking(server, parts=1)
        by = replace(by, limits=replace(by.limits, concurrency=IN_FLIGHT))
        _warm(by)
        taken = timed(lambda: fold(store, by), time.perf_counter)
        ideal = count * CALL_SECONDS / IN_FLIGHT
        yield Row(
            f"fold {count:,} events by a model / its calls alone",
            taken / ideal,
            1.25 if size == "full" else None,
            note=f"{taken:.1f} s against {ideal:.1f} s",
        )
        again = median(timed(lambda: fold(store, by, full=True), time.perf_counter) for _ in range(3))
        assert server.count == count + 1, "a full fold asked again"
        patterns = median(timed(lambda: _by_patterns(store), time.perf_counter) for _ in range(3))
        yield Row("full fold from recordings / by patterns", again / patterns, 3.0, note=f"{again:.2f} s against {patterns:.2f} s")
    shares = [_repeated(seed) for seed in range(5 if size == "small" else 40)]
    yield Row("calls made again where one of 300 people goes, % of all", 100 * median(shares), 1.0, "%")


def _warm(by: ModelRecipe) -> None:
    """Load litellm, which is not what is measured."""
    with a_store() as other:
        add(other, says("ada", 1, "I live in Berlin."))
        fold(other, by)


def _by_patterns(store: Store) -> None:
    state = State.open(store)
    folding.fold(store, state, relations=recipes.relations(), recipe=recipes.search(), full=True, now=now)


def _repeated(seed: int) -> float:
    """Return which share of the requests about survivors changes where a person goes who spoke in chats of up to four."""
    chance = random.Random(seed)
    turns: list[tuple[Turn, int]] = []
    for session in range(TURNS // 20):
        there = chance.sample(range(PEOPLE), chance.choice((1, 1, 2, 4)))
        turns += [(Turn(session, str(part), len(turns) + part), chance.choice(there)) for part in range(20)]
    gone = chance.choice([person for _, person in turns])
    before = _blocks([turn for turn, _ in turns])
    after = _blocks([turn for turn, person in turns if person != gone])
    return len(set(after) - set(before)) / len(before)


def _blocks(turns: Sequence[Turn]) -> list[Block]:
    return list(blocks(turns, parts=8, context=4))
