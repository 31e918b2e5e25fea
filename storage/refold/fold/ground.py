"""The gate: what an extractor claims to have read becomes an assertion only if its words are there and the speaker may say it.

Grounding proves where a statement comes from, not that it is true. Every string must be a token-bounded quote of the event, or the
heading or title that the importer sealed with it; who may assert a relation is part of its policy.
"""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType

from refold.fold.extraction import EXTRACTOR, EdgeCandidate, Extraction
from refold.fold.relations import About, Relation, Relations, SaidBy
from refold.fold.symbolic import extract
from refold.model import Act, Event, Mention, Role, Span, normalise
from refold.reading import AliasEdge, Assertion, Candidate, Folded, Rejection, RejectionCode

VALUE_MAX = 1000  # characters
NEAR = 1000  # characters around a statement within which its time stands
_FACT_ID = sha256(b"refold/fact-id/v1").digest()
ALIAS = "alias"  # the relation that a rejected edge is counted under
NOBODY: Mapping[int, Told] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Told:
    """An event that an extractor was told beside the one it read, and what that lends to the ids of facts."""

    event: Event
    fact_key: bytes


def ground(
    event: Event,
    extraction: Extraction,
    relations: Relations,
    *,
    fact_key: bytes,
    extractor: str = EXTRACTOR,
    told: Mapping[int, Told] = NOBODY,
    call_id: bytes | None = None,
) -> Folded:
    """Return the assertions, edges and rejections that an extraction comes to. Pure; rejections carry a code and no text.

    `told` are the other events of the request by seq, of which one may name an entity.
    """
    assertions: dict[bytes, Assertion] = {}
    rejections: list[Rejection] = []
    for candidate in extraction.candidates:
        other = None if candidate.entity_seq is None else told.get(candidate.entity_seq)
        code = _fault(event, candidate, relations, other)
        if code is not None:
            rejections.append(Rejection(event.seq, candidate.relation if candidate.relation in relations else "", code))
            continue
        assertion = _assertion(event, candidate, relations, fact_key, extractor, other, call_id)
        assertions.setdefault(assertion.fact_id, assertion)
    edges: list[AliasEdge] = []
    for edge in extraction.edges:
        code = _edge_fault(event, edge)
        if code is None:
            edges.append(_edge(event, edge))
        else:
            rejections.append(Rejection(event.seq, ALIAS, code))
    if extraction.is_cut:
        rejections.append(Rejection(event.seq, "", RejectionCode.TOO_LONG))
    return Folded(tuple(assertions.values()), tuple(edges), tuple(rejections))


def fold_event(event: Event, fact_key: bytes, relations: Relations) -> Folded:
    """Extract and ground one event."""
    return ground(event, extract(event, relations), relations, fact_key=fact_key)


def fold_batch(events: Sequence[tuple[Event, bytes]], relations: Relations) -> Folded:
    """Extract and ground events, each with its fact key. The result depends on each event alone, so any batches give the same rows."""
    folded = [fold_event(event, fact_key, relations) for event, fact_key in events]
    return Folded(
        tuple(assertion for one in folded for assertion in one.assertions),
        tuple(edge for one in folded for edge in one.edges),
        tuple(rejection for one in folded for rejection in one.rejections),
    )


# What is refused


def _fault(event: Event, candidate: Candidate, relations: Relations, other: Told | None) -> RejectionCode | None:
    if not event.asserts:
        return RejectionCode.NOT_AN_ASSERTING_ROLE
    if candidate.relation not in relations:
        return RejectionCode.UNKNOWN_RELATION
    relation = relations.by_name[candidate.relation]
    if not _is_shaped(event, candidate, relation):
        return RejectionCode.BAD_SHAPE
    if candidate.value is not None and not is_quote(event.text, candidate.value_span, candidate.value):
        return RejectionCode.UNGROUNDED_VALUE
    if candidate.entity_seq is not None:
        known = other is not None and candidate.entity is not None and is_quote(other.event.text, candidate.entity_span, candidate.entity)
    else:
        known = _is_known(event, candidate.entity, candidate.entity_span)
    if not known:
        return RejectionCode.UNGROUNDED_ENTITY
    return None if _may_say(event, candidate, relation) else RejectionCode.NOT_THE_SPEAKER


def _is_shaped(event: Event, candidate: Candidate, relation: Relation) -> bool:
    """Whether the parts of a candidate belong together: a value, a qualifier where the relation has one, words that are there."""
    text = event.text
    if candidate.value is None or candidate.value_span is None:
        shaped = candidate.value is None and candidate.value_span is None and candidate.act is not Act.SAY
    else:
        shaped = 0 < len(candidate.value) <= VALUE_MAX
    qualified = (candidate.qualifier is not None) == relation.is_qualified or candidate.act is not Act.SAY
    qualifier = candidate.qualifier is None or is_quote(text, candidate.qualifier_span, candidate.qualifier)
    first, end = candidate.relation_span
    validity = candidate.validity
    timed = _stands_near(validity.words, text, candidate.relation_span) and (
        validity.start is None or validity.end is None or validity.start < validity.end
    )
    return shaped and qualified and qualifier and 0 <= first < end <= len(text) and timed


def _stands_near(words: str, text: str, span: Span) -> bool:
    """Whether words are in a text; looked for near a place first, so that many statements do not each search all of it."""
    return text.find(words, max(0, span[0] - NEAR), span[1] + NEAR) >= 0 or words in text


def is_quote(text: str, span: Span | None, words: str) -> bool:
    """Whether `words` stand at `span` of the text and cut no token in two."""
    if span is None:
        return False
    first, end = span
    if not 0 <= first < end <= len(text) or text[first:end] != words:
        return False
    begins = first == 0 or not (_in_word(text[first - 1]) and _in_word(text[first]))
    ends = end == len(text) or not (_in_word(text[end - 1]) and _in_word(text[end]))
    return begins and ends


def _in_word(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in "LMN"


def _is_known(event: Event, entity: str | None, span: Span | None) -> bool:
    """Whether an entity is the speaker, a quote, or the heading or title under which the event stands."""
    if entity is None:
        return span is None
    if span is None:
        return entity in (event.metadata.get("heading"), event.metadata.get("title")) and bool(normalise(entity))
    return is_quote(event.text, span, entity)


def _may_say(event: Event, candidate: Candidate, relation: Relation) -> bool:
    """Whether this event may state the relation of this entity."""
    if relation.said_by is SaidBy.DOCUMENT:
        return event.role is Role.DOCUMENT and candidate.entity_span is None and candidate.entity_seq is None
    if relation.said_by is SaidBy.USER and event.role is not Role.USER:
        return False
    return relation.about is About.ANYONE or candidate.entity is None


def _edge_fault(event: Event, edge: EdgeCandidate) -> RejectionCode | None:
    if not event.asserts:
        return RejectionCode.NOT_AN_ASSERTING_ROLE
    if edge.act is Act.END or (edge.a is not None and normalise(edge.a) == normalise(edge.b)):
        return RejectionCode.BAD_SHAPE
    first, end = edge.relation_span
    if not 0 <= first < end <= len(event.text):
        return RejectionCode.BAD_SHAPE
    grounded = is_quote(event.text, edge.b_span, edge.b) and (edge.a is None or is_quote(event.text, edge.a_span, edge.a))
    return None if grounded else RejectionCode.UNGROUNDED_ENTITY


# What is asserted


def owner(event: Event) -> str:
    """Return whose mentions an event's are: the author's subject, else the document's."""
    return event.speaker.hex() if event.speaker is not None else event.source.document


def _assertion(
    event: Event,
    candidate: Candidate,
    relations: Relations,
    fact_key: bytes,
    extractor: str,
    other: Told | None,
    call_id: bytes | None,
) -> Assertion:
    of_document = relations.by_name[candidate.relation].said_by is SaidBy.DOCUMENT
    entity, entity_text = _entity(event, candidate, of_document=of_document)
    spans = tuple(sorted({span for span in _spans(candidate) if span is not None}))
    value = candidate.value or ""
    return Assertion(
        fact_id=fact_id(fact_key if other is None else joined_key(fact_key, other.fact_key), candidate, spans, extractor),
        entity=entity,
        entity_text=entity_text,
        relation=candidate.relation,
        qualifier=candidate.qualifier or "",
        value=value,
        value_mention=Mention(owner(event), normalise(value)) if candidate.value_is_entity and normalise(value) else None,
        act=candidate.act,
        modality=candidate.modality,
        asserted_by=Mention(owner(event)),
        rank=_rank(event, candidate),
        said_at=event.said_at,
        source=event.source.document,
        part=event.source.part,
        seq=event.seq,
        event_id=event.event_id,
        spans=spans,
        span=candidate.value_span or candidate.relation_span,
        validity=candidate.validity,
        extractor=extractor,
        call_id=call_id,
        named_seq=None if other is None else candidate.entity_seq,
        named_span=None if other is None else candidate.entity_span,
        named_id=None if other is None else other.event.event_id,
    )


def _entity(event: Event, candidate: Candidate, *, of_document: bool) -> tuple[Mention, str]:
    if candidate.entity is not None:
        return Mention(owner(event), normalise(candidate.entity)), candidate.entity
    if of_document:  # a document's own property is not its author's
        return Mention(event.source.document), event.source.document
    return Mention(owner(event)), event.speaker_name


def _rank(event: Event, candidate: Candidate) -> int:
    """Return 2 where the entity itself speaks, 1 for a document, 0 for somebody else. A document without an author is nobody's own word."""
    if candidate.entity is None and (event.role is Role.USER or event.speaker is not None):
        return 2
    return 1 if event.role is Role.DOCUMENT else 0


def _edge(event: Event, edge: EdgeCandidate) -> AliasEdge:
    mine = owner(event)
    return AliasEdge(
        a=Mention(mine) if edge.a is None else Mention(mine, normalise(edge.a)),
        b=Mention(mine, normalise(edge.b)),
        act=edge.act,
        asserted_by=Mention(mine),
        said_at=event.said_at,
        source=event.source.document,
        part=event.source.part,
        seq=event.seq,
        event_id=event.event_id,
        spans=tuple(sorted({span for span in (edge.a_span, edge.b_span, edge.relation_span) if span is not None})),
    )


def _spans(candidate: Candidate) -> Iterator[Span | None]:
    yield candidate.value_span
    yield candidate.relation_span
    if candidate.entity_seq is None:
        yield candidate.entity_span
    yield candidate.qualifier_span


def fact_id(fact_key: bytes, candidate: Candidate, spans: tuple[Span, ...], extractor: str) -> bytes:
    """Return the 16 bytes that name a fact: keyed by its event, so that it goes dark with it and tests no guess.

    HMAC-SHA256(fact key, T("refold/fact-id/v1") ‖ the length-prefixed fields ‖ the spans as u32be)[:16].
    """
    fields = (extractor, candidate.entity, candidate.relation, candidate.qualifier, candidate.value)
    message = [_FACT_ID, *(_prefixed(field) for field in fields), bytes((candidate.act, candidate.modality))]
    message += [first.to_bytes(4, "big") + end.to_bytes(4, "big") for first, end in spans]
    if candidate.entity_seq is not None and candidate.entity_span is not None:  # a place in the other event
        message += [b"named", *(end.to_bytes(4, "big") for end in candidate.entity_span)]
    return hmac.digest(fact_key, b"".join(message), "sha256")[:16]


def joined_key(*fact_keys: bytes) -> bytes:
    """Return what several events lend together to the id of a fact: HKDF-SHA256(their fact keys, sorted, "refold/facts/v1")."""
    extracted = hmac.digest(bytes(32), b"".join(sorted(fact_keys)), "sha256")
    return hmac.digest(extracted, b"refold/facts/v1\x01", "sha256")


def _prefixed(field: str | None) -> bytes:
    """Return a field with its length before it; an absent one is not an empty one."""
    if field is None:
        return b"\xff\xff\xff\xff"
    raw = field.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(4, "big") + raw
