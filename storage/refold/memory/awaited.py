"""The verbs that an event loop waits for: each is its namesake without the `a`, in a thread, so that the loop goes on."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from refold.memory.remember import Remember

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Waited(Generic[Given, Answer]):
    """A verb as one to wait for. Whoever checks types sees its arguments and its answer: tests/library/awaited_types.py."""

    def __init__(self, verb: Callable[Concatenate[Any, Given], Answer]) -> None:
        self._verb = verb
        self.__doc__ = verb.__doc__

    def __get__(self, memory: Remember | None, owner: type | None = None) -> Callable[Given, Coroutine[Any, Any, Answer]]:
        """Return the verb of a memory."""
        verb = self._verb

        @functools.wraps(verb)
        async def waited(*given: Given.args, **named: Given.kwargs) -> Answer:
            return await asyncio.to_thread(verb, memory, *given, **named)

        return waited


class Awaited(Remember):
    """Add and ask from an event loop: `await memory.aadd(...)`. Arguments and results are those of the namesake."""

    aadd = Waited(Remember.add)
    asearch = Waited(Remember.search)
    acontext = Waited(Remember.context)
    afacts = Waited(Remember.facts)
    awhy = Waited(Remember.why)
