"""The verbs that add and fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import given
from refold.errors import Usage
from refold.given import When
from refold.memory import withheld
from refold.memory.ask import Ask
from refold.model import Draft, Role, Source

if TYPE_CHECKING:
    from refold.extractors import Choice
    from refold.folding import FoldPlan, FoldReport
    from refold.imports.driver import ImportReport, Options
    from refold.imports.driver import Progress as ImportProgress
    from refold.ingest import Added
    from refold.reading import Fact
    from refold.status import Status


class Remember(Ask):
    """Add events, import them, fold them."""

    def add(
        self,
        text: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        author: str | None = None,
        source: str | Source | None = None,
        said_at: When | None = None,
        role: str = Role.USER,
        subjects: Sequence[str] = (),
        audience: Sequence[str] = (),
        metadata: Mapping[str, object] | None = None,
        key: str | None = None,
        corrects: Fact | bytes | str | None = None,
    ) -> Added:
        """Append one event. With a `key`, adding it again in the same scope is no second event.

        What `corrects` a fact is said in its memory, as its author and after it, unless it is said otherwise here.
        A limited principal writes as its own users and for labels that it holds, else NotAllowed.
        """
        texts = {"text": text, "user_id": user_id, "agent_id": agent_id, "run_id": run_id, "author": author, "key": key}
        given.check_types(texts, {"subjects": subjects, "audience": audience}, metadata)
        given.check_said({"key": key})
        draft = Draft(
            text,
            source=source if isinstance(source, Source | None) else Source.parse(source),
            said_at=given.moment(said_at, "said_at"),
            author=author,
            role=given.role_of(role),
            scope=self.scope(user_id, agent_id, run_id),
            audience=tuple(audience),
            subjects=tuple(subjects),
            metadata=dict(metadata or {}),
            key=key,
        )
        return self.add_many([draft if corrects is None else self._correcting(draft, corrects)])[0]

    def reads_as(self, added: Added, relation: str) -> bool:
        """Whether the patterns read a statement of a relation in an event that was added."""
        from refold import corrections

        self._operator_only()
        return corrections.is_read(self.store.log, added.seq, relation)

    def _correcting(self, draft: Draft, corrects: Fact | bytes | str) -> Draft:
        from refold import corrections

        scope = draft.scope
        explained = self._why(corrects, scope.user, scope.agent, scope.run)
        corrected = corrections.source_of(explained, self.store.log)
        return corrections.correcting(draft, explained, corrected, recorded_at=self._now())

    def add_many(self, drafts: Sequence[Draft]) -> list[Added]:
        """Append drafts as one commit."""
        from refold import ingest

        if not all(isinstance(draft, Draft) for draft in drafts):
            raise Usage("one of the drafts is none: refold.model.Draft")
        drafts = [replace(draft, scope=self.scope(draft.scope.user, draft.scope.agent, draft.scope.run)) for draft in drafts]
        for draft in drafts:
            self._check_may_add(draft)
        with self._knowing() as state:
            added = ingest.add(self.store, drafts, index=state, sees_all=not self.is_limited, now=self._now, random=self._random)
        return [withheld.added(one) for one in added] if self.is_limited else added

    def import_files(
        self,
        paths: Iterable[Path | str],
        *,
        reader: str = "auto",
        mapping: Path | None = None,
        options: Options | None = None,
        progress: Callable[[ImportProgress], None] | None = None,
    ) -> ImportReport:
        """Add the events of chats and documents. What is there already is not added again.

        What a limited principal may not write is left out, and reported as what cannot be read is.
        """
        from refold.imports import driver

        options = options or driver.Options()
        scope = self.scope(options.user, options.agent, options.run)
        return driver.import_files(
            self.store,
            [Path(path) for path in paths],
            reader=reader,
            mapped=mapping,
            options=replace(options, user=scope.user),
            check=self._check_may_add,
            sees_all=not self.is_limited,
            index=self._knowing,
            now=self._now,
            random=self._random,
            progress=progress,
        )

    def fold_plan(self, *, full: bool = False, by: Choice | None = None) -> FoldPlan:
        """Return what `fold` would do; with a model also its calls, tokens and price."""
        from refold import extractors

        self._operator_only()
        with self._reading() as state:
            return extractors.plan(self.store, state, by or extractors.Choice.of(), full=full, now=self._now)

    def fold(
        self,
        *,
        full: bool = False,
        by: Choice | None = None,
        require_closure: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> FoldReport:
        """Fold what is new into the state, or with `full` everything anew.

        `by` is what reads the events: `refold.Choice.of(model="openai/NAME", api_base=URL)`; the settings say it where it is
        None. `require_closure` is `declared`, `tripwire` or `kernel`: how far that must be closed off; by default as the settings say.
        """
        from refold import extractors, settings

        self._operator_only()
        self.store.log.refresh()
        require = given.closure_level(require_closure or settings.load().fold.require_closure or None)
        chosen = by or extractors.Choice.of()
        clocks = {"now": self._now, "random": self._random}
        return extractors.fold(self.store, chosen, full=full, require=require, progress=progress, **clocks)

    def status(self) -> Status:
        """Return how the memory is, in numbers."""
        from refold import status

        self._operator_only()
        with self._reading() as state:
            return status.read(self.store, state)
