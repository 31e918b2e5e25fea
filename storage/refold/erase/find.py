"""Find: everything in the log that a request means. What is declared or selected, and where others mention the person undeclared.

One pass over all that can be read, on this machine alone. An event is looked at in every field: its text, where it came from, who said
it, whose memory it is in, its labels, key and metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from refold.erase.model import Candidate, Decision, Found, Selector
from refold.erase.who import People, people
from refold.model import Event, EventId, Span
from refold.state.generation import State
from refold.store import Store

NOWHERE: Span = (0, 0)  # of a mention that is not in the text
FIELDS_REMEMBERED_MAX = 1 << 17
Progress = Callable[[int, int], None]


def silent(done: int, whole: int) -> None:
    """Tell nobody how far it is."""


def find(store: Store, state: State, selector: Selector, *, decided: Iterable[Candidate] = (), progress: Progress = silent) -> Found:
    """Search the whole log for what a selector means. What was decided about a candidate before stays decided. Raises Usage, Corrupt."""
    head, _ = store.log.refresh()
    meant = people(store, state, selector)
    search = Search(meant, selector)
    dark: Counter[str] = Counter()
    for events, _ in store.log.entries(0, head.size, tally=dark):
        search.read(events)
        if events:
            progress(events[-1].seq, head.size)
    decisions = {(one.event_id, one.span): one.decision for one in decided}
    candidates = tuple(replace(one, decision=decisions.get((one.event_id, one.span), one.decision)) for one in search.candidates)
    return Found(
        meant.subjects, frozenset(search.selected), search.declared, candidates, meant.alike, dark["dark"], head.size, head.last_hash
    )


def reviewer(store: Store, state: State, selector: Selector) -> Callable[[Sequence[Event]], bool]:
    """Return what says whether events that came after a plan hold something that nobody decided about."""
    meant = people(store, state, selector)

    def holds(events: Sequence[Event]) -> bool:
        search = Search(meant, selector)
        search.read(events)
        return bool(search.candidates or search.selected)

    return holds


@dataclass(frozen=True, slots=True)
class Selected:
    """Which events a selector names by where they come from."""

    documents: frozenset[str]
    parts: frozenset[str]
    events: frozenset[EventId]
    ingests: frozenset[bytes]
    before: int | None
    before_kind: str | None

    @classmethod
    def of(cls, selector: Selector) -> Selected:
        """Read a selector."""
        whole = frozenset(source.document for source in selector.sources if not source.part)
        parts = frozenset(str(source) for source in selector.sources if source.part)
        return cls(whole, parts, frozenset(selector.events), frozenset(selector.ingests), selector.before, selector.before_kind)

    def admits(self, event: Event) -> bool:
        """Whether an event is selected."""
        return (
            event.event_id in self.events
            or event.ingest in self.ingests
            or (self.before is not None and event.said_at < self.before and self.before_kind in (None, event.source.kind))
            or (bool(self.documents) and event.source.document in self.documents)
            or (bool(self.parts) and str(event.source) in self.parts)
        )


class Search:
    """A search under way: fed with events in the order of the log."""

    def __init__(self, meant: People, selector: Selector) -> None:
        self._subjects = meant.subjects
        self._selected = Selected.of(selector)
        self._matchers = [person.matcher() for person in meant.meant]
        self._fields: dict[str, str | None] = {}
        self.declared = 0
        self.selected: list[EventId] = []
        self.candidates: list[Candidate] = []

    def read(self, events: Sequence[Event]) -> None:
        """Look at some events."""
        subjects, admits = self._subjects, self._selected.admits
        for event in events:
            if not subjects.isdisjoint(event.subjects):
                self.declared += 1
            elif admits(event):
                self.selected.append(event.event_id)
            elif self._matchers:
                self.candidates += self._mentions(event)

    def _mentions(self, event: Event) -> Iterator[Candidate]:
        places: dict[Span, str] = {}
        for matcher in self._matchers:
            for span, variant in matcher.find(event.text, speaker=event.speaker):
                places.setdefault(span, variant)
        for where, text in fields(event):
            if text and (variant := self._in_field(text)):
                places.setdefault(NOWHERE, f"{variant} in the {where}")
        for span in sorted(places):
            yield Candidate(event.event_id, event.seq, span, places[span])

    def _in_field(self, text: str) -> str | None:
        """Return how a field mentions somebody. Fields repeat from event to event."""
        if text not in self._fields:
            if len(self._fields) > FIELDS_REMEMBERED_MAX:
                self._fields.clear()
            found = (variant for matcher in self._matchers for _, variant in matcher.find(text))
            self._fields[text] = next(found, None)
        return self._fields[text]


def fields(event: Event) -> Iterator[tuple[str, str]]:
    """Yield the texts of an event beside its own, with what they are."""
    yield "source", event.source.ref
    yield "source", event.source.part
    if event.author:
        yield "author", event.author
    for name in (event.scope.user, event.scope.agent, event.scope.run):
        if name:
            yield "scope", name
    for label in event.audience:
        yield "audience", label
    if event.key:
        yield "key", event.key
    if event.metadata:
        for text in strings(event.metadata):
            yield "metadata", text


def strings(value: object) -> Iterator[str]:
    """Yield every text in a piece of JSON, names of its members included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings(each)


def candidate_id(candidate: Candidate) -> str:
    """Return the name of a candidate in a review: where it stands, which no other does."""
    return f"{candidate.seq}:{candidate.span[0]}-{candidate.span[1]}"


def concerning(found: Found) -> frozenset[EventId]:
    """Return the events that concern somebody without declaring it, as it was decided, and those that were selected."""
    return found.events | {one.event_id for one in found.candidates if one.decision is Decision.CONCERNS}
