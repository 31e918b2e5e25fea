"""The verbs about people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from refold import settings
from refold.errors import Usage
from refold.memory.opened import Opened
from refold.model import AliasKind, SubjectId

if TYPE_CHECKING:
    from refold.erase.model import Selector
    from refold.erase.report import Report
    from refold.log.events import SubjectEntry


class People(Opened):
    """Say who is who."""

    def subjects(self) -> dict[SubjectId, list[SubjectEntry]]:
        """Return everybody, under the id that was minted first, with the entries of all their ids, oldest first."""
        from refold.log.persons import everybody

        self._operator_only()
        return everybody([*self.store.log.subjects()])

    def subject_add(self, aliases: Sequence[tuple[AliasKind, str]], *, readmit: bool = False) -> SubjectId:
        """Make aliases known as those of one person; with `readmit` also those of somebody who was erased, as somebody new."""
        from refold import ingest

        self._operator_only()
        with self._knowing() as state:
            return ingest.subject_add(self.store, aliases, readmit=readmit, index=state, now=self._now, random=self._random)

    def subject_of_entity(self, name: str) -> SubjectId:
        """Make somebody known as a person whom facts name already. Raises Usage where no fact does."""
        self._operator_only()
        with self._asking() as state:
            if not state.mentions_named(name):
                raise Usage("no fact names anybody so", hint="refold facts")
        return self.subject_add([(AliasKind.NAME, name)])

    def subject_report(self, selector: Selector, *, progress: Callable[[int, int], None] | None = None) -> Report:
        """Return all that is known of whoever a selector means, as the person may ask for it, with what is about others marked.

        An answer that is handed over is a copy elsewhere: `copy_add("export", place)` writes it down.
        """
        from refold.erase import find, report

        self._operator_only()
        if selector.is_empty:
            raise Usage("nobody and nothing is selected", hint="refold help requests")
        with self._knowing() as state:
            keep = settings.load().retention
            return report.report(self.store, state, selector, keep=keep, now=self._now, progress=progress or find.silent)
