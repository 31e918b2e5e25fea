"""What found events say that no longer holds, as far as whoever asks may see.

An event is looked at by the facts that rest on it: those of whoever speaks in it, and of whom the query names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from refold import recipes
from refold.model import EventId, View, normalise
from refold.reading import Fact, Hit, Standing
from refold.state.facts import HELD, facts, facts_of
from refold.state.generation import State
from refold.state.sight import Sight

if TYPE_CHECKING:
    from refold.log.log import Log

NAMES_MAX = 8  # of whom a query names, and of who speaks in the events
_NAME = re.compile(r"\w[\w'’-]*")


def marked(state: State, log: Log, view: View, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits in their order, each with the values that it states and that no longer hold."""
    if state.absent is not None or not any(hit.folded for hit in hits):
        return list(hits)
    past = _past(_stated(state, log, view, [*_names(query), *_speakers(hits)], hits).values())
    return [replace(hit, no_longer=tuple(past.get(hit.event_id, ()))) for hit in hits]


def no_longer(state: State, log: Log, view: View, held: Mapping[bytes, Fact], hits: Sequence[Hit]) -> dict[EventId, list[str]]:
    """Return the values that no longer hold, by the events that say so. Of whoever speaks in them, what they said of themselves counts."""
    return _past({**held, **_stated(state, log, view, _speakers(hits), hits)}.values())


def _speakers(hits: Sequence[Hit]) -> list[str]:
    return list(islice(dict.fromkeys(hit.speaker for hit in hits if hit.role.asserts), NAMES_MAX))


def _stated(state: State, log: Log, view: View, names: Iterable[str], hits: Sequence[Hit]) -> dict[bytes, Fact]:
    """Return what holds or held of whoever goes by one of some names, by id, of what some events are about: all of it read at once."""
    sight = Sight(state, view, recipes.relations())
    entities = [each.entity for each in sight.components([mention for name in names for mention in state.mentions_named(name)])]
    stances = sight.stances_said_in(entities, {hit.seq for hit in hits})
    return {fact.fact_id: fact for fact in facts_of([one for one in stances if one.standing in HELD], log, quotes=False)}


def _past(every: Collection[Fact]) -> dict[EventId, list[str]]:
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
    known = (name for name in _names(query) if state.mentions_named(name))
    seen = filter(None, (facts(state, log, view, entity=name, history=True, quotes=False) for name in known))
    return islice(seen, NAMES_MAX)


def _names(query: str) -> Iterable[str]:
    """Return what of a query may be a name: its words, and pairs of them."""
    words = _NAME.findall(query)
    return dict.fromkeys([*map(" ".join, pairwise(words)), *words])
