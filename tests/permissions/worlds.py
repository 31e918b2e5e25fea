"""Two memories of the same household that differ in what a principal may not see: in the one it was never said.

Keys, ids and times of every statement follow from the statement alone, so that whatever differs in an answer comes from what is hidden.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from refold import times
from refold.memory import Memory
from refold.settings import Principal
from tests.journal import unsynced

START = times.parse("2024-12-01")
HOUR = 3_600_000_000
PLACES = ("store", "vault", "root")

CHILD = Principal("child", frozenset({"family"}), ("ada",))  # one user's memory, and what the family may know of it
GUEST = Principal("guest", frozenset())  # everybody's, as far as it has no labels
PRINCIPALS = {"child": CHILD, "guest": GUEST}
SETTINGS = '[principals.child]\nlabels = ["family"]\nusers = ["ada"]\n[principals.guest]\nlabels = []\n'


@dataclass(frozen=True)
class Statement:
    """One thing that somebody said, and to whom it is hidden."""

    text: str
    hidden_from: tuple[str, ...] = ()
    given: tuple[tuple[str, Any], ...] = ()


def said(text: str, *hidden_from: str, **given: Any) -> Statement:
    return Statement(text, hidden_from, tuple(({"user_id": "ada"} | given).items()))


BOTH = ("child", "guest")
DOCTOR: dict[str, Any] = {"audience": ["doctor"]}
STATEMENTS = (
    said("I live in Berlin.", source="chat:7#1", said_at="2024-01-10"),
    said("I live in Oslo.", *BOTH, source="chat:7#2", said_at="2024-07-10", **DOCTOR),
    said("I've been living in Munich since 2023.", source="chat:7#3", said_at="2024-06-01"),
    said("I no longer live in Munich.", *BOTH, source="chat:7#4", said_at="2024-08-01", **DOCTOR),
    said("My sister is called Ruth.", source="chat:7#5", said_at="2024-06-02"),
    said("My sister is called Miriam.", *BOTH, source="chat:7#6", said_at="2024-06-03", **DOCTOR),
    said("Ruth is my mother.", *BOTH, source="chat:7#7", said_at="2024-06-04", **DOCTOR),
    said("I am allergic to nuts.", "guest", source="chat:9#1", said_at="2024-06-05", audience=["family"]),
    said("I like Darjeeling.", source="chat:9#2", said_at="2024-06-06", key="tea"),
    said("I have asthma.", *BOTH, source="chat:9#3", said_at="2024-06-06", key="breath", **DOCTOR),
    said("Darjeeling is noted.", role="assistant", author="helper", source="chat:9#4", said_at="2024-06-07"),
    said("I live in Munich, in Munich and nowhere but Munich.", "child", user_id="ben", source="chat:8#1", said_at="2024-06-08"),
    said("Ada lives in Rome.", "child", user_id="ben", subjects=["ada"], source="chat:8#2", said_at="2024-09-08"),
    said("Darjeeling, Darjeeling, Darjeeling.", *BOTH, user_id="ben", source="chat:8#3", said_at="2024-06-09", audience=["doctor"]),
    said("I work at Siemens.", *BOTH, source="note:1", said_at="2024-06-09", audience=["family", "doctor"]),
    said("I like climbing.", source="chat:9#5", said_at="2024-06-10"),
)


def drawn(seed: str) -> Callable[[int], bytes]:
    """Return chance that is the same for the same seed."""
    numbers = count()
    return lambda size: hashlib.shake_256(f"{seed} {next(numbers)}".encode()).digest(size)


@contextmanager
def opened(folder: Path, principal: Principal | None, *, seed: str = "asked", now: int = START + 100 * HOUR) -> Generator[Memory]:
    """Open the memory of a folder as a principal, with chance and time of a statement's own."""
    with Memory.open(folder / "store", vault=folder / "vault", root=folder / "root", now=lambda: now, random=drawn(seed)) as memory:
        yield memory if principal is None else memory.seen_by(principal)


def make(folder: Path, base: Path, *, without: str | None, folds: bool) -> Path:
    """Tell a copy of an empty memory all statements, but those hidden from a principal; fold it, or all but the last few."""
    shown = [None if without in statement.hidden_from else statement for statement in STATEMENTS]
    return tell(folder, base, shown, folded=len(STATEMENTS) if folds else len(STATEMENTS) // 2 + 1)


def tell(folder: Path, base: Path, statements: Sequence[Statement | None], *, folded: int) -> Path:
    """Tell a copy of an empty memory some statements, with a gap for each that it is not told; fold the first `folded` places of them."""
    for name in PLACES:
        shutil.copytree(base / name, folder / name)
    (folder / "refold.toml").write_text(SETTINGS, encoding="utf-8")
    chance, moment = Chance(), [START]
    store, vault, root = (folder / name for name in PLACES)
    with unsynced(), Memory.open(store, vault=vault, root=root, now=lambda: moment[0], random=chance) as memory:
        for number, statement in enumerate(statements):
            moment[0] = START + number * HOUR
            if statement is not None:
                chance.draw = drawn(f"{number} {statement.text}")
                memory.add(statement.text, **dict(statement.given))
            if number + 1 == folded:
                chance.draw = drawn("fold")
                memory.fold()
    return folder


class Chance:
    """Chance that begins anew with each statement."""

    def __init__(self) -> None:
        self.draw = drawn("opened")

    def __call__(self, size: int) -> bytes:
        return self.draw(size)


def empty(folder: Path) -> Path:
    """Make an empty memory whose keys are always the same."""
    with unsynced():
        Memory.create(folder / "store", vault=folder / "vault", root=folder / "root", now=lambda: START, random=drawn("keys")).close()
    return folder
