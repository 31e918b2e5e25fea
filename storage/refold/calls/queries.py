"""Queries: the vector of what somebody asks memory, from the model that made those of the events. Nothing of it is kept.

A recording goes dark with the events that it rests on. Behind a query there is none, and it may name anybody: no erasure could reach a
recording of it, so there is not one, and no cache of vectors either. What leaves is compared with the rendering like any request, once:
whoever asks waits a few seconds at most, and else is answered by words alone, and told so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

from refold.calls import answers
from refold.calls.checked import Checks
from refold.calls.provider import Provider
from refold.calls.recording import Fault
from refold.calls.threads import Threads
from refold.fold import embedding
from refold.fold.embedding import EmbeddingRecipe
from refold.fold.request import Query, Task


@dataclass(frozen=True, slots=True)
class Meant:
    """The vector of a query, or why there is none."""

    vector: bytes | None
    host: str  # that the query was sent to
    fault: Fault | None = None


class Queries:
    """Asks for vectors of queries by one recipe. Threads share it."""

    def __init__(self, recipe: EmbeddingRecipe, *, env: Mapping[str, str] = os.environ) -> None:
        self.recipe = recipe
        self._env = env
        self._checks = Checks()
        self._mutex = threading.Lock()
        self._opened: tuple[Provider, Threads] | None = None

    def meant(self, query: str) -> Meant:
        """Ask once for the vector of a query. Raises Usage where it has other components than the recipe says, Undeclared, ModelFailed."""
        provider, threads = self._open()
        request = embedding.request(self.recipe, Query(query[: self.recipe.characters]))
        got = threads.submit(provider.attempt, request, self._checks.rendered(request)).result()
        said = answers.read(got.status, got.answer, Task.EMBED)
        if got.fault is not None:
            said = replace(said, content="", fault=got.fault)
        if said.fault is not None:
            return Meant(None, provider.host, said.fault)
        return Meant(embedding.vector(self.recipe, said.content), provider.host)

    def close(self) -> None:
        """Let go of the connections."""
        with self._mutex:
            if self._opened is not None:
                provider, threads = self._opened
                threads.close()
                provider.close()
            self._opened = None

    def _open(self) -> tuple[Provider, Threads]:
        recipe = self.recipe
        with self._mutex:
            if self._opened is None:
                seconds, at_once = recipe.query_seconds, recipe.limits.concurrency
                asked = recipe.adapter, recipe.api_base, Task.EMBED
                self._opened = Provider(*asked, timeout_seconds=seconds, connections=at_once, env=self._env), Threads(at_once)
            return self._opened
