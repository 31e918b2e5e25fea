"""Absent: why memory does not hold that an entity has a value in a relation, or that it does. Nothing is told that the view may not see.

What was said of the value is looked for where a fact would come from, in this order: the facts themselves, whatever became of them; what
was said since the last fold; what was taken for a statement and refused; words from which no statement was read. Whoever may see
everything is also told that it was said outside the scope that was asked about; to anybody else it was not mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from refold import recipes
from refold.errors import Usage
from refold.fold.merge import Stance, order, value_of
from refold.fold.relations import Relations
from refold.fold.rules import Rules, derive
from refold.log.log import Log
from refold.model import Act, Event, Modality, Span, View, normalise
from refold.reading import Fact, RejectionCode, Standing
from refold.state.facts import Look, entities_named, known_relations
from refold.state.generation import State
from refold.state.rows import speaker_of
from refold.state.sight import Sight
from refold.state.tables import ROLES
from refold.state.telling import fact_of
from refold.state.terms import Terms
from refold.state.why import Saying, saying_of, stance_of
from refold.words import Stems, words_of

SAYINGS_MAX = 3  # of each kind that are told: the newest
_RELATION = re.compile(r"(?P<name>[^()]+)(?:\((?P<qualifier>.*)\))?")


class Because(StrEnum):
    """Why something is not held. Of several the first in this order is the answer, and `HOLDS` says that it is held."""

    HOLDS = "holds"
    SUPERSEDED = "superseded"
    DENIED = "denied"
    ENDED = "ended"
    OUTRANKED = "outranked"
    PLANNED = "planned"
    HEDGED = "hedged"
    REPORTED = "reported"
    ONLY_DENIED = "only-denied"  # it was denied, or said to be over, and never said
    UNFOLDED = "unfolded"  # its words were said, and no fold has read them yet
    REJECTED = "rejected"  # taken for a statement, and refused
    CONTEXT_ONLY = "context-only"  # said by nobody whose words are statements: an assistant, a tool
    UNREAD = "unread"  # its words were said, and no statement of the relation was read in them
    NOT_IN_SCOPE = "not-in-scope"
    NOT_MENTIONED = "not-mentioned"


OF_STANDING = {
    Standing.HOLDS: Because.HOLDS,
    Standing.SUPERSEDED: Because.SUPERSEDED,
    Standing.DENIED: Because.DENIED,
    Standing.ENDED: Because.ENDED,
    Standing.OUTRANKED: Because.OUTRANKED,
}
OF_MODALITY = {Modality.PLANNED: Because.PLANNED, Modality.HEDGED: Because.HEDGED, Modality.REPORTED: Because.REPORTED}


@dataclass(frozen=True, slots=True)
class Asked:
    """What may be absent. A `qualifier` of None is any."""

    entity: str
    relation: str
    qualifier: str | None
    value: str

    @classmethod
    def of(cls, entity: str, relation: str, value: str) -> Asked:
        """Read a question; a relation may name its qualifier, as in `kin(sister)`. Raises Usage."""
        read = _RELATION.fullmatch(relation.strip())
        if not read or not entity.strip() or not value.strip():
            raise Usage("an entity, a relation and a value are needed, each of at least one character", hint="refold help why")
        return cls(entity, read["name"], read["qualifier"], value)


@dataclass(frozen=True, slots=True)
class Ground:
    """One reason. Of what became a fact `fact` says which, and `by` what beat it; of words that became none, `saying` says where."""

    because: Because
    fact: Fact | None = None
    by: Fact | None = None
    saying: Saying | None = None
    code: str = ""  # of a rejection


@dataclass(frozen=True, slots=True)
class Absence:
    """Why memory does not hold something: at least one ground, and what it holds of the relation instead."""

    grounds: tuple[Ground, ...]
    instead: tuple[Fact, ...]

    @property
    def because(self) -> Because:
        return self.grounds[0].because

    @property
    def is_held(self) -> bool:
        return self.because is Because.HOLDS


def why_not(
    state: State,
    tail: Sequence[Event],
    log: Log,
    view: View,
    asked: Asked,
    *,
    elsewhere: View | None = None,
    relations: Relations | None = None,
    rules: Rules | None = None,
) -> Absence:
    """Say why a view does not hold what is asked, or that it does. `tail` is every event of the log behind the state.

    `elsewhere` is the view of whoever may be told that it was said outside of the view that is asked. Raises Usage.
    """
    relations, rules = relations or recipes.relations(), recipes.rules() if rules is None else rules
    if asked.relation not in known_relations(relations, rules):
        raise Usage("there is no relation of this name", hint="refold help relations")
    about = _About(Sight(state, view, relations), asked, rules)
    found = list(about.grounds())
    if not any(ground.because is Because.HOLDS for ground in found):
        mentions = _Mentions(state, tail, log, view, about)
        found += [*mentions.unfolded(), *mentions.rejected()]
        found = found or list(mentions.unread())
    if not found and elsewhere is not None:
        other = _About(Sight(state, elsewhere, relations), asked, rules)
        found = [Ground(Because.NOT_IN_SCOPE, ground.fact) for ground in other.grounds()][:1]
    places = list(Because)
    found.sort(key=lambda ground: places.index(ground.because))  # stable: of one kind the newest is first
    return Absence(tuple(found) or (Ground(Because.NOT_MENTIONED),), tuple(about.instead()))


def grounds_of(stances: Iterable[Stance], meant: Callable[[Stance], bool]) -> list[tuple[Because, Stance]]:
    """Return why each stance that is meant does not hold, or that it does; the newest first. Acts that nothing was said for come alone."""
    of = sorted(filter(meant, stances), key=lambda stance: order(stance.shown), reverse=True)
    said = [stance for stance in of if stance.shown.act is Act.SAY]
    return [(_because(stance), stance) for stance in said or of]


def _because(stance: Stance) -> Because:
    if stance.shown.act is not Act.SAY:
        return Because.ONLY_DENIED
    return OF_STANDING.get(stance.standing) or OF_MODALITY[stance.shown.modality]


class _About:
    """What a sight holds of the entity, the relation and the value that are asked about."""

    def __init__(self, sight: Sight, asked: Asked, rules: Rules) -> None:
        self.sight, self.asked, self._rules = sight, asked, rules
        self.entities = entities_named(sight, asked.entity, first_person=False)
        self._values = frozenset(entities_named(sight, asked.value, first_person=False))

    def grounds(self) -> Iterator[Ground]:
        """Yield a ground for each fact that says so, whatever became of it."""
        for stances in self.sight.stances_each(self.entities):
            for because, stance in grounds_of(stances, lambda one: self._is_theme(one) and self._is_value(one)):
                by = None if stance.beaten_by is None else fact_of(stance_of(stances, stance.beaten_by))
                yield Ground(because, fact_of(stance), by)
        yield from (Ground(Because.HOLDS, fact) for fact in self._derived() if normalise(fact.value) == normalise(self.asked.value))

    def instead(self) -> Iterator[Fact]:
        """Yield what holds of the relation, and is another value."""
        for stances in self.sight.stances_each(self.entities):
            for stance in reversed(stances):
                if stance.standing is Standing.HOLDS and self._is_theme(stance) and not self._is_value(stance):
                    yield fact_of(stance)

    def _is_theme(self, stance: Stance) -> bool:
        return stance.shown.relation == self.asked.relation and self._is_qualifier(stance.shown.qualifier)

    def _is_qualifier(self, qualifier: str) -> bool:
        return self.asked.qualifier is None or normalise(qualifier) == normalise(self.asked.qualifier)

    def _is_value(self, stance: Stance) -> bool:
        wanted = normalise(self.asked.value)
        known = value_of(stance.shown, self.sight.component_of)
        return known in self._values or any(normalise(claim.value) == wanted for claim in stance.sayings)

    def _derived(self) -> Iterator[Fact]:
        look = Look(self.sight, self._rules)
        for entity in self.entities:
            for known in derive(entity, self._rules, look, relation=self.asked.relation):
                if self._is_qualifier(known.fact.qualifier):
                    yield known.fact


class _Mentions:
    """The events that say the value of the entity in words: as their speaker, or by its name."""

    def __init__(self, state: State, tail: Sequence[Event], log: Log, view: View, about: _About) -> None:
        self._state, self._tail, self._log, self._view = state, tail, log, view
        self._sight, self._asked = about.sight, about.asked
        self._mentions = {mention for entity in about.entities for mention in about.sight.mentions_of(entity)}
        self._stems = Stems(recipes.search().index.stop)
        self._folded = self._read()

    def unfolded(self) -> Iterator[Ground]:
        """Yield what was said since the last fold, and what a model has not answered about."""
        wanted, of = self._stemmed(self._asked.value), self._stemmed(self._asked.entity)
        found = [event for event in self._tail if self._view.admits(event) and event.asserts and self._says(event, wanted, of)]
        found += [self._log.event(seq) for seq in self._state.pending if seq in self._folded]
        yield from self._grounds(Because.UNFOLDED, found)

    def rejected(self) -> Iterator[Ground]:
        """Yield what was refused as a statement of the relation."""
        rows = self._state.lookup("rejections", sorted(self._folded), ["seq", "relation", "code"]).to_pylist()
        codes = {row["seq"]: RejectionCode(row["code"]) for row in rows if row["relation"] in (self._asked.relation, "")}
        for seq in sorted(codes, reverse=True)[:SAYINGS_MAX]:
            code = codes[seq].name.lower().replace("_", "-")
            yield Ground(Because.REJECTED, saying=self._saying(self._log.event(seq)), code=code)

    def unread(self) -> Iterator[Ground]:
        """Yield words from which no statement was read."""
        said = [seq for seq, role in self._folded.items() if ROLES[role].asserts]
        because = Because.UNREAD if said else Because.CONTEXT_ONLY
        yield from self._grounds(because, [self._log.event(seq) for seq in sorted(said or self._folded)[-SAYINGS_MAX:]])

    def _grounds(self, because: Because, events: Sequence[Event]) -> Iterator[Ground]:
        for event in sorted(events, key=lambda event: event.seq, reverse=True)[:SAYINGS_MAX]:
            yield Ground(because, saying=self._saying(event))

    def _read(self) -> Mapping[int, int]:
        """Return the folded events that are meant, by seq, with their roles."""
        wanted = self._with_words(self._asked.value)
        by_name = self._with_words(self._asked.entity)
        columns = ["seq", "scope", "audience", "recorded_at", "speaker", "role"]
        rows = self._state.lookup("events", sorted(wanted), columns).to_pylist() if wanted else []
        return {row["seq"]: row["role"] for row in rows if self._sees(row) and (row["seq"] in by_name or row["speaker"] in self._mentions)}

    def _sees(self, row: Mapping[str, Any]) -> bool:
        return self._sight.visible.sees(row["scope"], row["audience"], seq=row["seq"], recorded_at=row["recorded_at"])

    def _with_words(self, text: str) -> set[int]:
        """Return the folded events whose own text holds all words of a text; none where it has no word that is kept."""
        terms = set(Terms(self._state.tags, self._stems).of(words_of(text)))
        rows = self._state.lookup("postings", sorted(terms), ["term", "seq", "x"]) if terms else None
        found: dict[int, set[int]] = {term: set() for term in terms}
        for term, seq, x in zip(*(column.to_pylist() for column in rows.columns), strict=True) if rows else ():
            if x:
                found[term].add(seq)
        return set.intersection(*found.values()) if found else set()

    def _stemmed(self, text: str) -> frozenset[str]:
        return frozenset(stem for word in words_of(text) if (stem := self._stems.of(word)) is not None)

    def _says(self, event: Event, wanted: frozenset[str], of: frozenset[str]) -> bool:
        stems, speaker = self._stemmed(event.text), self._state.tags.mention(speaker_of(event))
        speaks = speaker in self._mentions or normalise(event.speaker_name) == normalise(self._asked.entity)
        return bool(wanted) and wanted <= stems and (speaks or (bool(of) and of <= stems))

    def _saying(self, event: Event) -> Saying:
        return saying_of(event, _places(event.text, self._asked.value))


def _places(text: str, value: str) -> tuple[Span, ...]:
    """Return where a text says a value as it was asked for; else where it begins."""
    found = re.search(rf"\b{re.escape(value)}\b", text, re.IGNORECASE)
    return (found.span() if found else (0, 0),)
