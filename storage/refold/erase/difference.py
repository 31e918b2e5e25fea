"""The difference that an erasure makes to everyone's memory, before anything changes.

What holds is decided at read, over the statements that are there. So the plan reads the state twice: as it is, and as if no statement
rested on what is to be erased. What holds in the first alone goes; what holds in the second alone holds again. Only entities that the
erased statements touch are looked at: nothing else can change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refold import recipes
from refold.erase.model import Target
from refold.fold.entities import Edge
from refold.fold.merge import Stance
from refold.fold.rules import Rules, derive
from refold.model import SubjectId, View, normalise
from refold.reading import Claim, Fact, Standing
from refold.state import profiles
from refold.state.facts import Look
from refold.state.generation import State
from refold.state.sight import Sight
from refold.state.tables import PROFILES
from refold.state.telling import fact_of

OPERATOR = View()  # every scope and label: the plan is of everyone's memory
RINGS = 2  # around what changes, in which something may follow by a rule


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """What an erasure changes in what everybody knows, as it is folded now. Facts in the order of who they are about."""

    gone: tuple[Fact, ...]  # hold now, and will not
    again: tuple[Fact, ...]  # will hold, and do not now: what was beaten by what goes
    claims: int  # statements that go, whether they hold or not
    edges: int  # statements that two names are one entity's, that go
    sentences: tuple[Fact, ...] = ()  # of profiles, that go: what a model writes anew is not known before

    def of_others(self, subjects: Iterable[SubjectId]) -> PlanDiff:
        """Return what changes for anybody but these: facts that rest on events which concern others too, or come back."""
        own = frozenset(subjects)

        def others(facts: Iterable[Fact]) -> tuple[Fact, ...]:
            return tuple(fact for fact in facts if not fact.subjects or not own.issuperset(fact.subjects))

        return PlanDiff(others(self.gone), self.again, self.claims, self.edges, others(self.sentences))


@dataclass(frozen=True, slots=True)
class Reread:
    """What a model reads of some entries, where it was told others beside them before."""

    seqs: frozenset[int] = frozenset()
    claims: tuple[Claim, ...] = ()
    edges: tuple[Edge, ...] = ()


class Without(Sight):
    """The sight of a view on a state as if some entries had never been, and others had been read again."""

    gone: frozenset[int] = frozenset()
    reread: Reread = Reread()

    def claims(self, mentions: Iterable[int]) -> list[Claim]:
        wanted = set(mentions)
        return [*Sight.claims(self, wanted), *(claim for claim in self.reread.claims if claim.mention in wanted)]

    def edges_of(self, mentions: Sequence[int]) -> list[Edge]:
        return [*Sight.edges_of(self, mentions), *(edge for edge in self.reread.edges if edge.a in set(mentions))]

    def sees(self, said: Claim | Edge) -> bool:
        named = said.named_seq if isinstance(said, Claim) else None
        return said.seq not in self.gone and named not in self.gone and Sight.sees(self, said)


def diff(
    state: State, target: Target, *, rules: Rules | None = None, reread: Reread | None = None, calls: Collection[bytes] = ()
) -> PlanDiff:
    """Return what an erasure changes in what is known. Of what is not folded yet nothing is known, and nothing changes.

    `calls` are the recordings that go dark: what a model wrote in them goes, whichever facts it names.
    """
    if state.absent is not None:
        return PlanDiff((), (), 0, 0)
    relations, rules = recipes.relations(), recipes.rules() if rules is None else rules
    gone, reread = seqs_of(state, target), reread or Reread()
    claims, edges = _touched(state, gone)
    now, then = Sight(state, OPERATOR, relations), Without(state, OPERATOR, relations)
    then.gone, then.reread = reread.seqs.union(gone.tolist()), reread
    mentions = _around(now, *_touched(state, np.array(sorted(then.gone), np.uint64)), reread)
    before, after = _stances(now, mentions), _stances(then, mentions)
    facts_gone, facts_again = _parted(before, after), _parted(after, before)
    wide = _widened(state, now, mentions)
    derived_before, derived_after = _derived(now, rules, wide), _derived(then, rules, wide)
    return PlanDiff(
        _ordered([*facts_gone, *(fact for says, fact in derived_before.items() if says not in derived_after)]),
        _ordered([*facts_again, *(fact for says, fact in derived_after.items() if says not in derived_before)]),
        claims.num_rows,
        edges.num_rows,
        _ordered(_sentences(now, then, mentions, calls)),
    )


def seqs_of(state: State, target: Target) -> np.ndarray:
    """Return the folded entries that a target reaches, sorted."""
    about = _among(state.table("event_subjects", ["seq", "subject"]), "subject", target.subjects)
    alone = _among(state.table("events", ["seq", "event_id"]), "event_id", target.events)
    return np.unique(np.concatenate([about["seq"].to_numpy(), alone["seq"].to_numpy()]))


def _among(rows: pa.Table, column: str, ids: Iterable[bytes]) -> pa.Table:
    """Return the rows that have one of some ids."""
    return rows.join(pa.table({column: pa.array(sorted(ids), pa.binary(16))}), column, join_type="left semi")


def _having(rows: pa.Table, wanted: np.ndarray, *columns: str) -> pa.Table:
    """Return the rows that have one of some numbers in one of some columns."""
    found = [np.isin(rows[name].to_numpy(), wanted) for name in columns]
    return rows.filter(pa.array(np.logical_or.reduce(found)))


def _touched(state: State, gone: np.ndarray) -> tuple[pa.Table, pa.Table]:
    """Return the statements, and those about names, that rest on entries that go."""
    claims = state.table("assertions", ["mention", "value_mention", "asserted_by", "seq", "named_seq"])
    return _having(claims, gone, "seq", "named_seq"), _having(state.table("edges", ["a", "b", "seq"]), gone, "seq")


def _around(now: Sight, claims: pa.Table, edges: pa.Table, reread: Reread) -> set[int]:
    """Return every mention about which something may be decided otherwise: of whom claims go, and whose names come apart."""
    found = {*claims["mention"].to_pylist(), *(claim.mention for claim in reread.claims)}
    parted = {*edges["a"].to_pylist(), *edges["b"].to_pylist(), *(edge.a for edge in reread.edges)}
    apart = {mention for component in now.components(parted) for mention in component.mentions}
    found |= apart
    if apart:
        found |= {about for valuing in now.state.mentions_valuing(apart).values() for about in valuing}
        said = now.state.table("assertions", ["mention", "asserted_by"])
        found |= set(_having(said, np.array(sorted(apart), np.uint64), "asserted_by")["mention"].to_pylist())
    return {mention for component in now.components(found) for mention in component.mentions}


def _stances(sight: Sight, mentions: set[int]) -> list[Stance]:
    entities = [component.entity for component in sight.components(mentions)]
    return [stance for each in sight.stances_each(entities) for stance in each if stance.standing is Standing.HOLDS]


def _parted(here: Sequence[Stance], there: Sequence[Stance]) -> list[Fact]:
    """Return the facts that hold here and not there: of which no saying stands in a fact that holds there."""
    known = {claim.fact_id for stance in there for claim in (stance.shown, *stance.sayings)}
    return [fact_of(stance) for stance in here if known.isdisjoint(claim.fact_id for claim in (stance.shown, *stance.sayings))]


def _widened(state: State, now: Sight, mentions: set[int]) -> set[int]:
    """Return the mentions from which a rule can reach what changes."""
    wide = set(mentions)
    for _ in range(RINGS):
        near = {about for valuing in state.mentions_valuing(wide).values() for about in valuing}
        near |= {claim.value_mention for claim in state.claims(wide) if claim.value_mention}
        wide |= {mention for component in now.components(near) for mention in component.mentions}
    return wide


def _derived(sight: Sight, rules: Rules, mentions: set[int]) -> dict[tuple[str, ...], Fact]:
    """Return what follows by rule about the entities of some mentions, by what it says."""
    look = Look(sight, rules)
    facts = [known.fact for component in sight.components(mentions) for known in derive(component.entity, rules, look)]
    return {tuple(map(normalise, (fact.entity, fact.relation, fact.qualifier, fact.value))): fact for fact in facts}


def _sentences(now: Sight, then: Sight, mentions: set[int], calls: Collection[bytes]) -> Iterator[Fact]:
    """Yield the sentences of profiles that stand now and will not: a premise goes, or the recording that they were written in."""
    if not now.state.runs(PROFILES.name):
        return
    every = now.state.table(PROFILES.name).to_pylist()
    rows = [row for row in every if row["mention"] in mentions or row["call_id"] in calls]
    stays = {row["fact_id"] for row in profiles.standing(then, rows) if row["call_id"] not in calls}
    for row in profiles.standing(now, rows):
        if row["fact_id"] not in stays:
            said = {claim.fact_id: claim for stance in now.stances(now.component_of(row["mention"])) for claim in stance.sayings}
            yield profiles.as_fact(row, [said[premise] for premise in row["premises"]])


def _ordered(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(sorted(facts, key=lambda fact: (normalise(fact.entity), fact.relation, fact.qualifier, fact.value, fact.fact_id)))
