"""Memories of a few invented people, folded: what the tests of facts and reasons start from."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from refold import recipes
from refold.folding import Fold
from refold.ingest import add
from refold.model import Draft, Scope, Source, View
from refold.reading import Fact
from refold.state.facts import facts
from refold.state.generation import State
from refold.state.why import Explanation, why
from refold.store import Store

DAY = 86_400_000_000
START = 1_704_067_200_000_000  # 2024-01-01, µs


def day(number: int) -> int:
    """Return midnight of a day counted from 2024-01-01 (µs)."""
    return START + number * DAY


def say(user: str, text: str, *, on: int, audience: tuple[str, ...] = (), author: str | None = None) -> Draft:
    """One thing that somebody says in a user's memory, on a day counted from 2024-01-01."""
    return Draft(text, source=Source("chat", user, str(on)), said_at=day(on), author=author, scope=Scope(user=user), audience=audience)


@dataclass
class World:
    """A store and its newest state."""

    store: Store
    state: State
    _ticks: Callable[[], int]

    @classmethod
    def empty(cls, store: Store) -> World:
        ticks = itertools.count(day(1000), DAY)
        return cls(store, State.open(store), lambda: next(ticks))

    def tell(self, *drafts: Draft) -> None:
        """Add what was said, each a day after the other, and fold it."""
        for draft in drafts:
            add(self.store, [draft], index=self.state, now=self._ticks, random=os.urandom)
        self.fold()

    def fold(self) -> None:
        fold = Fold(self.store, self.state, relations=recipes.relations(), recipe=recipes.search())
        for first, end in fold.plan.batches:
            fold.batch(first, end)
        fold.publish(now=lambda: day(2000))
        self.state = State.open(self.store)

    def facts(self, user: str | None = "ada", *, labels: Iterable[str] | None = (), **asked) -> list[Fact]:
        """Return the facts that a reader of some labels is told; `as_of_seq`, `as_of_time` and `valid_at` go into the view."""
        return facts(self.state, self.store.log, self.view(user, labels=labels, **_view(asked)), **asked)

    def why(self, fact: Fact | bytes, user: str | None = "ada", *, labels: Iterable[str] | None = ()) -> Explanation:
        wanted = fact.fact_id if isinstance(fact, Fact) else fact
        return why(self.state, self.store.log, self.view(user, labels=labels), wanted)

    def view(self, user: str | None, *, labels: Iterable[str] | None = (), **times: int) -> View:
        return View(Scope(user=user), None if labels is None else frozenset(labels), **times)


def _view(asked: dict) -> dict:
    return {name: asked.pop(name) for name in ("as_of_seq", "as_of_time", "valid_at") if name in asked}


def told(found: Iterable[Fact]) -> list[tuple[str, str, str]]:
    """Return facts as (entity, relation or relation(qualifier), value)."""
    return [(f.entity, f"{f.relation}({f.qualifier})" if f.qualifier else f.relation, f.value) for f in found]
