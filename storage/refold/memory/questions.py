"""The verbs that ask further: why something is not held, what changed, and how well questions are answered."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import given
from refold.given import When
from refold.memory import withheld
from refold.memory.ask import Ask
from refold.model import Source, View
from refold.reading import Hit

if TYPE_CHECKING:
    from refold.evaluation import Evaluation
    from refold.state.absent import Absence
    from refold.state.changes import Changes


class Questions(Ask):
    """Ask about what memory does not hold, what it held before, and how well it is searched."""

    def why_not(
        self,
        entity: str,
        relation: str,
        value: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> Absence:
        """Say why memory does not hold that an entity has a value in a relation (`lives_in`, `kin(sister)`), or that it does.

        Only a principal that sees everything, and is named, is told that it was said outside the scope; to others it was not mentioned.
        """
        from refold.state.absent import Asked, why_not

        given.check_types({"entity": entity, "relation": relation, "value": value}, {}, None)
        asked = Asked.of(given.text(entity, "entity"), given.text(relation, "relation"), given.text(value, "value"))
        view = self._view(user_id, agent_id, run_id)
        elsewhere = None if self._principal is None or self.is_limited else View()
        with self._asking() as state:
            found = why_not(state, self._tail.behind(state), self.store.log, view, asked, elsewhere=elsewhere)
        return withheld.absence(found) if self.is_limited else found

    def diff(self, *, since: When, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> Changes:
        """Return what was learned and unlearned, and what holds otherwise, since a point: of everybody in the scope, as it is folded.

        `since` is a sequence number or a time, as in `facts(as_of=...)`, or `generation:12` for what an earlier fold knew. What was
        erased between is in none of the lists; `erasures` counts how often that was.
        """
        from refold.state.changes import changes

        view, number = self._view(user_id, agent_id, run_id), given.generation(since)
        if number is not None:
            self._view(user_id, agent_id, run_id, as_of=0)  # refused where sequence numbers are: generations count folds and entries
        with self._asking() as state:
            since = since if number is None else state.size_at(number) - 1
            found = changes(state, view, self._view(user_id, agent_id, run_id, as_of=since))
        found = replace(found, erasures=self.erasures_after(since))
        return withheld.changes(found) if self.is_limited else found

    def evaluate(
        self, questions: Path | str, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Evaluation:
        """Measure search on a file of questions whose evidence is known; its form stands in `refold.evaluation`. Raises Usage."""
        from refold import evaluation, recipes

        self._operator_only()
        asked, faults = evaluation.read(Path(questions)), list[str]()

        def find(question: evaluation.Question) -> list[Hit]:
            user = user_id or question.user
            answer = self.find(question.text, user_id=user, agent_id=agent_id, run_id=run_id, limit=evaluation.KS[-1])
            faults.extend(filter(None, [answer.unmeant or answer.unranked]))
            return answer.hits

        found = evaluation.evaluate(asked, find, stop=recipes.search().index.stop, timer=time.perf_counter)
        known = self._names()
        unknown = sum(one not in known for question in asked for one in question.evidence)
        return replace(found, unknown=unknown, unaided=len(faults))

    def _names(self) -> set[str]:
        """Return all that evidence may call an event, of every event that there is."""
        with self._reading() as state:
            rows = state.table("events", ["event_id", "source", "part"]).to_pylist()
            tail = self._tail.behind(state)
        named = [(row["event_id"], Source(*row["source"].split(":", 1), row["part"])) for row in rows]
        named += [(event.event_id, event.source) for event in tail]
        return {name for event_id, source in named for name in (event_id.hex(), str(source), source.document)}
