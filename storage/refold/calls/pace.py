"""Pace: how fast a provider is asked, how long to wait after a refusal, and when the budget of a run is spent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from refold.calls.recording import Fault, Tokens
from refold.units import BYTES_OF_TOKEN

PAUSE_SECONDS = 0.5  # after the first failure; twice as long after each further one
PAUSE_SECONDS_MAX = 30.0
RETRY_AFTER_SECONDS_MAX = 120.0  # what a provider may ask for; a fold that would have to wait longer leaves the event pending
GIVING_UP_AFTER = 8  # requests in a row that failed alike: the provider is down, or the key is wrong

Nanos = int  # 10⁻⁹ of a currency


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run may spend. None is without a limit."""

    calls: int | None = None
    tokens: int | None = None
    cost: Nanos | None = None


@dataclass(slots=True)
class Spent:
    """What a run has spent so far. A call is an attempt that left, or tried to."""

    calls: int = 0
    reused: int = 0
    failed: int = 0  # requests without a usable answer
    differing: int = 0  # answers that a verifying run got otherwise than they are recorded
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0  # answers of which the provider counted no tokens
    cost: Nanos = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class Ledger:
    """Keeps to a budget. Threads share it; what is in flight when a limit is met is still paid."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._mutex = threading.Lock()
        self._alike: tuple[Fault | None, int] = (None, 0)
        self.spent = Spent()

    def begin(self) -> Fault | None:
        """Count a call that is about to be made; return why it may not be."""
        with self._mutex:
            if self._alike[1] >= GIVING_UP_AFTER:
                return self._alike[0]
            pairs = (
                (self._budget.calls, self.spent.calls),
                (self._budget.tokens, self.spent.tokens),
                (self._budget.cost, self.spent.cost),
            )
            if any(limit is not None and spent >= limit for limit, spent in pairs):
                return Fault.BUDGET
            self.spent.calls += 1
            return None

    def end(self, tokens: Tokens | None, cost: Nanos | None, *, answered: bool) -> None:
        """Count what a call took."""
        with self._mutex:
            if tokens is not None:
                self.spent.prompt_tokens += tokens.prompt
                self.spent.completion_tokens += tokens.completion
            self.spent.uncounted += answered and tokens is None
            self.spent.cost += cost or 0

    def settle(self, fault: Fault | None) -> None:
        """Count how a request ended that was sent."""
        with self._mutex:
            down = fault in (Fault.UNREACHABLE, Fault.TIMEOUT, Fault.REFUSED, Fault.SERVER_ERROR, Fault.ADAPTER, Fault.RATE_LIMITED)
            self._alike = (fault, self._alike[1] + 1 if fault is self._alike[0] else 1) if down else (None, 0)


class Pace:
    """Spaces requests evenly over a minute. Nought is without a limit."""

    def __init__(
        self, requests_per_minute: int, tokens_per_minute: int, *, clock: Callable[[], float], sleep: Callable[[float], object]
    ) -> None:
        self._gaps = [60 / limit if limit else 0.0 for limit in (requests_per_minute, tokens_per_minute)]  # seconds for one
        self._free_at = [0.0, 0.0]
        self._paused_until = 0.0
        self._clock = clock
        self._sleep = sleep
        self._mutex = threading.Lock()

    def wait(self, size: int) -> None:
        """Wait until a request of so many bytes may be sent."""
        with self._mutex:
            now = self._clock()
            at = max(now, self._paused_until, *self._free_at)
            for place, units in enumerate((1, size / BYTES_OF_TOKEN)):
                self._free_at[place] = at + self._gaps[place] * units
        if at > now:
            self._sleep(at - now)

    def pause(self, seconds: float) -> None:
        """Let nobody send for so long: the provider asked for it."""
        with self._mutex:
            self._paused_until = max(self._paused_until, self._clock() + seconds)


def pause_seconds(attempt: int, retry_after: str, *, now: float, chance: float) -> float | None:
    """Return how long to wait after a failed attempt (from 1); None where the provider asks for longer than is waited.

    `now` is in seconds since 1970, `chance` from 0 to 1: it keeps those who failed together from coming back together.
    """
    asked = _asked_for(retry_after, now)
    if asked is None:
        return min(PAUSE_SECONDS * 2 ** (attempt - 1), PAUSE_SECONDS_MAX) * (0.5 + chance)
    return asked + 0.1 * chance if asked <= RETRY_AFTER_SECONDS_MAX else None


def _asked_for(retry_after: str, now: float) -> float | None:
    """Read Retry-After: seconds or a date (RFC 9110, 10.2.3); what is neither was not asked for."""
    text = retry_after.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now)


def cost_of(tokens: Tokens | None, per_million: tuple[float, float] | None) -> Nanos | None:
    """Return what tokens cost by a price table: prices of a million tokens in and out. None where either is unknown."""
    if tokens is None or per_million is None:
        return None
    return round((tokens.prompt * per_million[0] + tokens.completion * per_million[1]) * 1_000)
