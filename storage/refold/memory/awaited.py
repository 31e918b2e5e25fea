"""The verbs that an event loop waits for: each is its namesake without the `a`, in a thread, so that the loop goes on."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from refold.memory.remember import Remember

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def _awaited(verb: Callable[Given, Answer]) -> Callable[Given, Coroutine[Any, Any, Answer]]:
    @functools.wraps(verb)
    async def awaited(*given: Given.args, **named: Given.kwargs) -> Answer:
        return await asyncio.to_thread(verb, *given, **named)

    return awaited


class Awaited(Remember):
    """Add and ask from an event loop: `await memory.aadd(...)`. Arguments and results are those of the namesake."""

    @property
    def aadd(self):
        """Add, awaited."""
        return _awaited(self.add)

    @property
    def asearch(self):
        """Search, awaited."""
        return _awaited(self.search)

    @property
    def acontext(self):
        """Context, awaited."""
        return _awaited(self.context)

    @property
    def afacts(self):
        """Facts, awaited."""
        return _awaited(self.facts)

    @property
    def awhy(self):
        """Why, awaited."""
        return _awaited(self.why)
