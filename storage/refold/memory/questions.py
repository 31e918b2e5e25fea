"""The verbs that ask further: why something is not held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refold import given
from refold.memory import withheld
from refold.memory.opened import Opened
from refold.model import View

if TYPE_CHECKING:
    from refold.state.absent import Absence


class Questions(Opened):
    """Ask about what memory does not hold."""

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
