"""Costs: what calls have taken, summed by the run that made them or by the source that they were about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from refold.calls.recordings import Recorded
from refold.model import EventId

UNKNOWN = ""  # the source of events that are not folded yet


@dataclass(slots=True)
class Cost:
    """Sums over some calls. `cost` is in 10⁻⁹ of the price table's currency, as far as the provider counted tokens."""

    calls: int = 0
    reused: int = 0  # requests that a recording answered
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: int = 0

    def add(self, prompt_tokens: int, completion_tokens: int, cost: int | None) -> None:
        """Count a call."""
        self.calls += 1
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        self.cost += cost or 0


def by_run(found: Iterable[Recorded]) -> dict[str, Cost]:
    """Return what each run took that still can be opened, by the hex of its id, the newest first where `found` is."""
    return _summed((one.run.hex(), one) for one in found)


def by_source(found: Iterable[Recorded], source_of: Mapping[EventId, str]) -> dict[str, Cost]:
    """Return what was taken for each source, whose events a request is about; all of one request are of the same."""
    return _summed((next((source_of[one_id] for one_id in one.inputs if one_id in source_of), UNKNOWN), one) for one in found)


def _summed(pairs: Iterable[tuple[str, Recorded]]) -> dict[str, Cost]:
    sums: dict[str, Cost] = {}
    for name, one in pairs:
        tokens = one.recording.tokens
        counted = (0, 0) if tokens is None else (tokens.prompt, tokens.completion)
        sums.setdefault(name, Cost()).add(*counted, one.recording.cost)
    return sums
