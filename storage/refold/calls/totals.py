"""Totals: what all calls so far have cost, as numbers alone. The last entry of every commit of recordings says them anew.

They are sealed under a key of their own, and outlive what they count: money that was spent stays spent when a recording goes dark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from refold import canonical

if TYPE_CHECKING:
    from refold.calls.recording import Recording

VERSION = 1


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all attempts. `cost` is in 10⁻⁹ of each currency."""

    calls: int = 0
    failed: int = 0  # attempts without a usable answer
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0  # answers of which the provider counted no tokens
    cost: Mapping[str, int] = field(default_factory=dict)

    def plus(self, recordings: Iterable[Recording]) -> Totals:
        """Return the sums with some more attempts."""
        new = list(recordings)
        counted = [one.tokens for one in new if one.tokens is not None]
        cost = Counter(self.cost)
        for one in new:
            if one.cost:
                cost[one.currency] += one.cost
        return Totals(
            self.calls + len(new),
            self.failed + sum(one.fault is not None for one in new),
            self.prompt_tokens + sum(tokens.prompt for tokens in counted),
            self.completion_tokens + sum(tokens.completion for tokens in counted),
            self.uncounted + sum(one.fault is None and one.tokens is None for one in new),
            dict(cost),
        )


def encode(totals: Totals) -> bytes:
    """Return the plaintext of totals."""
    numbers: dict[str, object] = {name: getattr(totals, name) for name in Totals.__slots__}
    return canonical.encode(numbers | {"version": VERSION})


def decode(plaintext: bytes) -> Totals:
    """Read a plaintext that was authenticated. Raises ValueError, KeyError, TypeError where this release does not know its form."""
    numbers: dict[str, Any] = canonical.decode(plaintext)
    if numbers.pop("version") != VERSION:
        raise ValueError("a later version")
    return Totals(**numbers)
