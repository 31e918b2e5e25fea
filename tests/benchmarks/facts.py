"""What answers cost: the facts of one entity in a big state, and everybody at once. Quotes come from the log and are not counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

from refold import recipes
from refold.fold.extraction import Extraction
from refold.fold.ground import ground
from refold.fold.symbolic import extract
from refold.model import Event, Scope, View
from refold.reading import Folded
from refold.search_recipe import shipped
from refold.state import everybody
from refold.state.builder import Builder
from refold.state.facts import facts
from refold.state.generation import State
from refold.store import create, places
from tests.benchmarks import Row, median_ms
from tests.benchmarks.corpus import NAMES, START, chats
from tests.benchmarks.state import BATCH, RELATIONS, event

SIZES = {"small": 50_000, "full": 1_000_000}
EVENTS_EACH = 200  # of one person: half of them their own words, some 80 statements


def rows(size: str) -> Iterator[Row]:
    events = SIZES[size]
    with TemporaryDirectory() as name:
        state = build(Path(name), events)
        yield of_one(state, events)
        yield of_everybody(state, events)


def of_one(state: State, events: int) -> Row:
    """All that holds of one person after another, and what follows from it."""
    people = cycle(range(1, events // EVENTS_EACH, 7))
    told: list[int] = []

    def ask() -> None:
        user = user_of(next(people), events // EVENTS_EACH)
        found = facts(state, state.store.log, View(Scope(user=user), frozenset()), quotes=False)
        told.append(len(found))

    taken = median_ms(ask, rounds=49)
    assert all(told), "somebody has no facts"
    return Row(f"facts of an entity at {events:,} events", taken, 10, "ms", note=f"{sum(told) / len(told):.0f} facts on average")


def of_everybody(state: State, events: int) -> Row:
    """How many facts hold, decided in SQL."""
    relations = recipes.relations()
    taken = median_ms(lambda: everybody.counts(state, View(), relations), rounds=3)
    statements = state.counts["assertions"]
    return Row(f"deciding everybody at {events:,} events", taken, None, "ms", note=f"{statements:,} statements")


def build(folder: Path, events: int) -> State:
    """Make a state of so many events, of which only the statements are kept: the texts are not in it."""
    store = create(places(folder / "store", folder / "vault", folder / "root", env={}), now=lambda: START)
    builder = Builder(store, None, relations=RELATIONS, recipe=shipped())
    read: dict[str, Extraction] = {}  # few sentences, many times each
    people = events // EVENTS_EACH
    for first in range(0, events, BATCH):
        drafts = chats(min(BATCH, events - first), people=people, seed=first, first=first)
        batch = [event(seq, draft) for seq, draft in enumerate(drafts, first)]
        folded = [_folded(one, read) for one in batch if one.role.asserts]
        assertions = tuple(assertion for one in folded for assertion in one.assertions)
        builder.add([replace(one, text="") for one in batch], Folded(assertions))
    return builder.publish(store.log.head, now=lambda: START).state


def _folded(said: Event, read: dict[str, Extraction]) -> Folded:
    relations = recipes.relations()
    if said.text not in read:
        read[said.text] = extract(said, relations)
    return ground(said, read[said.text], relations, fact_key=said.event_id * 2)


def user_of(number: int, people: int) -> str:
    """Return the user that `chats` calls by a number."""
    return f"{NAMES[number % people % len(NAMES)].lower()}-{number % people}"
