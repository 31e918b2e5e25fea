"""A record as another memory system holds it. What it does not say stays open until somebody answers: nothing is made up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from refold.errors import Usage
from refold.imports.stamps import stamp
from refold.model import Role, Source

Json = Mapping[str, object]


class Need(StrEnum):
    """What only the operator can say of a record."""

    USER = "user"  # whose memory it belongs to
    TIME = "said_at"  # when it was said, or written down
    SUBJECTS = "subjects"  # whether it concerns the people it may name
    FORM = "form"  # it cannot be read, or not be an event: it can only be left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One thing that was said, in the words of the system that kept it. `place` finds it again: `result 3`, `line 4 observation 2`."""

    place: str
    text: str
    source: Source
    role: Role = Role.DOCUMENT
    said_at: int | None = None  # µs; None: the system does not say
    user: str | None = None
    agent: str | None = None
    run: str | None = None
    author: str | None = None
    group: str | None = None  # a word of the system's own that puts records together: a group id, a type of entity
    subjects: tuple[str, ...] = ()  # further people whom it concerns
    perhaps: tuple[str, ...] = ()  # names of which the system does not say whether they are people's
    asks_user: bool = False  # it belongs to somebody, and the system does not say to whom
    metadata: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that is not what its format says. Never what it holds."""

    place: str
    reason: str


def text(record: Json, *keys: str) -> str | None:
    """Return the first of these fields that has words; None where none has. Raises Usage where one is no text."""
    for key in keys:
        value = record.get(key)
        if value is not None and not isinstance(value, str):
            raise Usage(f"its {key} is not a text")
        if value and value.strip():
            return value
    return None


def moment(record: Json, *keys: str, latest: int) -> int | None:
    """Return the time in the first of these fields that is filled; None where it is no time, or still to come."""
    value = next((record[key] for key in keys if record.get(key) not in (None, "")), None)
    try:
        return stamp(value, latest)
    except Usage:
        return None


def kept(**fields: object) -> dict[str, object]:
    """Return metadata, without what is empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
