"""Whatever a model's provider does, and whatever litellm makes of it: what was sent and what came back is in no log and no error."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from refold.calls.gateway import Failed, Fault
from refold.calls.provider import Provider
from refold.scan.testing import assert_forgotten
from refold.store import Store
from tests.calls import about, ask, limits, manifest
from tests.log import heard, say
from tests.openai_server import Reply, Server, answer, cut, failure, slow

SECRET = "the canary sings at noon"


def refusal(status: int, code: str) -> Reply:
    """Return a refusal that quotes the prompt, under one of the codes from which litellm makes an exception of its own."""
    said = {"message": f"{code}: {SECRET}", "type": "invalid_request_error", "code": code}
    return Reply(json.dumps({"error": said}).encode(), status)


FAULTS: dict[str, tuple[Reply, Fault]] = {
    "bad request": (failure(400, SECRET), Fault.REFUSED),
    "context window": (refusal(400, "context_length_exceeded"), Fault.REFUSED),
    "content policy": (refusal(400, "content_policy_violation"), Fault.REFUSED),
    "authentication": (failure(401, SECRET), Fault.REFUSED),
    "permission": (failure(403, SECRET), Fault.REFUSED),
    "not found": (refusal(404, "model_not_found"), Fault.REFUSED),
    "unprocessable": (failure(422, SECRET), Fault.REFUSED),
    "rate limit": (failure(429, SECRET), Fault.RATE_LIMITED),
    "server": (failure(500, SECRET), Fault.SERVER_ERROR),
    "unavailable": (failure(503, SECRET), Fault.SERVER_ERROR),
    "not json": (Reply(f'{{"choices": {SECRET}'.encode()), Fault.MALFORMED),
    "no completion": (Reply(json.dumps({"choices": [{"message": SECRET}]}).encode()), Fault.MALFORMED),
    "filtered": (answer(SECRET, finish_reason="content_filter"), Fault.FILTERED),
    "cut connection": (cut(answer(SECRET)), Fault.CUT_CONNECTION),
    "timeout": (slow(answer(SECRET), 1.0), Fault.TIMEOUT),
}


@contextmanager
def listening() -> Generator[io.StringIO]:
    """Listen to every logger that there is, at DEBUG, those too that hand nothing on."""
    heard_of = io.StringIO()
    listener = logging.StreamHandler(heard_of)
    names = [name for name, one in logging.root.manager.loggerDict.items() if isinstance(one, logging.Logger) and not one.propagate]
    loggers = [logging.getLogger(), *map(logging.getLogger, names)]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.addHandler(listener)
        one.setLevel(logging.DEBUG)
    try:
        yield heard_of
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.removeHandler(listener)
            one.setLevel(level)


@pytest.mark.parametrize("kind", FAULTS)
def test_e19_what_litellm_says_of_a_fault_is_in_no_log_and_no_answer(
    store: Store, server: Server, kind: str, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
):
    reply, fault = FAULTS[kind]
    say(store, SECRET)
    events = heard(store)
    server.script = lambda asked: reply
    with listening() as heard_of:
        own = limits(attempts=1, **({"timeout_seconds": 0.3} if fault is Fault.TIMEOUT else {}))
        (failed,) = ask(store, [about(store, server.url, *events)], manifest(store, events), limits=own)
        logging.getLogger("litellm").debug("this is heard")
    assert isinstance(failed, Failed)
    assert failed.fault is fault
    assert SECRET in server.asked[0].text
    assert "this is heard" in heard_of.getvalue()
    told: list[Any] = [heard_of.getvalue(), *capfd.readouterr(), repr(failed), *(str(one.message) for one in recwarn)]
    assert not any(SECRET in one for one in told)
    assert_forgotten(store.places.store, [SECRET])


def test_whoever_calls_a_provider_is_left_no_event_loop(monkeypatch: pytest.MonkeyPatch):
    made: list[asyncio.AbstractEventLoop] = []
    begin = asyncio.SelectorEventLoop.__init__

    def noting(loop: asyncio.SelectorEventLoop, *given: Any) -> None:
        made.append(loop)
        begin(loop, *given)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "__init__", noting)
    Provider("openai", "http://127.0.0.1:9/v1", timeout_seconds=1.0, connections=1).close()
    assert made, "litellm made none: then this shows nothing"
    assert [loop for loop in made if not loop.is_closed()] == []
