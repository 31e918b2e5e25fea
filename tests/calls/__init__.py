"""The calls room. What its tests share: events that were said, requests about them, and a gateway to a server of our own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from refold.calls.checked import Manifest
from refold.calls.gateway import Answer, Failed, Gateway
from refold.calls.keys import Input, material, replay_tag
from refold.calls.mode import Mode
from refold.calls.pace import cost_of
from refold.calls.recording import Form, Recording, Tokens
from refold.calls.recordings import Recordings, Unrecorded
from refold.fold.recipe import Limits, Price
from refold.fold.request import (
    Config,
    Declared,
    EventRef,
    Message,
    Request,
    Schema,
    Template,
    Voice,
    canonical_form,
    json_fields,
    render,
    word_digest,
)
from refold.model import Event, EventId
from refold.outside import Random
from refold.store import Store
from tests.conftest import now
from tests.openai_server import answer

WORDS = Template("instructions", "Say what you read.\n")
SCHEMA = Schema("read", '{"type":"object"}')
PRICE = Price("USD", 0.15, 0.60)


def limits(**changed: Any) -> Limits:
    """Return limits that no test waits for."""
    plain: dict[str, Any] = {
        "concurrency": 4,
        "requests_per_minute": 0,
        "tokens_per_minute": 0,
        "timeout_seconds": 60.0,  # a machine that is busy may stand still for many
        "attempts": 3,
        "cost": 0.0,
    }
    return Limits(**plain | changed)


def digests(store: Store) -> dict[EventId, bytes]:
    """Return the payload_commit of each entry."""
    found: dict[EventId, bytes] = {}
    for rows in store.log.rows():
        found.update((EventId(header[15:31]), commit) for header, commit in zip(rows.headers(), rows.commits(), strict=True))
    return found


def manifest(store: Store, events: Sequence[Event], *words: Template | Config) -> Manifest:
    """Declare events, and the words of requests about them."""
    found = digests(store)
    declared = {event.event_id: (found[event.event_id], event.text.encode()) for event in events}
    named = frozenset(map(word_digest, words or (WORDS,)))
    return Manifest(Declared(declared, named, {}), {event.event_id: Input.of(event) for event in events})


def about(store: Store, url: str, *events: Event, found: Mapping[EventId, bytes] | None = None, **changed: Any) -> Request:
    """Return a request about events, as declared; `found` are the digests where somebody has read them already."""
    found = digests(store) if found is None else found
    refs = tuple(EventRef(event.event_id, found[event.event_id], event.text.encode()) for event in events)
    plain: dict[str, Any] = {
        "adapter": "openai",
        "api_base": url,
        "model": "scripted",
        "messages": (Message(Voice.SYSTEM, (WORDS,)), Message(Voice.USER, refs)),
        "schema": SCHEMA,
        "parameters": json_fields({"temperature": 0, "max_completion_tokens": 100}),
        "extra_body": json_fields({"user": "none"}),
        "headers": (("X-Title", "test"),),
    }
    return Request(**plain | changed)


def made_up(store: Store, request: Request, inputs: tuple[Input, ...], *, answer_bytes: bytes, moment: int = 0) -> Unrecorded:
    """Return the recording of an attempt that was never made."""
    rendered, form, tokens = render(request), canonical_form(request), Tokens(1_200, 80)
    recording = Recording(
        replay_tag=replay_tag(material(store.keyring, inputs), form, rendered.body, request.draw),
        draw=request.draw,
        attempt=1,
        form=Form.WIRE,
        host=request.api_base.split("/")[2],
        model=request.model,
        answered_by="scripted-1",
        status=200,
        fault=None,
        finish_reason="stop",
        started_at=moment,
        ended_at=moment + 1_200_000,
        tokens=tokens,
        cost=cost_of(tokens, (PRICE.input, PRICE.output)),
        currency=PRICE.currency,
        canonical_form=form,
        spans=rendered.spans,
        request=rendered.body,
        wire=b"",
        answer=answer_bytes,
    )
    return Unrecorded(inputs, recording)


def recorded(store: Store, url: str, *events: Event, random: Random = os.urandom) -> bytes:
    """Record a call that was never made; return its id."""
    moment = 1_733_011_200_000_000
    one = made_up(store, about(store, url, *events), tuple(map(Input.of, events)), answer_bytes=answer("[]").body, moment=moment)
    (call_id,) = Recordings(store, now=lambda: moment, random=random).record([one], run=random(16))
    assert call_id is not None
    return call_id


def ask(store: Store, requests: Sequence[Request], declared: Manifest, *, mode: Mode = Mode.LIVE, **options: Any) -> list[Answer | Failed]:
    """Answer requests through a gateway of their own."""
    gateway = gateway_to(store, mode=mode, **options)
    try:
        return list(gateway.answer((request, declared) for request in requests))
    finally:
        gateway.close()


def gateway_to(store: Store, **options: Any) -> Gateway:
    """Return a gateway that waits for nothing between attempts."""
    plain: dict[str, Any] = {"limits": limits(), "price": PRICE, "now": now, "random": os.urandom, "env": {}, "sleep": lambda seconds: None}
    return Gateway(store, **plain | options)
