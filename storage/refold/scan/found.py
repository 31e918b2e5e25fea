"""The nouns of a scan: what was looked for, what was found where, and what could not be looked into. Never the words themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """What is known of a file after a scan."""

    CLEAN = "clean"  # read and decoded whole, and nothing was in it
    HIT = "hit"
    SEALED = "sealed"  # ciphertext of Refold: its bytes were read, what they say was not
    UNDECODABLE = "undecodable"  # nothing is claimed of it, and nothing is certified


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where something was found. `needle` numbers what was looked for, in the order it was given."""

    path: str
    needle: int
    encoding: str  # outside in, as `gzip > base64 > utf-8`
    offset: int  # bytes from the start of what the encoding names


@dataclass(frozen=True, slots=True)
class Looked:
    """What became of one file."""

    path: str
    size: int  # bytes
    status: Status
    hits: tuple[Hit, ...] = ()
    reason: str = ""  # why it could not be decoded
    encodings: frozenset[str] = frozenset()  # that were decoded in it
    prescribed: frozenset[int] = frozenset()  # needles that stand in it in words of its form alone


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a scan found."""

    files: int
    bytes: int
    needles: int
    hits: tuple[Hit, ...]
    controls: tuple[Hit, ...]  # something of a living subject, found by the same means
    has_control: bool  # whether one was looked for
    sealed: tuple[str, ...]
    undecodable: tuple[tuple[str, str], ...]  # path and reason
    encodings: dict[str, int] = field(default_factory=dict)  # how many files held each
    rows: int = 0  # of stores that were read with their keys
    short: int = 0  # needles that were not looked for in ciphertext, keys and ids, where chance writes them
    prescribed: int = 0  # needles that stand in words of the forms of Refold's own files, where they are no trace

    @property
    def is_control_missing(self) -> bool:
        """Whether what had to be found was not: then finding nothing means nothing."""
        return self.has_control and not self.controls

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found, everything could be decoded, and the control was found."""
        return not self.hits and not self.undecodable and not self.is_control_missing


def gather(looked: Iterable[Looked], *, needles: int, control: int | None, rows: int = 0, short: int = 0) -> Scanned:
    """Put together what became of each file. `control` is the number of what had to be found."""
    count, size, hits, controls, sealed, undecodable, prescribed = 0, 0, [], [], [], [], set[int]()
    encodings: Counter[str] = Counter()
    for each in looked:
        count, size = count + 1, size + each.size
        encodings.update(each.encodings)
        prescribed |= each.prescribed
        controls += [hit for hit in each.hits if hit.needle == control]
        hits += [hit for hit in each.hits if hit.needle != control]
        if each.status is Status.SEALED:
            sealed.append(each.path)
        if each.reason:
            undecodable.append((each.path, each.reason))
    known, files = dict(sorted(encodings.items())), (tuple(sealed), tuple(undecodable))
    return Scanned(
        count, size, needles, tuple(hits), tuple(controls), control is not None, *files, known, rows, short, len(prescribed - {control})
    )
