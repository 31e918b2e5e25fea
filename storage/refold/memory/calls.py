"""The verbs about what language models were asked. Recordings say what everybody said: they are the operator's."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from refold import given
from refold.errors import Usage
from refold.memory.opened import Opened

if TYPE_CHECKING:
    from refold.calls.costs import Cost
    from refold.calls.recordings import Recorded, Recordings


class Calls(Opened):
    """List the calls, look at one byte by byte, and sum what they took."""

    def recordings(self) -> Recordings:
        """Return the recordings of all calls, which can also be counted."""
        from refold.calls.recordings import Recordings

        self._operator_only()
        return Recordings(self.store, now=self._now, random=self._random)

    def calls(self, *, limit: int | None = None) -> list[Recorded]:
        """Return the calls that still can be opened, the newest first. Each has the bytes of its request, and the segments they are of."""
        if limit is not None:
            given.whole_number(limit, "limit")
        return list(itertools.islice(self.recordings().all(), limit))

    def call(self, call_id: bytes | str) -> Recorded:
        """Return the one call whose id begins so: bytes, or hex digits. Raises Usage."""
        return self.recordings().get(call_id if isinstance(call_id, bytes) else given.call_id(given.text(call_id, "call_id")))

    def costs(self, *, by: str = "run") -> dict[str, Cost]:
        """Return what the calls took that can be opened: by the `run` that made them, or by the `source` that they were about."""
        from refold.calls.costs import by_run, by_source

        if by not in ("run", "source"):
            raise Usage("costs are summed by run or by source")
        found = self.recordings().every()
        if by == "run":
            return by_run(found)
        with self._reading() as state:
            events = state.table("events", ["event_id", "source"])
        return by_source(found, dict(zip(*(events[name].to_pylist() for name in ("event_id", "source")), strict=True)))
