"""What found events say that no longer holds, as far as whoever asks may see.

An event is looked at by the facts that rest on it: those of whoever speaks in it, and of whom the query names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from refold.fold.rules import Rules
from refold.model import EventId, View, normalise
from refold.reading import Fact, Hit, Standing
from refold.state.facts import facts
from refold.state.generation import State

if TYPE_CHECKING:
    from refold.log.log import Log

NAMES_MAX = 8  # of whom a query names, and of who speaks in the events
_NAME = re.compile(r"\w[\w'’-]*")
_UNDERIVED = Rules()  # what follows by rule replaces nothing


def marked(state: State, log: Log, view: View, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits in their order, each with the values that it states and that no longer hold."""
    if state.absent is not None or not any(hit.folded for hit in hits):
        return list(hits)
    held = {fact.fact_id: fact for each in of_the_named(state, log, view, query) for fact in each}
    past = no_longer(state, log, view, held, hits)
    return [replace(hit, no_longer=tuple(past.get(hit.event_id, ()))) for hit in hits]


def no_longer(state: State, log: Log, view: View, held: Mapping[bytes, Fact], hits: Sequence[Hit]) -> dict[EventId, list[str]]:
    """Return the values that no longer hold, by the events that say so. Of whoever speaks in them, what they said of themselves counts."""
    speakers = islice(dict.fromkeys(hit.speaker for hit in hits if hit.role.asserts), NAMES_MAX)
    more = [fact for name in speakers for fact in facts(state, log, view, entity=name, history=True, quotes=False, rules=_UNDERIVED)]
    every = {**held, **{fact.fact_id: fact for fact in more}}.values()
    holding = {_said(fact) for fact in every if fact.standing is Standing.HOLDS}
    past: dict[EventId, list[str]] = {}
    for fact in every:
        if fact.standing is not Standing.HOLDS and fact.value and _said(fact) not in holding:
            for event_id in dict.fromkeys(event_id for event_id, _ in fact.support):
                past.setdefault(event_id, []).append(fact.value)
    return past


def _said(fact: Fact) -> tuple[str, ...]:
    return tuple(map(normalise, (fact.entity, fact.relation, fact.qualifier, fact.value)))


def of_the_named(state: State, log: Log, view: View, query: str) -> Iterator[list[Fact]]:
    """Yield what holds or held of those whom words of a query, or pairs of words, name.

    The bound counts only names of which the view sees something: a name that is known from elsewhere takes nobody's place.
    """
    words = _NAME.findall(query)
    tried = dict.fromkeys([*map(" ".join, pairwise(words)), *words])
    known = (name for name in tried if state.mentions_named(name))
    seen = filter(None, (facts(state, log, view, entity=name, history=True, quotes=False) for name in known))
    return islice(seen, NAMES_MAX)
