"""The rows of an export: facts, the entities they are about, and events, each a dict of plain values.

Entities are numbered within one export (`e1`, `e2`, ...), in the order of their names: a number means nothing in another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from refold import recipes
from refold.log.log import Log
from refold.model import Event, View
from refold.reading import Claim, Fact, Standing
from refold.state.everybody import all_stances
from refold.state.facts import facts_of
from refold.state.generation import State
from refold.state.sight import Sight

Row = dict[str, object]

_TEXT, _TEXTS, _SEQ, _TIME = pa.string(), pa.list_(pa.string()), pa.int64(), pa.timestamp("us", "UTC")
_SUPPORT = pa.list_(pa.struct({"event_id": _TEXT, "first": pa.int64(), "end": pa.int64()}))
TIMES = frozenset({"said_at", "recorded_at", "valid_from", "valid_to"})  # in µs, in the rows

FACTS = pa.schema({
    "fact_id": _TEXT, "entity_id": _TEXT, "entity": _TEXT, "relation": _TEXT, "qualifier": _TEXT, "value_id": _TEXT, "value": _TEXT,
    "act": _TEXT, "modality": _TEXT, "standing": _TEXT, "contested": pa.bool_(), "asserted_by": _TEXT, "said_at": _TIME,
    "valid_from": _TIME, "valid_to": _TIME, "valid_precision": _TEXT, "valid_source": _TEXT, "seq": _SEQ, "source": _TEXT, "quote": _TEXT,
    "extractor": _TEXT, "call_id": _TEXT, "support": _SUPPORT, "subjects": _TEXTS, "beaten_by": _TEXT,
})  # fmt: skip
ENTITIES = pa.schema({"entity_id": _TEXT, "name": _TEXT, "names": _TEXTS, "facts": pa.int64()})
EVENTS = pa.schema({
    "event_id": _TEXT, "seq": _SEQ, "text": _TEXT, "source": _TEXT, "said_at": _TIME, "recorded_at": _TIME, "role": _TEXT, "author": _TEXT,
    "user": _TEXT, "agent": _TEXT, "run": _TEXT, "labels": _TEXTS, "subjects": _TEXTS,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one table of an export, and their form."""

    name: str
    schema: pa.Schema
    rows: Sequence[Row]


def known(state: State, log: Log, view: View, *, standings: Collection[Standing], withholds: bool) -> list[Rows]:
    """Return the facts of everybody in a view, and the entities in them. What follows by rule is not among them.

    `withholds` leaves out what would count events that the reader may not see: sequence numbers.
    """
    relations = recipes.relations()
    stances = all_stances(state, view, relations, standings=standings)
    sight = Sight(state, view, relations)
    sight.components(mention for stance in stances for mention in (stance.shown.mention, stance.shown.value_mention))
    claims = [stance.shown for stance in stances]
    named = _names(claims, sight)
    numbers = {entity: f"e{number}" for number, entity in enumerate(sorted(named, key=lambda one: (_first(named[one]), one)), start=1)}
    about = Counter(sight.component_of(claim.mention) for claim in claims)
    entities: list[Row] = [
        {"entity_id": number, "name": _first(named[entity]), "names": sorted(named[entity]), "facts": about[entity]}
        for entity, number in numbers.items()
    ]
    told = [
        _fact(fact, numbers[sight.component_of(claim.mention)], numbers.get(sight.component_of(claim.value_mention)), withholds)
        for claim, fact in zip(claims, facts_of(stances, log), strict=True)
    ]
    return [Rows("facts", FACTS, told), Rows("entities", ENTITIES, entities)]


def said(events: Iterable[Event], view: View, *, withholds: bool) -> Rows:
    """Return the events that a view admits, in the order of the log."""
    return Rows("events", EVENTS, [_event(event, withholds) for event in events if view.admits(event)])


def _names(claims: Iterable[Claim], sight: Sight) -> Mapping[int, Counter[str]]:
    """Return by which names each entity goes, and how often."""
    found: dict[int, Counter[str]] = {}
    for claim in claims:
        for mention, name in ((claim.mention, claim.entity), (claim.value_mention, claim.value)):
            if mention:
                found.setdefault(sight.component_of(mention), Counter())[name] += 1
    return found


def _first(names: Counter[str]) -> str:
    """Return the name that an entity is called by most, of several the first by the alphabet."""
    return min(names, key=lambda name: (-names[name], name))


def _fact(fact: Fact, entity_id: str, value_id: str | None, withholds: bool) -> Row:
    return {
        "fact_id": fact.fact_id.hex(),
        "entity_id": entity_id,
        "entity": fact.entity,
        "relation": fact.relation,
        "qualifier": fact.qualifier,
        "value_id": value_id,
        "value": fact.value,
        "act": fact.act.name.lower(),
        "modality": fact.modality.name.lower(),
        "standing": fact.standing.value,
        "contested": fact.contested,
        "asserted_by": fact.asserted_by,
        "said_at": fact.said_at,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "valid_precision": None if fact.valid_precision is None else fact.valid_precision.name.lower(),
        "valid_source": fact.valid_source,
        "seq": None if withholds else fact.seq,
        "source": fact.source,
        "quote": fact.quote,
        "extractor": fact.extractor,
        "call_id": None if fact.call_id is None else fact.call_id.hex(),
        "support": [{"event_id": event_id.hex(), "first": first, "end": end} for event_id, (first, end) in fact.support],
        "subjects": [subject.hex() for subject in fact.subjects],
        "beaten_by": None if fact.beaten_by is None else fact.beaten_by.hex(),
    }


def _event(event: Event, withholds: bool) -> Row:
    return {
        "event_id": event.event_id.hex(),
        "seq": None if withholds else event.seq,
        "text": event.text,
        "source": str(event.source),
        "said_at": event.said_at,
        "recorded_at": event.recorded_at,
        "role": event.role.value,
        "author": event.author,
        "user": event.scope.user,
        "agent": event.scope.agent,
        "run": event.scope.run,
        "labels": list(event.audience),
        "subjects": [subject.hex() for subject in event.subjects],
    }
