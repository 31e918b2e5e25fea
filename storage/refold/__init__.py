"""Refold: long-term memory for agents in which forgetting a person has a proof instead of a promise.

from refold import Memory, RefoldError

Every failure that a caller can meet is a RefoldError; the tree of them is in refold.errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from refold.errors import RefoldError

if TYPE_CHECKING:
    from refold.extractors import Choice
    from refold.memory import Memory

__all__ = ["Choice", "Memory", "RefoldError"]


def __getattr__(name: str) -> object:
    """Import each at its first use: `refold --help` needs none of what they need."""
    if name == "Choice":
        from refold.extractors import Choice

        return Choice
    if name == "Memory":
        from refold.memory import Memory

        return Memory
    raise AttributeError(f"module 'refold' has no attribute {name!r}")
