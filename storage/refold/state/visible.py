"""Who may see what: a view as sets of tags, so that visibility is two look-ups."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from refold.model import Scope, View
from refold.state.rows import SCOPE


@dataclass(frozen=True, slots=True)
class Visible:
    """What a view sees: tags of scopes and audiences (None: all of them), and the support that its as-of admits."""

    scopes: frozenset[int] | None
    audiences: frozenset[int] | None
    as_of_seq: int | None = None
    as_of_time: int | None = None

    def admits(self, scope: int, audience: int) -> bool:
        """Whether what has these tags may be seen."""
        return (self.scopes is None or scope in self.scopes) and (self.audiences is None or audience in self.audiences)

    def sees(self, scope: int, audience: int, *, seq: int, recorded_at: int) -> bool:
        """Whether what rests on an event may be seen, as of the time that is asked for."""
        in_time = (self.as_of_seq is None or seq <= self.as_of_seq) and (self.as_of_time is None or recorded_at <= self.as_of_time)
        return in_time and self.admits(scope, audience)


class Labels:
    """What the scope and audience tags of a generation stand for."""

    def __init__(self, rows: pa.Table) -> None:
        self._scopes: dict[int, Scope] = {}
        self._of_user: dict[str | None, dict[int, Scope]] = {}  # most views name a user, and few scopes are theirs
        self._audiences: dict[int, frozenset[str]] = {}
        self.add(rows)

    def add(self, rows: pa.Table) -> None:
        """Take in rows of `labels`."""
        for tag, what, text in zip(*(rows[name].to_pylist() for name in ("tag", "what", "text")), strict=True):
            if what == SCOPE:
                scope = self._scopes[tag] = Scope(*json.loads(text))
                self._of_user.setdefault(scope.user, {})[tag] = scope
            else:
                self._audiences[tag] = frozenset(json.loads(text))

    def visible(self, view: View) -> Visible:
        """Return the tags that a view may see."""
        near = self._scopes if view.scope.user is None else self._of_user.get(view.scope.user, {})
        scopes = None if view.scope.is_empty else frozenset(tag for tag, scope in near.items() if view.scope.admits(scope))
        held = view.labels
        audiences = None if held is None else frozenset(tag for tag, labels in self._audiences.items() if labels <= held)
        return Visible(scopes, audiences, view.as_of_seq, view.as_of_time)
