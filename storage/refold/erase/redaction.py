"""Redaction: what others keep of an event that goes, in the words of whoever reviewed it.

An event goes as a whole: one key opens all of it. What others need of it is said anew, by a person and never by a rule, as another event
with an id and keys of its own. It stands where the first one stood (source, speaker, time), concerns whoever is left, and says of itself
when it was redacted. It is sealed under the keys of the next epoch and added behind the fence, after the first one is gone.

What the person said themself, or what lies in their memory, is not kept; nor anything in which a search for them still finds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from refold import folding, ingest, recipes
from refold.erase.difference import PlanDiff, Reread
from refold.erase.find import NOWHERE, Search
from refold.erase.model import Decision, Found, Redaction, Request, Selector, Target
from refold.erase.reach import Census
from refold.erase.who import People, people
from refold.errors import Usage
from refold.fold.ground import fold_batch
from refold.keys.keyring import Keyring
from refold.log import append, entry
from refold.log.append import Cell, Sealable
from refold.log.events import encode_event
from refold.model import REDACTED_AT, Draft, EntryKind, Event, EventId, Span, normalise
from refold.outside import Random
from refold.reading import Fact
from refold.state.builder import can_extend
from refold.state.claims import claims, edges
from refold.state.generation import State
from refold.state.rows import Rows
from refold.store import Store

REMOVED = "[removed]"
OF_METADATA = ("branch", "heading", "title")  # the members that a fold reads: the others nobody has reviewed
FORESEEN = bytes(32)  # in place of a key: the ids of facts that are only foreseen are like those of no fact that is there
HINT = "refold help redaction"


@dataclass(frozen=True, slots=True)
class Shared:
    """An event that goes and that others keep a redacted version of, or could."""

    event: Event
    declares: bool  # the person; else it only mentions them
    text: str | None  # of the redacted version


def cut(text: str, spans: Sequence[Span]) -> str:
    """Return a text with spans of it taken out, each marked. Raises Usage where they lie outside or overlap."""
    ordered, at, pieces = sorted(spans), 0, []
    for start, end in ordered:
        if not at <= start < end <= len(text):
            raise Usage("the spans to take out lie outside the text, or overlap", hint=HINT)
        pieces += [text[at:start], REMOVED]
        at = end
    return "".join([*pieces, text[at:]])


def shared(store: Store, request: Request) -> list[Shared]:
    """Return the events of which others can keep something: said by others, declaring or mentioning the person, and going. In log order."""
    found = request.found
    assert found is not None, "nothing was searched for yet"
    kept = {one.event_id: one.text for one in request.kept}
    log, mentioned = store.log, {one.event_id for one in found.candidates if one.decision is Decision.CONCERNS}
    head, keyring = log.refresh()
    census = Census(found.subjects, frozenset(mentioned), keyring.epoch, log.erased)
    census.take(log.rows(0, head.size))
    reached = [(log.event(seq), others) for seq, _, others in census.there]
    return [
        Shared(one, one.event_id not in mentioned, kept.get(one.event_id))
        for one, others in reached
        if one.speaker not in found.subjects and (others or one.event_id in mentioned)
    ]


def redacted(store: Store, state: State, request: Request, seq: int, words: str | Sequence[Span]) -> Redaction:
    """Return the redacted version of an event, by a text or by the spans that are taken out. Raises Usage where it cannot be kept."""
    if request.found is None:
        raise Usage("nothing was searched for yet", hint=f"refold erase find {request.request_id.hex()[:8]}")
    event = store.log.event(seq)
    made = Redaction(event.event_id, words if isinstance(words, str) else cut(event.text, words))
    _require_keepable(event, made, request.found, people(store, state, request.selector))
    return made


def require_keepable(store: Store, state: State, request: Request, target: Target) -> list[tuple[Event, Redaction]]:
    """Return what a target keeps, each with the event that goes, in the order of the log. Raises Usage where one cannot be kept.

    Names may have become known since it was decided, and a mention may have been decided otherwise.
    """
    if not target.kept:
        return []
    assert request.found is not None, "what is kept was found"
    meant = people(store, state, request.selector)
    found = originals(store, target)
    if len(found) < len(target.kept):
        message = f"{len(target.kept) - len(found)} of the events that a redacted version is kept of do not go"
        raise Usage(message, hint=f"refold erase review {request.request_id.hex()[:8]}")
    for event, kept in found:
        _require_keepable(event, kept, request.found, meant)
    return found


def originals(store: Store, target: Target) -> list[tuple[Event, Redaction]]:
    """Return the events that go and that something is kept of, with that, in the order of the log."""
    kept = {one.event_id: one for one in target.kept}
    head, keyring = store.log.refresh()
    census = Census(target.subjects, target.events, keyring.epoch, store.log.erased)
    census.take(store.log.rows(0, head.size))
    return [(store.log.event(seq), kept[event_id]) for seq, event_id, _ in census.there if event_id in kept]


def of(event: Event, redaction: Redaction, target: Target | Found, *, at: int) -> Event:
    """Return the redacted version of an event as it will be read, under the id and number of the first one."""
    metadata = {name: event.metadata[name] for name in OF_METADATA if name in event.metadata}
    left = tuple(one for one in event.subjects if one not in target.subjects)
    return replace(event, text=redaction.text, subjects=left, recorded_at=at, metadata={**metadata, REDACTED_AT: at})


def cells(
    found: Iterable[tuple[Event, Redaction]], target: Target, keyring: Keyring, *, origin: str, at: int, random: Random
) -> list[Cell]:
    """Return the redacted versions, sealed under the keys that will live. They stay with the ingestion run that they came by."""
    entries = [_sealable(of(event, kept, target, at=at), random=random) for event, kept in found]
    return [*append.seal(entries, keyring, entry.aad_prefix(origin), random=random)]


def foreseen(state: State, store: Store, found: Sequence[tuple[Event, Redaction]], target: Target) -> Reread:
    """Return what the patterns will read of the redacted versions. Nothing where a model reads: it is asked at the next fold."""
    if not found or not can_extend(state, relations=folding.recipe_digest(recipes.relations()), recipe=recipes.search()):
        return Reread()
    size = store.log.head.size
    events = [replace(of(event, kept, target, at=event.recorded_at), seq=size + at) for at, (event, kept) in enumerate(found)]
    rows = Rows(state.tags, recipes.search())
    rows.add_folded(events, fold_batch([(one, FORESEEN) for one in events if one.asserts], recipes.relations()))
    taken = rows.take()
    return Reread(frozenset(), tuple(claims(taken["assertions"])), tuple(edges(taken["edges"])))


def apart(diff: PlanDiff) -> tuple[PlanDiff, tuple[Fact, ...]]:
    """Return a difference without what a redacted version says again, and the facts that others keep by it."""
    again = {_says(fact) for fact in diff.again}
    kept = tuple(fact for fact in diff.gone if _says(fact) in again)
    known = {_says(fact) for fact in kept}
    gone, new = (tuple(fact for fact in facts if _says(fact) not in known) for facts in (diff.gone, diff.again))
    return replace(diff, gone=gone, again=new), kept


def _says(fact: Fact) -> tuple[str, ...]:
    return tuple(map(normalise, (fact.entity, fact.relation, fact.qualifier, fact.value)))


def _sealable(event: Event, *, random: Random) -> Sealable:
    plaintext = encode_event(_draft(event), source=event.source, said_at=event.said_at, speaker=event.speaker)
    return Sealable(EntryKind.EVENT, EventId(random(entry.ID_BYTES)), event.subjects, plaintext, event.recorded_at, event.ingest)


def _draft(event: Event) -> Draft:
    return Draft(
        event.text,
        event.source,
        event.said_at,
        event.author,
        event.role,
        event.scope,
        event.audience,
        metadata=event.metadata,
        key=event.key,
    )


def _require_keepable(event: Event, redaction: Redaction, found: Found, meant: People) -> None:
    """Refuse to keep what is the person's own, and what still names them. Raises Usage."""
    if event.event_id in found.events:
        raise Usage(f"entry {event.seq} was asked for by itself: nothing of it is kept", hint=HINT)
    if event.speaker in found.subjects:
        raise Usage(f"the person said entry {event.seq} themself: nothing of it is kept", hint=HINT)
    version = of(event, redaction, found, at=event.recorded_at)
    ingest.check(_draft(version), recorded_at=event.recorded_at)
    search = Search(meant, Selector())
    search.read([version])
    spoken_of = Counter(event.text[slice(*one.span)] for one in found.candidates if _is_namesake(event, one.event_id, one.decision))
    for one in search.candidates:
        words = version.text[slice(*one.span)]
        if one.span == NOWHERE or not spoken_of[words]:
            where = "" if one.span != NOWHERE else ", beside its text"
            message = f"the redacted version of entry {event.seq} still says who is erased{where}: by {one.variant}"
            raise Usage(message, hint=HINT, details={"first": one.span[0], "end": one.span[1]})
        spoken_of[words] -= 1


def _is_namesake(event: Event, event_id: EventId, decision: Decision) -> bool:
    return event_id == event.event_id and decision is Decision.NAMESAKE
