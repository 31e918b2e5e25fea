"""Steps: what a verb hands to the journal. Targets at one of the three places, and commits to a log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from refold.keys.vault import MUTATE_LOCK

FILE_MODE = 0o600
FOLDER_MODE = 0o700
JOURNAL = "journal"
LOCK = MUTATE_LOCK
MODE_MAX = 0o7777


class Places(Protocol):
    """The three places of a store, and whose they are."""

    @property
    def store(self) -> Path: ...

    @property
    def vault(self) -> Path: ...

    @property
    def root(self) -> Path: ...

    @property
    def origin(self) -> str: ...


class Head(Protocol):
    """How far a log has come."""

    @property
    def version(self) -> int: ...


class CommitLog(Protocol):
    """What the journal asks of a log: whether it has the commit of a transaction id."""

    @property
    def head(self) -> Head: ...

    def committed(self, txn: str, *, after: int = 0) -> bool: ...


class OpenStore(Protocol):
    """An open store, as far as the journal knows it."""

    @property
    def log(self) -> CommitLog: ...

    def close(self) -> None: ...


class Place(StrEnum):
    """One of the three places."""

    STORE = "store"
    VAULT = "vault"
    ROOT = "root"

    def of(self, places: Places) -> Path:
        """Return the folder."""
        return {Place.STORE: places.store, Place.VAULT: places.vault, Place.ROOT: places.root}[self]


class Nothing(Enum):
    """What a target is where it is no file."""

    ABSENT = "absent"
    FOLDER = "folder"


ABSENT = Nothing.ABSENT
FOLDER = Nothing.FOLDER
Content = bytes | Nothing  # SHA-256 of a file's bytes; held in memory only: on disk digests are keyed


@dataclass(frozen=True, slots=True)
class Target:
    """A name inside one of the places. Raises ValueError where it could lead out of it, or is the journal's own."""

    place: Place
    path: str  # relative, POSIX

    def __post_init__(self) -> None:
        self.path.encode()  # a name that is not UTF-8 could not be recorded
        parts = self.path.split("/")
        if not self.path or "\0" in self.path or any(part in ("", ".", "..") for part in parts):
            raise ValueError("the path of a target is not a plain relative path")
        if self.place is Place.VAULT and (parts[0] == JOURNAL or (len(parts) == 1 and parts[0].endswith(".lock"))):
            raise ValueError("the journal and the locks are no targets")

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the paths of the folders on the way, outermost first; without the place itself."""
        parts = self.path.split("/")[:-1]
        return tuple("/".join(parts[: count + 1]) for count in range(len(parts)))

    @property
    def parent(self) -> Target | None:
        """Return the folder around it; None where that is the place itself."""
        parents = self.parents
        return Target(self.place, parents[-1]) if parents else None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.place}/{self.path}"


AUTHORITIES = frozenset({Target(Place.STORE, "store.json"), Target(Place.STORE, "state/CURRENT")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One target from what it is to what it becomes.

    With `keeps_before` False no copy of the old bytes is made, so that the step, once done, can only be completed.
    `point_of_no_return` says the same of a step for another reason: what follows from it cannot be taken back.
    """

    target: Target
    before: Content
    after: Content
    mode: int = FILE_MODE  # of what is there afterwards
    data: bytes = field(default=b"", repr=False)  # the new bytes
    keeps_before: bool = True
    point_of_no_return: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCommit:
    """A commit to a log: recognised by its transaction id, else made by what the verb hands in for `intent`."""

    txn: str  # 32 hex digits
    intent: str
    data: bytes = field(default=b"", repr=False)  # what the intent needs; kept in the vault until the end
    point_of_no_return: bool = False


Step = Change | LogCommit


@dataclass(frozen=True, slots=True)
class Kind:
    """What a transaction is for. Appends stop under one that `blocks_appends`, also while it is only unfinished."""

    name: str
    blocks_appends: bool = False

    def __post_init__(self) -> None:
        assert re.fullmatch(r"[a-z][a-z-]{0,31}", self.name)


@dataclass(frozen=True, slots=True)
class Intent:
    """How the log commit of a step is made, and how it is answered where the transaction goes back.

    Both get the open store that the verb handed in, the transaction id that the commit must carry, and the step's data.
    """

    run: Callable[[OpenStore, str, bytes], None]
    undo: Callable[[OpenStore, str, bytes], None] | None = None


Intents = Mapping[str, Intent]  # by the name that a step carries: handed in by whoever commits or recovers
NO_INTENTS: Intents = MappingProxyType({})


def digest(data: bytes) -> bytes:
    """Return by what a verb names the bytes of a file."""
    return sha256(data).digest()


def write(
    target: Target,
    data: bytes,
    *,
    before: Content = ABSENT,
    mode: int = FILE_MODE,
    keeps_before: bool = True,
    point_of_no_return: bool = False,
) -> Change:
    """Return the step that gives a file new bytes, or makes it."""
    return Change(
        target=target,
        before=before,
        after=digest(data),
        mode=mode,
        data=data,
        keeps_before=keeps_before,
        point_of_no_return=point_of_no_return,
    )


def remove(target: Target, *, before: Content, keeps_before: bool = True, point_of_no_return: bool = False) -> Change:
    """Return the step that removes a file, or an empty folder where `before` is FOLDER."""
    return Change(target=target, before=before, after=ABSENT, keeps_before=keeps_before, point_of_no_return=point_of_no_return)


def add_folder(target: Target, *, mode: int = FOLDER_MODE) -> Change:
    """Return the step that makes a folder."""
    return Change(target=target, before=ABSENT, after=FOLDER, mode=mode)


def check(steps: Sequence[Step], earlier: Iterable[Target] = ()) -> None:
    """Refuse a list that no transaction may have. These are mistakes of a verb, not of the world: ValueError.

    The authority (CURRENT, store.json) is the last thing written: after it only removals and log commits may come.
    """
    met = set(earlier)
    decided = bool(met & AUTHORITIES)
    for step in steps:
        if isinstance(step, LogCommit):
            if not re.fullmatch(r"[0-9a-f]{32}", step.txn):
                raise ValueError("a transaction id is 32 hex digits")
            continue
        if step.target in met:
            raise ValueError(f"two steps change {step.target}")
        met.add(step.target)
        if decided and step.after is not ABSENT:
            raise ValueError(f"{step.target} is written after the authority")
        decided = decided or step.target in AUTHORITIES
        _check_change(step)


def _check_change(step: Change) -> None:
    if isinstance(step.after, bytes) and digest(step.data) != step.after:
        raise ValueError(f"the bytes for {step.target} are not those of its digest")
    if step.before is step.after or ({type(step.before), type(step.after)} == {bytes, Nothing} and FOLDER in (step.before, step.after)):
        raise ValueError(f"{step.target} is a folder on one side and a file on the other, or the same on both")
    if not 0 <= step.mode <= MODE_MAX:
        raise ValueError("a mode has twelve bits")
