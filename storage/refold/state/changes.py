"""Changes: what a view learned, unlearned and holds otherwise since a point of the log. Two readings of one state, compared.

What holds is decided at read, over the statements that the time admits, so that the past needs no second state: the same rows are read as
of then and as of now. What was erased between is in neither. What follows by a rule is not compared, as it is in no list of everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from refold import recipes
from refold.fold.merge import Stance
from refold.fold.relations import Relations
from refold.model import View, normalise
from refold.reading import Fact, Standing
from refold.state.everybody import all_stances
from refold.state.generation import State
from refold.state.telling import fact_of


@dataclass(frozen=True, slots=True)
class Changed:
    """A fact that holds otherwise: another value took its place, or it is now contested, or claims another time for itself."""

    before: Fact
    after: Fact


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of what a view knew. Facts in the order of whom they are about; those unlearned as they stand now."""

    learned: tuple[Fact, ...]
    unlearned: tuple[Fact, ...]  # denied, ended or outranked, with nothing in their place
    changed: tuple[Changed, ...]
    erasures: int | None = 0  # since then: what they took is in none of these; None: withheld

    @property
    def is_empty(self) -> bool:
        return not (self.learned or self.unlearned or self.changed)


def changes(state: State, view: View, then: View, *, relations: Relations | None = None) -> Changes:
    """Return what changed between two views of one state, of which `then` is as of an earlier point."""
    relations = relations or recipes.relations()
    before = all_stances(state, then, relations, standings={Standing.HOLDS})
    return compared(before, all_stances(state, view, relations, standings=frozenset(Standing)))


def compared(before: Iterable[Stance], now: Iterable[Stance]) -> Changes:
    """Compare what held with all that is stated now, whatever its standing; every saying of before is one of now."""
    now = list(now)
    stands = {claim.fact_id: stance for stance in now for claim in stance.sayings}
    learned = {stance.shown.fact_id: stance for stance in now if stance.standing is Standing.HOLDS}
    unlearned: list[Fact] = []
    changed: list[Changed] = []
    for old in before:
        new = _heir(old, stands)
        if new.standing is not Standing.HOLDS:
            unlearned.append(fact_of(new))
            continue
        learned.pop(new.shown.fact_id, None)
        earlier, later = fact_of(old), fact_of(new)
        if not _is_same(old, new) or _terms(earlier) != _terms(later):
            changed.append(Changed(earlier, later))
    return Changes(
        _ordered(map(fact_of, learned.values())),
        _ordered(unlearned),
        tuple(sorted(changed, key=lambda one: _place(one.after))),
    )


def _heir(old: Stance, stands: Mapping[bytes, Stance]) -> Stance:
    """Return what holds in the place of a fact: itself, or what superseded it; else how it stands now."""
    own = [stands[claim.fact_id] for claim in old.sayings]
    new = fallen = next((stance for stance in own if stance.standing is Standing.HOLDS), stands[old.shown.fact_id])
    while new.standing is Standing.SUPERSEDED and new.beaten_by is not None:
        new = stands[new.beaten_by.fact_id]
    return new if new.standing is Standing.HOLDS else fallen


def _is_same(old: Stance, new: Stance) -> bool:
    """Whether a fact is still the one that it was: said by one of its sayings of then."""
    return not {claim.fact_id for claim in old.sayings}.isdisjoint(claim.fact_id for claim in new.sayings)


def _terms(fact: Fact) -> tuple[object, ...]:
    return (fact.contested, fact.modality, fact.valid_from, fact.valid_to)


def _ordered(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(sorted(facts, key=_place))


def _place(fact: Fact) -> tuple[str, str, str, str, bytes]:
    return (normalise(fact.entity), fact.relation, fact.qualifier, fact.value, fact.fact_id)
