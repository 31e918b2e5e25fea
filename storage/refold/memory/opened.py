"""What is open: the store, the newest state, and for whom. Every verb of the library stands on it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from refold import given, recipes, settings
from refold import store as stores
from refold.errors import NotAllowed, Usage
from refold.given import When
from refold.model import Draft, Scope, View
from refold.outside import Clock, Random, clock
from refold.settings import Principal
from refold.state.generation import State, reading
from refold.state.unfolded import Unfolded
from refold.store import Places, Store, places

if TYPE_CHECKING:
    from refold.calls.queries import Meant, Queries
    from refold.calls.reranking import Ranked, Reranker
    from refold.fold.embedding import EmbeddingRecipe
    from refold.fold.reranking import RerankRecipe


class Opened:
    """An open memory, without its verbs."""

    def __init__(self, store: Store, *, principal: Principal | None = None, now: Clock = clock, random: Random = os.urandom) -> None:
        self.store = store
        self._principal = principal
        self._now = now
        self._random = random
        self._state = State.open(store)
        self._tail = Unfolded(store.log)
        self._queries: dict[EmbeddingRecipe, Queries] = {}  # what asks for the vectors of queries, where a model makes them
        self._rerankers: dict[RerankRecipe, Reranker] = {}  # and for an order of what was found, where one is asked

    @classmethod
    def create(
        cls,
        store: Path | str | None = None,
        *,
        vault: Path | str | None = None,
        root: Path | str | None = None,
        custody: str | None = None,
        now: Clock = clock,
        random: Random = os.urandom,
    ) -> Self:
        """Make a new, empty memory: store, vault and root. Raises Usage where there is one already.

        `custody` is what keeps the root, `file` or `pkcs11`; None as the settings say.
        """
        _check_places(store, vault, root)
        made = stores.create(places(store, vault, root, random=random), now=now, random=random, custody=custody)
        return cls(made, now=now, random=random)

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
    ) -> Self:
        """Open a memory, as the principal of that name in the settings. Raises StoreMissing, KeyMissing, Corrupt, Usage."""
        _check_places(store, vault, root)
        who = None if principal is None else settings.load().principal(principal)
        return cls(stores.open_store(places(store, vault, root), random=random), principal=who, now=now, random=random)

    def close(self) -> None:
        """Drop keys, tables and files."""
        for asking in (*self._queries.values(), *self._rerankers.values()):
            asking.close()
        self._queries.clear()
        self._rerankers.clear()
        self._state.close()
        self._tail = Unfolded(self.store.log)
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def seen_by(self, principal: Principal) -> Self:
        """Return this memory as a principal sees it: the same store, which is open as long as this one is. For the operator."""
        self._operator_only()
        seen = type(self)(self.store, principal=principal, now=self._now, random=self._random)
        seen._queries, seen._rerankers = self._queries, self._rerankers  # one connection for all of them
        return seen

    @property
    def principal(self) -> Principal | None:
        """Who asks; None is whoever holds the keys."""
        return self._principal

    @property
    def is_limited(self) -> bool:
        """Whether there is anything that this principal may not see."""
        return self._principal is not None and self._principal.is_limited

    @property
    def places(self) -> Places:
        return self.store.places

    def scope(self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> Scope:
        """Return the scope that is meant: as it is named, and where the principal has one user only, theirs. Raises NotAllowed, Usage."""
        named = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        given.check_types(named, {}, None)
        given.check_said(named)
        scope = Scope(user_id, agent_id, run_id)
        return self._principal.limit(scope) if self._principal else scope

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
        as_of: When | None = None,
        valid_at: When | None = None,
        needs_scope: bool = True,
    ) -> View:
        scope = self.scope(user_id, agent_id, run_id)
        if isinstance(as_of, int) and self.is_limited:
            raise NotAllowed("sequence numbers count what this principal may not see: ask by time", hint="refold help principals")
        if needs_scope and scope.is_empty and self._principal is None:
            raise Usage(
                "whose memory is meant: a question needs a user, an agent, a run or a principal (--user NAME, --as operator)",
                hint="refold help scope",
            )
        if isinstance(as_of, int):
            given.whole_number(as_of, "as_of")
        return View(
            scope,
            labels=self._principal.labels if self._principal else frozenset(),
            as_of_seq=as_of if isinstance(as_of, int) else None,
            as_of_time=None if isinstance(as_of, int) else given.moment(as_of, "as_of"),
            valid_at=given.moment(valid_at, "valid_at"),
        )

    def _meant(self, query: str) -> Meant | None:
        """Ask a model for the vector of a query; None where the search recipe names none. Raises Usage, Undeclared, ModelFailed."""
        vectors = recipes.search().vectors
        if vectors is None or vectors.model is None:
            return None
        from refold.calls.queries import Queries

        return self._queries.setdefault(vectors.model, Queries(vectors.model)).meant(query)

    def _ranked(self, view: View, query: str, vector: bytes | None) -> Ranked | None:
        """Ask a model how much the events that are found first say about a query; None where the search recipe names none.

        It is asked while nothing is held: whoever erases waits for readers. Raises as `_meant` does.
        """
        recipe = recipes.search().rerank
        if recipe is None:
            return None
        from refold.calls.reranking import Ranked, Reranker
        from refold.state.search import search

        log = self.store.log
        with self._reading() as state:
            hits = search(state, self._tail.behind(state), log, view, query, limit=recipe.candidates, meant=vector)
            events = [(log.event(hit.seq), log.row(hit.seq).commits()[0]) for hit in hits if hit.text]
        if len(events) < 2:
            return Ranked()
        reranker = self._rerankers.get(recipe)
        if reranker is None:
            reranker = self._rerankers.setdefault(recipe, Reranker(self.store, recipe, now=self._now, random=self._random))
        return reranker.ranked(query, events)

    def _check_may_add(self, draft: Draft) -> None:
        if self._principal is not None:
            self._principal.check_may_add(draft)

    def _operator_only(self) -> None:
        """Refuse a principal that is limited: what follows sees everything. Nobody named is whoever holds the keys."""
        if self._principal is not None:
            self._principal.need_everything()


def _check_places(store: object, vault: object, root: object) -> None:
    """Refuse what can be no place. Raises Usage."""
    for what, value in (("store", store), ("vault", vault), ("root", root)):
        given.place(value, what)
