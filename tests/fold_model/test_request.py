"""A request is made of declared segments only, is rendered to the very bytes that are sent, and says of each byte where it comes from."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.errors import Undeclared
from refold.fold import request as requests
from refold.fold.request import (
    FRAME,
    Config,
    Declared,
    EventRef,
    FactRef,
    Message,
    Request,
    Schema,
    Task,
    Template,
    Voice,
    canonical_form,
    fact_digest,
    json_fields,
    json_text,
    render,
    word_digest,
)
from refold.model import EventId

TEXTS = st.text(st.characters(exclude_categories=("Cs",)))
ONE = EventId(bytes(range(16)))
TOLD = FactRef(b"f" * 16, fact_digest(b"f" * 16, "Ada lives in Munich"), "Ada lives in Munich", (ONE,))
SEGMENTS = st.one_of(
    st.builds(EventRef, st.binary(min_size=16, max_size=16), st.binary(min_size=32, max_size=32), TEXTS.map(str.encode)),
    st.builds(FactRef, st.binary(min_size=16, max_size=16), st.binary(min_size=32, max_size=32), TEXTS, st.just((ONE,))),
    st.builds(Template, TEXTS, TEXTS),
    st.builds(Config, TEXTS, TEXTS),
)
MESSAGES = st.lists(st.builds(Message, st.sampled_from(Voice), st.lists(SEGMENTS, max_size=4).map(tuple)), max_size=3).map(tuple)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS | st.lists(TEXTS, max_size=2)


def made(**changed: object) -> Request:
    """Return a request with one of everything."""
    words = (Template("task", "Read this.\n"), Config("alias", "e1 "), EventRef(ONE, b"d" * 32, b'"I live in Berlin"'), TOLD)
    whole = Request(
        adapter="openai",
        api_base="http://127.0.0.1:8000/v1",
        model="small",
        messages=(Message(Voice.SYSTEM, words[:1]), Message(Voice.USER, words[1:])),
        schema=Schema("answer", '{"type":"object"}'),
        parameters=json_fields({"temperature": 0, "max_tokens": 100}),
        extra_body=json_fields({"top_k": 1}),
        headers=(("x-title", "refold"),),
    )
    return replace(whole, **changed)


@settings(max_examples=50)
@given(MESSAGES, st.dictionaries(TEXTS.filter(lambda name: name not in requests.RESERVED), VALUES), TEXTS)
def test_a_body_is_what_the_client_sends_and_every_byte_has_one_origin(messages, parameters, model):
    request = made(messages=messages, parameters=json_fields(parameters), extra_body=(), model=model)
    rendered = render(request)
    body = json.loads(rendered.body)
    assert httpx.Request("POST", "http://localhost", json=body).content == rendered.body
    assert body["model"] == model
    assert [message["content"] for message in body["messages"]] == ["".join(part.text for part in one.segments) for one in messages]
    at = 0
    for first, end, _ in rendered.spans:
        assert first == at <= end
        at = end
    assert at == len(rendered.body)
    told = [(index, rendered.body[first:end]) for first, end, index in rendered.spans if index != FRAME]
    assert told == [(index, json_text(segment.text).encode()[1:-1]) for index, segment in enumerate(request.segments)]


def test_the_body_is_spelled_out_once():
    assert render(made()).body == (
        b'{"model":"small","messages":[{"role":"system","content":"Read this.\\n"},'
        b'{"role":"user","content":"e1 \\"I live in Berlin\\"Ada lives in Munich"}],"max_tokens":100,"temperature":0,'
        b'"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}},"top_k":1}'
    )


OTHER = {
    "adapter": "anthropic",
    "api_base": "http://127.0.0.1:8001/v1",
    "model": "large",
    "messages": made().messages[::-1],
    "schema": Schema("answer", '{"type":"array"}'),
    "parameters": json_fields({"temperature": 1, "max_tokens": 100}),
    "extra_body": json_fields({"top_k": 2}),
    "headers": (("x-title", "other"),),
    "task": Task.EMBED,
}


def test_every_part_of_a_request_is_named_in_its_canonical_form():
    parts = {field.name for field in fields(Request)} - {"draw"}  # it stands beside the form in the tag
    assert parts == OTHER.keys()
    forms = {canonical_form(made(**{name: value})) for name, value in OTHER.items() if name != "task"} | {canonical_form(made())}
    assert len(forms) == len(OTHER)
    alone = {"messages": (Message(Voice.USER, (EventRef(ONE, b"d" * 32, b"one"),)),), "schema": None}
    assert canonical_form(made(**alone)) != canonical_form(made(**alone, task=Task.EMBED))


def reread(change: Callable[[tuple], tuple]) -> Request:
    """Return the request with its last segments changed."""
    system, user = made().messages
    return made(messages=(system, replace(user, segments=change(user.segments))))


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: (Config("alias", "e2 "), *parts[1:]),
        lambda parts: (Template("alias", "e1 "), *parts[1:]),
        lambda parts: (parts[0], replace(parts[1], digest=b"e" * 32), parts[2]),
        lambda parts: (parts[0], replace(parts[1], event_id=EventId(b"o" * 16)), parts[2]),
        lambda parts: (*parts[:2], replace(parts[2], digest=b"e" * 32)),
        lambda parts: (parts[0], parts[2], parts[1]),
        lambda parts: parts[:2],
    ],
)
def test_an_input_that_changed_moved_or_went_changes_the_canonical_form(change):
    assert canonical_form(reread(change)) != canonical_form(made())


def test_the_canonical_form_holds_nothing_that_was_said():
    form = canonical_form(made())
    assert b"Berlin" not in form
    assert b"Munich" not in form
    assert b"Read this" not in form


@pytest.mark.parametrize("stranger", ["I live in Berlin", {"role": "user"}, b"raw", None, [Template("a", "b")], ("retrieved", 0.9)])
def test_nothing_but_a_segment_is_a_segment(stranger):
    with pytest.raises(TypeError):
        Message(Voice.USER, (stranger,))
    with pytest.raises(TypeError):
        made(messages=(stranger,))
    with pytest.raises(TypeError):
        render(stranger)


class Disguised(Template):
    """What passes for a template, and could say another text each time it is asked."""


@pytest.mark.parametrize(
    ("build", "given"),
    [
        (Message, (Voice.USER, (Disguised("a", "b"),))),
        (Message, ("user", ())),
        (Message, (Voice.USER, [Template("a", "b")])),
        (Template, ("a", ["b"])),
        (EventRef, (ONE, b"d" * 32, "a string")),
        (FactRef, (b"f" * 16, b"d" * 32, "told", [ONE])),
    ],
)
def test_a_part_of_another_type_is_a_type_error(build, given):
    with pytest.raises(TypeError):
        build(*given)


@pytest.mark.parametrize("changed", [{"draw": True}, {"parameters": (("temperature", 0),)}, {"headers": (["x-title", "a"],)}])
def test_a_field_of_another_type_is_a_type_error(changed):
    with pytest.raises(TypeError):
        made(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"parameters": json_fields({"model": "other"})},
        {"extra_body": json_fields({"messages": []})},
        {"extra_body": json_fields({"temperature": 1})},
        {"parameters": (("temperature", "0.10"),)},
        {"headers": (("Authorization", "secret"),)},
        {"draw": -1},
    ],
)
def test_what_would_override_the_request_is_refused(changed):
    with pytest.raises(Undeclared):
        made(**changed)


def test_what_would_override_the_request_is_refused_also_where_asserts_are_not_checked():
    code = """
from refold.errors import Undeclared
from refold.fold import request
def made(**changed):
    plain = dict(adapter="openai", api_base="http://127.0.0.1:1", model="small", messages=(request.Message(request.Voice.USER, ()),))
    return request.Request(**plain, parameters=request.json_fields({"temperature": 0}), **changed)
def refused(*, of=made, **changed):
    try:
        of(**changed)
    except Undeclared:
        return True
    return False
assert not refused(draw=-1), "asserts are checked after all"
print(refused(headers=(("Authorization", "secret"),)), refused(extra_body=request.json_fields({"temperature": 1})), refused(draw=-1))
request._tiles = lambda rendered: False
print(refused(of=lambda: request.render(made())))
"""
    done = subprocess.run([sys.executable, "-O", "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 4


def declared(request: Request) -> Declared:
    """Return a manifest under which a request may be sent."""
    words = frozenset(word_digest(part) for part in request.segments if isinstance(part, Template | Config))
    events = {part.event_id: (part.digest, part.content) for part in request.segments if isinstance(part, EventRef)}
    return Declared(events, words, {TOLD.fact_id: (TOLD.digest, TOLD.support)})


@pytest.mark.parametrize(
    "planted",
    [
        Template("task", "Read this!\n"),
        Config("task", "Read this.\n"),
        EventRef(ONE, b"d" * 32, b'"I live in Berlin."'),
        EventRef(ONE, b"e" * 32, b'"I live in Berlin"'),
        EventRef(EventId(b"o" * 16), b"d" * 32, b'"I live in Berlin"'),
        replace(TOLD, text="Ada lives in Berlin"),
        replace(TOLD, digest=fact_digest(TOLD.fact_id, "Ada lives in Berlin"), text="Ada lives in Berlin"),
        replace(TOLD, support=(EventId(b"o" * 16),)),
    ],
)
def test_a_segment_is_admitted_only_as_it_was_declared(planted):
    request = made()
    manifest = declared(request)
    assert all(manifest.admits(segment) for segment in request.segments)
    assert not manifest.admits(planted)


def test_the_events_behind_a_request_are_those_of_its_facts_too():
    other = EventId(b"o" * 16)
    request = reread(lambda parts: (*parts, EventRef(other, b"d" * 32, b""), replace(TOLD, support=(other, EventId(b"p" * 16)))))
    assert request.event_ids == (ONE, other, EventId(b"p" * 16))
