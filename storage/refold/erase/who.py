"""Who is meant: the people that a request names, with every id and alias that the memory knows of them, and how others refer to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from refold import given
from refold.erase.addresses import NOBODYS
from refold.erase.mentions import Matcher
from refold.erase.model import Selector
from refold.erase.relations import Relation
from refold.errors import Usage
from refold.log.events import SubjectEntry
from refold.log.persons import everybody
from refold.model import Act, AliasKind, Mention, SubjectId, normalise
from refold.reading import Claim
from refold.state.claims import claims
from refold.state.generation import State
from refold.store import Store

Alias = tuple[AliasKind, str]
OF_HANDLES = re.compile(r"([^\W\d_]{2,}(?:[._-][^\W\d_]+)*[._-][^\W\d_]{2,})[._-]?\d*")
JOINED_MAX = 64  # names that statements join to one person
LOCAL_MIN = 5  # letters of what comes before the sign of an address and may be somebody's handle elsewhere


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is meant. Without ids where nobody is known by these aliases: then only mentions can be found."""

    subjects: frozenset[SubjectId]
    aliases: tuple[Alias, ...]  # as they were declared or named, and as the person gave them in what they said
    relations: tuple[Relation, ...] = ()

    def matcher(self) -> Matcher:
        """Return what finds this person in texts."""
        return Matcher(_read(self.aliases), self.relations)


@dataclass(frozen=True, slots=True)
class People:
    """The people who are meant, and the ids of others whose aliases could mean one of them."""

    meant: tuple[Person, ...]
    alike: frozenset[SubjectId]

    @property
    def subjects(self) -> frozenset[SubjectId]:
        return frozenset(subject for person in self.meant for subject in person.subjects)


def people(store: Store, state: State, selector: Selector) -> People:
    """Return the people that a selector means. Raises Usage where an id is nobody's."""
    known = everybody([*store.log.subjects()])
    first_of = {entry.subject: first for first, entries in known.items() for entry in entries}
    bearers = {normalise(alias): first for first, entries in reversed(known.items()) for entry in entries for _, alias in entry.aliases}
    strangers = [subject for subject in selector.subjects if subject not in first_of]
    if strangers:
        raise Usage("nobody is known by an id that was given", hint="refold subject list")
    wanted = dict.fromkeys(first_of[subject] for subject in selector.subjects)
    wanted |= dict.fromkeys(bearers[normalise(alias)] for _, alias in selector.aliases if normalise(alias) in bearers)
    extra = tuple(one for one in selector.aliases if normalise(one[1]) not in bearers)
    meant = [_person(state, known[first], extra if len(wanted) == 1 else ()) for first in wanted]
    if extra and len(wanted) != 1:
        extra = _with_joined(state, extra)
        meant.append(Person(frozenset(), extra, _relations(state, extra)))
    return People(tuple(meant), _alike(known, wanted, meant))


def _person(state: State, entries: Sequence[SubjectEntry], extra: Iterable[Alias]) -> Person:
    subjects = frozenset(entry.subject for entry in entries)
    declared = [alias for entry in entries for alias in entry.aliases]
    aliases = _with_joined(state, [*declared, *extra, *_told(state, subjects)])
    return Person(subjects, aliases, _relations(state, aliases))


def _with_joined(state: State, aliases: Iterable[Alias]) -> tuple[Alias, ...]:
    """Return aliases with the names that somebody said are of the same person: "Ruth, also known as Bunny".

    Names are joined as far as statements lead, whoever said them and whether they stand, up to a bound; a review decides.
    """
    found = dict.fromkeys(aliases)
    edges = None if state.absent is not None else state.table("edges", ["a", "b", "act"])
    if not edges:
        return tuple(found)
    edges = edges.filter(pc.field("act") == int(Act.SAY))
    mentions = state.table("mentions", ["mention", "name"])
    mentions = mentions.filter(pc.field("mention").isin(edges["a"].unique())).to_pylist()
    names = {row["mention"]: row["name"] for row in mentions if row["name"]}
    joined: dict[int, list[int]] = {}
    for a, b in zip(edges["a"].to_pylist(), edges["b"].to_pylist(), strict=True):
        joined.setdefault(a, []).append(b)
    matcher = Matcher(_read(found))
    reached = dict.fromkeys(mention for mention, name in names.items() if matcher.find(name))
    ahead, others = [*reached], set[str]()  # a name counts once, however many speak of somebody of that name
    while ahead and len(others) < JOINED_MAX:
        for mention in joined.get(ahead.pop(), ()):
            if mention in names and mention not in reached:
                reached[mention] = None
                others.add(names[mention])
                ahead.append(mention)
    known = {normalise(alias) for _, alias in found}
    return tuple(found | dict.fromkeys((AliasKind.NAME, names[mention]) for mention in reached if normalise(names[mention]) not in known))


def _told(state: State, subjects: Iterable[SubjectId]) -> Iterator[Alias]:
    """Yield the names and addresses that people gave as their own."""
    for claim in state.claims([state.tags.mention(Mention(subject.hex())) for subject in subjects], {"name", "contact"}):
        if claim.value:
            yield (AliasKind.NAME if claim.relation == "name" else given.alias_kind(claim.value)), claim.value


def _read(aliases: Iterable[Alias]) -> Iterator[Alias]:
    """Yield aliases as they are searched for: an author is declared as a handle, and often is a name; a handle often holds one."""
    for kind, alias in aliases:
        read = given.alias_kind(alias) if kind is AliasKind.HANDLE else kind
        yield read, alias
        local = alias.partition("@")[0] if read is AliasKind.EMAIL else alias if read is AliasKind.HANDLE else ""
        if parts := OF_HANDLES.fullmatch(local):
            yield AliasKind.NAME, re.sub(r"[._-]", " ", parts[1])
        elif read is AliasKind.EMAIL and len(local) >= LOCAL_MIN and local.lower() not in NOBODYS:
            yield AliasKind.HANDLE, local


def _relations(state: State, aliases: Iterable[Alias]) -> tuple[Relation, ...]:
    """Return how others are related to somebody of these names, as facts say it, whether they still hold or not."""
    if state.absent is not None:
        return ()
    matcher = Matcher(_read(aliases))
    qualified = state.table("assertions", ["qualifier", "value"])
    values = {value for value in qualified["value"].unique().to_pylist() if value and matcher.find(value)}
    if not values:
        return ()
    rows = [
        at
        for at, (what, value) in enumerate(zip(*(column.to_pylist() for column in qualified.columns), strict=True))
        if what and value in values
    ]
    found = claims(state.table("assertions").take(pa.array(rows, pa.int64())))
    return tuple(dict.fromkeys(_relation(state, claim) for claim in found))


def _relation(state: State, claim: Claim) -> Relation:
    speakers = frozenset(one for one in claim.subjects if state.tags.mention(Mention(one.hex())) == claim.mention)
    return Relation((claim.entity,), claim.qualifier, speakers)


def _alike(known: Mapping[SubjectId, Sequence[SubjectEntry]], wanted: Iterable[SubjectId], meant: Sequence[Person]) -> frozenset[SubjectId]:
    others = {first: entries for first, entries in known.items() if first not in set(wanted)}
    matchers = [person.matcher() for person in meant]
    return frozenset(
        first
        for first, entries in others.items()
        if any(matcher.find(alias) for matcher in matchers for entry in entries for _, alias in entry.aliases)
    )
