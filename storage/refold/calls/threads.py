"""Threads in which litellm is called: each with an event loop of its own, which is closed with them.

Inside a call litellm runs a hook on the loop of its thread. Where there is none it makes one for that call alone, which takes as long as
the rest of the call; in the thread of whoever asks it would leave one that nobody closes, or use one that serves others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


class Threads:
    """A pool of them."""

    def __init__(self, count: int) -> None:
        self._loops: list[asyncio.AbstractEventLoop] = []
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="refold-call", initializer=self._begin)

    def submit(self, do: Callable[..., T], *arguments: object) -> Future[T]:
        """Let a thread do something."""
        return self._pool.submit(do, *arguments)

    def close(self) -> None:
        """Wait for the threads, and close their loops."""
        self._pool.shutdown()
        while self._loops:
            self._loops.pop().close()

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _begin(self) -> None:
        loop = asyncio.new_event_loop()
        self._loops.append(loop)
        asyncio.set_event_loop(loop)
