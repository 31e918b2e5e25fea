"""Witnesses: memories outside the log of the heads that it had. None takes a head that does not continue the last one it took.

A folder keeps `log.json`, the pinned key of the log as it was at first use, and `heads/%020d.note`, create-only. Which folder
stands for which claim is the operator's word: a folder is external where it lies on another host, belongs to another user, or refuses to
be overwritten. One that is found empty begins anew, and says so: whoever can empty it can make it forget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from refold import files
from refold.errors import Corrupt, VerificationIncomplete
from refold.heads import kept
from refold.heads.kept import HINT, SignedHead
from refold.log.note import Note, Verifier
from refold.log.tree import EMPTY, is_consistent

HEADS = "heads"
PIN = "log.json"
WAIT_SECONDS_MAX = 5.0
ROOT_LETTERS = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What a witness said to a head."""

    name: str
    is_external: bool
    is_taken: bool
    began: bool = False  # it had seen nothing before
    found: str | None = None  # why it did not take the head


class Witness(Protocol):
    """Whoever remembers heads."""

    @property
    def name(self) -> str: ...

    @property
    def is_external(self) -> bool: ...

    def seen(self, known: Sequence[Verifier]) -> SignedHead | None:
        """Return the newest head that it took. Raises Corrupt, VerificationIncomplete."""
        ...

    def take(self, signed: Note, before: int, proof: Sequence[bytes], known: Sequence[Verifier]) -> None:
        """Take a head that continues the one of size `before`. Raises Corrupt where it does not, VerificationIncomplete."""
        ...

    def set_aside(self, given_up: SignedHead) -> None:
        """Keep what was seen under another name, and begin anew: the log itself says that it was given up, in a `restored` entry."""
        ...


def aside(name: str, given_up: SignedHead) -> str:
    """Return the name under which what saw a head that was given up is kept."""
    return f"{name}-{given_up.head.size:020d}-{given_up.head.root.hex()[:ROOT_LETTERS]}"


@dataclass(frozen=True, slots=True)
class FolderWitness:
    """A folder that remembers."""

    name: str
    folder: Path
    pin: bytes  # of the log, as the vault has it
    is_external: bool = False
    base: Path | None = None  # has to be there already: a volume that is not mounted is no place to begin

    def seen(self, known: Sequence[Verifier]) -> SignedHead | None:
        """Return the newest head that it took. Raises Corrupt, VerificationIncomplete."""
        self._check_pin()
        return kept.newest(self.folder / HEADS, known)

    def take(self, signed: Note, before: int, proof: Sequence[bytes], known: Sequence[Verifier]) -> None:
        """Take a head that continues the last one. Raises Corrupt where it does not, VerificationIncomplete."""
        self._check_pin()
        heads = self.folder / HEADS
        files.make_folder(heads)
        files.link_new(self.folder / PIN, self.pin)
        with files.lock(heads, wait_seconds=WAIT_SECONDS_MAX):
            head, note = kept.opened(signed.raw, known)
            last = kept.newest(heads, known)
            size, root = (last.head.size, last.head.root) if last else (0, EMPTY)
            if size != before:
                raise VerificationIncomplete(
                    f"the witness has seen {size} entries by now, not {before}", path=heads, hint="refold checkpoint"
                )
            if not is_consistent(size, root, head.size, head.root, proof):
                raise Corrupt("a witness has seen another history of this log", path=last.path if last else heads, hint=HINT)
            kept.keep(heads, head, note, known)

    def set_aside(self, given_up: SignedHead) -> None:
        """Keep what was seen under another name, and begin anew."""
        with files.lock(self.folder / HEADS, wait_seconds=WAIT_SECONDS_MAX):
            files.rename_folder(self.folder / HEADS, self.folder / aside(HEADS, given_up))

    def _check_pin(self) -> None:
        if self.base is not None and files.look(self.base, follow=True) is None:
            raise VerificationIncomplete("the folder of a witness is not there", path=self.base, hint=HINT)
        try:
            found = files.read(self.folder / PIN)
        except FileNotFoundError:
            return
        if found != self.pin:
            raise Corrupt("a witness knows this log under another key", path=self.folder / PIN, hint=HINT)
