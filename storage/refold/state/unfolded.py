"""What no fold has read yet: the events that the log has behind a state, read once and then followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refold.model import Event, View
from refold.state.generation import State

if TYPE_CHECKING:
    from refold.log.log import Log


class Unfolded:
    """The events behind the newest state that was asked about."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._known: tuple[int, int, int, list[Event]] = (0, 0, 0, [])  # epoch, from, to, events: replaced at once, as threads share it

    def behind(self, state: State) -> list[Event]:
        """Return the events that a state does not know yet. After an erasure they are read anew: what was known may have gone."""
        head, _ = self._log.refresh()
        epoch, first, end, events = self._known
        if (epoch, first) != (state.epoch, state.size):
            epoch, first, end, events = state.epoch, state.size, state.size, []
        if end < head.size:
            events = [*events, *(event for batch in self._log.events(end, head.size) for event in batch)]
        self._known = (epoch, first, head.size, events)
        return events


def pending(state: State, view: View) -> int:
    """Return how many events of a view a fold has asked a model about that did not answer."""
    if not state.pending:
        return 0
    rows = state.lookup("events", state.pending, ["seq", "scope", "audience", "recorded_at"]).to_pylist()
    visible = state.visible(view)
    return sum(visible.sees(row["scope"], row["audience"], seq=row["seq"], recorded_at=row["recorded_at"]) for row in rows)
