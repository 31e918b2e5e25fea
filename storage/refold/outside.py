"""What comes from outside and is therefore an argument everywhere: the time, and randomness."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]  # the time now, µs since 1970 UTC
Random = Callable[[int], bytes]  # so many random bytes


def clock() -> int:
    """Return the time in µs since 1970 UTC."""
    return time.time_ns() // 1_000
