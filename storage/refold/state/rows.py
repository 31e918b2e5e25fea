"""Rows: events and what was folded from them, as the tables of a generation. No IO; the same input gives the same rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from refold.errors import RefoldError
from refold.model import Event, Mention, Role, Span, Validity, part_key
from refold.reading import AliasEdge, Assertion, Folded
from refold.search_recipe import Recipe
from refold.state import tables
from refold.state.cues import cues_of
from refold.state.embedding import embedder
from refold.state.postings import U16_MAX, Postings
from refold.state.tables import ROLES, TABLES, Table
from refold.state.tags import Tags, audience_text, scope_text
from refold.state.terms import Terms
from refold.words import Stems, words_of

SCOPE, AUDIENCE = 1, 2  # labels: what a tag names

NOTHING = Folded()

Columns = dict[str, list[Any]]


class Rows:
    """Gathers the rows of events, and gives them as sorted tables."""

    def __init__(self, tags: Tags, recipe: Recipe) -> None:
        self._tags = tags
        self._postings = Postings(recipe.index, Terms(tags, Stems(recipe.index.stop)))
        self._embedder = embedder() if recipe.vectors and recipe.vectors.model is None else None
        self._columns = {name: _columns(table) for name, table in TABLES.items() if table is not tables.POSTINGS}
        self._labels: dict[int, tuple[int, str]] = {}
        self._mentions: set[tuple[int, int, str, str | None]] = set()
        self._valued: set[tuple[int, int]] = set()
        self.events = 0

    def add(self, events: Sequence[Event], folded: Folded = NOTHING) -> None:
        """Take in events and all that was folded from them and from no others."""
        for event in events:
            self._event(event)
        self.add_folded(events, folded)
        self.events += len(events)

    def add_folded(self, events: Sequence[Event], folded: Folded) -> None:
        """Take in what was folded from events that are taken in by themselves."""
        by_seq = {event.seq: event for event in events}
        for assertion in folded.assertions:
            named = assertion.seq if assertion.named_seq is None else assertion.named_seq
            self._assertion(assertion, _of(by_seq, assertion.seq), _of(by_seq, named).recorded_at)
        for edge in folded.edges:
            self._edge(edge, _of(by_seq, edge.seq))
        for rejection in folded.rejections:
            _append(self._columns["rejections"], _of(by_seq, rejection.seq).seq, rejection.relation, int(rejection.code))

    def add_rows(self, table: Table, rows: Iterable[tuple[Any, ...]]) -> None:
        """Take in finished rows of a table, in any order."""
        for row in rows:
            _append(self._columns[table.name], *row)

    def take(self) -> dict[str, pa.Table]:
        """Return the tables of what was added since the last call, each in its order."""
        self.add_rows(tables.LABELS, ((tag, *label) for tag, label in self._labels.items()))
        self.add_rows(tables.MENTIONS, self._mentions)
        self.add_rows(tables.VALUED, self._valued)
        taken = {name: tables.in_order(TABLES[name], _arrow(TABLES[name], columns)) for name, columns in self._columns.items()}
        taken["postings"] = self._postings.take()
        self._columns = {name: _columns(TABLES[name]) for name in self._columns}
        self._labels, self._mentions, self._valued, self.events = {}, set(), set(), 0
        return taken

    def _event(self, event: Event) -> None:
        tags, speaks = self._tags, is_spoken(event)
        scope, audience = tags.scope(event.scope), tags.audience(event.audience)
        if scope not in self._labels:
            self._labels[scope] = (SCOPE, scope_text(event.scope))
        if audience not in self._labels:
            self._labels[audience] = (AUDIENCE, audience_text(event.audience))
        speaker = speaker_of(event)
        name = event.speaker_name
        if speaks and event.speaker is not None:  # else the document would be found by the name of whoever answers in it
            self._named(speaker, name)
        words = words_of(event.text)
        self._postings.add(event, words, spoken=speaks)
        if self._embedder:
            _append(self._columns["vectors"], event.seq, self._embedder.vector(without(words, words_of(name) if speaks else ())))
        _append(
            self._columns["events"],
            event.seq,
            event.event_id,
            event.recorded_at,
            event.said_at,
            scope,
            audience,
            tags.session(event),
            place_of(event.source.part),
            event.source.document,
            event.source.part,
            ROLES.index(event.role),
            tags.mention(speaker),
            name,
            event.ingest,
            min(len(words), U16_MAX),
            int(cues_of(event.text, words, spoken=speaks)),
        )
        for subject in event.subjects:
            _append(self._columns["event_subjects"], event.seq, subject)

    def _assertion(self, made: Assertion, event: Event, named_at: int) -> None:
        tags = self._tags
        self._named(made.entity, made.entity_text)
        if made.value_mention:
            self._named(made.value_mention, made.value)
            self._valued.add((tags.mention(made.value_mention), tags.mention(made.entity)))
        _append(
            self._columns["assertions"],
            tags.mention(made.entity),
            made.relation,
            made.qualifier,
            made.value,
            tags.mention(made.value_mention) if made.value_mention else 0,
            int(made.act),
            int(made.modality),
            tags.mention(made.asserted_by),
            made.rank,
            made.entity_text,
            made.said_at,
            made.source,
            made.part,
            made.seq,
            max(event.recorded_at, named_at),
            _supported(made.spans),
            *made.span,
            tags.audience(event.audience),
            tags.scope(event.scope),
            made.fact_id,
            *_validity(made.validity),
            made.extractor,
            event.event_id,
            event.speaker_name,
            event.subjects,
            made.call_id,
            made.named_seq,
            *(made.named_span or (None, None)),
            made.named_id,
        )

    def _edge(self, edge: AliasEdge, event: Event) -> None:
        tags = self._tags
        for a, b in ((edge.a, edge.b), (edge.b, edge.a)):
            self._named(a, a.name or "")
            _append(
                self._columns["edges"],
                tags.mention(a),
                tags.mention(b),
                int(edge.act),
                tags.mention(edge.asserted_by),
                edge.said_at,
                edge.source,
                edge.part,
                edge.seq,
                event.recorded_at,
                tags.audience(event.audience),
                tags.scope(event.scope),
                a.is_first_person,
                b.is_first_person,
                _supported(edge.spans),
            )

    def _named(self, mention: Mention, name: str) -> None:
        """Let an entity be found by its name; the first person by the alias it speaks under."""
        name = mention.name or name
        if name:
            self._mentions.add((self._tags.name(name), self._tags.mention(mention), mention.owner, mention.name))


def speaker_of(event: Event) -> Mention:
    """Return who speaks in an event, or the document where nobody does."""
    return Mention(event.speaker.hex() if event.speaker else event.source.document)


def is_spoken(event: Event) -> bool:
    """Whether somebody speaks in an event, rather than its document."""
    return bool(event.author or (event.role is Role.USER and event.scope.user))


def without(words: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the words that are no names: whom a text names says little of what it is about, and would outweigh it."""
    return [word for word in words if word not in names]


def place_of(part: str) -> int:
    """Return the first 8 bytes of a part's sort key as an integer: where in its session an event stands."""
    return int.from_bytes(part_key(part).encode()[:8].ljust(8, b"\0"), "big")


def _of(by_seq: Mapping[int, Event], seq: int) -> Event:
    event = by_seq.get(seq)
    if event is None:
        raise RefoldError("what was folded rests on an event that is not in its batch", entry_id=str(seq))
    return event


def _columns(table: Table) -> Columns:
    return {name: [] for name in table.schema.names}


def _append(columns: Columns, *row: Any) -> None:
    for column, value in zip(columns.values(), row, strict=True):
        column.append(value)


def _validity(found: Validity) -> tuple[int | None, int | None, int | None, str]:
    return found.start, found.end, None if found.precision is None else int(found.precision), found.words


def _supported(spans: Sequence[Span]) -> list[int]:
    """Return the spans that a statement rests on, one after another. One that rests on nothing could not be erased with anybody."""
    if not spans:
        raise RefoldError("a statement rests on nothing that was said")
    return [end for span in spans for end in span]


def _arrow(table: Table, columns: Columns) -> pa.Table:
    return pa.table([pa.array(columns[field.name], field.type) for field in table.schema], schema=table.schema)
