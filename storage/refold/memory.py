"""Memory: the face of the library. One short method per verb; the work is done in the rooms."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from refold import given, ingest, settings, times
from refold import store as stores
from refold.errors import Usage
from refold.model import AliasKind, Draft, Role, Scope, Source, SubjectId, View
from refold.outside import Clock, Random, clock
from refold.reading import Fact, Hit
from refold.settings import Principal
from refold.state.generation import State, reading
from refold.state.unfolded import Unfolded
from refold.store import Places, Store, places

if TYPE_CHECKING:
    import pyarrow as pa

    from refold.extractors import Choice
    from refold.folding import FoldPlan, FoldReport
    from refold.heads.checkpoint import Checkpointed
    from refold.imports.driver import ImportReport, Options
    from refold.imports.driver import Progress as ImportProgress
    from refold.ingest import Added
    from refold.log.events import SubjectEntry
    from refold.recover.audit import Audit
    from refold.state.context import Context
    from refold.state.search import Found
    from refold.state.why import Explanation
    from refold.status import Status


class Memory:
    """A memory that is open. Use as a context manager; threads may share it, processes open their own.

    `user_id`, `agent_id` and `run_id` are the scope: whose memory is meant. A question needs a scope or a principal.
    Times are ISO 8601 text or µs since 1970 UTC. Every method may raise the errors of `refold.errors`.
    """

    def __init__(self, store: Store, *, principal: Principal | None = None, now: Clock = clock, random: Random = os.urandom) -> None:
        self.store = store
        self._principal = principal
        self._now = now
        self._random = random
        self._state = State.open(store)
        self._tail = Unfolded(store.log)

    @classmethod
    def create(
        cls,
        store: Path | str | None = None,
        *,
        vault: Path | str | None = None,
        root: Path | str | None = None,
        now: Clock = clock,
        random: Random = os.urandom,
    ) -> Memory:
        """Make a new, empty memory: store, vault and root. Raises Usage where there is one already."""
        return cls(stores.create(places(store, vault, root, random=random), now=now, random=random), now=now, random=random)

    @classmethod
    def open(
        cls,
        store: Path | str | None = None,
        *,
        vault: Path | str | None = None,
        root: Path | str | None = None,
        principal: str | None = None,
        now: Clock = clock,
        random: Random = os.urandom,
    ) -> Memory:
        """Open a memory, as the principal of that name in the settings. Raises StoreMissing, KeyMissing, Corrupt, Usage."""
        who = None if principal is None else settings.load().principal(principal)
        return cls(stores.open_store(places(store, vault, root), random=random), principal=who, now=now, random=random)

    def close(self) -> None:
        """Drop keys, tables and files."""
        self._state.close()
        self._tail = Unfolded(self.store.log)
        self.store.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def places(self) -> Places:
        return self.store.places

    def scope(self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> Scope:
        """Return the scope that is meant: as it is named, and where the principal has one user only, theirs. Raises NotAllowed, Usage."""
        scope = Scope(user_id, agent_id, run_id)
        return self._principal.limit(scope) if self._principal else scope

    # Remember

    def add(
        self,
        text: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        author: str | None = None,
        source: str | Source | None = None,
        said_at: str | int | None = None,
        role: str = Role.USER,
        subjects: Sequence[str] = (),
        audience: Sequence[str] = (),
        metadata: Mapping[str, object] | None = None,
        key: str | None = None,
    ) -> Added:
        """Append one event. With a `key`, adding it again in the same scope is no second event.

        A limited principal writes as its own users and for labels that it holds, else NotAllowed.
        """
        texts = {"text": text, "user_id": user_id, "agent_id": agent_id, "run_id": run_id, "author": author, "key": key}
        given.check_types(texts, {"subjects": subjects, "audience": audience}, metadata)
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
        return self.add_many([draft])[0]

    def add_many(self, drafts: Sequence[Draft]) -> list[Added]:
        """Append drafts as one commit."""
        drafts = [replace(draft, scope=self.scope(draft.scope.user, draft.scope.agent, draft.scope.run)) for draft in drafts]
        for draft in drafts:
            self._check_may_add(draft)
        with self._knowing() as state:
            return ingest.add(self.store, drafts, index=state, now=self._now, random=self._random)

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

        `by` is what reads the events: `refold.extractors.Choice.of(model="openai/NAME", api_base=URL)`; the settings say it where it is
        None. `require_closure` is `declared`, `tripwire` or `kernel`: how far that must be closed off.
        """
        from refold import extractors

        self._operator_only()
        self.store.log.refresh()
        require, chosen = given.closure_level(require_closure), by or extractors.Choice.of()
        clocks = {"now": self._now, "random": self._random}
        return extractors.fold(self.store, chosen, full=full, require=require, progress=progress, **clocks)

    def checkpoint(self, *, progress: Callable[[int, int], None] | None = None) -> Checkpointed:
        """Read the whole log anew, sign its head, attest the state beside it, and let the witnesses take the head."""
        from refold.heads.configured import sign

        self._operator_only()
        with self._reading() as state:
            return sign(self.store, state=state, random=self._random, progress=progress)

    def status(self) -> Status:
        """Return how the memory is, in numbers."""
        from refold import status

        self._operator_only()
        with self._reading() as state:
            return status.read(self.store, state)

    def audit(self, *, deep: bool = False) -> Audit:
        """Look for what is interrupted, damaged or lost; write nothing. A memory that cannot be opened is audited by `refold audit`."""
        from refold.recover.audit import audit

        self._operator_only()
        return audit(self.places, deep=deep)

    # Ask

    def search(
        self, query: str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None, limit: int = 10
    ) -> list[Hit]:
        """Return the events that say most about a query, best first; those that are not folded yet among them."""
        return self.find(query, user_id=user_id, agent_id=agent_id, run_id=run_id, limit=limit).hits

    def find(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 10,
        explain: bool = False,
    ) -> Found:
        """Search, and say what was left out; with `explain` also what each score is made of."""
        from refold.state.search import find

        view = self._view(user_id, agent_id, run_id)
        with self._reading() as state:
            return find(state, self._tail.behind(state), self.store.log, view, query, limit=limit, explain=explain)

    def context(
        self, query: str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None, tokens: int = 300
    ) -> Context:
        """Return cited lines for a prompt, within a budget of tokens."""
        from refold.state.context import context

        view = self._view(user_id, agent_id, run_id)
        with self._asking() as state:
            return context(state, self._tail.behind(state), self.store.log, view, query, tokens=tokens)

    def facts(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        entity: str | None = None,
        relation: str | None = None,
        as_of: str | int | None = None,
        valid_at: str | int | None = None,
        history: bool = False,
        all: bool = False,
        limit: int | None = None,
    ) -> list[Fact]:
        """Return what holds; with `history` also what held, with `all` whatever was stated.

        `as_of` is a sequence number or an ISO time (nothing recorded after it counts), `valid_at` a time in the world.
        """
        from refold.state.facts import facts

        view = self._view(user_id, agent_id, run_id, as_of=as_of, valid_at=valid_at)
        with self._asking() as state:
            return facts(state, self.store.log, view, entity=entity, relation=relation, history=history, all=all, limit=limit)

    def similar(self, entity: str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> list[str]:
        """Return names like one by which nobody is known, of those that may be seen; none where somebody is."""
        from refold.state.similar import similar

        view = self._view(user_id, agent_id, run_id)
        with self._asking() as state:
            return similar(state, view, entity)

    def unfolded(self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> int:
        """Return how many events, of those that may be seen, no fold has read yet: no fact rests on them."""
        view = self._view(user_id, agent_id, run_id)
        with self._reading() as state:
            return sum(map(view.admits, self._tail.behind(state)))

    def why(
        self, fact: Fact | bytes | str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Explanation:
        """Explain a fact: the events and spans it rests on, what made it, what it beat and what beat it.

        `fact` is a fact, its id, or at least the first 8 hex digits of its id: with fewer, facts could be found that one was never told.
        Without a scope or principal, events with audience labels stay hidden.
        """
        from refold.state.why import why

        wanted = fact.fact_id if isinstance(fact, Fact) else fact if isinstance(fact, bytes) else given.fact_id(fact)
        view = self._view(user_id, agent_id, run_id, needs_scope=False)
        with self._asking() as state:
            return why(state, self.store.log, view, wanted)

    def sql(self, query: str) -> pa.Table:
        """Answer one read-only SQL statement over the log and the state: for the operator."""
        from refold.state.sql import sql

        self._operator_only()
        with self._asking() as state:
            return sql(state, self.store.log, query)

    # People

    def subjects(self) -> dict[SubjectId, list[SubjectEntry]]:
        """Return everybody, under the id that was minted first, with the entries of all their ids, oldest first."""
        self._operator_only()
        return ingest.subjects(self.store)

    def subject_add(self, aliases: Sequence[tuple[AliasKind, str]]) -> SubjectId:
        """Make aliases known as those of one person."""
        self._operator_only()
        with self._knowing() as state:
            return ingest.subject_add(self.store, aliases, index=state, now=self._now, random=self._random)

    # Inside

    @contextmanager
    def _reading(self) -> Generator[State]:
        """Give the newest state, held against removal while it is read."""
        with reading(self.store, self._state) as state:
            self._state = state
            yield state

    @contextmanager
    def _knowing(self) -> Generator[State]:
        """Give the newest state to whoever appends: not where the log has lost what it was folded from."""
        with self._reading() as state:
            state.require_its_log()
            yield state

    @contextmanager
    def _asking(self) -> Generator[State]:
        """Give the newest state to a question that rests on its rows."""
        with self._reading() as state:
            state.require_rows()
            yield state

    def _view(
        self,
        user_id: str | None,
        agent_id: str | None,
        run_id: str | None,
        *,
        as_of: str | int | None = None,
        valid_at: str | int | None = None,
        needs_scope: bool = True,
    ) -> View:
        scope = self.scope(user_id, agent_id, run_id)
        if needs_scope and scope.is_empty and self._principal is None:
            raise Usage("whose memory is meant: a question needs a user, an agent, a run or a principal", hint="refold help scope")
        return View(
            scope,
            labels=self._principal.labels if self._principal else frozenset(),
            as_of_seq=as_of if isinstance(as_of, int) else None,
            as_of_time=times.parse(as_of, what="as_of") if isinstance(as_of, str) else None,
            valid_at=given.moment(valid_at, "valid_at"),
        )

    def _check_may_add(self, draft: Draft) -> None:
        if self._principal is not None:
            self._principal.check_may_add(draft)

    def _operator_only(self) -> None:
        """Refuse a principal that is limited: what follows sees everything. Nobody named is whoever holds the keys."""
        if self._principal is not None:
            self._principal.need_everything()
