"""The report to a person who asks what is known of them: events, mentions by others, facts, calls and who was told.

It is read with the same search as an erasure, so that what is told and what is erased are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from refold.calls.recordings import Recorded, Recordings
from refold.erase.difference import OPERATOR
from refold.erase.find import Search, silent
from refold.erase.model import Candidate, Selector
from refold.erase.plan import Recipient, recipients
from refold.erase.who import People, people
from refold.model import Event
from refold.outside import clock
from refold.reading import Fact
from refold.state.facts import facts
from refold.state.generation import State
from refold.store import Store


@dataclass(frozen=True, slots=True)
class Mentioned:
    """An event of others that may mean the person: the words around the mention are theirs to see, the rest may be another's."""

    candidate: Candidate
    event: Event


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a person."""

    people: People
    events: tuple[Event, ...]  # that concern them
    mentions: tuple[Mentioned, ...]
    facts: tuple[Fact, ...]  # that rest on any of these, whether they hold or not
    calls: tuple[Recorded, ...]  # of models that were told any of these
    recipients: tuple[Recipient, ...]


def report(store: Store, state: State, selector: Selector, *, progress: Callable[[int, int], None] = silent) -> Report:
    """Return what is known of whoever a selector means. Raises Usage, Corrupt."""
    meant = people(store, state, selector)
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
    ids = frozenset(event.event_id for event in [*own, *(one.event for one in mentioned)])
    told = facts(state, store.log, OPERATOR, all=True) if state.absent is None else []
    resting = tuple(fact for fact in told if any(event_id in ids for event_id, _ in fact.support))
    asked = tuple(one for one in Recordings(store, now=clock, random=os.urandom).all() if not ids.isdisjoint(one.inputs))
    return Report(meant, tuple(own), tuple(mentioned), resting, asked, recipients(store, ids))
