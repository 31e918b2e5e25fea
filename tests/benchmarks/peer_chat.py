"""What was said, as a peer's aggregate: imported only where that peer is installed."""

from __future__ import annotations

from eventsourcing.application import Application  # ty: ignore[import-not-found]  (of the extra `bench`)
from eventsourcing.domain import Aggregate, event  # ty: ignore[import-not-found]


class Chat(Aggregate):
    """A chat in which things are said."""

    @event("Said")
    def say(self, text: str, source: str, said_at: int, role: str, user: str) -> None:
        """Take in one turn; nothing is kept in memory but that it was."""
        self.last = said_at


class Chats(Application):
    """Chats, recorded as the environment says."""
