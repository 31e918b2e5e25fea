"""What comes of each attempt to get out of a closed worker: the table in the room's README is what happens.

`python -m tests.closed.test_attempts` writes it anew, on a system that has every measure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import refold.closed
from refold.closed.closure import Level
from refold.closed.worker import Worker
from refold.errors import ClosureBroken, WorkerFailed
from tests.closed.attempts import ATTEMPTS

README = Path(refold.closed.__file__).parent / "README.md"
BEGIN, END = "<!-- attempts: written by tests/closed/test_attempts.py -->", "<!-- end of attempts -->"
HEAD = "| attempt | tripwire | kernel |\n|---|---|---|"
LEVELS = (Level.TRIPWIRE, Level.KERNEL)
TARGET = "tests.closed.attempts:answer"
LIMIT = "known limit"

RECORDED, BLOCKED, FIXED = "blocked, recorded", "blocked", "the same always"


def outcome(what: str, level: Level) -> str:
    """Make one attempt twice, in two workers where both should get the same, and say what it comes to."""
    got = []
    try:
        for _ in range(1 + (what in SAME)):
            with Worker(TARGET, up_to=level, seconds_max=SECONDS.get(what, 60.0), bytes_max=1 << 20, memory_max=1 << 30) as worker:
                assert worker.closure.level is level
                got += [worker.ask(what.encode()) for _ in range(2)]
    except ClosureBroken as error:
        return RECORDED if "reached for" in error.message else BLOCKED
    except WorkerFailed as error:
        if re.search("NameError|TypeError", error.message):
            raise
        return BLOCKED
    if not any(got):
        return BLOCKED
    return FIXED if len(set(got)) == 1 and what in SAME else LIMIT


# Attempts that get something which is the same in every process: nothing comes in from outside.
SAME = {"random.random", "the hash of a string", "the order of a set of strings"}


SECONDS = {"a loop without end": 0.5}

# The limit on processes does not hold the superuser, for whom the table was written.
HELD_WITHOUT_ROOT = {"libc: fork"}


def rows(level: Level, attempts: Iterable[str] = ATTEMPTS) -> dict[str, str]:
    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(lambda what: (what, outcome(what, level)), attempts))


def worth_trying(level: Level) -> list[str]:
    """Return the attempts that a level is tried with: what the tripwire stops it stops here too, so few of those are made again."""
    passed = [what for what, said in written()[Level.TRIPWIRE].items() if said != RECORDED]
    return list(ATTEMPTS) if level is Level.TRIPWIRE else [*passed, *(what for what in list(ATTEMPTS)[::8] if what not in passed)]


def written() -> dict[Level, dict[str, str]]:
    """Return the columns of the table in the README."""
    lines = README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip().removeprefix(HEAD).strip().split("\n")
    cells = [line.strip("| ").split(" | ") for line in lines]
    return {level: {row[0]: row[1 + at] for row in cells} for at, level in enumerate(LEVELS)}


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_every_attempt_ends_as_the_table_says(level: Level):
    with Worker(TARGET, up_to=level) as worker:
        lacking = worker.closure.missing(level)
        reached = worker.closure.level
    if lacking:  # an old kernel, or a container that forbids it: the closure says so, and nothing is claimed of this level here
        assert reached is not level
        assert all(measure.why for measure in lacking)
        return
    attempts = worth_trying(level)
    found, expected = rows(level, attempts), written()[level]
    if os.getuid() != 0:
        found |= {what: expected[what] for what in HELD_WITHOUT_ROOT if found[what] == BLOCKED}
    assert found == {what: expected[what] for what in attempts}


def test_the_table_has_every_attempt_and_calls_no_level_better_than_a_higher_one():
    columns = written()
    assert all(list(column) == list(ATTEMPTS) for column in columns.values())
    assert len(ATTEMPTS) >= 30
    kernel = columns[Level.KERNEL]
    assert not [what for what, said in columns[Level.TRIPWIRE].items() if said != LIMIT and kernel[what] == LIMIT]


if __name__ == "__main__":
    columns = [rows(level) for level in LEVELS]
    table = "\n".join([HEAD, *(f"| {what} | " + " | ".join(column[what] for column in columns) + " |" for what in ATTEMPTS)])
    text = README.read_text(encoding="utf-8")
    start, _, rest = text.partition(BEGIN)
    README.write_text(start + BEGIN + "\n" + table + "\n" + END + rest.partition(END)[2], encoding="utf-8")
