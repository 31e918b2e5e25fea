"""What goes into the closed worker and what comes out: canonical JSON, so that no bytes of it can be anything but values.

job    = version, extractor, how much of a text was told, and for each answer: its call, the events of its request by alias, its content
result = version, and for each answer: whether it was readable, and the assertions, edges and rejections that it came to
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refold import canonical
from refold.fold.ground import Told
from refold.model import Act, Event, EventId, Mention, Modality, Precision, Role, Scope, Source, Span, SubjectId, Validity
from refold.reading import AliasEdge, Assertion, Folded, Rejection, RejectionCode

VERSION = 1
_OF_METADATA = ("title", "heading", "branch")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer of a model, with the events of its request by the aliases under which it cites them."""

    call_id: bytes
    events: Mapping[str, Told]
    content: str


@dataclass(frozen=True, slots=True)
class Job:
    """Answers to be read by one extractor's name."""

    extractor: str
    characters: int  # of an event's text that the model was told
    answers: tuple[Answered, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer came to; nothing where it was not in the form that was asked for."""

    readable: bool
    folded: Folded


def encode_job(job: Job) -> bytes:
    """Return a job as bytes."""
    answers = [[one.call_id.hex(), [[alias, _told(told)] for alias, told in one.events.items()], one.content] for one in job.answers]
    return canonical.encode([VERSION, job.extractor, job.characters, answers])


def decode_job(raw: bytes) -> Job:
    """Read a job. Raises ValueError where the bytes are none."""
    version, extractor, characters, answers = canonical.decode(raw)
    _check(version)
    read = (Answered(bytes.fromhex(call), {alias: _told_of(told) for alias, told in events}, content) for call, events, content in answers)
    return Job(extractor, characters, tuple(read))


def encode_result(readings: Sequence[Reading]) -> bytes:
    """Return what a job came to as bytes."""
    return canonical.encode([VERSION, [[one.readable, _folded(one.folded)] for one in readings]])


def decode_result(raw: bytes) -> list[Reading]:
    """Read what a job came to. Raises ValueError where the bytes are none."""
    version, readings = canonical.decode(raw)
    _check(version)
    return [Reading(readable, _folded_of(folded)) for readable, folded in readings]


def _check(version: object) -> None:
    if version != VERSION:
        raise ValueError("another version")


def _told(told: Told) -> list[object]:
    event = told.event
    source, scope = event.source, event.scope
    speaker = None if event.speaker is None else event.speaker.hex()
    metadata = {key: event.metadata[key] for key in _OF_METADATA if isinstance(event.metadata.get(key), str)}
    said = [
        event.text,
        [source.kind, source.ref, source.part],
        event.said_at,
        event.author,
        speaker,
        event.role.value,
        scope.user,
        metadata,
    ]
    return [event.event_id.hex(), event.seq, told.fact_key.hex(), *said]


def _told_of(form: list[Any]) -> Told:
    event_id, seq, fact_key, text, source, said_at, author, speaker, role, user, metadata = form
    event = Event(
        event_id=EventId(bytes.fromhex(event_id)),
        seq=seq,
        recorded_at=0,
        ingest=b"",
        text=text,
        source=Source(*source),
        said_at=said_at,
        author=author,
        speaker=None if speaker is None else SubjectId(bytes.fromhex(speaker)),
        role=Role(role),
        scope=Scope(user),
        audience=(),
        subjects=(),
        metadata=metadata,
    )
    return Told(event, bytes.fromhex(fact_key))


def _folded(folded: Folded) -> list[object]:
    rejections = [[one.seq, one.relation, int(one.code)] for one in folded.rejections]
    return [[_assertion(one) for one in folded.assertions], [_edge(one) for one in folded.edges], rejections]


def _folded_of(form: list[Any]) -> Folded:
    assertions, edges, rejections = form
    return Folded(
        tuple(map(_assertion_of, assertions)),
        tuple(map(_edge_of, edges)),
        tuple(Rejection(seq, relation, RejectionCode(code)) for seq, relation, code in rejections),
    )


def _assertion(one: Assertion) -> dict[str, object]:
    validity = one.validity
    plain = (
        "entity_text",
        "relation",
        "qualifier",
        "value",
        "act",
        "modality",
        "rank",
        "said_at",
        "source",
        "part",
        "seq",
        "spans",
        "span",
    )
    return {name: getattr(one, name) for name in (*plain, "extractor", "named_seq", "named_span")} | {
        "fact_id": one.fact_id.hex(),
        "event_id": one.event_id.hex(),
        "call_id": None if one.call_id is None else one.call_id.hex(),
        "named_id": None if one.named_id is None else one.named_id.hex(),
        "entity": _mention(one.entity),
        "value_mention": None if one.value_mention is None else _mention(one.value_mention),
        "asserted_by": _mention(one.asserted_by),
        "validity": [validity.start, validity.end, validity.precision, validity.words],
    }


def _assertion_of(form: dict[str, Any]) -> Assertion:
    start, end, precision, words = form["validity"]
    read: dict[str, Any] = {
        "fact_id": bytes.fromhex(form["fact_id"]),
        "event_id": EventId(bytes.fromhex(form["event_id"])),
        "call_id": None if form["call_id"] is None else bytes.fromhex(form["call_id"]),
        "named_id": None if form["named_id"] is None else EventId(bytes.fromhex(form["named_id"])),
        "entity": Mention(*form["entity"]),
        "value_mention": None if form["value_mention"] is None else Mention(*form["value_mention"]),
        "asserted_by": Mention(*form["asserted_by"]),
        "validity": Validity(start, end, None if precision is None else Precision(precision), words),
        "act": Act(form["act"]),
        "modality": Modality(form["modality"]),
        "spans": _spans(form["spans"]),
        "span": tuple(form["span"]),
        "named_span": None if form["named_span"] is None else tuple(form["named_span"]),
    }
    return Assertion(**form | read)


def _edge(one: AliasEdge) -> dict[str, object]:
    plain = ("act", "said_at", "source", "part", "seq", "spans")
    mentions = {name: _mention(getattr(one, name)) for name in ("a", "b", "asserted_by")}
    return {name: getattr(one, name) for name in plain} | mentions | {"event_id": one.event_id.hex()}


def _edge_of(form: dict[str, Any]) -> AliasEdge:
    read: dict[str, Any] = {name: Mention(*form[name]) for name in ("a", "b", "asserted_by")}
    rest: dict[str, Any] = {"act": Act(form["act"]), "spans": _spans(form["spans"]), "event_id": EventId(bytes.fromhex(form["event_id"]))}
    return AliasEdge(**form | read | rest)


def _mention(mention: Mention) -> list[str | None]:
    return [mention.owner, mention.name]


def _spans(spans: list[list[int]]) -> tuple[Span, ...]:
    return tuple((first, end) for first, end in spans)
