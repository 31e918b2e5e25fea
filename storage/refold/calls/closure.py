"""Closure: whether a recorded request is made of declared inputs and of nothing else, judged by the log and the recording alone.

The request is put together anew: each segment from the text that its bytes spell, held against the digest under which it is named, and
the whole rendered again. So no byte of it can come from anywhere else, whoever wrote the recording.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from enum import StrEnum
from hashlib import sha256
from typing import Any

from refold import canonical
from refold.calls.keys import replay_tag
from refold.calls.recording import Recording
from refold.calls.recordings import Recorded
from refold.calls.strict import parse
from refold.errors import Undeclared
from refold.fold.embedding import told as vectored
from refold.fold.prompt import told
from refold.fold.request import (
    FRAME,
    Config,
    EventRef,
    FactRef,
    Message,
    Query,
    Request,
    Schema,
    Segment,
    Task,
    Template,
    Voice,
    canonical_form,
    fact_digest,
    json_text,
    render,
    word_digest,
)
from refold.model import Event, EventId

Declared = Callable[[EventId], tuple[Event, bytes] | None]  # an event of the log with its payload_commit, None where there is none
SPELLED = (ValueError, TypeError, KeyError, Undeclared)  # what reading a form that nobody of ours wrote can raise


class Breach(StrEnum):
    """What of a recorded request is not as it must be."""

    UNTILED = "a byte of the request belongs to no segment, or to two"
    UNDECLARED = "an event of the request is not in the log, or not as it is named"
    OTHER_BYTES = "bytes of the request are not what the digest of their segment stands for"
    OTHER_FRAME = "the request rendered again is not what was recorded"
    OTHER_INPUTS = "the recording is sealed under other events than its request names"
    OTHER_TAG = "the keyed digest is not that of the request"
    OTHER_WIRE = "what was about to leave said something else than the request"


def breaches(one: Recorded, *, declared: Declared, joined: bytes) -> list[Breach]:
    """Return what is not as it must be with a recorded call. `joined` is K of the events that stand in front of its payload."""
    made = one.recording
    found = list(_of_request(made, one.inputs, declared))
    if made.replay_tag != replay_tag(joined, made.canonical_form, made.request, made.draw):
        found.append(Breach.OTHER_TAG)
    if made.wire and not _says_the_same(made):
        found.append(Breach.OTHER_WIRE)
    return found


def words(made: Recording) -> Iterator[tuple[bytes, str]]:
    """Yield the digest and the text of the words of the recipe in a request of which nothing is wrong."""
    texts = _texts(made)
    for (kind, _, digest), text in zip(made.segments, texts or (), strict=True):
        if kind in ("template", "config"):
            yield canonical.unhex(digest, 32), text


def _of_request(made: Recording, inputs: tuple[EventId, ...], declared: Declared) -> Iterator[Breach]:
    try:
        texts, form = _texts(made), canonical.decode(made.canonical_form)
        if texts is None:
            yield Breach.UNTILED
            return
        task = Task(form.get("task", Task.CHAT))
        segments = [_segment(named, text, inputs, declared, task) for named, text in zip(made.segments, texts, strict=True)]
        wrong = {segment for segment in segments if isinstance(segment, Breach)}
        yield from sorted(wrong)
        if wrong:
            return
        request = _request(form, [segment for segment in segments if not isinstance(segment, Breach)], made)
        rendered = render(request)
    except SPELLED:
        yield Breach.OTHER_FRAME
        return
    if (rendered.body, rendered.spans, canonical_form(request)) != (made.request, made.spans, made.canonical_form):
        yield Breach.OTHER_FRAME
    if request.event_ids != inputs:
        yield Breach.OTHER_INPUTS


def _texts(made: Recording) -> list[str] | None:
    """Return the text of each segment as its bytes spell it; None where the spans do not tile the request, each segment once, in order."""
    at, texts = 0, []
    for first, end, index in made.spans:
        if first != at or end < first or index not in (FRAME, len(texts)):
            return None
        if index != FRAME:
            texts.append(json.loads(b'"' + made.request[first:end] + b'"'))
        at = end
    return texts if at == len(made.request) and len(texts) == len(made.segments) else None


def _segment(named: list[str], text: str, inputs: tuple[EventId, ...], declared: Declared, task: Task) -> Segment | Breach:
    """Return the segment of this name whose text is this, if the digest that it is named by is that of the text."""
    kind, name, digest = named
    if kind == "event":
        return _event(EventId(canonical.unhex(name, 16)), canonical.unhex(digest, 32), text, declared, task)
    if kind == "fact":
        fact = FactRef(bytes.fromhex(name), canonical.unhex(digest, 32), text, inputs)
        return fact if fact.digest == fact_digest(fact.fact_id, text) else Breach.OTHER_BYTES
    if kind == "query":
        return Query(text)
    word = {"template": Template, "config": Config}[kind](name, text)
    return word if word_digest(word).hex() == digest else Breach.OTHER_BYTES


def _event(event_id: EventId, digest: bytes, text: str, declared: Declared, task: Task) -> EventRef | Breach:
    found = declared(event_id)
    if found is None or found[1] != digest:
        return Breach.UNDECLARED
    content = text.encode()
    try:
        # A recipe says how much of a long text is told.
        alone = task in (Task.EMBED, Task.RERANK)  # as its own words, and nothing beside them
        whole = vectored(found[0], len(text)) if alone else told(found[0], len(json.loads(text)["text"]))
    except SPELLED:
        return Breach.OTHER_BYTES
    return EventRef(event_id, digest, content) if whole == content else Breach.OTHER_BYTES


def _request(form: dict[str, Any], segments: list[Segment], made: Recording) -> Request:
    rest = iter(segments)
    messages = tuple(Message(Voice(voice), tuple(next(rest) for _ in named)) for voice, named in form["messages"])
    fields = {name: tuple((key, value) for key, value in form[name]) for name in ("parameters", "extra_body", "headers")}
    schema = None
    if form["schema"] is not None:
        name, digest = form["schema"]
        text = json_text(parse(made.request)["response_format"]["json_schema"]["schema"])
        if sha256(text.encode()).hexdigest() != digest:
            raise ValueError("another schema")
        schema = Schema(name, text)
    asked = form["adapter"], form["api_base"], form["model"], messages, schema
    return Request(*asked, **fields, draw=made.draw, task=Task(form.get("task", Task.CHAT)))


def _says_the_same(made: Recording) -> bool:
    """Whether what litellm wanted to send, for no model by name, says what the request does."""
    from refold.calls.provider import unnamed
    from refold.calls.wire import same_value

    try:
        return same_value(made.wire, unnamed(made.request, made.model))
    except Undeclared:
        return False
