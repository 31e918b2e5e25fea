"""Why: what a fact rests on, what made it, what it beat and what beat it. Nothing is shown that the asking view may not see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refold import recipes, times
from refold.errors import Usage
from refold.fold.entities import Edge, pairs
from refold.fold.merge import Policy, Stance
from refold.fold.relations import Relations
from refold.fold.rules import Known, Pattern, Rule, Rules, derive
from refold.log.log import Log
from refold.model import WITHHELD, Event, EventId, Span, View
from refold.reading import Claim, Fact
from refold.state import profiles
from refold.state.facts import Look, entities_named
from refold.state.generation import State
from refold.state.sight import Sight
from refold.state.telling import fact_of, quoted

PREMISES_MAX = 64  # explained in one answer
ENTITIES_MAX = 1_000  # searched for a derived fact of which only the id is known
ID_BYTES_MIN = 4  # of a fact id: fewer are found by trying, without having been told the fact
RANKS = ("somebody else", "a document", "the entity itself")


@dataclass(frozen=True, slots=True)
class Saying:
    """An event that a fact rests on. `spans` are places in `text`; `quote` is the sentence around them."""

    event_id: EventId
    seq: int
    source: str
    said_at: int
    recorded_at: int
    speaker: str
    text: str
    spans: tuple[Span, ...]
    quote: str
    redacted_at: int | None = None  # µs: when these words were put in the place of others


@dataclass(frozen=True, slots=True)
class Terms:
    """By which policy statements of a relation combine."""

    cardinality: str
    conflict: str
    kind: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a fact stands where it stands. `rule` is of derived facts only, `premises` of these and of the sentences of profiles."""

    fact: Fact
    sayings: tuple[Saying, ...]  # what it rests on, newest first
    named: tuple[Saying, ...]  # the events that name its entity, where those that state it do not
    asserted_as: str  # who speaks: the entity itself, a document, or somebody else
    policy: Terms | None  # of its relation
    beat: tuple[Fact, ...]  # what it superseded, denied, ended or outranked
    beaten_by: Fact | None
    against: tuple[Fact, ...]  # where it is contested: what else holds
    aliases: tuple[Saying, ...]  # the statements by which its entity and its value go by several names
    rule: str | None = None
    premises: tuple[Explanation, ...] = ()


def why(
    state: State, log: Log, view: View, wanted: bytes, *, relations: Relations | None = None, rules: Rules | None = None
) -> Explanation:
    """Explain the fact of which `wanted` is the id or its first bytes. Raises Usage where the view sees no such fact, or several."""
    if len(wanted) < ID_BYTES_MIN:
        raise Usage(f"a fact id, or at least its first {2 * ID_BYTES_MIN} digits, is needed", hint="refold facts")
    sight = Sight(state, replace(view, valid_at=None), relations or recipes.relations())
    why = _Why(sight, log, recipes.rules() if rules is None else rules)
    stated = {claim.fact_id: claim for claim in sight.admitted(state.claims_with_id(wanted))}
    told = {} if stated else {row["fact_id"]: row for row in profiles.with_id(sight, wanted)}
    found = [*stated, *told, *(() if stated or told else why.derived_with_id(wanted))]
    if len(found) > 1:
        raise Usage(f"{len(found)} facts have an id that begins so: give more of it", hint="refold facts --format json")
    if not found:
        raise Usage("there is no such fact in what is seen from here", hint="refold facts --history")
    if told:
        return why.told(told[found[0]])
    return why.stated(stated[found[0]]) if stated else why.derived(found[0])


class _Why:
    """One explanation: the view, and the words of its events."""

    def __init__(self, sight: Sight, log: Log, rules: Rules) -> None:
        self.sight = sight
        self._log = log
        self._rules = rules
        self._look = Look(sight, rules)
        self._known: dict[bytes, Known] = {}
        self._explained = 0

    def stated(self, claim: Claim) -> Explanation:
        """Explain a fact that was stated: the one that this claim is a saying of."""
        self._explained += 1
        sight = self.sight
        stances = sight.stances(sight.component_of(claim.mention))
        stance = stance_of(stances, claim)
        own = {said.fact_id for said in stance.sayings}
        beat = [other for other in stances if other.beaten_by and other.beaten_by.fact_id in own]
        shown = stance.shown
        against = [other for other in stances if stance.contested and other.contested and other != stance and _same_theme(other, stance)]
        return Explanation(
            fact=fact_of(stance),
            sayings=tuple(self._saying(said.seq, said.spans) for said in sorted(stance.sayings, key=lambda said: said != shown)),
            named=tuple(self._saying(seq, (span,)) for seq, span in _named(stance)),
            asserted_as=RANKS[shown.rank],
            policy=_terms(sight.policy_of(shown.relation)),
            beat=tuple(map(fact_of, beat)),
            beaten_by=fact_of(stance_of(stances, stance.beaten_by)) if stance.beaten_by else None,
            against=tuple(map(fact_of, against)),
            aliases=tuple(self._aliases(shown, [*stance.sayings, *(other.shown for other in beat), *filter(None, [stance.beaten_by])])),
        )

    def derived(self, fact_id: bytes) -> Explanation:
        """Explain a fact that follows by a rule, with its premises as far as one answer goes."""
        self._explained += 1
        fact = self._known[fact_id].fact
        rule = next(rule for rule in self._rules.rules if rule.name == fact.rule)
        premises = [self._premise(premise) for premise in fact.premises if self._explained < PREMISES_MAX]
        return _of_premises(fact, premises, asserted_as="a rule", rule=written(rule))

    def told(self, row: profiles.Row) -> Explanation:
        """Explain a sentence of a profile, with its premises as far as one answer goes."""
        claims = [claim for premise in row["premises"] for claim in self.sight.admitted(self.sight.state.claims_with_id(premise))]
        return _of_premises(profiles.as_fact(row, claims), map(self.stated, claims[:PREMISES_MAX]), asserted_as="a model")

    def derived_with_id(self, wanted: bytes) -> list[bytes]:
        """Return the ids of derived facts that begin so: of the view's user, else of whoever rules may say something about."""
        user = self.sight.view.scope.user
        own = entities_named(self.sight, user, first_person=True) if user else []
        for entities in (own, self._candidates()):
            self._derive(entities)
            found = [fact_id for fact_id in self._known if fact_id.startswith(wanted)]
            if found:
                return found
        return []

    def _candidates(self) -> Iterator[int]:
        """Yield the entities that premises of rules are about, or have as their value."""
        from refold.state.everybody import admitted  # here, because only this search asks about everybody

        premised = {pattern.relation for rule in self._rules.rules for pattern in rule.body}
        columns = ["mention", "value_mention", "relation"]
        table = self.sight.state.table("assertions", [*columns, "scope", "audience", "seq", "named_seq", "recorded_at"])
        seen = table.filter(admitted(table, self.sight.visible))  # before the count: what is hidden must not refuse an answer
        rows = zip(*(seen[name].to_pylist() for name in columns), strict=True)
        mentions = {mention for *both, relation in rows if relation in premised for mention in both if mention}
        if len(mentions) > ENTITIES_MAX:
            raise Usage("a derived fact is looked for by its entity: say whose memory is meant", hint="refold why FACT --user NAME")
        yield from (component.entity for component in self.sight.components(mentions))

    def _derive(self, entities: Iterable[int]) -> None:
        for entity in entities:
            self._known |= {known.fact.fact_id: known for known in derive(entity, self._rules, self._look)}

    def _premise(self, fact_id: bytes) -> Explanation:
        if fact_id in self._look.claims:
            return self.stated(self._look.claims[fact_id])
        if fact_id not in self._known:
            self._derive(self._candidates())
        return self.derived(fact_id)

    def _saying(self, seq: int, spans: tuple[Span, ...]) -> Saying:
        return saying_of(self._log.event(seq), spans)

    def _aliases(self, claim: Claim, told: Sequence[Claim]) -> Iterator[Saying]:
        """Yield the newest saying of each pair of names that holds an entity of the claim together, unless its words are told already."""
        seen: set[tuple[int, tuple[Span, ...]]] = set()
        for component in self.sight.components([claim.mention, claim.value_mention]):
            edges = [edge for edge in self.sight.edges_of(component.mentions) if edge.b in component.mentions]
            for pair in pairs(edges) if len(component.mentions) > 1 else []:
                newest = max((edge for edge in edges if {edge.a, edge.b} == {pair.a, pair.b}), key=lambda edge: (edge.said_at, edge.seq))
                if (newest.seq, newest.spans) not in seen and not any(_says(each, newest) for each in told):
                    seen.add((newest.seq, newest.spans))
                    yield self._saying(newest.seq, newest.spans)


def _of_premises(fact: Fact, premises: Iterable[Explanation], *, asserted_as: str, rule: str | None = None) -> Explanation:
    return Explanation(
        fact=fact,
        sayings=(),
        named=(),
        asserted_as=asserted_as,
        policy=None,
        beat=(),
        beaten_by=None,
        against=(),
        aliases=(),
        rule=rule,
        premises=tuple(premises),
    )


def _named(stance: Stance) -> list[tuple[int, Span]]:
    found = ((claim.named_seq, claim.named_span) for claim in stance.sayings)
    return list(dict.fromkeys((seq, span) for seq, span in found if seq is not None and span is not None))


def saying_of(event: Event, spans: tuple[Span, ...]) -> Saying:
    """Return an event as what something rests on, with the places in its text."""
    return Saying(
        event_id=event.event_id,
        seq=event.seq,
        source=str(event.source),
        said_at=event.said_at,
        recorded_at=event.recorded_at,
        speaker=event.speaker_name,
        text=event.text,
        spans=spans,
        quote=quoted(event.text, spans),
        redacted_at=event.redacted_at,
    )


def stance_of(stances: Iterable[Stance], claim: Claim) -> Stance:
    """Return the stance that a claim is a saying of."""
    return next(stance for stance in stances if claim in stance.sayings)


def _says(claim: Claim, edge: Edge) -> bool:
    """Whether the words of an alias statement are those of a claim."""
    return claim.seq == edge.seq and all(any(first <= start and stop <= end for first, end in claim.spans) for start, stop in edge.spans)


def _same_theme(one: Stance, other: Stance) -> bool:
    return one.shown.relation == other.shown.relation and one.shown.qualifier == other.shown.qualifier


def _terms(policy: Policy) -> Terms:
    return Terms(str(policy.cardinality), str(policy.conflict), str(policy.kind))


def written(rule: Rule) -> str:
    """Return a rule as a person reads it."""
    body, heads = (", ".join(map(_pattern, patterns)) for patterns in (rule.body, rule.heads))
    return f"{rule.name}: if {body} then {heads}"


def _pattern(pattern: Pattern) -> str:
    qualifier = f"[{'|'.join(pattern.qualifiers)}]" if pattern.qualifiers else ""
    value = pattern.value if pattern.value.startswith("?") else f"'{pattern.value}'"
    return f"{pattern.entity} {pattern.relation}{qualifier} {value}"


def as_data(explanation: Explanation, fact_data: Callable[[Fact], dict[str, Any]]) -> dict[str, Any]:
    """Return an explanation as JSON can hold it; `fact_data` says how a fact is written."""
    policy = explanation.policy
    return {
        "fact": fact_data(explanation.fact),
        "sayings": [saying_data(saying) for saying in explanation.sayings],
        "named": [saying_data(saying) for saying in explanation.named],
        "asserted_as": explanation.asserted_as,
        "policy": policy and {"cardinality": policy.cardinality, "conflict": policy.conflict, "kind": policy.kind},
        "beat": [fact_data(fact) for fact in explanation.beat],
        "beaten_by": explanation.beaten_by and fact_data(explanation.beaten_by),
        "against": [fact_data(fact) for fact in explanation.against],
        "aliases": [saying_data(saying) for saying in explanation.aliases],
        "rule": explanation.rule,
        "premises": [as_data(premise, fact_data) for premise in explanation.premises],
    }


def saying_data(saying: Saying) -> dict[str, Any]:
    """Return an event that something rests on, as JSON can hold it."""
    return {
        "event_id": saying.event_id.hex(),
        "seq": None if saying.seq == WITHHELD else saying.seq,
        "source": saying.source,
        "said_at": times.iso(saying.said_at),
        "recorded_at": times.iso(saying.recorded_at),
        "speaker": saying.speaker,
        "text": saying.text,
        "spans": [list(span) for span in saying.spans],
        "quote": saying.quote,
        "redacted_at": None if saying.redacted_at is None else times.iso(saying.redacted_at),
    }
