"""The plan of an erasure: what goes, whom else it concerns, who has been told, and what forbids it. Making one changes nothing.

It is bound to the head of the log on which it was made. What arrives later is met by its subjects, or reviewed when the erasure runs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from refold import register, settings
from refold.calls.recordings import Recordings
from refold.erase import redaction, requests
from refold.erase.difference import PlanDiff, diff
from refold.erase.find import Search, concerning
from refold.erase.model import Found, Request, Stage, Target
from refold.erase.reach import Census, Reach
from refold.erase.who import people
from refold.errors import Blocked, Drifted, NotAllowed
from refold.keys.keyring import Keyring
from refold.keys.subjects import suppressed_alias, suppressed_source
from refold.log.events import SubjectEntry
from refold.model import AliasKind, Event, EventId, SubjectId
from refold.outside import Clock, Random, clock
from refold.reading import Fact
from refold.register import Copy, Standing
from refold.state.generation import State
from refold.store import Store

__all__ = [
    "Elsewhere",
    "Hold",
    "Plan",
    "PlanDiff",
    "Recipient",
    "diff",
    "make",
    "note_recipients",
    "recipients",
    "require_free",
    "target_of",
]

DAY = 86_400_000_000  # µs


@dataclass(frozen=True, slots=True)
class Recipient:
    """A host to which a model call carried something of the events, and when. Times in µs."""

    host: str
    model: str
    calls: int
    first: int
    last: int
    due: int | None = None  # when it has let go of the last of it, by the terms in the settings; None where these do not say


@dataclass(frozen=True, slots=True)
class _Told:
    """A call that carried something of the events, and when."""

    call_id: bytes
    host: str
    model: str
    at: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold that stands against an erasure, by so many of its events."""

    request_id: bytes
    events: int


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A copy of the register, and its state once the erasure is carried out: what is open then, somebody owes."""

    copy: Copy
    state: Standing


@dataclass(frozen=True, slots=True)
class Plan:
    """What an erasure would do, as the log and the state are now."""

    target: Target
    diff: PlanDiff
    events: int
    shared: int  # of these, that concern others too
    others: Mapping[SubjectId, int]  # whom else, each by how many
    recipients: tuple[Recipient, ...]  # that were told something of these events, and keep it by their own terms
    holds: tuple[Hold, ...]
    undecided: int  # mentions: they stop the erasure
    alike: frozenset[SubjectId]  # people who may be the same person under another id
    unread: int  # events that nobody can read any more
    copies: tuple[Elsewhere, ...]  # of the register: what is elsewhere, and what becomes of it
    kept: tuple[Fact, ...] = ()  # facts that others go on knowing, by the redacted versions of the target

    @property
    def calls(self) -> int:
        """Return how many recordings of calls go dark."""
        return sum(one.calls for one in self.recipients)


def make(store: Store, state: State, request: Request) -> Plan:
    """Plan a request that was searched for. Raises Blocked where it was not, Drifted where the log has lost what was read."""
    found = request.found
    if found is None:
        raise Blocked("nothing was searched for yet", hint=f"refold erase find {request.request_id.hex()[:8]}")
    target = target_of(store, request, found)
    reach = _reach(store, target)
    events = [store.log.event(seq) for seq in reach.there]
    told = _told(store, frozenset(reach.ids))
    found_kept = redaction.require_keepable(store, state, request, target)
    foreseen = redaction.foreseen(state, store, found_kept, target)
    change, facts_kept = redaction.apart(diff(state, target, reread=foreseen, calls=frozenset(one.call_id for one in told)))
    return Plan(
        target,
        change,
        reach.events,
        reach.shared,
        _others(events, target),
        _recipients(told),
        _holds(store, state, request, target, events),
        requests.undecided(request),
        found.alike,
        found.unread,
        tuple(Elsewhere(one, one.standing(store.keyring.epoch + 1)) for one in register.copies(store)),
        facts_kept,
    )


def target_of(store: Store, request: Request, found: Found) -> Target:
    """Return what a request erases, by what was found and decided. Raises Drifted."""
    head, keyring = store.log.refresh()
    if found.size > head.size or (found.size and store.log.row(found.size - 1).hashes()[0] != found.last_hash):
        raise Drifted("what was found lies on another log, or on one that was longer", hint="refold erase find")
    extra = concerning(found)
    single = extra | {one.event_id for one in request.kept}
    suppressed = frozenset(_suppressed(store, keyring, request, found, single)) if request.suppresses else frozenset()
    return Target(request.request_id, found.subjects, extra, suppressed, found.size, found.last_hash, request.mode, request.kept)


def _suppressed(store: Store, keyring: Keyring, request: Request, found: Found, single: frozenset[EventId]) -> Iterable[bytes]:
    """Yield the tags of what must not come back: declared handles, every alias where that was asked for, and single records.

    What others said of somebody comes back by the record alone: nobody in it is known by a name that could be kept out. Nor does the first
    version of a record come back beside the redacted one.
    """
    for entry in _entries(store, found.subjects):
        for kind, alias in entry.aliases:
            if kind is AliasKind.HANDLE or request.suppresses_aliases:
                yield suppressed_alias(keyring, alias)
    if request.suppresses_aliases:
        yield from (suppressed_alias(keyring, alias) for _, alias in request.selector.aliases)
    for events in store.log.events(0, found.size) if single else ():
        yield from (suppressed_source(keyring, event.source) for event in events if event.event_id in single)


def _entries(store: Store, subjects: frozenset[SubjectId]) -> list[SubjectEntry]:
    return [entry for entry in store.log.subjects() if entry.subject in subjects]


def _reach(store: Store, target: Target) -> Reach:
    """Return the entries that a target meets, of all that are in the log by now."""
    head, keyring = store.log.refresh()
    census = Census(target.subjects, target.events, keyring.epoch, store.log.erased)
    census.take(store.log.rows(0, head.size))
    return census.reach


def _others(events: Sequence[Event], target: Target) -> Mapping[SubjectId, int]:
    found = Counter(subject for event in events for subject in event.subjects if subject not in target.subjects)
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def recipients(store: Store, events: frozenset[EventId]) -> tuple[Recipient, ...]:
    """Return which hosts were sent something of some events, by the recordings that still open, and how long they keep it."""
    return _recipients(_told(store, events))


def _told(store: Store, events: frozenset[EventId]) -> list[_Told]:
    """Return the calls that carried something of some events, without what they carried."""
    every = ((one.call_id, one.inputs, one.recording) for one in Recordings(store, now=clock, random=os.urandom).every())
    return [_Told(call, made.host, made.model, made.started_at) for call, ids, made in every if not events.isdisjoint(ids)]


def _recipients(told: Sequence[_Told]) -> tuple[Recipient, ...]:
    days = {terms.host: terms.days for terms in settings.load().providers}
    seen: dict[tuple[str, str], list[int]] = {}
    for one in told:
        seen.setdefault((one.host, one.model), []).append(one.at)
    return tuple(
        Recipient(host, model, len(times), min(times), max(times), max(times) + days[host] * DAY if host in days else None)
        for (host, model), times in sorted(seen.items())
    )


def note_recipients(store: Store, told: Sequence[Recipient], *, now: Clock, random: Random) -> None:
    """Write each host that was told into the register of copies, with the day by which it has let go of it.

    One that keeps nothing owes nothing: it has let go the moment it answered.
    """
    for host, due in _owed(told).items():
        register.add(store, register.Kind.PROVIDER, host, owner=register.Owner.PROVIDER, due=due, now=now, random=random)


def _owed(told: Sequence[Recipient]) -> dict[str, int | None]:
    owed: dict[str, int | None] = {}
    for one in told:
        before = owed.get(one.host, 0)
        if one.due is None or one.due > one.last:
            owed[one.host] = None if one.due is None or before is None else max(before, one.due)
    return owed


def _holds(store: Store, state: State, request: Request, target: Target, events: Sequence[Event]) -> tuple[Hold, ...]:
    """Return the holds that name some of the events: what they declare, select or mention has to be kept.

    One that names the person stands also where nothing of theirs is there yet: by the erasure it would go dark, and stand for nothing.
    """
    standing, aliases = [], requests.aliases_of(store, target, request)
    for hold in requests.living(store):
        if hold.stage is Stage.HELD and hold.request_id != request.request_id:
            search = Search(people(store, state, hold.selector), hold.selector)
            search.read(events)
            met = search.declared + len(search.selected) + len({one.event_id for one in search.candidates})
            standing += [Hold(hold.request_id, met)] if met or requests.names(hold, target, aliases) else []
    return tuple(standing)


def require_free(plan: Plan) -> None:
    """Refuse an erasure that a hold forbids. Raises NotAllowed."""
    if plan.holds:
        held = sum(hold.events for hold in plan.holds)
        raise NotAllowed(
            f"a hold stands against this erasure: {held} of its events have to be kept",
            hint=f"refold erase release {plan.holds[0].request_id.hex()[:8]}",
            details={"hold": plan.holds[0].request_id.hex()},
        )
