"""Live, replay, verify, refresh: what is asked, what is reused, and that nothing but the same request is answered by a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from refold.calls.gateway import Answer, Failed, Fault, Gateway
from refold.calls.keys import material
from refold.calls.mode import Mode
from refold.calls.recordings import Recordings
from refold.errors import KeyMissing, NotRecorded
from refold.fold.request import Config, EventRef, Message, Request, Schema, Template, Voice, canonical_form, json_fields, render
from refold.model import Event
from refold.store import Store, open_store
from tests.calls import WORDS, about, ask, gateway_to, manifest
from tests.conftest import now
from tests.log import heard, pass_a_fence, say
from tests.openai_server import Server, answer, failure, in_turn

OTHER = Template("instructions", "Say what you heard.\n")
ALIAS = Config("alias", "e1")


@pytest.fixture
def two(store: Store) -> list[Event]:
    say(store, "one", user="ada")
    say(store, "two", user="ben")
    return heard(store)


def messages(request: Request, *segments: Any) -> Request:
    return replace(request, messages=(request.messages[0], Message(Voice.USER, segments)))


def refs(request: Request) -> list[EventRef]:
    return [segment for segment in request.segments if isinstance(segment, EventRef)]


CHANGES: dict[str, Callable[[Request], Request]] = {
    "adapter": lambda request: replace(request, adapter="hosted_vllm"),
    "api base": lambda request: replace(request, api_base=request.api_base + "/2"),
    "model": lambda request: replace(request, model="other"),
    "a parameter's value": lambda request: replace(request, parameters=json_fields({"temperature": 1, "max_completion_tokens": 100})),
    "a parameter's spelling": lambda request: replace(request, parameters=json_fields({"temperature": 0.0, "max_completion_tokens": 100})),
    "a parameter more": lambda request: replace(request, parameters=(*request.parameters, ("top_p", "1"))),
    "a parameter less": lambda request: replace(request, parameters=request.parameters[:1]),
    "extra body": lambda request: replace(request, extra_body=json_fields({"user": "some"})),
    "parameter or extra body": lambda request: replace(request, parameters=(*request.parameters, *request.extra_body), extra_body=()),
    "a header": lambda request: replace(request, headers=(("X-Title", "other"),)),
    "no header": lambda request: replace(request, headers=()),
    "schema": lambda request: replace(request, schema=Schema("read", '{"type":"array"}')),
    "the schema's name": lambda request: replace(request, schema=Schema("said", '{"type":"object"}')),
    "no schema": lambda request: replace(request, schema=None),
    "template": lambda request: replace(request, messages=(Message(Voice.SYSTEM, (OTHER,)), request.messages[1])),
    "order of events": lambda request: messages(request, *reversed(refs(request))),
    "an event less": lambda request: messages(request, refs(request)[0]),
    "an event twice": lambda request: messages(request, *refs(request), refs(request)[0]),
    "a setting more": lambda request: messages(request, ALIAS, *refs(request)),
    "who speaks": lambda request: replace(request, messages=(request.messages[0], replace(request.messages[1], voice=Voice.SYSTEM))),
    "draw": lambda request: replace(request, draw=1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_request_that_differs_anywhere_is_not_answered_by_the_recording(store: Store, server: Server, two: list[Event], change: str):
    request = about(store, server.url, *two)
    declared = manifest(store, two, WORDS, OTHER, ALIAS)
    ask(store, [request], declared)
    changed = CHANGES[change](request)
    assert changed != request
    with pytest.raises(NotRecorded):
        ask(store, [changed], declared, mode=Mode.REPLAY)
    (same,) = ask(store, [request], declared, mode=Mode.REPLAY)
    assert isinstance(same, Answer)
    assert server.count == 1


def test_the_tag_covers_what_was_rendered(store: Store, server: Server, two: list[Event], monkeypatch: pytest.MonkeyPatch):
    """Another rendering of the same request, as a later release might make, is another request."""
    request = about(store, server.url, *two)
    ask(store, [request], manifest(store, two))
    (kept,) = Recordings(store, now=now, random=bytes).all()
    recordings = Recordings(store, now=now, random=bytes)
    recordings.follow()
    find = recordings.find
    inputs = tuple(manifest(store, two).inputs[event.event_id] for event in two)
    body, form = render(request).body, canonical_form(request)
    joined = material(store.keyring, inputs)
    assert [one.call_id for one in find(inputs, joined, form, body)] == [kept.call_id]
    assert find(inputs, joined, form, body + b" ") == find(inputs, joined, form + b" ", body) == []


def test_a_replay_needs_neither_provider_nor_litellm(store: Store, server: Server, two: list[Event], monkeypatch: pytest.MonkeyPatch):
    requests = [about(store, server.url, event) for event in two]
    first = ask(store, requests, manifest(store, two))
    monkeypatch.setattr(Gateway, "_provider", None)
    with open_store(store.places) as fresh:
        again = ask(fresh, requests, manifest(fresh, two), mode=Mode.REPLAY)
    assert [one.content for one in again if isinstance(one, Answer)] == [one.content for one in first if isinstance(one, Answer)]


def test_a_replay_survives_a_new_epoch_and_dies_with_any_input(store: Store, server: Server, two: list[Event]):
    request = about(store, server.url, *two)
    (before,) = ask(store, [request], manifest(store, two))
    pass_a_fence(store)
    (after,) = ask(store, [request], manifest(store, two), mode=Mode.REPLAY)
    assert isinstance(after, Answer)
    assert (after.call_id, after.made) == (before.call_id, False)
    declared = manifest(store, two)
    erased = two[1].subjects[0]
    pass_a_fence(store, keep=lambda subject: subject != erased)
    with pytest.raises(KeyMissing):
        ask(store, [request], declared, mode=Mode.REPLAY)


def test_a_replay_fails_where_the_model_failed(store: Store, server: Server, two: list[Event]):
    request = about(store, server.url, *two)
    server.script = lambda asked: answer("half", finish_reason="length")
    ask(store, [request], manifest(store, two))
    (again,) = ask(store, [request], manifest(store, two), mode=Mode.REPLAY)
    assert isinstance(again, Failed)
    assert (again.fault, server.count) == (Fault.CUT_OFF, 1)


def test_what_failed_is_asked_again_by_the_next_run(store: Store, server: Server, two: list[Event]):
    request = about(store, server.url, *two)
    server.script = in_turn([failure(400), answer("now")])
    ask(store, [request], manifest(store, two))
    (again,) = ask(store, [request], manifest(store, two))
    assert isinstance(again, Answer)
    assert (again.content, again.made) == ("now", True)


def test_verifying_asks_again_and_keeps_to_what_is_recorded(store: Store, server: Server, two: list[Event]):
    requests = [about(store, server.url, event) for event in two]
    ask(store, requests, manifest(store, two))
    server.script = lambda asked: answer("read: two")
    gateway = gateway_to(store, mode=Mode.VERIFY)
    declared = manifest(store, two)
    given = list(gateway.answer([(request, declared) for request in requests]))
    gateway.close()
    assert [(one.content, one.differs) for one in given if isinstance(one, Answer)] == [("read: one", True), ("read: two", False)]
    assert (server.count, gateway.spent.differing) == (4, 1)
    (again, _) = ask(store, requests, manifest(store, two))
    assert isinstance(again, Answer)
    assert again.content == "read: one"


def test_refreshing_asks_all_again_under_the_next_draw(store: Store, server: Server, two: list[Event]):
    requests = [about(store, server.url, event) for event in two]
    ask(store, requests, manifest(store, two))
    server.script = lambda asked: answer(f"anew: {asked.text}")
    fresh = ask(store, requests, manifest(store, two), mode=Mode.REFRESH)
    assert [(one.content, one.made) for one in fresh if isinstance(one, Answer)] == [("anew: one", True), ("anew: two", True)]
    for mode in (Mode.LIVE, Mode.REPLAY):
        later = ask(store, requests, manifest(store, two), mode=mode)
        assert [one.content for one in later if isinstance(one, Answer)] == ["anew: one", "anew: two"]
    assert server.count == 4
    assert sorted(one.recording.draw for one in Recordings(store, now=now, random=bytes).all()) == [0, 0, 1, 1]
