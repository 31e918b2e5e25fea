"""How fast a provider is asked, and how long is waited after it refused: by a clock of the test's own, which only waiting moves."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from refold.calls.gateway import Answer
from refold.calls.pace import GIVING_UP_AFTER, PAUSE_SECONDS, PAUSE_SECONDS_MAX, Budget, Ledger, Pace, pause_seconds
from refold.calls.recording import Fault
from refold.store import Store
from refold.units import BYTES_OF_TOKEN
from tests.calls import about, ask, limits, manifest
from tests.log import heard, say
from tests.openai_server import Server, answer, failure, in_turn

NOON = 1_735_732_800.0  # 2025-01-01, 12:00 UTC


@dataclass
class Waiting:
    """A clock that stands still but for what is waited."""

    now: float = 100.0
    waits: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.waits.append(round(seconds, 6))
        self.now += seconds


def sent_at(waiting: Waiting, pace: Pace, *sizes: int) -> list[float]:
    """Return after how many seconds each request of so many bytes may be sent."""
    begun, found = waiting.now, []
    for size in sizes:
        pace.wait(size)
        found.append(round(waiting.now - begun, 6))
    return found


def test_requests_are_spaced_evenly_over_a_minute():
    waiting = Waiting()
    assert sent_at(waiting, Pace(30, 0, clock=lambda: waiting.now, sleep=waiting.sleep), 1, 10_000, 1) == [0.0, 2.0, 4.0]


def test_a_request_takes_its_share_of_the_tokens_of_a_minute():
    waiting = Waiting()
    pace = Pace(0, 600, clock=lambda: waiting.now, sleep=waiting.sleep)
    assert sent_at(waiting, pace, 100 * BYTES_OF_TOKEN, BYTES_OF_TOKEN, 1) == [0.0, 10.0, 10.1]


def test_without_limits_nobody_waits_and_what_was_idle_is_not_saved_up():
    waiting = Waiting()
    assert sent_at(waiting, Pace(0, 0, clock=lambda: waiting.now, sleep=waiting.sleep), *[10_000] * 9) == [0.0] * 9
    pace = Pace(60, 0, clock=lambda: waiting.now, sleep=waiting.sleep)
    pace.wait(1)
    waiting.now += 100
    assert sent_at(waiting, pace, 1, 1) == [0.0, 1.0]


def test_a_pause_holds_everybody_and_a_shorter_one_does_not_end_it():
    waiting = Waiting()
    pace = Pace(0, 0, clock=lambda: waiting.now, sleep=waiting.sleep)
    pace.pause(9.0)
    pace.pause(1.0)
    assert sent_at(waiting, pace, 1, 1) == [9.0, 9.0]


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("Wed, 01 Jan 2025 12:00:20 GMT", 20.0),
        ("Wed, 01 Jan 2025 11:00:00 GMT", 0.0),
        ("121", None),
        ("Wed, 01 Jan 2025 13:00:00 GMT", None),
    ],
)
def test_what_the_provider_asks_for_is_waited_unless_it_is_too_long(asked: str, seconds: float | None):
    assert pause_seconds(1, asked, now=NOON, chance=0.0) == seconds
    later = pause_seconds(1, asked, now=NOON, chance=1.0)
    assert later is None if seconds is None else (later is not None and later > seconds)


@pytest.mark.parametrize("asked", ["", "soon", "-1"])
def test_where_it_asks_for_nothing_pauses_double_up_to_the_longest_and_nobody_comes_back_together(asked: str):
    pauses = [pause_seconds(attempt, asked, now=NOON, chance=0.5) for attempt in range(1, 9)]
    assert pauses == [min(PAUSE_SECONDS * 2**at, PAUSE_SECONDS_MAX) for at in range(8)]
    assert pause_seconds(3, asked, now=NOON, chance=0.0) != pause_seconds(3, asked, now=NOON, chance=1.0)


def test_a_provider_that_fails_alike_is_given_up_and_one_answer_begins_the_count_anew():
    ledger = Ledger(Budget())
    for fault in [*[Fault.SERVER_ERROR] * (GIVING_UP_AFTER - 1), None, *[Fault.SERVER_ERROR] * (GIVING_UP_AFTER - 1)]:
        ledger.settle(fault)
        assert ledger.begin() is None
    ledger.settle(Fault.SERVER_ERROR)
    assert ledger.begin() is Fault.SERVER_ERROR


def test_a_gateway_waits_as_the_provider_asks_and_keeps_to_the_pace_of_its_recipe(store: Store, server: Server):
    say(store, "one", "two")
    events = heard(store)
    server.script = in_turn([failure(429, retry_after="7"), answer("read"), answer("read")])
    waits: list[float] = []
    given = ask(
        store,
        [about(store, server.url, event) for event in events],
        manifest(store, events),
        limits=limits(concurrency=1, requests_per_minute=60),
        sleep=waits.append,
    )
    assert [type(one) for one in given] == [Answer, Answer]
    # Seven seconds as it was asked for, and one for its place in the minute: of the other event, which is sent before that or after it.
    assert {round(wait % 7) for wait in waits} == {0, 1}
