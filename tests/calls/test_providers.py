"""Providers that do not speak OpenAI's protocol: litellm words what leaves, and the recording says so. The servers are on the loopback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refold.calls.gateway import Answer, Failed, Fault, Mode
from refold.calls.recording import Form, Tokens
from refold.calls.recordings import Recordings
from refold.fold.request import render
from refold.store import Store
from tests.calls import about, ask, manifest
from tests.conftest import now
from tests.log import heard, say
from tests.openai_server import Asked, Reply, Server, failure, in_turn

FORM = {"read": "one"}


def anthropic(*, stop_reason: str = "tool_use") -> Reply:
    """Return a message whose form is that of the schema: this protocol asks for it as the input of a tool."""
    content = [{"type": "tool_use", "id": "toolu_1", "name": "json_tool_call", "input": FORM}]
    usage = {"input_tokens": 10, "output_tokens": 5}
    document = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted-1", "content": content, "usage": usage}
    return Reply(json.dumps(document | {"stop_reason": stop_reason, "stop_sequence": None}).encode())


def ollama(*, done_reason: str = "stop") -> Reply:
    message = {"role": "assistant", "content": json.dumps(FORM)}
    document = {"model": "scripted-1", "created_at": "2024-01-01T00:00:00Z", "message": message, "done": True, "done_reason": done_reason}
    return Reply(json.dumps(document | {"prompt_eval_count": 10, "eval_count": 5}).encode())


def told_to_anthropic(asked: Asked) -> list[str]:
    return [*(block["text"] for block in asked.json["system"]), *(block["text"] for block in asked.json["messages"][0]["content"])]


def told_to_ollama(asked: Asked) -> list[str]:
    return [message["content"] for message in asked.json["messages"]]


PROTOCOLS = {
    "anthropic": ("/v1/messages", anthropic, told_to_anthropic, {"stop_reason": "max_tokens"}),
    "ollama_chat": ("/api/chat", ollama, told_to_ollama, {"done_reason": "length"}),
}


@pytest.fixture(autouse=True)
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key of the tests")


def asking(store: Store, server: Server, adapter: str, *, mode: Mode = Mode.LIVE, **changed: Any) -> list[Answer | Failed]:
    events = heard(store)
    plain: dict[str, Any] = {"adapter": adapter, "api_base": server.url.removesuffix("/v1"), "parameters": (("temperature", "0"),)}
    plain |= {"extra_body": (), "headers": ()} | changed
    request = about(store, "", *events, **plain)
    return ask(store, [request], manifest(store, events), mode=mode)


@pytest.mark.parametrize("adapter", PROTOCOLS)
def test_it_is_asked_in_its_own_protocol_and_the_recording_says_what_was_not_seen(store: Store, server: Server, adapter: str):
    path, reply, told, _ = PROTOCOLS[adapter]
    say(store, "one")
    server.script = lambda asked: reply()
    (given,) = asking(store, server, adapter)
    assert isinstance(given, Answer)
    assert json.loads(given.content) == FORM
    assert [(asked.path, told(asked)) for asked in server.asked if asked.path == path] == [(path, ["Say what you read.\n", "one"])]
    (kept,) = [one.recording for one in Recordings(store, now=now, random=bytes).all()]
    assert (kept.form, kept.wire, kept.tokens, kept.status) == (Form.CALL, b"", Tokens(10, 5), 200)
    request = about(store, "", *heard(store), parameters=(("temperature", "0"),), extra_body=(), headers=())
    assert kept.request == render(request).body
    (again,) = asking(store, server, adapter)
    assert isinstance(again, Answer)
    assert (again.content, again.made) == (given.content, False)
    assert [asked.path for asked in server.asked].count(path) == 1  # of Ollama litellm asks other things, in a thread of its own


@pytest.mark.parametrize("adapter", PROTOCOLS)
def test_its_refusals_are_waited_for_and_what_failed_is_recorded(store: Store, server: Server, adapter: str):
    path, reply, _, _ = PROTOCOLS[adapter]
    say(store, "one")
    replies = in_turn([failure(429, retry_after="0"), failure(500), reply(), failure(400)])
    server.script = lambda asked: replies(asked) if asked.path == path else failure(404)
    (given,) = asking(store, server, adapter)
    assert isinstance(given, Answer)
    kept = [one.recording.fault for one in Recordings(store, now=now, random=bytes).all()]
    assert kept == [None, Fault.SERVER_ERROR, Fault.RATE_LIMITED]
    (failed,) = asking(store, server, adapter, draw=1)
    assert isinstance(failed, Failed)
    assert (failed.fault, failed.attempts) == (Fault.REFUSED, 1)


@pytest.mark.parametrize("adapter", PROTOCOLS)
def test_an_answer_that_it_cut_off_is_not_taken_though_litellm_may_call_it_finished(store: Store, server: Server, adapter: str):
    _, reply, _, cut_off = PROTOCOLS[adapter]
    say(store, "one")
    server.script = lambda asked: reply(**cut_off)
    for mode in (Mode.LIVE, Mode.REPLAY):
        (failed,) = asking(store, server, adapter, mode=mode, parameters=(("max_tokens", "5"),))
        assert isinstance(failed, Failed)
        assert failed.fault is Fault.CUT_OFF
    (kept,) = [one.recording for one in Recordings(store, now=now, random=bytes).all()]
    assert (kept.tokens, kept.cost) == (Tokens(10, 5), 4_500)
