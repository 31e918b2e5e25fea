"""The verbs that ask."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from refold import given
from refold.given import When
from refold.memory import withheld
from refold.memory.opened import Opened
from refold.model import View
from refold.reading import Fact, Hit, Profile, Sentence

if TYPE_CHECKING:
    import pyarrow as pa

    from refold.calls.queries import Meant
    from refold.state.context import Context
    from refold.state.search import Found
    from refold.state.why import Explanation


class Ask(Opened):
    """Search, and ask what holds and why."""

    def search(
        self, query: str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None, limit: int = 10
    ) -> list[Hit]:
        """Return the events that say most about a query, best first; those that are not folded yet among them.

        An older event may say most: `no_longer` of a hit names the values that it states and that hold no longer.
        """
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
        """Search, and say what was left out; with `explain` also what each score is made of.

        What may not be seen is in no count. A named principal that sees everything is also told, with `explain`, what matched
        `outside_scope`.
        """
        from refold.state.past import marked
        from refold.state.search import find

        given.text(query, "query")
        given.whole_number(limit, "limit")
        view = self._view(user_id, agent_id, run_id)
        meant = self._meant(query)
        vector = meant.vector if meant else None
        ranked = self._ranked(view, query, vector)
        points = ranked.points if ranked else None
        with self._reading() as state:
            tail = self._tail.behind(state)
            found = find(state, tail, self.store.log, view, query, limit=limit, explain=explain, meant=vector, points=points)
            found = replace(found, hits=marked(state, self.store.log, view, query, found.hits))
            if explain and self._principal is not None and not self.is_limited and not view.scope.is_empty:
                everywhere = find(state, tail, self.store.log, View(), query, limit=1, meant=vector).left_out["matched"]
                found.left_out["outside_scope"] = everywhere - found.left_out["matched"]
        found = replace(found, unmeant=_unmeant(meant), unranked=ranked.fault if ranked else "")
        return replace(found, hits=[withheld.hit(hit) for hit in found.hits]) if self.is_limited else found

    def context(
        self, query: str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None, tokens: int = 300
    ) -> Context:
        """Return cited lines for a prompt, within a budget of tokens."""
        from refold.state.context import context

        given.text(query, "query")
        given.whole_number(tokens, "tokens")
        view = self._view(user_id, agent_id, run_id)
        meant = self._meant(query)
        vector = meant.vector if meant else None
        ranked = self._ranked(view, query, vector)
        points = ranked.points if ranked else None
        with self._asking() as state:
            tail = self._tail.behind(state)
            found = context(state, tail, self.store.log, view, query, tokens=tokens, meant=vector, points=points)
        return replace(found, unmeant=_unmeant(meant), unranked=ranked.fault if ranked else "")

    def facts(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        entity: str | None = None,
        relation: str | None = None,
        as_of: When | None = None,
        valid_at: When | None = None,
        history: bool = False,
        all: bool = False,
        limit: int | None = None,
    ) -> list[Fact]:
        """Return what holds; with `history` also what held, with `all` whatever was stated.

        `as_of` is a sequence number or an ISO time (nothing recorded after it counts), `valid_at` a time in the world. A limited principal
        asks by time: by numbers it would count what it may not see.
        """
        from refold.state.facts import facts

        given.check_types({"entity": entity, "relation": relation}, {}, None)
        if limit is not None:
            given.whole_number(limit, "limit")
        view = self._view(user_id, agent_id, run_id, as_of=as_of, valid_at=valid_at)
        with self._asking() as state:
            found = facts(state, self.store.log, view, entity=entity, relation=relation, history=history, all=all, limit=limit)
        return [withheld.fact(fact) for fact in found] if self.is_limited else found

    def profiles(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        entity: str | None = None,
        as_of: When | None = None,
        valid_at: When | None = None,
    ) -> list[Profile]:
        """Return what a model says of the user, or of an entity, in sentences that rest on facts which hold: for recipes that ask for it.

        A profile is made of facts of one scope and one set of labels, so there may be several. `as_of` and `valid_at` are as in `facts`.
        """
        from refold.state.profiles import profiles

        given.check_types({"entity": entity}, {}, None)
        view = self._view(user_id, agent_id, run_id, as_of=as_of, valid_at=valid_at)
        with self._asking() as state:
            return profiles(state, view, entity=entity)

    def erasures_after(self, as_of: When) -> int | None:
        """Return how many erasures came after a point: what they took is in no answer about the time before either.

        A limited principal is not told: what was erased may be what it could not see.
        """
        if self.is_limited:
            return None
        view = self._view(None, None, None, as_of=as_of, needs_scope=False)
        log = self.store.log
        log.refresh()
        return sum(not view.is_in_time(seq, header.recorded_at) for seq, header in log.erasures())

    def similar(self, entity: str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> list[str]:
        """Return names like one by which nobody is known, of those that may be seen; none where somebody is."""
        from refold.state.similar import similar

        given.text(entity, "entity")
        view = self._view(user_id, agent_id, run_id)
        with self._asking() as state:
            return similar(state, view, entity)

    def unfolded(self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> int:
        """Return how many events that may be seen no fold has read yet, or no model has answered about: no fact rests on them."""
        from refold.state.unfolded import pending

        view = self._view(user_id, agent_id, run_id)
        with self._reading() as state:
            return sum(map(view.admits, self._tail.behind(state))) + pending(state, view)

    def why(
        self, fact: Fact | Sentence | bytes | str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Explanation:
        """Explain a fact: the events and spans it rests on, what made it, what it beat and what beat it; or a sentence of a profile.

        `fact` is a fact, a sentence, its id, or at least the first 8 hex digits of that: with fewer, facts could be found that one was
        never told.
        Without a scope or principal, events with audience labels stay hidden.
        """
        explained = self._why(fact, user_id, agent_id, run_id)
        return withheld.explanation(explained) if self.is_limited else explained

    def _why(self, fact: Fact | Sentence | bytes | str, user_id: str | None, agent_id: str | None, run_id: str | None) -> Explanation:
        from refold.state.why import why

        known = fact.fact_id if isinstance(fact, Fact | Sentence) else fact
        wanted = known if isinstance(known, bytes) else given.fact_id(given.text(known, "fact"))
        view = self._view(user_id, agent_id, run_id, needs_scope=False)
        with self._asking() as state:
            return why(state, self.store.log, view, wanted)

    def sql(self, query: str) -> pa.Table:
        """Answer one read-only SQL statement over the log and the state: for the operator."""
        from refold.state.sql import sql

        self._operator_only()
        given.text(query, "query")
        with self._asking() as state:
            return sql(state, self.store.log, query)


def _unmeant(meant: Meant | None) -> str:
    return meant.fault.value if meant and meant.fault else ""
