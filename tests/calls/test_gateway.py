"""The gateway: asks once, in order, and what comes back is recorded before it is used."""

from __future__ import annotations

import pytest

from refold.calls.gateway import Answer, Budget, Failed, Fault
from refold.calls.mode import Mode
from refold.calls.recording import Form, Tokens
from refold.calls.recordings import Recordings
from refold.fold.request import render
from refold.log.log import Log
from refold.store import Store
from tests.calls import about, ask, gateway_to, limits, manifest
from tests.conftest import now
from tests.log import heard, say
from tests.openai_server import Server, answer, cut, failure, in_turn, slow


def test_the_answers_come_in_the_order_of_the_requests(store: Store, server: Server):
    say(store, *(f"sentence {number}" for number in range(40)))
    events = heard(store)
    server.script = lambda asked: slow(answer(asked.text), 0.05 if asked.number % 7 == 0 else 0)
    given = ask(store, [about(store, server.url, event) for event in events], manifest(store, events))
    assert [one.content for one in given if isinstance(one, Answer)] == [event.text for event in events]
    assert all(one.made for one in given if isinstance(one, Answer))
    assert 2 <= server.in_flight_max <= 4


def test_what_leaves_is_the_rendering_byte_for_byte(store: Store, server: Server):
    say(store, 'Zoë said "no"\n\u2028 and left')
    (event,) = heard(store)
    request = about(store, server.url, event)
    ask(store, [request], manifest(store, [event]))
    (asked,) = server.asked
    assert asked.body == render(request).body
    assert asked.path == "/v1/chat/completions"
    assert {name.lower() for name, _ in asked.headers} == {
        *("host", "authorization", "content-type", "accept", "accept-encoding", "connection", "user-agent", "content-length", "x-title")
    }


def test_every_attempt_is_a_recording_with_all_that_is_known_of_it(store: Store, server: Server):
    say(store, "one")
    (event,) = heard(store)
    server.script = in_turn([failure(429, retry_after="0"), answer("read", usage=(1000, 500))])
    request = about(store, server.url, event)
    (given,) = ask(store, [request], manifest(store, [event]))
    assert isinstance(given, Answer)
    last, first = (one.recording for one in Recordings(store, now=now, random=bytes).all())
    assert (first.status, first.fault, first.attempt, first.tokens, first.cost) == (429, Fault.RATE_LIMITED, 1, None, None)
    assert (last.status, last.fault, last.attempt, last.finish_reason) == (200, None, 2, "stop")
    assert (last.tokens, last.cost, last.currency) == (Tokens(1000, 500), 450_000, "USD")
    assert (last.form, last.model, last.answered_by, last.draw) == (Form.WIRE, "scripted", "scripted", 0)
    assert last.host == server.url.split("/")[2]
    assert last.started_at <= last.ended_at <= now()
    assert (last.request, last.spans) == (render(request).body, render(request).spans)
    assert b'"content": "read"' in last.answer
    assert [kind for kind, *_ in last.segments] == ["template", "event"]


def test_nothing_is_asked_twice(store: Store, server: Server):
    say(store, "one", "two")
    events = heard(store)
    requests = [about(store, server.url, event) for event in events]
    first = ask(store, [*requests, requests[0]], manifest(store, events))
    again = ask(store, requests, manifest(store, events))
    assert server.count == 2
    assert [one.call_id for one in again] == [one.call_id for one in first[:2]]
    assert [one.made for one in (*first, *again) if isinstance(one, Answer)] == [True, True, False, False, False]


REPEATED = [
    (failure(500), Fault.SERVER_ERROR),
    (failure(503), Fault.SERVER_ERROR),
    (failure(429), Fault.RATE_LIMITED),
    (cut(answer("whole")), Fault.CUT_CONNECTION),
    (cut(answer("whole"), 0), Fault.CUT_CONNECTION),
    (slow(answer("late"), 1.0), Fault.TIMEOUT),
]
SHORT = {"timeout_seconds": 0.3, "attempts": 20}  # on a busy machine an answer at once is late too, now and then


@pytest.mark.parametrize(("reply", "fault"), REPEATED)
def test_what_may_pass_is_asked_again(store: Store, server: Server, reply, fault):
    say(store, "one")
    events = heard(store)
    server.script = in_turn([reply, answer("at last")])
    own = limits(**(SHORT if fault is Fault.TIMEOUT else {}))
    (given,) = ask(store, [about(store, server.url, events[0])], manifest(store, events), limits=own)
    assert isinstance(given, Answer)
    assert given.content == "at last"
    faults = [one.recording.fault for one in Recordings(store, now=now, random=bytes).all()]
    assert faults == [None, *[fault] * (len(faults) - 1)]
    assert len(faults) == 2 or fault is Fault.TIMEOUT


ENDED = [
    (failure(400), Fault.REFUSED),
    (failure(401), Fault.REFUSED),
    (answer("half a", finish_reason="length"), Fault.CUT_OFF),
    (answer(None, finish_reason="content_filter"), Fault.FILTERED),
    (answer("x", finish_reason="tool_calls"), Fault.UNFINISHED),
]


@pytest.mark.parametrize(("reply", "fault"), ENDED)
def test_what_will_not_pass_is_not_asked_again_and_leaves_no_answer(store: Store, server: Server, reply, fault):
    say(store, "one")
    events = heard(store)
    server.script = lambda asked: reply
    (given,) = ask(store, [about(store, server.url, events[0])], manifest(store, events))
    assert isinstance(given, Failed)
    assert (given.fault, given.attempts, server.count) == (fault, 1, 1)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"choices":[]}',
        b'{"choices":[{"finish_reason":"stop","message":{}}]}',
        b'{"a":1,"a":2}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_an_answer_that_is_no_completion_is_malformed(store: Store, server: Server, body: bytes):
    say(store, "one")
    events = heard(store)
    server.script = lambda asked: type(answer(""))(body)
    (given,) = ask(store, [about(store, server.url, events[0])], manifest(store, events))
    assert isinstance(given, Failed)
    assert (given.fault, given.attempts) == (Fault.MALFORMED, 3)


def test_a_provider_that_is_not_there_is_unreachable(store: Store):
    say(store, "one")
    events = heard(store)
    (given,) = ask(store, [about(store, "http://127.0.0.1:9/v1", events[0])], manifest(store, events))
    assert isinstance(given, Failed)
    assert (given.fault, given.attempts) == (Fault.UNREACHABLE, 3)


def test_a_provider_that_is_down_is_soon_left_alone(store: Store, server: Server):
    say(store, *(f"sentence {number}" for number in range(60)))
    events = heard(store)
    server.script = lambda asked: failure(500)
    given = ask(store, [about(store, server.url, event) for event in events], manifest(store, events))
    assert {one.fault for one in given if isinstance(one, Failed)} == {Fault.SERVER_ERROR}
    assert len(given) == 60
    assert server.count < 60


def test_a_budget_stops_cleanly_and_the_next_run_goes_on(store: Store, server: Server):
    say(store, *(f"sentence {number}" for number in range(10)))
    events = heard(store)
    requests = [about(store, server.url, event) for event in events]
    given = ask(store, requests, manifest(store, events), budget=Budget(calls=4))
    assert sum(isinstance(one, Answer) for one in given) == server.count == 4
    assert {one.fault for one in given if isinstance(one, Failed)} == {Fault.BUDGET}
    again = ask(store, requests, manifest(store, events))
    assert all(isinstance(one, Answer) for one in again)
    assert server.count == 10


@pytest.mark.parametrize("budget", [Budget(tokens=45), Budget(cost=15_000)])
def test_no_call_is_begun_once_a_budget_is_spent(store: Store, server: Server, budget: Budget):
    say(store, *(f"sentence {number}" for number in range(10)))
    events = heard(store)
    gateway = gateway_to(store, limits=limits(concurrency=1), budget=budget)
    declared = manifest(store, events)
    given = list(gateway.answer([(about(store, server.url, event), declared) for event in events]))
    gateway.close()
    assert sum(isinstance(one, Answer) for one in given) == server.count == gateway.spent.calls == 4 - (budget.tokens is not None)
    assert gateway.spent.cost == 4_500 * server.count


def test_an_interrupted_run_keeps_what_it_paid_for(store: Store, server: Server):
    say(store, *(f"sentence {number}" for number in range(40)))
    events = heard(store)
    requests = [about(store, server.url, event) for event in events]
    gateway = gateway_to(store, limits=limits(concurrency=2))
    declared = manifest(store, events)
    answers = gateway.answer([(request, declared) for request in requests])
    next(answers)
    answers.close()
    gateway.close()
    asked = server.count
    assert 0 < asked < 40
    assert Recordings(store, now=now, random=bytes).totals().calls == asked
    ask(store, requests, manifest(store, events))
    assert server.count == 40


@pytest.mark.parametrize("after", [False, True], ids=["before it is recorded", "after"])
def test_an_interruption_while_recording_records_nothing_twice(store: Store, server: Server, monkeypatch, after: bool):
    say(store, *(f"sentence {number}" for number in range(4)))
    events = heard(store)
    requests = [about(store, server.url, event) for event in events]
    real, interrupted = Log.append, []

    def append(self: Log, *args, **kwargs):
        done = real(self, *args, **kwargs) if after or interrupted else None
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        return done

    gateway = gateway_to(store)
    monkeypatch.setattr(Log, "append", append)
    with pytest.raises(KeyboardInterrupt):
        list(gateway.answer([(request, manifest(store, events)) for request in requests]))
    gateway.close()
    monkeypatch.undo()
    assert Recordings(store, now=now, random=bytes).totals().calls == server.count > 0
    ask(store, requests, manifest(store, events))
    assert server.count == 4


def test_what_is_looked_ahead_is_bounded(store: Store, server: Server):
    say(store, *(f"sentence {number}" for number in range(100)))
    events = heard(store)
    declared = manifest(store, events)
    drawn = 0

    def requests():
        nonlocal drawn
        for event in events:
            drawn += 1
            yield about(store, server.url, event), declared

    gateway = gateway_to(store, limits=limits(concurrency=2))
    answers = gateway.answer(requests())
    next(answers)
    assert drawn == 32
    answers.close()
    gateway.close()


def test_another_mode_reads_the_same_words(store: Store, server: Server):
    say(store, "one")
    events = heard(store)
    requests = [about(store, server.url, events[0])]
    (live,) = ask(store, requests, manifest(store, events))
    (replayed,) = ask(store, requests, manifest(store, events), mode=Mode.REPLAY)
    assert isinstance(live, Answer)
    assert isinstance(replayed, Answer)
    assert (replayed.content, replayed.call_id, replayed.made) == (live.content, live.call_id, False)
