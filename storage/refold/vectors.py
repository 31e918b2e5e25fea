"""Vectors: the part of a fold in which a model tells what each event is about, where the search recipe names one.

One event to a request, so that its vector rests on nothing else. It is asked for through the gateway and recorded like any call: nothing
is asked twice, and a full fold, or one after an erasure, takes what it needs from the recordings. An event without an answer is pending.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from refold import recipes
from refold.asking import Estimate, Input, input_of
from refold.calls import keys
from refold.calls.checked import Manifest
from refold.calls.gateway import Answer, Gateway
from refold.calls.mode import Mode
from refold.calls.pace import Budget, Spent
from refold.fold import embedding
from refold.fold.embedding import EmbeddingRecipe
from refold.fold.request import Request, render
from refold.model import Event
from refold.outside import Clock, Random
from refold.state.generation import State
from refold.store import Store
from refold.units import BYTES_OF_TOKEN, NANOS


@dataclass(frozen=True, slots=True)
class Vectored:
    """What the vectors of one fold took."""

    by: str
    host: str
    spent: Spent
    currency: str  # of the cost; "" without a price table


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one event: its vector, None where there was no answer, and the request where one was needed."""

    event: Event
    vector: bytes | None
    input: Input | None = None


class Vectoring:
    """Asks one model about the events of a store."""

    def __init__(self, store: Store, recipe: EmbeddingRecipe, gateway: Gateway) -> None:
        self._store = store
        self._recipe = recipe
        self._gateway = gateway

    @property
    def done(self) -> Vectored:
        """Return what was taken so far."""
        recipe = self._recipe
        return Vectored(recipe.maker, embedding.host(recipe), self._gateway.spent, recipe.price.currency if recipe.price else "")

    def of(self, events: Sequence[Event]) -> Iterator[Made]:
        """Yield what comes of each event, in no promised order. Raises Usage, NotRecorded, Undeclared, KeyMissing, Locked."""
        told, nothing = self._told(events), embedding.nothing(self._recipe)
        yield from (Made(event, nothing) for event in events if not event.text)
        requests, manifest = self._prepared(told)
        for event, answer in zip(told, self._gateway.answer((one, manifest) for one in requests), strict=True):
            vector = embedding.vector(self._recipe, answer.content) if isinstance(answer, Answer) else None
            yield Made(event, vector, input_of(answer))

    def estimate(self, groups: Iterable[Sequence[Event]]) -> Estimate:
        """Return what the vectors of some events would cost. Nothing is sent."""
        counts: Counter[str] = Counter()
        for events in groups:
            requests, manifest = self._prepared(self._told(events))
            for one in requests:
                if self._gateway.recorded(one, manifest):
                    counts["reused"] += 1
                    continue
                counts["calls"] += 1
                counts["in"] += -(-len(render(one).body) // BYTES_OF_TOKEN)
        price = self._recipe.price
        cost = None if price is None else counts["in"] * price.input / 1_000_000
        return Estimate(counts["calls"], counts["reused"], counts["in"], 0, cost, price.currency if price else "")

    def _told(self, events: Sequence[Event]) -> list[Event]:
        return [event for event in events if event.text]

    def _prepared(self, events: Sequence[Event]) -> tuple[list[Request], Manifest]:
        recipe, log = self._recipe, self._store.log
        known = [(event, log.row(event.seq).commits()[0]) for event in events]
        requests = [embedding.request(recipe, embedding.ref(recipe, event, digest)) for event, digest in known]
        return requests, Manifest(embedding.declared(recipe, known), {event.event_id: keys.Input.of(event) for event in events})


def owing(base: State | None) -> list[int]:
    """Return the pending events of a state that have no vector yet."""
    if base is None or not base.pending:
        return []
    there = set(base.lookup("vectors", base.pending, ["seq"])["seq"].to_pylist())
    return [seq for seq in base.pending if seq not in there]


@contextmanager
def vectoring(store: Store, mode: Mode, *, now: Clock, random: Random = os.urandom) -> Generator[Vectoring | None]:
    """Give what asks for vectors while a fold runs, where the search recipe names a model; else None."""
    search = recipes.search().vectors
    recipe = search.model if search else None
    if recipe is None:
        yield None
        return
    budget = Budget(cost=round(recipe.limits.cost * NANOS) or None)
    gateway = Gateway(store, limits=recipe.limits, price=recipe.price, budget=budget, mode=mode, now=now, random=random)
    try:
        yield Vectoring(store, recipe, gateway)
    finally:
        gateway.close()
