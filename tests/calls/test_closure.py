"""The closure of a run: what it does not declare reaches no model, and what a model is sent reaches no log."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from refold.calls import checked
from refold.calls.gateway import Answer, Failed, Fault
from refold.calls.provider import LISTENERS, PAST_US
from refold.calls.recordings import Recordings
from refold.errors import ModelFailed, RefoldError, Undeclared
from refold.fold.request import Config, EventRef, FactRef, Message, Rendered, Request, Template, Voice, fact_digest, render
from refold.store import Store
from tests.calls import WORDS, about, ask, manifest
from tests.conftest import now
from tests.log import heard, say
from tests.openai_server import Server, failure

SECRET = "the canary sings at noon"
litellm: Any = None


@pytest.fixture(autouse=True)
def loaded(server: Server) -> None:
    """Import litellm as the gateway does."""
    global litellm
    from refold.calls.provider import Provider

    Provider("openai", server.url, timeout_seconds=1, connections=1, env={}).close()
    import litellm as imported

    litellm = imported


@pytest.mark.parametrize("given", ["a prompt", {"messages": []}, [{"role": "user", "content": "hi"}], b"bytes", None, 7])
def test_only_a_request_is_taken(store: Store, server: Server, given: Any):
    with pytest.raises(TypeError, match="a request is expected"):
        ask(store, [given], manifest(store, []))
    assert server.count == 0


def test_a_kind_of_request_of_ones_own_is_none(store: Store, server: Server):
    class Looser(Request):
        pass

    say(store, "one")
    events = heard(store)
    honest = about(store, server.url, *events)
    looser = Looser(**{name: getattr(honest, name) for name in Request.__slots__})
    with pytest.raises(TypeError, match="a request is expected"):
        ask(store, [looser], manifest(store, events))
    assert server.count == 0


def with_segments(request: Request, *segments: Any) -> Request:
    return replace(request, messages=(Message(Voice.USER, segments),))


def undeclared_segments(request: Request) -> list[tuple[Any, ...]]:
    (event,) = [one for one in request.segments if isinstance(one, EventRef)]
    fact = FactRef(bytes(16), fact_digest(bytes(16), "x"), "x", (event.event_id,))
    return [
        (event, Template("instructions", WORDS.text + "!")),
        (event, Template("other", WORDS.text)),
        (event, Config("instructions", WORDS.text)),
        (replace(event, content=event.content + b"!"),),
        (replace(event, digest=bytes(32)),),
        (replace(event, event_id=bytes(16)),),
        (event, fact),
    ]


@pytest.mark.parametrize("which", range(7))
def test_a_segment_that_the_run_does_not_declare_fails_it(store: Store, server: Server, which: int):
    say(store, "one")
    events = heard(store)
    honest = about(store, server.url, *events)
    with pytest.raises(Undeclared, match="segment"):
        ask(store, [with_segments(honest, *undeclared_segments(honest)[which])], manifest(store, events))
    assert server.count == 0
    assert Recordings(store, now=now, random=bytes).totals().calls == 0


def test_an_event_whose_key_nobody_declared_fails_the_run(store: Store, server: Server):
    say(store, "one")
    events = heard(store)
    with pytest.raises(Undeclared, match="event"):
        ask(store, [about(store, server.url, *events)], replace(manifest(store, events), inputs={}))
    assert server.count == 0


def test_a_request_without_an_event_is_refused(store: Store, server: Server):
    with pytest.raises(RefoldError, match="no event behind it"):
        ask(store, [with_segments(about(store, server.url), WORDS)], manifest(store, []))
    assert server.count == 0


def in_client(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Callable[[pytest.MonkeyPatch], None]:
    """Return a fault that changes what the client was handed: the body, and options such as headers."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        import openai

        honest: Any = openai.OpenAI.post

        def planted(self: Any, path: str, *, body: Any, options: Any, **given: Any) -> Any:
            body, options = dict(body), {**options, "headers": dict(options.get("headers") or {})}
            change(body, options)
            return honest(self, path, body=body, options=options, **given)

        patch.setattr(openai.OpenAI, "post", planted)

    return plant


def of_litellm(**added: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """Return a fault that adds to what litellm is called with."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        honest = litellm.completion

        def planted(**given: Any) -> Any:
            merged = {name: {**given.get(name, {}), **more} if isinstance(more, dict) else more for name, more in added.items()}
            return honest(**given | merged)

        patch.setattr(litellm, "completion", planted)

    return plant


def in_rendering(patch: pytest.MonkeyPatch) -> None:
    honest = checked.render

    def planted(request: Request) -> Rendered:
        rendered = honest(request)
        return replace(rendered, body=rendered.body.replace(b"Say what", b"Say  what"))

    patch.setattr(checked, "render", planted)


def twice(patch: pytest.MonkeyPatch) -> None:
    honest = litellm.completion

    def planted(**given: Any) -> Any:
        try:
            honest(**given)
        except BaseException as error:
            if type(error).__name__ != "Captured":
                raise
        return honest(**given)

    patch.setattr(litellm, "completion", planted)


def instead(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(litellm, "completion", lambda **given: SECRET)


def elsewhere(patch: pytest.MonkeyPatch) -> None:
    import openai

    patch.setattr(openai.OpenAI, "_prepare_url", lambda self, url: self.base_url.copy_with(path="/v1/other"))


PLANTED = {
    "a message more": in_client(lambda body, options: body.update(messages=[*body["messages"], {"role": "user", "content": SECRET}])),
    "other messages": in_client(lambda body, options: body.update(messages=[{"role": "user", "content": SECRET}])),
    "a parameter": in_client(lambda body, options: body.update(metadata={"note": SECRET})),
    "a parameter less": in_client(lambda body, options: options.update(extra_json={})),
    "false for nought": in_client(lambda body, options: options.update(extra_json={**options["extra_json"], "temperature": False})),
    "a header": in_client(lambda body, options: options["headers"].update({"X-Note": SECRET})),
    "another header": in_client(lambda body, options: options["headers"].update({"X-Title": SECRET})),
    "a query": in_client(lambda body, options: options.update(params={"q": SECRET})),
    "the rendering": in_rendering,
    "litellm's own parameter": of_litellm(logit_bias={"1": 1}),
    "litellm's extra body": of_litellm(extra_body={"note": SECRET}),
    "litellm's mock": of_litellm(mock_response=SECRET),
    "another address": elsewhere,
    "an answer from nowhere": instead,
}


KNOWN = ["o1", "o3", "o4-mini", "o3-pro", "gpt-5", "gpt-5.1-codex", "gpt-5-pro", "responses/gpt-4o", "gpt-3.5-turbo-instruct", "a/b"]


@pytest.mark.parametrize("model", KNOWN)
def test_no_model_that_litellm_knows_is_asked_otherwise_than_it_was_rendered(store: Store, server: Server, model: str):
    """It takes some to another address, past our transport, and words a system's message, or parameters, otherwise for others."""
    say(store, "one")
    events = heard(store)
    request = about(store, server.url, *events, model=model)
    (answered,) = ask(store, [request], manifest(store, events))
    assert isinstance(answered, Answer)
    assert [(asked.path, asked.body) for asked in server.asked] == [("/v1/chat/completions", render(request).body)]
    (kept,) = Recordings(store, now=now, random=bytes).all()
    assert (kept.recording.model, kept.recording.wire) == (model, b"")


@pytest.mark.parametrize("switch", ["environment", "attribute"])
def test_nothing_is_sent_where_litellm_would_send_past_the_transport(
    store: Store, server: Server, monkeypatch: pytest.MonkeyPatch, switch: str
):
    say(store, "one")
    events = heard(store)
    if switch == "environment":
        monkeypatch.setenv(PAST_US, "true")
    else:
        monkeypatch.setattr(litellm, "route_all_chat_openai_to_responses", True)
    with pytest.raises(ModelFailed, match="past the transport"):
        ask(store, [about(store, server.url, *events)], manifest(store, events))
    assert server.count == 0


def test_what_goes_past_the_transport_has_no_address_and_no_key(store: Store, server: Server, monkeypatch: pytest.MonkeyPatch):
    say(store, "one")
    events = heard(store)
    given: dict[str, Any] = {}
    monkeypatch.setattr(litellm, "completion", lambda **options: given.update(options))
    with pytest.raises(Undeclared, match="without sending"):
        ask(store, [about(store, server.url, *events)], manifest(store, events), env={"OPENAI_API_KEY": SECRET})
    beside = {name: value for name, value in given.items() if name != "client"}
    assert server.url not in str(beside)
    assert SECRET not in str(beside)
    with pytest.raises(httpx.UnsupportedProtocol):
        httpx.post(f"{given['api_base']}/responses")


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_byte_fails_the_run_and_nothing_is_sent(store: Store, server: Server, monkeypatch: pytest.MonkeyPatch, planted: str):
    say(store, "one")
    events = heard(store)
    PLANTED[planted](monkeypatch)
    with pytest.raises(Undeclared) as error:
        ask(store, [about(store, server.url, *events)], manifest(store, events))
    assert server.count == 0
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None


def test_a_second_request_for_one_call_is_not_sent(store: Store, server: Server, monkeypatch: pytest.MonkeyPatch):
    say(store, "one")
    events = heard(store)
    twice(monkeypatch)
    with pytest.raises(Undeclared, match="a second request"):
        ask(store, [about(store, server.url, *events)], manifest(store, events))
    assert server.count == 1


def test_what_the_client_says_of_itself_is_not_sent(store: Store, server: Server, monkeypatch: pytest.MonkeyPatch):
    say(store, "one")
    events = heard(store)
    in_client(lambda body, options: options["headers"].update({"X-Stainless-Lang": SECRET, "User-Agent": SECRET}))(monkeypatch)
    ask(store, [about(store, server.url, *events)], manifest(store, events))
    assert SECRET not in str(server.asked[0].headers)


@pytest.mark.parametrize("name", [*LISTENERS, "cache"])
def test_nothing_is_sent_while_something_listens_in_litellm(store: Store, server: Server, monkeypatch: pytest.MonkeyPatch, name: str):
    say(store, "one")
    events = heard(store)
    monkeypatch.setattr(litellm, name, ["listener"], raising=False)
    with pytest.raises(ModelFailed, match="would see what is sent"):
        ask(store, [about(store, server.url, *events)], manifest(store, events))
    assert server.count == 0


def test_neither_logs_nor_errors_nor_the_screen_tell_prompt_or_answer(
    store: Store, server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    say(store, SECRET)
    events = heard(store)
    heard_of = io.StringIO()
    listener = logging.StreamHandler(heard_of)
    root = logging.getLogger()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    try:
        ask(store, [about(store, server.url, *events)], manifest(store, events))
        server.script = lambda asked: failure(400, SECRET)
        (failed,) = ask(store, [about(store, server.url, *events, draw=1)], manifest(store, events))
        of_litellm(extra_body={"note": SECRET})(monkeypatch)
        with pytest.raises(Undeclared) as error:
            ask(store, [about(store, server.url, *events, draw=2)], manifest(store, events))
    finally:
        root.removeHandler(listener)
        root.setLevel(level)
    assert isinstance(failed, Failed)
    assert (failed.fault, SECRET in repr(failed)) == (Fault.REFUSED, False)
    told = [heard_of.getvalue(), *capfd.readouterr(), str(error.value), repr(error.value)]
    assert [SECRET in one for one in told] == [False] * 5


def test_a_provider_that_litellm_alone_knows_is_recorded_as_a_call(store: Store):
    say(store, "one")
    events = heard(store)

    class Own(litellm.CustomLLM):
        def completion(self, *args: Any, **given: Any) -> Any:
            response = given["model_response"]
            response.choices[0].message.content = "read: " + given["messages"][-1]["content"]
            response.choices[0].finish_reason = "stop"
            return response

    litellm.custom_provider_map = [{"provider": "own", "custom_handler": Own()}]
    try:
        litellm.utils.custom_llm_setup()
        request = about(store, "http://localhost/own", *events, adapter="own", extra_body=(), headers=(), schema=None)
        (given,) = ask(store, [request], manifest(store, events))
    finally:
        litellm.custom_provider_map = []
        litellm.utils.custom_llm_setup()
    assert isinstance(given, Answer)
    assert given.content == "read: one"
    (one,) = Recordings(store, now=now, random=bytes).all()
    assert (one.recording.form.value, one.recording.wire) == ("call", b"")
