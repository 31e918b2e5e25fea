"""A request to a language model, made of declared segments only, and the one pure function that turns it into bytes.

    Request   = task, adapter, api base, model, parameters, extra body, headers, schema, draw, and messages
    Message   = who speaks in it (system or user) and its segments, in order
    Segment   = EventRef | FactRef | Template | Config        nothing else: a string or a dict in its place is a TypeError
              | Query                                         alone in a request for its vector, which is never recorded; or
                                                              before the events that a model is to put in order for it

`render` gives the exact body that an OpenAI-compatible endpoint gets: JSON as httpx spells it (UTF-8, no spaces, nothing escaped that need
not be). First come `model` and `messages`, or `input` where a vector is asked for, or `query` and `documents` where an order is; then
parameters, `response_format` and extra body. Its spans say of every byte which segment it comes from; what comes from none is FRAME, the
request's own fields and the punctuation of JSON.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from json.encoder import encode_basestring

from refold import canonical
from refold.errors import Undeclared
from refold.model import EventId

FRAME = -1
VERSION = 1
ID_BYTES = 16
DIGEST_BYTES = 32
RESERVED = frozenset(
    (
        *("model", "messages", "input", "query", "documents", "top_n", "response_format"),
        *("stream", "n", "tools", "tool_choice", "functions", "function_call"),
    )
)
SECRET_HEADERS = frozenset(("authorization", "proxy-authorization", "api-key", "x-api-key", "cookie"))
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

Field = tuple[str, str]  # a name and the JSON of its value, as it is sent
Spans = tuple[tuple[int, int, int], ...]  # first byte, end, index of the segment in `Request.segments` or FRAME


@dataclass(frozen=True, slots=True)
class EventRef:
    """What a model is told of one event. `digest` is the payload_commit of its entry, `content` UTF-8 that depends on the event alone."""

    event_id: EventId
    digest: bytes
    content: bytes

    def __post_init__(self) -> None:
        _check(self, event_id=bytes, digest=bytes, content=bytes)
        _require((len(self.event_id), len(self.digest)) == (ID_BYTES, DIGEST_BYTES), "not an event of the log")

    @property
    def text(self) -> str:
        return self.content.decode()


@dataclass(frozen=True, slots=True)
class FactRef:
    """What a model is told of one fact: for roll-ups only. `digest` is `fact_digest`, `support` the events under it, transitively."""

    fact_id: bytes
    digest: bytes
    text: str
    support: tuple[EventId, ...]

    def __post_init__(self) -> None:
        _check(self, fact_id=bytes, digest=bytes, text=str, support=tuple)
        _check_all(self.support, bytes)
        _require(bool(self.support), "a fact rests on events")


@dataclass(frozen=True, slots=True)
class Template:
    """Words of the recipe: instructions, examples, what stands between events."""

    name: str
    text: str

    def __post_init__(self) -> None:
        _check(self, name=str, text=str)


@dataclass(frozen=True, slots=True)
class Config:
    """A declared value that is not of the template's words: an alias under which an event is cited, a setting."""

    name: str
    text: str

    def __post_init__(self) -> None:
        _check(self, name=str, text=str)


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody asks memory, which is no event, so that no erasure of one reaches it.

    Alone it is never recorded. Where a model puts events in order for it, its recording is sealed under the epoch as well as under theirs.
    """

    text: str

    def __post_init__(self) -> None:
        _check(self, text=str)


Segment = EventRef | FactRef | Template | Config | Query
SEGMENTS = (EventRef, FactRef, Template, Config, Query)


class Task(StrEnum):
    """What is asked for."""

    CHAT = "chat"  # an answer in words
    EMBED = "embed"  # a vector of one text
    RERANK = "rerank"  # how much each of some events says about a query


class Voice(StrEnum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Message:
    """A message: its text is that of its segments, one after the other."""

    voice: Voice
    segments: tuple[Segment, ...]

    def __post_init__(self) -> None:
        _check(self, voice=Voice, segments=tuple)
        _check_all(self.segments, *SEGMENTS)


@dataclass(frozen=True, slots=True)
class Schema:
    """The form that an answer must have: the name and the text of a JSON schema."""

    name: str
    text: str

    def __post_init__(self) -> None:
        _check(self, name=str, text=str)
        _require(_is_spelled(self.text), "a schema is not spelled as it is sent")


@dataclass(frozen=True, slots=True)
class Request:
    """All that a call depends on. `parameters` and `extra_body` come from `json_fields`; `draw` numbers repeats over the same inputs."""

    adapter: str
    api_base: str
    model: str
    messages: tuple[Message, ...]
    schema: Schema | None = None
    parameters: tuple[Field, ...] = ()
    extra_body: tuple[Field, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    draw: int = 0
    task: Task = Task.CHAT

    def __post_init__(self) -> None:
        _check(self, adapter=str, api_base=str, model=str, messages=tuple, schema=(Schema, type(None)), parameters=tuple, extra_body=tuple)
        _check(self, headers=tuple, draw=int, task=Task)
        _check_all(self.messages, Message)
        for pairs in (self.parameters, self.extra_body, self.headers):
            _check_all(pairs, tuple)
            _check_all((part for pair in pairs for part in pair), str)
        fields = self.parameters + self.extra_body
        _require(all(_is_spelled(value) for _, value in fields), "a field of the body is not spelled as it is sent")
        names = [name for name, _ in fields]
        _require(len(names) == len(set(names)), "a field of the body is given twice")
        _require(RESERVED.isdisjoint(names), "a field of the body is the request's own")
        _require(SECRET_HEADERS.isdisjoint(name.lower() for name, _ in self.headers), "a header is a secret")
        _require(self.draw >= 0, "draws are numbered from nought")
        kinds = [type(segment) for segment in self.segments]
        if self.task is Task.EMBED:
            _require(kinds in ([EventRef], [Query]) and self.schema is None, "a vector is asked for of one event, or of a query")
        elif self.task is Task.RERANK:
            whole = len(kinds) > 1 and kinds == [Query] + [EventRef] * (len(kinds) - 1) and self.schema is None
            _require(whole, "an order is asked for of events, for one query before them")
        else:
            _require(Query not in kinds, "a query is told to no model but for its vector, or an order of events")

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments in the order in which they are read."""
        return tuple(segment for message in self.messages for segment in message.segments)

    @property
    def event_ids(self) -> tuple[EventId, ...]:
        """Every event behind the request, those of its facts too: sorted, distinct."""
        found: set[EventId] = set()
        for segment in self.segments:
            if isinstance(segment, EventRef):
                found.add(segment.event_id)
            elif isinstance(segment, FactRef):
                found.update(segment.support)
        return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class Rendered:
    """The bytes of a request. The spans follow each other and cover all of them."""

    body: bytes
    spans: Spans


@dataclass(frozen=True, slots=True)
class Declared:
    """What the requests of a run may be made of, as read from the log and the recipe: not from any request."""

    events: Mapping[EventId, tuple[bytes, bytes]]  # digest and content, as in an EventRef
    words: frozenset[bytes]  # `word_digest` of each template and setting
    facts: Mapping[bytes, tuple[bytes, tuple[EventId, ...]]]  # digest and support, as in a FactRef
    query: str | None = None  # for which events are put in order

    def admits(self, segment: Segment) -> bool:
        """Whether a segment is exactly what was declared."""
        if isinstance(segment, EventRef):
            return self.events.get(segment.event_id) == (segment.digest, segment.content)
        if isinstance(segment, FactRef):
            known = self.facts.get(segment.fact_id) == (segment.digest, segment.support)
            return known and segment.digest == fact_digest(segment.fact_id, segment.text)
        if isinstance(segment, Query):
            return segment.text == self.query
        return word_digest(segment) in self.words


def json_fields(table: Mapping[str, object]) -> tuple[Field, ...]:
    """Return a table as fields, sorted by name. Raises ValueError for NaN, TypeError for what JSON has not."""
    return tuple((name, _encoder.encode(table[name])) for name in sorted(table))


def json_text(value: object) -> str:
    """Return the JSON of a value as it is sent, in the order in which it is given. Raises ValueError, TypeError."""
    return _encoder.encode(value)


def render(request: Request) -> Rendered:
    """Return the body of a request and the segment that each byte comes from. Raises UnicodeEncodeError for half a character."""
    if type(request) is not Request:
        raise TypeError(f"a request is expected, found {type(request).__name__}")
    chunks: list[bytes] = []
    spans: list[tuple[int, int, int]] = []
    size = 0
    for index, text in _pieces(request):
        raw = text.encode()
        chunks.append(raw)
        if index == FRAME and spans and spans[-1][2] == FRAME:
            spans[-1] = (spans[-1][0], size + len(raw), FRAME)
        else:
            spans.append((size, size + len(raw), index))
        size += len(raw)
    rendered = Rendered(b"".join(chunks), tuple(spans))
    _require(_tiles(rendered), "a byte belongs to no segment, or to two")
    return rendered


def canonical_form(request: Request) -> bytes:
    """Return what names a request, part by part: adapter, api base, model, fields, headers, schema, ordered inputs. Not the draw.

    Words of the recipe stand in it by their digest, events and facts by id and digest: it holds nothing that was said. A query has neither:
    no digest is kept of what somebody asks. Raises Undeclared for one alone: it is not recorded.
    """
    _require(bool(request.event_ids) or request.task is not Task.EMBED, "a query alone has no name: it is not recorded")
    schema = request.schema
    form = {
        "version": VERSION,
        "adapter": request.adapter,
        "api_base": request.api_base,
        "model": request.model,
        "parameters": request.parameters,
        "extra_body": request.extra_body,
        "headers": request.headers,
        "schema": None if schema is None else [schema.name, sha256(schema.text.encode()).hexdigest()],
        "messages": [[message.voice, [_named(segment) for segment in message.segments]] for message in request.messages],
        **({} if request.task is Task.CHAT else {"task": request.task}),  # without it, as before there was another
    }
    return canonical.encode(form)


@lru_cache(maxsize=1_024)
def word_digest(segment: Template | Config) -> bytes:
    """Return the digest of words of the recipe. They are the operator's own, not what anybody said."""
    kind = b"template" if isinstance(segment, Template) else b"config"
    return sha256(kind + b"\0" + canonical.encode([segment.name, segment.text])).digest()


def fact_digest(fact_id: bytes, text: str) -> bytes:
    """Return the digest of a fact as it is told: HMAC-SHA256(fact id, text), which only those who may read the fact can test."""
    return hmac.digest(fact_id, text.encode(), "sha256")


def _named(segment: Segment) -> list[str]:
    if isinstance(segment, EventRef):
        return ["event", segment.event_id.hex(), segment.digest.hex()]
    if isinstance(segment, FactRef):
        return ["fact", segment.fact_id.hex(), segment.digest.hex()]
    if isinstance(segment, Query):
        return ["query", "", ""]
    return _named_words(segment)


@lru_cache(maxsize=1_024)
def _named_words(segment: Template | Config) -> list[str]:
    return ["template" if isinstance(segment, Template) else "config", segment.name, word_digest(segment).hex()]


def _pieces(request: Request) -> Iterator[tuple[int, str]]:
    """Yield the body piece by piece, each with the segment that it comes from."""
    yield from _told(request)
    for name, value in (*request.parameters, *_response_format(request.schema), *request.extra_body):
        yield FRAME, f",{encode_basestring(name)}:{value}"
    yield FRAME, "}"


def _told(request: Request) -> Iterator[tuple[int, str]]:
    """Yield the body up to its parameters."""
    begun, index = f'{{"model":{encode_basestring(request.model)},', 0
    if request.task is Task.EMBED:
        yield FRAME, f'{begun}"input":"'
        yield index, encode_basestring(request.segments[index].text)[1:-1]
        yield FRAME, '"'
        return
    if request.task is Task.RERANK:
        for index, segment in enumerate(request.segments):
            yield FRAME, (f'{begun}"query":"', '","documents":["', '","')[min(index, 2)]
            yield index, encode_basestring(segment.text)[1:-1]
        yield FRAME, '"]'
        return
    yield FRAME, f'{begun}"messages":['
    for place, message in enumerate(request.messages):
        yield FRAME, f'{"," if place else ""}{{"role":"{message.voice}","content":"'
        for segment in message.segments:
            yield index, encode_basestring(segment.text)[1:-1]
            index += 1
        yield FRAME, '"}'
    yield FRAME, "]"


def _response_format(schema: Schema | None) -> tuple[Field, ...]:
    if schema is None:
        return ()
    form = f'{{"type":"json_schema","json_schema":{{"name":{encode_basestring(schema.name)},"strict":true,"schema":{schema.text}}}}}'
    return (("response_format", form),)


def _tiles(rendered: Rendered) -> bool:
    at = 0
    for first, end, _ in rendered.spans:
        if first != at or end < first:
            return False
        at = end
    return at == len(rendered.body)


@lru_cache(maxsize=256)
def _is_spelled(text: str) -> bool:
    """Whether JSON is as the client spells it, so that reading and writing it again gives the same bytes."""
    return json_text(json.loads(text)) == text


def _require(holds: bool, message: str) -> None:
    """Refuse what a request must not be. Raises Undeclared: the gateway relies on it, so it is checked also where asserts are not."""
    if not holds:
        raise Undeclared(message, hint="refold help recipes")


def _check(value: object, **expected: type | tuple[type, ...]) -> None:
    """Refuse a field of another type: what was not declared as a segment cannot slip in as one. Raises TypeError."""
    for name, types in expected.items():
        found = getattr(value, name)
        if type(found) not in (types if isinstance(types, tuple) else (types,)):
            raise TypeError(f"{type(value).__name__}.{name} is a {type(found).__name__}")


def _check_all(values: Iterable[object], *types: type) -> None:
    for value in values:
        if type(value) not in types:
            names = " or ".join(one.__name__ for one in types)
            raise TypeError(f"expected {names}, found {type(value).__name__}")
