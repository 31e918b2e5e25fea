"""What things cost, as ratios taken in one run: machines are noisy, ratios less so.

Each room has a module here with `rows(size)`; `python -m tests.benchmarks` prints them as one table.
"""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SIZES = ("small", "full")


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, in `unit`, and the limit it is held to (None: reported only).

    `unit` is "x" for a ratio, else "ms", "MiB", "events/s" or "count".
    """

    name: str
    ours: float
    limit: float | None = None
    unit: str = "x"
    at_least: bool = False
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the figure is within its limit."""
        if self.limit is None:
            return True
        return self.ours >= self.limit if self.at_least else self.ours <= self.limit


def ratio(
    name: str,
    ours: Callable[[], object],
    bare: Callable[[], object],
    limit: float | None,
    *,
    rounds: int = 9,
    clock: Callable[[], float] = time.perf_counter,
    note: str = "",
) -> Row:
    """Return median(ours) / median(bare) over interleaved rounds, so that a slow minute slows both.

    `clock` may be `time.process_time` where the CPU is meant and not the disk.
    """
    ours(), bare()  # warm caches and imports
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, times in zip((ours, bare), taken, strict=True):
            times.append(timed(call, clock))
    mine, theirs = (statistics.median(times) for times in taken)
    return Row(name, mine / theirs, limit, note=note or f"{mine * 1e3:.2f} ms against {theirs * 1e3:.2f} ms")


def median_ms(call: Callable[[], object], *, rounds: int = 9) -> float:
    """Return the median wall time of a call, in milliseconds, after one warming call."""
    call()
    return statistics.median(timed(call, time.perf_counter) for _ in range(rounds)) * 1e3


def peak_kib() -> int:
    """Return the most memory that this process ever had, in KiB.

    Where the system says it of the memory since the program was started, that counts: `ru_maxrss` begins with what the process that
    started this one had at that moment.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (peak,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(peak)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def timed(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return the seconds that one call takes, with the garbage collector quiet."""
    gc.collect()
    gc.disable()
    try:
        start = clock()
        call()
        return clock() - start
    finally:
        gc.enable()
