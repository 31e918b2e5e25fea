"""The verbs that hand something out: files for other programs, a page for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from refold import given, settings
from refold.given import When
from refold.memory.opened import Opened

if TYPE_CHECKING:
    from refold.export.folder import Exported


class Outward(Opened):
    """Export and report. Operator's verbs: what they give leaves the memory, and is not encrypted."""

    def export(
        self,
        folder: Path | str,
        *,
        files: Sequence[str] = ("jsonl",),
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        seen_by: str | None = None,
        all: bool = False,
        events: bool = False,
        owner: str = "operator",
        due: When | None = None,
    ) -> Exported:
        """Write the facts that hold, and the entities in them, to a new folder, which then stands in the register of copies.

        `files` are of `jsonl`, `parquet` and `graphml`. It takes a scope, or the principal by whom it is `seen_by`. `all` adds facts that
        hold no more or never did, `events` what was said, word for word. Raises Usage.
        """
        from refold.export import folder as exports
        from refold.export import rows
        from refold.export.forms import Form
        from refold.reading import Standing
        from refold.register import Owner

        self._operator_only()
        given.check_types({}, {"files": files}, None)
        given.place(folder, "folder")
        place = Path(folder).absolute()
        forms = [given.one_of(each, Form, "files") for each in files]
        exports.require_empty(self.store, place)
        reader = self if seen_by is None else self.seen_by(settings.load().principal(seen_by))
        view, withholds = reader._view(user_id, agent_id, run_id), reader.is_limited
        standings = frozenset(Standing) if all else frozenset({Standing.HOLDS})
        with self._asking() as state:
            tables = rows.known(state, self.store.log, view, standings=standings, withholds=withholds)
            if events:
                head, _ = self.store.log.refresh()
                read = (event for batch in self.store.log.events(0, head.size) for event in batch)
                tables.append(rows.said(read, view, withholds=withholds))
        return exports.write(
            self.store,
            place,
            tables,
            forms=forms,
            owner=given.one_of(owner, Owner, "owner"),
            due=given.moment(due, "due"),
            now=self._now,
            random=self._random,
        )

    def report(self, *, names: bool = False) -> str:
        """Return the page on how the memory is, as HTML: counts, ids and dates; with `names` also where it and its copies lie."""
        from refold.report import figures, page

        self._operator_only()
        with self._reading() as state:
            return page.page(figures.read(self.store, state, now=self._now), names=names)
