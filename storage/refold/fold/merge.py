"""Decide what holds: the one place where statements meet.

Assertions are only added, never edited; what holds is computed when somebody reads, over the claims that this reader may see. So a
hidden statement changes nothing for those who may not see it, and where a newer statement is erased the older one holds again by itself.

The rule, for one entity, per relation and qualifier, over its acts in merge order:

- The last act on a value must be `say`. A denial or end without a value ("I quit") closes every value that is open; one that names a
  value and no qualifier ("I divorced Tom") closes that value under every qualifier.
- In a relation with cardinality one, only the value of the last `say` can hold; if it was denied or ended since, nothing holds.
- Only what is asserted fills such a relation; what is planned, hedged or reported stays tentative beside it.
- An asserted denial or end closes whatever it names. Any other closes only statements of its own modality.
- Nothing supersedes or ends an event that happened; it can be denied.
- Conflict `contested` applies the rule to each asserter alone: several open values all hold, flagged. Conflict `source` hears only the
  acts of the highest rank present.

The order is of the statements, (said_at, source, part, seq, span, extractor, act), and never of the times they speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from refold.model import Act, Modality, normalise, part_key
from refold.reading import Claim, Standing

Value = int | str  # an entity by its component, a literal by its normalised form
ComponentOf = Callable[[int], int]


class Policy(Protocol):
    """What the merge asks of a relation."""

    @property
    def cardinality(self) -> str: ...  # one | many

    @property
    def conflict(self) -> str: ...  # latest | contested | source

    @property
    def kind(self) -> str: ...  # state | event


PolicyOf = Callable[[str], Policy]


@dataclass(frozen=True, slots=True)
class Decided:
    """A claim and where it stands. `beaten_by` is the claim that superseded, denied, ended or outranked it."""

    claim: Claim
    standing: Standing
    contested: bool = False
    beaten_by: Claim | None = None


@dataclass(frozen=True, slots=True)
class Stance:
    """What a reader is shown as one fact: a value, and every saying of it that stands or fell together.

    `shown` is the latest saying, an asserted one before a weaker one; `sayings` are all of them, latest first. A value said three times
    is one fact with three supports; when the newest is erased, the fact remains on the other two.
    """

    shown: Claim
    sayings: tuple[Claim, ...]
    standing: Standing
    contested: bool
    beaten_by: Claim | None


def order(claim: Claim) -> tuple[int, str, str, int, tuple[int, int], str, int, int, bytes]:
    """Return the key of the merge order. Modality and id only part what is otherwise the same act of the same words."""
    return (
        claim.said_at,
        claim.source,
        part_key(claim.part),
        claim.seq,
        claim.span,
        claim.extractor,
        int(claim.act),
        int(claim.modality),
        claim.fact_id,
    )


def itself(mention: int) -> int:
    """Return the mention: the component of an entity that nothing joins to another."""
    return mention


def value_of(claim: Claim, component_of: ComponentOf = itself) -> Value:
    """Return the value in the form under which values are compared; "" where the act names none."""
    return component_of(claim.value_mention) if claim.value_mention else normalise(claim.value)


def is_single(policy: Policy) -> bool:
    """Whether a later value supersedes an earlier one."""
    return policy.cardinality == "one" and policy.kind != "event"


def decide(claims: Iterable[Claim], policy_of: PolicyOf, component_of: ComponentOf = itself) -> list[Decided]:
    """Decide all claims about one entity that one view admits; a function of the set, whatever its order.

    `component_of` names the entity a mention belongs to: for values that are entities, and for who asserts.
    """
    relations: dict[str, dict[str, list[Claim]]] = {}
    for claim in sorted(claims, key=order):
        relations.setdefault(claim.relation, {}).setdefault(normalise(claim.qualifier), []).append(claim)
    return [
        decided for relation, groups in sorted(relations.items()) for decided in _decide_relation(groups, policy_of(relation), component_of)
    ]


def _decide_relation(groups: Mapping[str, Sequence[Claim]], policy: Policy, component_of: ComponentOf) -> list[Decided]:
    """Decide the claims of one relation, by qualifier, each in merge order."""
    strays = [claim for claim in groups.get("", ()) if claim.act is not Act.SAY and value_of(claim, component_of) != ""]
    decided: list[Decided] = []
    closing: set[bytes] = set()
    for qualifier, group in sorted(groups.items()):
        found = _decide_group(group, strays if qualifier else (), policy, component_of)
        closing.update(one.claim.fact_id for one in found if one.standing is Standing.CLOSING)
        own = {claim.fact_id for claim in group}
        decided += [one for one in found if one.claim.fact_id in own]
    return [Decided(one.claim, Standing.CLOSING) if one.claim.fact_id in closing else one for one in decided]


def _decide_group(group: Sequence[Claim], strays: Sequence[Claim], policy: Policy, component_of: ComponentOf) -> list[Decided]:
    """Decide the claims of one relation and qualifier, and how the acts without a qualifier fare among them."""
    together = sorted([*group, *strays], key=order)
    outranked = _outranked(group, together) if policy.conflict == "source" else {}
    heard = [claim for claim in together if claim.fact_id not in outranked]
    fates = dict(outranked)
    for voices in _by_asserter(heard, component_of) if policy.conflict == "contested" else [heard]:
        fates |= _play(voices, policy, component_of)
    flagged = _disputed(heard, fates, policy, component_of) if policy.conflict == "contested" else frozenset()
    return [_decided(claim, fates, flagged) for claim in together]


Fates = dict[bytes, tuple[Standing, Claim | None]]  # by fact_id


def _decided(claim: Claim, fates: Fates, flagged: frozenset[bytes]) -> Decided:
    standing, beaten_by = fates[claim.fact_id]
    return Decided(claim, standing, claim.fact_id in flagged, beaten_by)


def _outranked(group: Sequence[Claim], claims: Sequence[Claim]) -> Fates:
    """Return which claims a higher rank within the group silences, each with the newest act of the highest rank.

    As with closing, an asserted act outweighs any modality, another only its own: "maybe" does not silence a document.
    """
    loudest: dict[Modality, Claim] = {}
    for claim in group:
        if claim.modality not in loudest or claim.rank >= loudest[claim.modality].rank:
            loudest[claim.modality] = claim
    fates: Fates = {}
    for claim in claims:
        rivals = [loudest[m] for m in (claim.modality, Modality.ASSERTED) if m in loudest and loudest[m].rank > claim.rank]
        if rivals:
            fates[claim.fact_id] = (Standing.OUTRANKED, max(rivals, key=lambda rival: (rival.rank, order(rival))))
    return fates


def _by_asserter(group: Sequence[Claim], component_of: ComponentOf) -> list[list[Claim]]:
    voices: dict[int, list[Claim]] = {}
    for claim in group:
        voices.setdefault(component_of(claim.asserted_by), []).append(claim)
    return list(voices.values())


def _play(group: Sequence[Claim], policy: Policy, component_of: ComponentOf) -> Fates:
    """Let the acts follow each other; return where each claim ends up."""
    single = is_single(policy)
    fates: Fates = {}
    open_: dict[Value, list[Claim]] = {}
    for claim in group:
        value = value_of(claim, component_of)
        if claim.act is Act.SAY:
            fills = single and claim.modality is Modality.ASSERTED
            if fills:
                rivals = [c for other, said in open_.items() if other != value for c in said if c.modality is Modality.ASSERTED]
                _close(rivals, Standing.SUPERSEDED, by=claim, open_=open_, fates=fates, component_of=component_of)
            open_.setdefault(value, []).append(claim)
            fates[claim.fact_id] = (Standing.HOLDS if fills or not single else Standing.TENTATIVE, None)
            continue
        named = open_.get(value, []) if value != "" else [c for said in open_.values() for c in said]
        ended_event = claim.act is Act.END and policy.kind == "event"
        closed = [] if ended_event else [c for c in named if _closes(claim, c, reaches_all=value != "" or not single)]
        standing = Standing.DENIED if claim.act is Act.DENY else Standing.ENDED
        _close(closed, standing, by=claim, open_=open_, fates=fates, component_of=component_of)
        fates[claim.fact_id] = (Standing.CLOSING if closed else Standing.INERT, None)
    return fates


def _closes(act: Claim, said: Claim, *, reaches_all: bool) -> bool:
    """Whether a denial or end that names this value, or names none, closes this saying of it.

    "I quit" is not about a job that is only planned: in a relation with cardinality one, what is tentative is not open to an act that
    names no value.
    """
    return act.modality is said.modality or (act.modality is Modality.ASSERTED and reaches_all)


def _close(
    claims: Sequence[Claim],
    standing: Standing,
    *,
    by: Claim,
    open_: dict[Value, list[Claim]],
    fates: Fates,
    component_of: ComponentOf,
) -> None:
    closed = {claim.fact_id for claim in claims}
    fates.update((fact_id, (standing, by)) for fact_id in closed)
    for value in {value_of(claim, component_of) for claim in claims}:
        open_[value] = [claim for claim in open_[value] if claim.fact_id not in closed]
        if not open_[value]:
            del open_[value]


def _disputed(group: Sequence[Claim], fates: Fates, policy: Policy, component_of: ComponentOf) -> frozenset[bytes]:
    """Return which holding claims somebody else disputes: by another value of a single relation, or by a denial that stands."""
    holding = [claim for claim in group if fates[claim.fact_id][0] is Standing.HOLDS]
    if is_single(policy) and len({value_of(claim, component_of) for claim in holding}) > 1:
        return frozenset(claim.fact_id for claim in holding)
    said: dict[tuple[int, Value], int] = {}
    denied: dict[int, dict[Value, int]] = {}
    for place, claim in enumerate(group):
        asserter, value = component_of(claim.asserted_by), value_of(claim, component_of)
        if claim.modality is Modality.ASSERTED and claim.act is Act.SAY:
            said[asserter, value] = place
        elif claim.modality is Modality.ASSERTED and claim.act is Act.DENY:
            denied.setdefault(asserter, {})[value] = place

    def is_denied(claim: Claim) -> bool:
        mine, value = component_of(claim.asserted_by), value_of(claim, component_of)
        return any(
            max(places.get(value, -1), places.get("", -1)) > said.get((other, value), -1)
            for other, places in denied.items()
            if other != mine
        )

    return frozenset(claim.fact_id for claim in holding if is_denied(claim))


def stances(decided: Iterable[Decided], policy_of: PolicyOf, component_of: ComponentOf = itself) -> list[Stance]:
    """Gather the decided claims of one entity into what a reader is shown, in merge order of the claims shown.

    Two sayings of an event are one only if they give it the same time: "I saw it in May" and "I saw it in June" are two.
    """
    gathered: dict[tuple, list[Decided]] = {}
    for one in decided:
        claim = one.claim
        if claim.act is not Act.SAY:
            gathered[("", claim.fact_id)] = [one]
            continue
        happened = claim.validity.start if policy_of(claim.relation).kind == "event" else None
        beater = one.beaten_by.fact_id if one.beaten_by else b""
        key = (claim.relation, normalise(claim.qualifier), value_of(claim, component_of), one.standing, beater, happened)
        gathered.setdefault(key, []).append(one)
    return sorted(map(_stance, gathered.values()), key=lambda stance: order(stance.shown))


def _stance(together: Sequence[Decided]) -> Stance:
    """Return one stance of decided claims that come in merge order."""
    firm = [one for one in together if one.claim.modality is Modality.ASSERTED]
    shown = (firm or together)[-1]
    sayings = tuple(one.claim for one in reversed(together))
    return Stance(shown.claim, sayings, shown.standing, any(one.contested for one in together), shown.beaten_by)


def in_effect(claims: Iterable[Claim], at: int, policy_of: PolicyOf) -> list[Claim]:
    """Return the acts that speak of the time `at` (µs): deciding over these alone says what held then, by all that is known.

    A saying speaks of [valid_from, valid_to), from said_at where it states no beginning, without end where it states none; a state said
    to have ended before it was said has no known beginning. An event that happened stays so. A denial or end speaks of all that follows
    the time it names, or its saying. So "I've been living in Munich since 2023", said in 2024, answers for 2023, against "I live in
    Berlin", said before.
    """
    return [claim for claim in claims if _speaks_of(claim, at, is_event=policy_of(claim.relation).kind == "event")]


def _speaks_of(claim: Claim, at: int, *, is_event: bool) -> bool:
    if claim.act is not Act.SAY:
        return closing_time(claim) <= at
    start, end = claim.validity.start, claim.validity.end
    if start is None:
        start = at if end is not None and end <= claim.said_at else claim.said_at
    return start <= at and (is_event or end is None or at < end)


def closing_time(claim: Claim) -> int:
    """Return from when on a denial or end, or the saying of another value, takes effect (µs)."""
    validity = claim.validity
    if validity.start is not None:
        return validity.start
    return validity.end if validity.end is not None and claim.act is not Act.SAY else claim.said_at


def held_until(said: Claim, beaten_by: Claim) -> int:
    """Return when a value that another act beat ceased to hold (µs), for showing a history.

    That is the time which that act gives; but where it gives one before the value itself was said, the value held as far as anyone knew
    until the act was said: Berlin, said in January, was believed until June, when "Munich since last year" was said.
    """
    began = said.said_at if said.validity.start is None else said.validity.start
    until = closing_time(beaten_by)
    return until if until > began else beaten_by.said_at
