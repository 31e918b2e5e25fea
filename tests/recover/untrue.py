"""Recordings of calls that were never made so: each function plants one of which one thing is not as it must be."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from refold.calls.keys import Input, material, replay_tag
from refold.calls.recording import Form
from refold.calls.recordings import Recordings
from refold.fold import prompt
from refold.fold.request import FRAME, EventRef, Message, Request
from refold.model import Event
from refold.store import Places, Store, open_store
from tests.calls import WORDS, digests, made_up
from tests.conftest import now
from tests.fold_model.asked import wording
from tests.log import heard, pass_a_fence
from tests.openai_server import answer


def asked(store: Store, events: Sequence[Event]) -> Request:
    """Return the request about events as a fold makes it, the last of them told as context too."""
    found = digests(store)
    refs = {event.event_id: prompt.ref(wording(), event, found[event.event_id]) for event in events}
    return replace(prompt.request(wording(), events[-1:], events, refs), api_base="http://127.0.0.1:1/v1")


def record(store: Store, request: Request, events: Sequence[Event], *, body: bytes | None = None, **changed: Any) -> None:
    """Record a call that was never made, with another body or other fields; its tag fits, unless it is changed too."""
    inputs = tuple(map(Input.of, events))
    made = made_up(store, request, inputs, answer_bytes=answer("{}").body).recording
    if body is not None:
        tag = replay_tag(material(store.keyring, inputs), made.canonical_form, body, made.draw)
        made = replace(made, request=body, replay_tag=tag)
    one = made_up(store, request, inputs, answer_bytes=b"")
    Recordings(store, now=now, random=os.urandom).record([replace(one, recording=replace(made, **changed))], run=bytes(16))


def declared(places: Places) -> None:
    with open_store(places) as store:
        record(store, asked(store, heard(store)), heard(store))


def untiled(places: Places) -> None:
    with open_store(places) as store:
        request = asked(store, heard(store))
        record(store, request, heard(store), spans=((0, 9, FRAME),))


def overlapping(places: Places) -> None:
    with open_store(places) as store:
        request, events = asked(store, heard(store)), heard(store)
        first, *rest = made_up(store, request, tuple(map(Input.of, events)), answer_bytes=b"").recording.spans
        record(store, request, events, spans=(first, (0, *first[1:]), *rest))


def another_digest(places: Places) -> None:
    with open_store(places) as store:
        record(store, _told(asked(store, heard(store)), digest=bytes(32)), heard(store))


def of_no_event(places: Places) -> None:
    with open_store(places) as store:
        record(store, _told(asked(store, heard(store)), event_id=bytes(16)), heard(store))


def other_text(places: Places) -> None:
    with open_store(places) as store:
        record(store, _told(asked(store, heard(store)), content=b'{"text":"nobody said this"}'), heard(store))


def no_line_of_an_event(places: Places) -> None:
    with open_store(places) as store:
        record(store, _told(asked(store, heard(store)), content=b"nobody said this"), heard(store))


def other_words(places: Places) -> None:
    with open_store(places) as store:
        request, events = asked(store, heard(store)), heard(store)
        body = made_up(store, request, tuple(map(Input.of, events)), answer_bytes=b"").recording.request
        record(store, request, events, body=body.replace(b"The events, oldest first", b"The events, newest first"))


def other_parameter(places: Places) -> None:
    with open_store(places) as store:
        request, events = asked(store, heard(store)), heard(store)
        body = made_up(store, request, tuple(map(Input.of, events)), answer_bytes=b"").recording.request
        assert b'"temperature":0' in body
        record(store, request, events, body=body.replace(b'"temperature":0', b'"temperature":1'))


def other_form(places: Places) -> None:
    with open_store(places) as store:
        record(store, asked(store, heard(store)), heard(store), canonical_form=b'{"messages":[]}', spans=())


def more_inputs(places: Places) -> None:
    with open_store(places) as store:
        record(store, asked(store, heard(store)[:1]), heard(store))


def other_tag(places: Places) -> None:
    with open_store(places) as store:
        record(store, asked(store, heard(store)), heard(store), replay_tag=bytes(32))


def other_wire(places: Places) -> None:
    with open_store(places) as store:
        record(store, asked(store, heard(store)), heard(store), wire=b'{"model":"declared","messages":[]}')


def by_call(places: Places) -> None:
    with open_store(places) as store:
        record(store, asked(store, heard(store)), heard(store), form=Form.CALL)


def of_no_recipe(places: Places) -> None:
    with open_store(places) as store:
        request = asked(store, heard(store))
        record(store, replace(request, messages=(replace(request.messages[0], segments=(WORDS,)), request.messages[1])), heard(store))


def dark(places: Places) -> None:
    with open_store(places) as store:
        record(store, asked(store, heard(store)), heard(store))
        (ada, *_) = {subject for event in heard(store) for subject in event.subjects}
        pass_a_fence(store, keep=lambda subject: subject != ada)


def damaged(places: Places) -> None:
    declared(places)
    (path,) = (places.store / "calls/parts").iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def without_keys(places: Places) -> None:
    declared(places)
    shutil.rmtree(places.vault)


def _told(request: Request, **changed: Any) -> Request:
    """Return a request of which every event is told otherwise."""
    system, user = request.messages
    segments = tuple(replace(one, **changed) if isinstance(one, EventRef) else one for one in user.segments)
    return replace(request, messages=(system, Message(user.voice, segments)))
