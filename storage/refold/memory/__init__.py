"""Memory: the face of the library. One short method per verb; the work is done in the rooms."""

from __future__ import annotations

from refold.memory.agents import Agents
from refold.memory.awaited import Awaited
from refold.memory.calls import Calls
from refold.memory.elsewhere import Elsewhere
from refold.memory.erasure import Erasure
from refold.memory.outward import Outward
from refold.memory.people import People
from refold.memory.questions import Questions
from refold.memory.trust import Trust


class Memory(Awaited, Questions, People, Erasure, Trust, Outward, Elsewhere, Calls, Agents):
    """A memory that is open. Use as a context manager; threads may share it, processes open their own.

    `user_id`, `agent_id` and `run_id` are the scope: whose memory is meant. A question needs a scope or a principal.
    Times are ISO 8601 text or µs since 1970 UTC. Every method may raise the errors of `refold.errors`.
    """


__all__ = ["Memory"]
