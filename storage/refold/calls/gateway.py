"""The gateway: the only way to a language model. It takes requests made of declared segments, and nothing else.

    for each request    every segment is what the run declares, else nothing is sent
                        a recording of exactly this request answers it, or the provider does, at most `concurrency` at once
    before each answer  every attempt behind it is recorded, durably; then the answers come in the order of the requests

What is looked ahead is bounded, so memory does not grow with the number of calls.
"""

from __future__ import annotations

import os
import random as chances
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace

from refold.calls import answers
from refold.calls.checked import Checked, Checks, Manifest
from refold.calls.mode import Mode
from refold.calls.pace import Budget, Ledger, Nanos, Pace, Spent, cost_of, pause_seconds
from refold.calls.provider import Attempt, Provider
from refold.calls.recording import Fault, Recording, Tokens
from refold.calls.recordings import Recorded, Recordings, Unrecorded
from refold.calls.threads import Threads
from refold.errors import KeyMissing, NotRecorded
from refold.fold.recipe import Limits, Price
from refold.fold.request import Request, Task
from refold.outside import Clock, Random
from refold.store import Store

AHEAD = 16  # requests looked ahead, for each that may be in flight
TOGETHER = 2  # answers recorded by one commit, for each that may be in flight
READY = 1  # requests that litellm words meanwhile, for each that may be in flight; none where each must be paid first
RETRIED = frozenset((Fault.TIMEOUT, Fault.UNREACHABLE, Fault.CUT_CONNECTION, Fault.RATE_LIMITED, Fault.SERVER_ERROR, Fault.MALFORMED))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said to a request, recorded."""

    call_id: bytes
    content: str
    made: bool  # now; else a recording was reused
    tokens: Tokens | None
    cost: Nanos | None
    tag: bytes  # the keyed digest of the request: its replay tag
    size: int  # bytes of the request
    model: str
    differs: bool = False  # a verifying run got another answer than the recorded one, which this is


@dataclass(frozen=True, slots=True)
class Failed:
    """A request without a usable answer. What it was about stays pending."""

    fault: Fault
    attempts: int
    call_id: bytes | None = None  # of the last attempt
    tag: bytes = b""
    size: int = 0
    model: str = ""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What asking came to: the attempts in order, and why the last is of no use where it is not."""

    attempts: tuple[Recording, ...]
    fault: Fault | None


@dataclass(slots=True)
class _Slot:
    """One request on its way through the window."""

    asked: Checked
    draw: int
    tag: bytes
    kept: Recorded | None = None  # the recording that answers it
    future: Future[_Outcome] | None = None
    is_recorded: bool = False  # what was asked of it
    same: _Slot | None = None  # the same request, further ahead: what it came to is what this comes to
    result: Answer | Failed | None = None


class Gateway:
    """Asks one provider on behalf of one run. One thread at a time."""

    def __init__(
        self,
        store: Store,
        *,
        limits: Limits,
        price: Price | None = None,
        budget: Budget | None = None,
        mode: Mode = Mode.LIVE,
        now: Clock,
        random: Random = os.urandom,
        env: Mapping[str, str] = os.environ,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self.run = random(16)
        self._random = random
        self._unclear: tuple[str, list[_Slot]] | None = None  # what is being recorded, and under which transaction id
        self._limits = limits
        self._price = price
        self._mode = mode
        self._now = now
        self._env = env
        self._recordings = Recordings(store, now=now, random=random)
        self._store = store
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait
        self._pace = Pace(limits.requests_per_minute, limits.tokens_per_minute, clock=time.monotonic, sleep=self._sleep)
        self._ledger = Ledger(budget or Budget())
        self._ready = READY * limits.concurrency if budget in (None, Budget()) else 0
        self._providers: dict[tuple[str, str, Task], Provider] = {}
        self._going: list[Generator[Answer | Failed]] = []
        self._checks = Checks()

    @property
    def spent(self) -> Spent:
        """Return what this run spent so far."""
        return self._ledger.spent

    def close(self) -> None:
        """Keep what was answered and not yet asked for, and let go of the connections."""
        self._stopped.set()
        try:
            for going in self._going:
                going.close()
        finally:
            for provider in self._providers.values():
                provider.close()
            self._providers.clear()

    def answer(self, requests: Iterable[tuple[Request, Manifest]]) -> Generator[Answer | Failed]:
        """Yield what each request came to, in their order; each comes with what it may be made of.

        Raises TypeError for what is no request, Undeclared before anything is sent that the manifest does not declare, NotRecorded
        where a replay misses, KeyMissing where an event was erased meanwhile, Locked while an erasure holds a fence.
        """
        going = self._answer(requests)
        self._going.append(going)
        return going

    def _answer(self, requests: Iterable[tuple[Request, Manifest]]) -> Generator[Answer | Failed]:
        at_once = self._limits.concurrency
        window: deque[_Slot] = deque()
        self._recordings.follow()
        with Threads(at_once + self._ready) as pool:
            try:
                for request, manifest in requests:
                    window.append(self._begin(self._checks.checked(request, manifest, self._store.keyring), window, pool))
                    if len(window) >= AHEAD * at_once:
                        yield from self._finish(window, TOGETHER * at_once)
                while window:
                    yield from self._finish(window, TOGETHER * at_once)
            except BaseException:
                self._abandon(window)
                raise

    def recorded(self, request: Request, manifest: Manifest) -> bool:
        """Whether a recording would answer a request, so that nothing were sent. Raises as `answer` does."""
        self._recordings.follow()
        return self._found(self._checks.checked(request, manifest, self._store.keyring)).kept is not None

    def _begin(self, asked: Checked, window: deque[_Slot], pool: Threads) -> _Slot:
        """Find the recording that answers a request, or ask."""
        slot = self._found(asked)
        if slot.kept is not None and self._mode is not Mode.VERIFY:
            return slot
        if self._mode is Mode.REPLAY:
            raise NotRecorded("an answer was never recorded, or an event behind it is gone", hint="refold fold --calls live")
        slot.same = next((ahead for ahead in window if ahead.future is not None and ahead.tag == slot.tag), None)
        if slot.same is None:
            slot.future = pool.submit(self._ask, self._provider(asked.request), asked, slot.draw)
        return slot

    def _found(self, asked: Checked) -> _Slot:
        """Return a slot with the recording that answers a request: of the newest draw that has an answer, the oldest one."""
        found = self._recordings.find(asked.inputs, asked.joined, asked.canonical_form, asked.rendered.body)
        if self._mode is Mode.REFRESH:
            return self._refreshed(asked, found)
        found = [one for one in found if one.recording.draw >= asked.request.draw]
        usable = [one for one in found if one.recording.fault is None]
        kept = max(usable, key=lambda one: (one.recording.draw, -one.seq)) if usable else None
        if kept is None and found and self._mode is Mode.REPLAY:
            kept = found[-1]  # it failed, and fails again
        if kept is not None:
            return _Slot(asked, kept.recording.draw, kept.recording.replay_tag, kept)
        return _Slot(asked, asked.request.draw, asked.tag(asked.request.draw))

    def _refreshed(self, asked: Checked, found: Sequence[Recorded]) -> _Slot:
        """Return a slot for a draw that nobody made yet, or for the one that this run made, where it folds again: it is paid for."""
        draw = 1 + max(one.recording.draw for one in found) if found else asked.request.draw
        ours = [one for one in found if one.run == self.run and one.recording.fault is None]
        kept = ours[asked.request.draw] if asked.request.draw < len(ours) else None
        draw = draw if kept is None else kept.recording.draw
        return _Slot(asked, draw, asked.tag(draw), kept)

    def _provider(self, request: Request) -> Provider:
        key = request.adapter, request.api_base, request.task
        if key not in self._providers:
            self._providers[key] = Provider(
                *key, timeout_seconds=self._limits.timeout_seconds, connections=self._limits.concurrency, env=self._env
            )
        return self._providers[key]

    def _ask(self, provider: Provider, asked: Checked, draw: int) -> _Outcome:
        """Ask until there is an answer, or there will be none. Runs in a thread of its own."""
        attempts: list[Recording] = []
        fault: Fault | None = None
        for number in range(1, self._limits.attempts + 1):
            refused = self._ledger.begin()
            if refused is not None:
                return _Outcome(tuple(attempts), refused)
            self._pace.wait(len(asked.rendered.body))
            started = self._now()
            got = provider.attempt(asked.request, asked.rendered)
            attempts.append(self._attempted(asked, draw, number, got, started))
            fault = attempts[-1].fault
            if fault not in RETRIED or number == self._limits.attempts or self._stopped.is_set():
                break
            pause = pause_seconds(number, got.retry_after, now=time.time(), chance=chances.random())
            if pause is None:
                break
            if fault is Fault.RATE_LIMITED:
                self._pace.pause(pause)
            else:
                self._sleep(pause)
        self._ledger.settle(fault)
        return _Outcome(tuple(attempts), fault)

    def _attempted(self, asked: Checked, draw: int, number: int, got: Attempt, started: int) -> Recording:
        made = attempted(asked, got, (started, self._now()), price=self._price, draw=draw, number=number)
        self._ledger.end(made.tokens, made.cost, answered=got.status == 200)
        return made

    def _finish(self, window: deque[_Slot], at_most: int) -> Iterator[Answer | Failed]:
        """Wait for the first requests of the window, record what they took, and yield what they came to."""
        head = [window[place] for place in range(min(at_most, len(window)))]
        wait([slot.future for slot in head if slot.future is not None])
        self._record(head)
        self._recordings.follow()
        for slot in head:
            window.popleft()
            assert slot.result is not None
            yield slot.result

    def _record(self, slots: list[_Slot]) -> None:
        """Record the attempts of requests that have ended, as one commit, and note what each came to."""
        asked = [slot for slot in slots if slot.future is not None and not slot.is_recorded]
        outcomes = [(slot, slot.future.result()) for slot in asked if slot.future is not None]
        attempts = [Unrecorded(slot.asked.inputs, one) for slot, outcome in outcomes for one in outcome.attempts]
        ids = iter(self._written(attempts, asked) if attempts else ())
        for slot, outcome in outcomes:
            taken = [next(ids) for _ in outcome.attempts]
            if taken and taken[-1] is None:
                raise KeyMissing("an event was erased while a model was asked about it; what it answered is not kept")
            slot.result = self._asked_result(slot, outcome, taken[-1] if taken else None)
        for slot in slots:
            if slot.future is None and slot.result is None:
                slot.result = self._kept_result(slot)

    def _written(self, attempts: list[Unrecorded], slots: list[_Slot]) -> list[bytes | None]:
        """Record attempts under a transaction id, so that an interruption leaves no doubt whether they are."""
        self._unclear = txn, _ = self._random(16).hex(), slots
        ids = self._recordings.record(attempts, run=self.run, txn=txn)
        self._unclear = None
        for slot in slots:
            slot.is_recorded = True
        return ids

    def _kept_result(self, slot: _Slot) -> Answer | Failed:
        """Return what a request came to that was not sent: a recording of it answers it, or another in flight did."""
        if slot.same is not None:
            assert slot.same.result is not None
            self.spent.reused += 1
            return replace(slot.same.result, made=False) if isinstance(slot.same.result, Answer) else slot.same.result
        assert slot.kept is not None
        self.spent.reused += 1
        return _result(slot, slot.kept.recording, slot.kept.call_id, made=False)

    def _asked_result(self, slot: _Slot, outcome: _Outcome, call_id: bytes | None) -> Answer | Failed:
        """Return what a request came to that was sent. A verifying run keeps to what is recorded."""
        if slot.kept is not None:
            ours = _result(slot, slot.kept.recording, slot.kept.call_id, made=False)
            assert isinstance(ours, Answer)
            differs = outcome.fault is not None or _content(outcome.attempts[-1]) != ours.content
            self.spent.differing += differs
            return replace(ours, differs=differs)
        if outcome.fault is not None or call_id is None:
            self.spent.failed += 1
            fault = outcome.fault or Fault.BUDGET
            return Failed(fault, len(outcome.attempts), call_id, slot.tag, len(slot.asked.rendered.body), slot.asked.request.model)
        return _result(slot, outcome.attempts[-1], call_id, made=True)

    def _abandon(self, window: deque[_Slot]) -> None:
        """End early: ask no more, and keep what was already paid for."""
        self._stopped.set()
        for slot in window:
            if slot.future is not None:
                slot.future.cancel()
        wait([slot.future for slot in window if slot.future is not None])
        if self._unclear is not None and self._recordings.has_recorded(self._unclear[0]):
            for slot in self._unclear[1]:
                slot.is_recorded = True
        self._record([slot for slot in window if slot.future and not slot.future.cancelled() and slot.future.exception() is None])


def attempted(asked: Checked, got: Attempt, times: tuple[int, int], *, price: Price | None, draw: int = 0, number: int = 1) -> Recording:
    """Return one attempt as it is recorded. `times` are those when it began and ended."""
    said = answers.read(got.status, got.answer, asked.request.task)
    if got.fault is not None:
        said = replace(said, content="", fault=got.fault)
    return Recording(
        replay_tag=asked.tag(draw),
        draw=draw,
        attempt=number,
        form=got.form,
        host=got.host,
        model=asked.request.model,
        answered_by=said.model,
        status=got.status,
        fault=said.fault,
        finish_reason=said.finish_reason,
        started_at=times[0],
        ended_at=max(times),
        tokens=said.tokens,
        cost=cost_of(said.tokens, None if price is None else (price.input, price.output)),
        currency="" if price is None else price.currency,
        canonical_form=asked.canonical_form,
        spans=asked.rendered.spans,
        request=asked.rendered.body,
        wire=got.wire,
        answer=got.answer,
    )


def _result(slot: _Slot, recording: Recording, call_id: bytes, *, made: bool) -> Answer | Failed:
    """Return what a recorded attempt came to: read from its bytes, now as then."""
    size, model = len(slot.asked.rendered.body), slot.asked.request.model
    if recording.fault is not None:
        return Failed(recording.fault, recording.attempt, call_id, slot.tag, size, model)
    return Answer(call_id, _content(recording), made, recording.tokens, recording.cost, slot.tag, size, model)


def _content(recording: Recording) -> str:
    return answers.read(recording.status, recording.answer, recording.task).content
