"""The verbs about people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from refold import ingest
from refold.memory.opened import Opened
from refold.model import AliasKind, SubjectId

if TYPE_CHECKING:
    from refold.log.events import SubjectEntry


class People(Opened):
    """Say who is who."""

    def subjects(self) -> dict[SubjectId, list[SubjectEntry]]:
        """Return everybody, under the id that was minted first, with the entries of all their ids, oldest first."""
        self._operator_only()
        return ingest.subjects(self.store)

    def subject_add(self, aliases: Sequence[tuple[AliasKind, str]]) -> SubjectId:
        """Make aliases known as those of one person."""
        self._operator_only()
        with self._knowing() as state:
            return ingest.subject_add(self.store, aliases, index=state, now=self._now, random=self._random)
