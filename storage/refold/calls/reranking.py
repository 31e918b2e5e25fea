"""Reranking: a model is asked once how much each of a few events says about a query. Each attempt is recorded before its answer counts.

The recording is sealed under the keys of all those events and of the epoch, for the query is no event and may name anybody: any erasure
darkens it. It is no cache: who asks again asks the model again, so nobody can tell from how long it takes what somebody else has asked.
Where no recording could be written, nothing is sent. Without an answer in time, or a whole one, whoever asks is answered without it, and
told so.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from refold.calls import answers
from refold.calls.checked import Checked, Checks, Manifest
from refold.calls.gateway import attempted
from refold.calls.keys import Input
from refold.calls.provider import Provider
from refold.calls.recording import Fault, Recording
from refold.calls.recordings import Recordings, Unrecorded
from refold.calls.threads import Threads
from refold.errors import Blocked, Corrupt, KeyMissing, Locked, NotAllowed, Usage, WriteFailed
from refold.fold import reranking
from refold.fold.request import Task
from refold.fold.reranking import Known, RerankRecipe
from refold.outside import Clock, Random
from refold.store import Store

REFUSED = (Usage, Blocked, Locked, KeyMissing, Corrupt, NotAllowed, WriteFailed)  # with which nothing can be recorded


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a model said of events: points in 1/4096 by their seqs; or why it says nothing: a fault of the call, or the code of an error."""

    points: Mapping[int, int] = field(default_factory=dict)
    fault: str = ""


class Reranker:
    """Asks for orders by one recipe. Threads share it."""

    def __init__(
        self, store: Store, recipe: RerankRecipe, *, now: Clock, random: Random = os.urandom, env: Mapping[str, str] = os.environ
    ) -> None:
        self.run = random(16)
        self._store = store
        self._recipe = recipe
        self._now = now
        self._env = env
        self._checks = Checks()
        self._recordings = Recordings(store, now=now, random=random)
        self._mutex = threading.Lock()
        self._opened: tuple[Provider, Threads] | None = None

    def ranked(self, query: str, events: Sequence[Known]) -> Ranked:
        """Ask once. Raises Undeclared, ModelFailed where litellm is tapped, Usage where it takes no such parameter."""
        request = reranking.request(self._recipe, query, events)
        inputs = {event.event_id: Input.of(event) for event, _ in events}
        try:
            with self._mutex:
                self._recordings.require_open()
                asked = self._checks.checked(
                    request, Manifest(reranking.declared(self._recipe, query, events), inputs), self._store.keyring
                )
        except REFUSED as error:
            return Ranked(fault=error.code)
        return self._recorded(asked, self._attempt(asked, len(events)), [event.seq for event, _ in events])

    def _attempt(self, asked: Checked, count: int) -> Recording:
        provider, threads = self._open()
        started = self._now()
        got = threads.submit(provider.attempt, asked.request, asked.rendered).result()
        made = attempted(asked, got, (started, self._now()), price=self._recipe.price)
        if made.fault is None and len(json.loads(_content(made))) != count:
            return replace(made, fault=Fault.MALFORMED)
        return made

    def _recorded(self, asked: Checked, made: Recording, seqs: Sequence[int]) -> Ranked:
        """Record an attempt, and return what it says: nothing, where it could not be recorded."""
        try:
            with self._mutex:
                [call_id] = self._recordings.record([Unrecorded(asked.inputs, made)], run=self.run)
        except REFUSED as error:
            return Ranked(fault=error.code)
        if call_id is None:
            return Ranked(fault=KeyMissing.code)  # an event was erased meanwhile
        if made.fault is not None:
            return Ranked(fault=made.fault.value)
        return Ranked(dict(zip(seqs, reranking.points(self._recipe, _content(made)), strict=True)))

    def close(self) -> None:
        """Let go of the connections."""
        with self._mutex:
            if self._opened is not None:
                provider, threads = self._opened
                threads.close()
                provider.close()
            self._opened = None

    def _open(self) -> tuple[Provider, Threads]:
        recipe = self._recipe
        with self._mutex:
            if self._opened is None:
                seconds, at_once = recipe.query_seconds, recipe.limits.concurrency
                asked = recipe.adapter, recipe.api_base, Task.RERANK
                self._opened = Provider(*asked, timeout_seconds=seconds, connections=at_once, env=self._env), Threads(at_once)
            return self._opened


def _content(made: Recording) -> str:
    return answers.read(made.status, made.answer, Task.RERANK).content
