"""The report to a person who asks what is known of them: events, mentions by others, facts, calls and who was told.

It is read with the same search as an erasure, so that what is told and what is erased are the same. What concerns others too is marked, so
that whoever answers can leave it out: nobody has a right to what is another's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from refold import register, times
from refold.calls.recordings import Recorded, Recordings
from refold.erase.difference import OPERATOR
from refold.erase.find import Search, silent
from refold.erase.model import Candidate, Selector
from refold.erase.plan import Elsewhere, Recipient, recipients
from refold.erase.who import People, people
from refold.model import Event
from refold.outside import Clock, clock
from refold.reading import Fact, Profile
from refold.register import Standing
from refold.settings import Keep
from refold.state.facts import facts
from refold.state.generation import State
from refold.state.profiles import profiles
from refold.store import Store


@dataclass(frozen=True, slots=True)
class Mentioned:
    """An event of others that may mean the person: the words around the mention are theirs to see, the rest may be another's."""

    candidate: Candidate
    event: Event


@dataclass(frozen=True, slots=True)
class Origin:
    """A document or session that something of the person came from, and when it was said and taken in. Times in µs."""

    document: str
    events: int
    first: int
    last: int
    recorded: int  # the newest
    due: int | None  # when the first of it is kept for as long as the settings allow; None where these set no end


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a person. Times in µs."""

    people: People
    events: tuple[Event, ...]  # that concern them
    mentions: tuple[Mentioned, ...]
    facts: tuple[Fact, ...]  # that rest on any of these, whether they hold or not
    calls: tuple[Recorded, ...]  # of models that were told any of these
    recipients: tuple[Recipient, ...]
    profiles: tuple[Profile, ...]  # what a model says by any of these facts, and no other sentence
    origins: tuple[Origin, ...]
    copies: tuple[Elsewhere, ...]  # of the register, that are not known to be gone: what is told here may stand in them too
    made_at: int

    def others(self, event: Event) -> int:
        """Return whom else an event concerns, in number: those whom it declares, and its speaker."""
        known = {*event.subjects, *((event.speaker,) if event.speaker else ())}
        return len(known - self.people.subjects)

    def concerns_others(self, fact: Fact) -> bool:
        """Whether a fact rests on events that concern somebody else too."""
        return not self.people.subjects.issuperset(fact.subjects)


def report(
    store: Store,
    state: State,
    selector: Selector,
    *,
    keep: Iterable[Keep] = (),
    now: Clock = clock,
    progress: Callable[[int, int], None] = silent,
) -> Report:
    """Return what is known of whoever a selector means. Raises Usage, Corrupt."""
    meant = people(store, state, selector)
    own, mentioned = _said(store, meant, selector, progress)
    ids = frozenset(event.event_id for event in [*own, *(one.event for one in mentioned)])
    told = facts(state, store.log, OPERATOR, all=True) if state.absent is None else []
    resting = tuple(fact for fact in told if any(event_id in ids for event_id, _ in fact.support))
    asked = tuple(one for one in Recordings(store, now=clock, random=os.urandom).every() if not ids.isdisjoint(one.inputs))
    epoch = store.keyring.epoch
    elsewhere = (Elsewhere(one, one.standing(epoch)) for one in register.copies(store))
    return Report(
        meant,
        tuple(own),
        tuple(mentioned),
        resting,
        asked,
        recipients(store, ids),
        _profiles(state, resting),
        _origins([*own, *{one.event.seq: one.event for one in mentioned}.values()], {rule.kind: rule.days for rule in keep}),
        tuple(one for one in elsewhere if one.state is Standing.OPEN),
        now(),
    )


def _said(store: Store, meant: People, selector: Selector, progress: Callable[[int, int], None]) -> tuple[list[Event], list[Mentioned]]:
    """Return the events that concern whoever is meant, and what mentions them in others."""
    head, _ = store.log.refresh()
    own: list[Event] = []
    mentioned: list[Mentioned] = []
    for events in store.log.events(0, head.size):
        search = Search(meant, selector)
        for event in events:
            declared, seen = search.declared, len(search.candidates)
            search.read([event])
            if search.declared > declared or event.event_id in search.selected:
                own.append(event)
            mentioned += [Mentioned(one, event) for one in search.candidates[seen:]]
        if events:
            progress(events[-1].seq, head.size)
    return own, mentioned


def _profiles(state: State, resting: Sequence[Fact]) -> tuple[Profile, ...]:
    """Return what a model says, of whomever, in the sentences that rest on a fact which is told."""
    if state.absent is not None:
        return ()
    told = {fact.fact_id for fact in resting}
    names = dict.fromkeys(fact.entity for fact in resting)
    found = dict.fromkeys(profile for name in names for profile in profiles(state, OPERATOR, entity=name))
    kept = (replace(one, sentences=tuple(said for said in one.sentences if not told.isdisjoint(said.premises))) for one in found)
    return tuple(one for one in kept if one.sentences)


def _origins(events: Iterable[Event], days: Mapping[str, int]) -> tuple[Origin, ...]:
    documents: dict[str, list[Event]] = {}
    for event in events:
        documents.setdefault(event.source.document, []).append(event)
    return tuple(_origin(name, of, days.get(of[0].source.kind)) for name, of in sorted(documents.items()))


def _origin(document: str, events: Sequence[Event], days: int | None) -> Origin:
    said = [event.said_at for event in events]
    due = None if days is None else min(said) + days * times.DAY
    return Origin(document, len(events), min(said), max(said), max(event.recorded_at for event in events), due)
