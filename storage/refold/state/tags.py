"""Keyed tags: how a generation names scopes, mentions and words. They are worth nothing without the epoch's state key.

A tag is the first 8 bytes of HMAC(state key, T(label) ‖ bytes), as a big-endian integer. A new epoch changes all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refold import canonical
from refold.keys import crypto
from refold.model import Event, Mention, Scope, normalise

NAMES_REMEMBERED_MAX = 1 << 16


class Tags:
    """All tags under one state key."""

    def __init__(self, state_key: bytes) -> None:
        self._key = state_key
        self._names: dict[tuple[str, object], int] = {}

    def term(self, stem: str) -> int:
        return self._tag(crypto.label("refold/term/v1") + stem.encode())

    def scope(self, scope: Scope) -> int:
        return self._named("refold/scope/v1", scope, scope_text)

    def audience(self, labels: tuple[str, ...]) -> int:
        return self._named("refold/audience/v1", labels, audience_text)

    def session(self, event: Event) -> int:
        """Return the tag of the session: neighbours are turns of one source that the same readers may see."""
        return self._named("refold/session/v1", (event.scope, event.audience, event.source.document), _session_text)

    def mention(self, mention: Mention) -> int:
        return self._named("refold/mention/v1", mention, _mention_text)

    def name(self, name: str) -> int:
        """Return the tag under which entities of that name are found."""
        return self._named("refold/name/v1", name, normalise)

    def _named(self, label: str, value: Any, text: Callable[[Any], object]) -> int:
        known = self._names
        tag = known.get((label, value))
        if tag is None:
            if len(known) > NAMES_REMEMBERED_MAX:
                known.clear()
            tag = known[label, value] = self._tag(crypto.label(label) + canonical.encode(text(value)))
        return tag

    def _tag(self, message: bytes) -> int:
        return int.from_bytes(crypto.mac(self._key, message)[:8], "big")


def scope_text(scope: Scope) -> str:
    """Return a scope as canonical JSON."""
    return canonical.encode([scope.user, scope.agent, scope.run]).decode()


def audience_text(labels: tuple[str, ...]) -> str:
    """Return a label set as canonical JSON."""
    return canonical.encode(list(labels)).decode()


def _session_text(session: tuple[Scope, tuple[str, ...], str]) -> list[str]:
    scope, labels, document = session
    return [scope_text(scope), audience_text(labels), document]


def _mention_text(mention: Mention) -> list[str | None]:
    return [mention.owner, mention.name]
