"""Facts: what holds, or held, about an entity or about everybody, for one reader and one time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from refold import recipes
from refold.errors import Usage
from refold.fold.merge import Stance, order, value_of
from refold.fold.relations import Relations
from refold.fold.rules import Known, Rules, derive
from refold.log.log import Log
from refold.model import Act, Modality, View, normalise
from refold.reading import Claim, Fact, Standing
from refold.state.generation import State
from refold.state.sight import Sight
from refold.state.telling import fact_of, quoted

HELD = frozenset({Standing.HOLDS, Standing.SUPERSEDED, Standing.DENIED, Standing.ENDED})


def facts(
    state: State,
    log: Log,
    view: View,
    *,
    entity: str | None = None,
    relation: str | None = None,
    history: bool = False,
    all: bool = False,
    limit: int | None = None,
    quotes: bool = True,
    relations: Relations | None = None,
    rules: Rules | None = None,
) -> list[Fact]:
    """Return facts by relation, what holds first, the newest first; with `quotes`, with the words of the newest saying, from the log.

    Without an `entity`, those of the view's user; where the scope names no user, of everybody in the view. `history` adds what held
    before; `all` is whatever was stated, about whomever. What follows by rule is derived for the entities that are asked about, and is
    not part of the listing of everybody. An entity that is called by a name is every entity that anybody calls so. Raises Usage.
    """
    if limit is not None and limit < 1:
        raise Usage("the limit is below one")
    relations = relations or recipes.relations()
    rules = recipes.rules() if rules is None else rules
    if relation is not None and relation not in known_relations(relations, rules):
        raise Usage("there is no relation of this name", hint="refold help relations")
    sight = Sight(state, view, relations, only=None if relation is None else {relation})
    wanted = frozenset(Standing) if all else HELD if history else frozenset({Standing.HOLDS})
    named = entity or (None if all else view.scope.user)
    if named is None:
        from refold.state.everybody import all_stances  # here, because facts of one entity do without DuckDB

        found = all_stances(state, view, relations, standings=wanted, relation=relation, limit=limit)
        return facts_of(found, log, quotes=quotes)
    entities = entities_named(sight, named, first_person=entity is None)
    stances = [stance for of in sight.stances_each(entities) for stance in of if _is_wanted(stance, wanted, relation)]
    stances.sort(key=lambda stance: order(stance.shown), reverse=True)
    stances.sort(key=lambda stance: _place(stance, relations))
    return [*facts_of(stances[:limit], log, quotes=quotes), *_derived(sight, entities, rules, relation)][:limit]


def denials(state: State, log: Log, view: View, relations: Collection[str]) -> list[Fact]:
    """Return what the view's user has denied of themselves, in some relations, and not said since: what they dislike, what is never wanted.

    It does not hold, and whoever acts for the user has to know it as much as what does. Each value once, by its newest denial.
    """
    if view.scope.user is None:
        return []
    sight = Sight(state, view, recipes.relations(), only=set(relations))
    latest: dict[tuple[int, str, str, int | str], Stance] = {}
    for entity in entities_named(sight, view.scope.user, first_person=True):
        for stance in sight.stances(entity):  # in the order of their newest saying
            shown = stance.shown
            key = entity, shown.relation, normalise(shown.qualifier), value_of(shown, sight.component_of)
            is_firm = shown.act is Act.DENY and shown.modality is Modality.ASSERTED and shown.value
            if stance.standing is Standing.HOLDS or (is_firm and stance.standing in (Standing.INERT, Standing.CLOSING)):
                latest[key] = stance
    return facts_of([stance for stance in latest.values() if stance.shown.act is Act.DENY], log, quotes=False)


def known_relations(relations: Relations, rules: Rules) -> set[str]:
    """Return the relations that a fact can have: those of the vocabulary, and those that rules derive."""
    return {*relations.names, *(head.relation for rule in rules.rules for head in rule.heads)}


def entities_named(sight: Sight, name: str, *, first_person: bool) -> list[int]:
    """Return the entities that go by a name: of a user only their first person, else whoever anybody calls so."""
    mentions = sight.state.mentions_named(name)
    wanted = [tag for tag, mention in mentions.items() if mention.is_first_person or not first_person]
    return [component.entity for component in sight.components(wanted)]


def _derived(sight: Sight, entities: Sequence[int], rules: Rules, relation: str | None) -> list[Fact]:
    """Return what follows by rule about some entities, in an order that nobody's time decides."""
    look = Look(sight, rules)
    derived = [known.fact for of in entities for known in derive(of, rules, look, relation=relation)]
    return sorted(derived, key=lambda fact: (fact.relation, fact.entity, fact.qualifier, fact.value))


def _is_wanted(stance: Stance, standings: frozenset[Standing], relation: str | None) -> bool:
    return stance.standing in standings and (relation is None or stance.shown.relation == relation)


def _place(stance: Stance, relations: Relations) -> tuple[int, str, bool]:
    return (relations.names.index(stance.shown.relation), normalise(stance.shown.qualifier), stance.standing is not Standing.HOLDS)


def facts_of(stances: Sequence[Stance], log: Log, *, quotes: bool = True) -> list[Fact]:
    """Return stances as facts, with `quotes` in the words of the newest saying, from the log."""
    found = list(map(fact_of, stances))
    if not quotes:
        return found
    shown = sorted((stance.shown for stance in stances), key=lambda claim: claim.seq)  # each part of the log is opened once
    events = {claim.fact_id: log.event(claim.seq) for claim in shown}
    words = {claim.fact_id: quoted(events[claim.fact_id].text, claim.spans) for claim in shown}
    return [replace(fact, quote=words[fact.fact_id], redacted_at=events[fact.fact_id].redacted_at) for fact in found]


class Look:
    """What rules may ask of a view: only facts of relations that some rule has as a premise."""

    def __init__(self, sight: Sight, rules: Rules) -> None:
        self._sight = sight.narrowed({pattern.relation for rule in rules.rules for pattern in rule.body})
        self._valuing: dict[int, list[int]] = {}
        self._names: dict[int, str] = {}
        self.claims: dict[bytes, Claim] = {}  # what was answered, by fact id

    def about(self, entity: int) -> list[Known]:
        """Return what holds about an entity."""
        return list(self._known(entity))

    def valued(self, entity: int) -> list[Known]:
        """Return what holds with that entity as the value."""
        self.read([entity])
        mentions = [about for mention in self._sight.mentions_of(entity) for about in self._valuing[mention]]
        entities = [component.entity for component in self._sight.components(mentions)]
        self._sight.stances_each(entities)  # read at once
        return [known for of in entities for known in self._known(of, value=entity)]

    def read(self, entities: Sequence[int]) -> None:
        """Read at once what will be asked about some entities."""
        self._sight.stances_each(entities)
        mentions = [mention for entity in entities for mention in self._sight.mentions_of(entity)]
        self._valuing |= self._sight.state.mentions_valuing(mention for mention in mentions if mention not in self._valuing)

    def name(self, entity: int) -> str:
        """Return how an entity is called: as in the newest fact about it, else as in a fact that has it as its value."""
        stances = self._sight.stances(entity)
        return stances[-1].shown.entity if stances else self._names[entity]

    def _known(self, entity: int, *, value: int | None = None) -> Iterator[Known]:
        for stance in self._sight.stances(entity):
            if stance.standing is not Standing.HOLDS:
                continue
            found = value_of(stance.shown, self._sight.component_of)
            if value is None or value == found:
                fact = fact_of(stance)
                self.claims[fact.fact_id] = stance.shown
                if isinstance(found, int):
                    self._names[found] = fact.value
                yield Known(fact, entity, found)
