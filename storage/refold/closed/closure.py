"""What closed a process off: measures, each of which holds or does not, and the level they come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How far a computation is closed, weakest first."""

    DECLARED = "declared"  # it ran in the process that asked: the code is said to be pure, and nothing held it to that
    TRIPWIRE = "tripwire"  # a fresh process in which Python itself refuses and records; machine code could pass by
    KERNEL = "kernel"  # and the kernel stops every system call that a pure computation does not need

    @property
    def rank(self) -> int:
        """Return its place in the order of levels."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure: whether it holds in this process, and if not, why not."""

    name: str
    holds: bool
    why: str = ""


# What a level needs. The other measures stand behind these as a second wall, and are told wherever they hold.
NEEDED = {
    Level.DECLARED: (),
    Level.TRIPWIRE: ("process", "environment", "descriptors", "hook", "functions", "clock"),
    Level.KERNEL: ("process", "environment", "descriptors", "hook", "functions", "clock", "limits", "no-new-privileges", "seccomp"),
}


@dataclass(frozen=True, slots=True)
class Closure:
    """The measures of one process, in the order in which they were taken."""

    measures: tuple[Measure, ...] = ()

    @property
    def level(self) -> Level:
        """Return the highest level of which every needed measure holds."""
        return next(level for level in reversed(Level) if not self.missing(level))

    def missing(self, level: Level) -> tuple[Measure, ...]:
        """Return what a level needs and does not have here."""
        taken = {measure.name: measure for measure in self.measures}
        needed = (taken.get(name, Measure(name, holds=False, why="not tried")) for name in NEEDED[level])
        return tuple(measure for measure in needed if not measure.holds)

    def rows(self) -> list[tuple[str, bool, str]]:
        """Return the measures as JSON values: name, whether it holds, why not."""
        return [(measure.name, measure.holds, measure.why) for measure in self.measures]

    @classmethod
    def read(cls, rows: Iterable[tuple[str, bool, str]]) -> Closure:
        """Return the closure that `rows` wrote."""
        return cls(tuple(Measure(name, holds, why) for name, holds, why in rows))


DECLARED = Closure()
