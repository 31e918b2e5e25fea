"""The record of a transaction: how far it came, and what every target was and becomes.

A digest in it is HMAC(key, T("refold.journal/digest/v1") ‖ SHA-256 of the bytes), the key drawn for this transaction alone, so that no
two transactions can be compared and a digest dies with its journal. Paths are those of the format; nothing else is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from refold.files import TEMPORARY, Seen
from refold.journal.steps import Content, Nothing, Place, Target, digest
from refold.keys import crypto

NAME = "journal.json"
HOLD = "hold"  # an empty file beside it: appends wait until this transaction has ended
DIGEST = crypto.label("refold.journal/digest/v1")
TEMPORARIES = crypto.label("refold.journal/temporary/v1")
UNDO = crypto.label("refold.journal/undo/v1")
ID = re.compile(r"[0-9a-f]{32}")
ARTIFACTS = re.compile(r"artifacts(\.[1-9][0-9]{0,5})?")


class Phase(StrEnum):
    """How far a transaction came. What ended before `committed` or `rolled-back` is unfinished.

    What is planned or prepared has no name yet: its folder gets one when all in it is durable, and from there it is committing.
    """

    COMMITTING = "committing"
    COMMITTED = "committed"
    COMPLETING = "completing"
    ROLLING_BACK = "rolling-back"
    ROLLED_BACK = "rolled-back"

    @property
    def is_final(self) -> bool:
        return self in (Phase.COMMITTED, Phase.ROLLED_BACK)

    @property
    def has_direction(self) -> bool:
        """Whether it is decided for good where it goes."""
        return self is not Phase.COMMITTING

    @property
    def goes_back(self) -> bool:
        return self in (Phase.ROLLING_BACK, Phase.ROLLED_BACK)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which folder it is, whatever its name: its device and inode."""

    device: int
    inode: int

    @classmethod
    def of(cls, seen: Seen) -> Identity:
        return cls(seen.device, seen.inode)


@dataclass(frozen=True, slots=True)
class Slice:
    """Where bytes lie among the artifacts."""

    file: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Side:
    """What a target is before or after its step; `copy` None: no bytes of it are kept."""

    what: Nothing | None  # None: a file
    digest: str = ""  # keyed, hex
    mode: int = 0
    copy: Slice | None = None

    @property
    def is_absent(self) -> bool:
        return self.what is Nothing.ABSENT

    @property
    def can_be_made(self) -> bool:
        """Whether the target can be given this side, from what is kept."""
        return self.what is not None or self.copy is not None


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change as the journal knows it."""

    target: Target
    before: Side
    after: Side
    parent: Identity | None  # of the folder it is in; None: that is made by an earlier step
    identity: Identity | None  # of the folder that the step removes
    point_of_no_return: bool

    @property
    def copies(self) -> tuple[tuple[Slice, str], ...]:
        return tuple((side.copy, side.digest) for side in (self.before, self.after) if side.copy)


@dataclass(frozen=True, slots=True)
class RecordedCommit:
    """A log commit as the journal knows it."""

    txn: str
    intent: str
    digest: str  # keyed, of its data
    copy: Slice
    after: int  # the version of the log when it was planned
    point_of_no_return: bool

    @property
    def copies(self) -> tuple[tuple[Slice, str], ...]:
        return ((self.copy, self.digest),)


Recorded = RecordedChange | RecordedCommit


@dataclass(frozen=True, kw_only=True)
class Journal:
    """One transaction. `staged` says for how many of the steps every byte is durable; `whole`, that no more steps will come."""

    id: str
    kind: str
    origin: str
    key: bytes
    phase: Phase
    steps: tuple[Recorded, ...]
    staged: int
    whole: bool
    places: Mapping[Place, Identity | None]  # which folders they were; None: it was not there
    folder: Identity  # the one that holds this journal

    def keyed(self, content: bytes) -> str:
        """Return the digest under which SHA-256 `content` is recorded."""
        return crypto.mac(self.key, DIGEST + content).hex()

    def digest(self, data: bytes) -> str:
        """Return the digest under which bytes are recorded."""
        return self.keyed(digest(data))

    def temporary(self, at: int) -> str:
        """Return the name under which step `at` writes what then gets the name of its target."""
        return TEMPORARY + crypto.mac(self.key, TEMPORARIES + at.to_bytes(4, "big"))[:8].hex()

    def undoing(self, txn: str) -> str:
        """Return the transaction id of the commit that answers the commit `txn` when the transaction goes back."""
        return crypto.mac(self.key, UNDO + bytes.fromhex(txn))[:16].hex()

    def at(self, phase: Phase) -> Journal:
        return replace(self, phase=phase)

    @cached_property
    def children(self) -> dict[Target, set[str]]:
        """Return the names that its steps change in each folder that it makes or removes, with those they write under first."""
        names: dict[Target, set[str]] = {folder: set() for folder in self.folders_of_its_own}
        for at, step in enumerate(self.steps):
            if isinstance(step, RecordedChange) and (parent := step.target.parent) in names:
                names[parent] |= {step.target.name, self.temporary(at)}
        return names

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(step.target for step in self.steps if isinstance(step, RecordedChange))

    @cached_property
    def folders_of_its_own(self) -> frozenset[Target]:
        """Return the folders that it makes or removes: their identity changes on its way."""
        changes = (step for step in self.steps if isinstance(step, RecordedChange))
        return frozenset(step.target for step in changes if Nothing.FOLDER in (step.before.what, step.after.what))


def artifacts(number: int) -> str:
    """Return the name of a file of artifacts."""
    return "artifacts" if number == 0 else f"artifacts.{number}"


def side(content: Content, mode: int, journal: Journal, copy: Slice | None = None) -> Side:
    """Return the recorded side of a target."""
    if isinstance(content, bytes):
        return Side(None, journal.keyed(content), mode, copy)
    return Side(content, mode=mode if content is Nothing.FOLDER else 0)


def size_of_artifacts(steps: Sequence[Recorded]) -> dict[int, int]:
    """Return how many bytes each file of artifacts has where all are written."""
    sizes: dict[int, int] = {}
    for step in steps:
        for copy, _ in step.copies:
            sizes[copy.file] = max(sizes.get(copy.file, 0), copy.start + copy.size)
    return sizes
