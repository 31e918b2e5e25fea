"""Derive facts from facts that hold, by rules that configs/rules.toml declares.

Nothing derived is stored. A derivation starts from the entity that is asked about, reads what holds about it and about those it leads
to, and ends: each step back from a derived fact to its premises takes one of `depth` steps, each pattern looks at no more than `fan_in`
facts, and a cycle of rules runs out of steps.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from refold.errors import Usage
from refold.fold.merge import PolicyOf, Value
from refold.model import Act, Modality, normalise
from refold.reading import Fact, Standing

PATTERNS_MAX = 4  # of a rule's body
FACTS_MAX = 256  # derived about one entity
ENTITIES_MAX = 256  # looked at in one derivation
TRIALS_MAX = 20_000  # facts held against a pattern in one derivation
_PATTERN = re.compile(r"(\?[a-z]\w*) ([a-z][a-z0-9_]*)(?:\[([^\[\]?]+)\])? (?:(\?[a-z]\w*)|'([^']+)')")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One fact of a rule: variables start with `?`; no qualifiers: any."""

    entity: str
    relation: str
    qualifiers: tuple[str, ...]
    value: str  # a variable, or a literal in normal form

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.entity, self.value) if self.value.startswith("?") else (self.entity,)


@dataclass(frozen=True, slots=True)
class Rule:
    """If all patterns of the body hold, each of the heads follows. `digest` stands for the rule in ids."""

    name: str
    body: tuple[Pattern, ...]
    heads: tuple[Pattern, ...]
    digest: bytes


@dataclass(frozen=True, slots=True)
class Known:
    """A fact that holds, with what it is about in the form that is compared: an entity by its component."""

    fact: Fact
    entity: int
    value: Value

    @property
    def says(self) -> tuple[int, str, str, Value]:
        return (self.entity, self.fact.relation, normalise(self.fact.qualifier), self.value)


class Look(Protocol):
    """What a derivation may ask: the facts that hold in one view."""

    def about(self, entity: int) -> Sequence[Known]:
        """Return what holds about an entity."""
        ...

    def valued(self, entity: int) -> Sequence[Known]:
        """Return what holds with that entity as the value."""
        ...

    def name(self, entity: int) -> str:
        """Return how the entity is called."""
        ...

    def read(self, entities: Sequence[int]) -> None:
        """Take note of which entities will be asked about next: they may be read at once."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules and their bounds."""

    rules: tuple[Rule, ...] = ()
    depth: int = 2
    fan_in: int = 64

    @classmethod
    def load(cls, text: str, *, relations: Collection[str], policy_of: PolicyOf) -> Rules:
        """Read rules.toml. Raises Usage, naming the rule that is at fault."""
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            raise Usage("the rules are not valid TOML", hint="refold help rules") from None
        limits, declared = tables.pop("limits", {}), tables.pop("rules", {})
        if tables:
            raise Usage(f"rules.toml has no section {sorted(tables)[0]}", hint="refold help rules")
        rules = tuple(_rule(name, declared[name]) for name in sorted(declared))
        derived = {head.relation for rule in rules for head in rule.heads}
        for rule in rules:
            _check(rule, known=derived | set(relations))
            for head in rule.heads:
                if head.relation in relations and policy_of(head.relation).cardinality == "one":
                    raise _bad(rule.name, f"derives {head.relation}, which holds one value only")
        return cls(rules, _limit(limits, "depth", 2, most=8), _limit(limits, "fan_in", 64, most=1024))


def _limit(limits: Mapping[str, Any], name: str, default: int, *, most: int) -> int:
    value = limits.get(name, default)
    if type(value) is not int or not 1 <= value <= most:
        raise Usage(f"the limit {name} of the rules is not a number from 1 to {most}", hint="refold help rules")
    return value


def _bad(name: str, fault: str) -> Usage:
    return Usage(f"the rule {name} {fault}", hint="refold help rules")


def _rule(name: str, table: object) -> Rule:
    if not isinstance(table, dict) or set(table) != {"if", "then"}:
        raise _bad(name, "is not made of `if` and `then` alone")
    body, heads = (_patterns(name, table[key]) for key in ("if", "then"))
    if len(body) > PATTERNS_MAX:
        raise _bad(name, f"has more than {PATTERNS_MAX} premises")
    if any(len(head.qualifiers) > 1 for head in heads):
        raise _bad(name, "derives a choice of qualifiers")
    return Rule(name, body, heads, hashlib.sha256(repr((name, body, heads)).encode()).digest())


def _patterns(name: str, texts: object) -> tuple[Pattern, ...]:
    if not isinstance(texts, list) or not texts:
        raise _bad(name, "has an empty `if` or `then`")
    return tuple(_pattern(name, text) for text in texts)


def _pattern(name: str, text: object) -> Pattern:
    found = _PATTERN.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise _bad(name, "has a pattern that is not of the form `?a relation[qualifier] ?b`")
    entity, relation, qualifiers, variable, literal = found.groups()
    names = tuple(normalise(qualifier) for qualifier in (qualifiers or "").split("|") if qualifier)
    return Pattern(entity, relation, names, variable or normalise(literal))


def _check(rule: Rule, *, known: Collection[str]) -> None:
    for pattern in rule.body:
        if pattern.relation not in known:
            raise _bad(rule.name, f"asks for {pattern.relation}, which is neither a relation nor derived")
    bound = {variable for pattern in rule.body for variable in pattern.variables}
    for head in rule.heads:
        if not bound.issuperset(head.variables):
            raise _bad(rule.name, "derives something about a variable that no premise names")
        if len(_in_reach(rule.body, {head.entity})) != len(rule.body):
            raise _bad(rule.name, "has premises that do not hang together")


def _in_reach(body: Sequence[Pattern], bound: set[str]) -> list[int]:
    """Return the places of the body in the order in which they can be looked up from the variables that are bound."""
    places: list[int] = []
    while True:
        ready = [n for n, pattern in enumerate(body) if n not in places and bound & set(pattern.variables)]
        if not ready:
            return places
        place = next((n for n in ready if body[n].entity in bound), ready[0])
        places.append(place)
        bound = bound | set(body[place].variables)


Binding = Mapping[str, Value]


def derive(entity: int, rules: Rules, look: Look, *, relation: str | None = None) -> list[Known]:
    """Return what follows about one entity and is not stated already, sorted by what it says; of equals the shortest derivation."""
    derivation = _Derivation(rules, look)
    found: dict[tuple, Known] = {}
    for steps in range(1, rules.depth + 1):  # the near first: where a bound is met, what is missing is far
        for known in derivation.derived(entity, steps):
            found.setdefault(known.says, known)
    return sorted((known for known in found.values() if relation is None or known.fact.relation == relation), key=_by_saying)


class _Derivation:
    """One derivation: what was looked up and concluded so far, by entity and steps left."""

    def __init__(self, rules: Rules, look: Look) -> None:
        self._rules = rules
        self._look = look
        self._done: dict[tuple[int, int], list[Known]] = {}
        self._seen: dict[tuple[int, bool], Sequence[Known]] = {}
        self._trials = 0

    def derived(self, entity: int, steps: int) -> list[Known]:
        """Return what follows about an entity within some steps."""
        if steps == 0:
            return []
        if (entity, steps) not in self._done:
            stated = {known.says for known in self._stated(entity)}
            best: dict[tuple, Known] = {}
            for known in self._concluded(entity, steps):
                if known.says not in stated and (known.says not in best or _brevity(known) < _brevity(best[known.says])):
                    best[known.says] = known
            self._done[entity, steps] = sorted(best.values(), key=_by_saying)[:FACTS_MAX]
        return self._done[entity, steps]

    def _concluded(self, entity: int, steps: int) -> Iterator[Known]:
        for rule in self._rules.rules:
            for ordinal, head in enumerate(rule.heads):
                places = _in_reach(rule.body, {head.entity})
                for binding, premises in self._solutions([rule.body[place] for place in places], {head.entity: entity}, steps):
                    in_body_order = [premises[places.index(place)] for place in range(len(places))]
                    yield self._conclude(rule, ordinal, binding, in_body_order)

    def _solutions(self, patterns: Sequence[Pattern], binding: Binding, steps: int) -> Iterator[tuple[Binding, list[Known]]]:
        """Yield every way to make the patterns hold, with the premises in their order."""
        if not patterns:
            yield binding, []
            return
        tried = list(self._tried(patterns[0], binding, steps))
        if len(patterns) > 1:
            self._read_ahead(patterns[1], [bound for bound, _ in tried])
        for bound, known in tried:
            for whole, rest in self._solutions(patterns[1:], bound, steps):
                yield whole, [known, *rest]

    def _tried(self, pattern: Pattern, binding: Binding, steps: int) -> Iterator[tuple[Binding, Known]]:
        """Yield the facts that a pattern matches, each with the binding that it gives."""
        for known in self._candidates(pattern, binding, steps - 1):
            self._trials += 1
            if self._trials > TRIALS_MAX:
                return
            bound = _bind(pattern, known, binding)
            if bound is not None:
                yield bound, known

    def _read_ahead(self, pattern: Pattern, bindings: Sequence[Binding]) -> None:
        wanted = {
            entity for bound in bindings for entity in (bound.get(pattern.entity, bound.get(pattern.value)),) if isinstance(entity, int)
        }
        new = sorted(wanted - {entity for entity, _ in self._seen})[: ENTITIES_MAX - len(self._seen)]
        if len(new) > 1:
            self._look.read(new)

    def _candidates(self, pattern: Pattern, binding: Binding, steps: int) -> list[Known]:
        """Return the facts a pattern may match. Those found by their value alone are stated ones."""
        entity, value = binding.get(pattern.entity), binding.get(pattern.value)
        if isinstance(entity, int):
            facts = [*self._stated(entity), *self.derived(entity, steps)]
        else:
            facts = self._stated(value, as_value=True) if isinstance(value, int) else ()
        fitting = [known for known in facts if _fits(pattern, known)]
        return sorted(fitting, key=lambda known: known.fact.fact_id)[: self._rules.fan_in]

    def _stated(self, entity: int, *, as_value: bool = False) -> Sequence[Known]:
        if (entity, as_value) not in self._seen:
            if len(self._seen) >= ENTITIES_MAX:
                return ()
            self._seen[entity, as_value] = self._look.valued(entity) if as_value else self._look.about(entity)
        return self._seen[entity, as_value]

    def _conclude(self, rule: Rule, ordinal: int, binding: Binding, premises: Sequence[Known]) -> Known:
        head = rule.heads[ordinal]
        entity, value = binding[head.entity], binding.get(head.value, head.value)
        assert isinstance(entity, int)
        shown = self._look.name(value) if isinstance(value, int) else next((p.fact.value for p in premises if p.value == value), value)
        fact = _fact(rule, ordinal, [premise.fact for premise in premises])
        qualifier = head.qualifiers[0] if head.qualifiers else ""
        named = replace(fact, entity=self._look.name(entity), relation=head.relation, qualifier=qualifier, value=shown)
        return Known(named, entity, value)


def _brevity(known: Known) -> tuple[int, bytes]:
    return (known.fact.depth, known.fact.fact_id)


def _by_saying(known: Known) -> tuple[str, str, str, bytes]:
    return (known.fact.relation, known.fact.qualifier, known.fact.value, known.fact.fact_id)


def _fits(pattern: Pattern, known: Known) -> bool:
    fact = known.fact
    return fact.relation == pattern.relation and (not pattern.qualifiers or normalise(fact.qualifier) in pattern.qualifiers)


def _bind(pattern: Pattern, known: Known, binding: Binding) -> Binding | None:
    """Return the binding extended by a fact, None if the fact contradicts it or names one entity twice."""
    bound = dict(binding)
    for term, value in ((pattern.entity, known.entity), (pattern.value, known.value)):
        if not term.startswith("?"):
            if value != term:
                return None
        elif term in bound:
            if bound[term] != value:
                return None
        elif value in bound.values():
            return None
        else:
            bound[term] = value
    return bound


def derived_id(rule: Rule, ordinal: int, premises: Sequence[bytes]) -> bytes:
    """Return HMAC(sorted premise ids, rule digest ‖ head ordinal ‖ which premise stands in which place)[:16].

    The places tell apart two conclusions from the same premises: that Tom is Ruth's brother, and that Ruth is Tom's sister.
    """
    ordered = sorted(premises)
    places = bytes(ordered.index(premise) for premise in premises)
    return hmac.digest(b"".join(ordered), rule.digest + ordinal.to_bytes(4, "big") + places, "sha256")[:16]


def _fact(rule: Rule, ordinal: int, premises: Sequence[Fact]) -> Fact:
    """Return what is the same for every conclusion: as firm as its weakest premise, as new as its newest, while all are valid."""
    newest = max(premises, key=lambda fact: (fact.said_at, fact.seq, fact.fact_id))
    starts = [fact.valid_from for fact in premises if fact.valid_from is not None]
    ends = [fact.valid_to for fact in premises if fact.valid_to is not None]
    return Fact(
        fact_id=derived_id(rule, ordinal, [fact.fact_id for fact in premises]),
        entity="",
        relation="",
        value="",
        qualifier="",
        act=Act.SAY,
        modality=max((fact.modality for fact in premises), default=Modality.ASSERTED),
        asserted_by="",
        said_at=newest.said_at,
        valid_from=max(starts, default=None),
        valid_to=min(ends, default=None),
        valid_precision=max((fact.valid_precision for fact in premises if fact.valid_precision is not None), default=None),
        valid_source="premises" if starts or ends else "",
        seq=max(fact.seq for fact in premises),
        extractor="",
        support=tuple(sorted({support for fact in premises for support in fact.support})),
        subjects=tuple(sorted({subject for fact in premises for subject in fact.subjects})),
        standing=Standing.HOLDS,
        contested=any(fact.contested for fact in premises),
        source=newest.source,
        rule=rule.name,
        premises=tuple(sorted({fact.fact_id for fact in premises})),
        depth=1 + max(fact.depth for fact in premises),
    )
