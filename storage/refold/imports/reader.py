"""What a reader is: one value per format, one signature, so that a further format is one small module."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from refold.model import Draft, Role, Scope, Source

ATTACHMENTS = "attachments"  # in the metadata: how many files came with it that are not read


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: where it lies, and the name by which its events cite it (within the folder that was named)."""

    path: Path
    name: str

    @property
    def ref(self) -> str:
        """The name in a form that a source may carry."""
        return clean_ref(os.fsencode(self.name).decode("utf-8", "replace"))

    @property
    def ref_of_stem(self) -> str:
        """The same without the file's ending."""
        return self.ref.removesuffix(self.path.suffix)


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller says of everything in the files: whose memory, who speaks where nobody is named, who may see it."""

    user: str | None = None
    agent: str | None = None
    run: str | None = None
    author: str | None = None  # of what a user or a document says, where the file names nobody
    subjects: tuple[str, ...] = ()  # aliases of further people that all of it concerns
    audience: tuple[str, ...] = ()
    said_at: int | None = None  # µs: when it was said, where the file does not say so
    latest: int | None = None  # µs: a record that claims a later time is refused; None: no limit

    def draft(self, said: Said) -> Draft:
        """Return a draft of what was read, with everything that holds for the whole import."""
        speaks = said.role in (Role.USER, Role.DOCUMENT)
        return Draft(
            text=said.text,
            source=said.source,
            said_at=self.said_at if said.said_at is None else said.said_at,
            author=said.author or (self.author if speaks else None),
            role=said.role,
            scope=Scope(self.user, self.agent, self.run),
            audience=self.audience,
            subjects=self.subjects,
            metadata=said.metadata,
        )


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said, as the file tells it."""

    text: str
    source: Source
    role: Role
    said_at: int | None = None
    author: str | None = None
    metadata: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A record that was left out: where it stands and why. Never what it says."""

    place: str  # `line 3`, `conversation 2, message 5`; empty: the whole file
    reason: str
    path: str = ""  # the driver knows it
    forbidden: bool = False  # the principal, or the operating system, keeps it out


class Reader(NamedTuple):
    """A format: its name for `--reader`, how it is recognised, how it is read.

    `recognises` gets the path and the first 64 KiB. `read` yields drafts in the order of the file, in bounded memory, and a
    Malformed for each record that it leaves out; it may raise OSError. A draft without any word is counted and not added.
    """

    name: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[File, Options], Iterator[Draft | Malformed]]


def clean_ref(ref: str) -> str:
    """Return a ref without what would end it in `KIND:REF#PART`: a number sign, a control character."""
    return re.sub(r"[\x00-\x1f\x7f#]", "-", ref)


def attached(*lists: object) -> dict[str, object]:
    """Return what the metadata of an event says of files that were attached to it and not read: how many there were, if any."""
    count = sum(len(each) for each in lists if isinstance(each, list))
    return {ATTACHMENTS: count} if count else {}
