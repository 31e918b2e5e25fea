"""What a caller of the library hands in, read and checked at the edge: inside, a value is right by its type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from refold import times
from refold.closed.closure import Level
from refold.errors import Usage
from refold.model import AliasKind, Role

Word = TypeVar("Word", bound=StrEnum)
When = str | int | date  # a datetime is a date
MICROSECONDS_MIN = 10**13  # April 1970: seconds reach it in the year 318,857, milliseconds in 2286


def moment(when: When | None, what: str) -> int | None:
    """Read a time: ISO 8601 text, a date or datetime, or whole µs since 1970 UTC. Without an offset it is UTC. Raises Usage.

    Numbers of the first months of 1970, and of no year up to 9999, are refused: they are seconds, milliseconds or nanoseconds.
    """
    if isinstance(when, str):
        return times.parse(when, what=what)
    if isinstance(when, date):
        return times.parse(when.isoformat(), what=what)
    if when is not None and type(when) is not int:
        raise Usage(f"{what} is neither text, a date nor whole microseconds")
    if when is not None and (0 < abs(when) < MICROSECONDS_MIN or not times.FIRST <= when <= times.LAST):
        raise Usage(f"{what} is not in microseconds since 1970: as such it would be in 1970, or in no year up to 9999")
    return when


def generation(when: When) -> int | None:
    """Return the number of a generation, written as `generation:12`; None for what is no generation."""
    found = re.fullmatch(r"generation:([0-9]{1,12})", when) if isinstance(when, str) else None
    return int(found[1]) if found else None


def whole_number(value: object, what: str) -> None:
    """Refuse what is not a whole number. Raises Usage."""
    if type(value) is not int:
        raise Usage(f"{what} is not a whole number")


def text(value: object, what: str) -> str:
    """Refuse what is not text. Raises Usage."""
    if not isinstance(value, str):
        raise Usage(f"{what} is not text")
    return value


def place(value: object, what: str) -> None:
    """Refuse what names no folder. Raises Usage."""
    if value is not None and (not isinstance(value, str | Path) or "\0" in str(value)):
        raise Usage(f"{what} is neither a path nor text that can be one")


def check_types(texts: Mapping[str, object], lists: Mapping[str, object], metadata: object) -> None:
    """Refuse what is not of the type it is declared as, and a text where a list of texts is meant. Raises Usage."""
    for name, value in texts.items():
        if not isinstance(value, str) and (value is not None or name == "text"):
            raise Usage(f"{name} is not text")
    for name, values in lists.items():
        if isinstance(values, str) or not isinstance(values, Iterable) or not all(isinstance(each, str) and each for each in values):
            raise Usage(f"{name} is not a list of texts, each of at least one character")
    if not isinstance(metadata, Mapping | None):
        raise Usage("metadata is not a mapping")
    if not all(isinstance(key, str) for key in metadata or ()):
        raise Usage("a key of metadata is not text")


def check_said(texts: Mapping[str, str | None]) -> None:
    """Refuse a name or a key that is empty: what should have given it was not set, and it would stand for everybody's. Raises Usage."""
    for name, value in texts.items():
        if value is not None and not value.strip():
            raise Usage(f"{name} is empty")


def one_of(word: str, words: type[Word], what: str) -> Word:
    """Read one of a few words. Raises Usage."""
    try:
        return words(word)
    except ValueError:
        raise Usage(f"{what} is one of {', '.join(words)}") from None


def role_of(role: str) -> Role:
    """Read a role by its name. Raises Usage."""
    return one_of(role, Role, "a role")


def closure_level(level: str | None) -> Level | None:
    """Read a level of closure by its name. Raises Usage."""
    try:
        return None if level is None else Level(level)
    except ValueError:
        raise Usage(f"a level of closure is one of {', '.join(Level)}", hint="refold help closure") from None


def fact_id(text: str) -> bytes:
    """Read the first hex digits of an id; an odd one stands for itself alone, so only whole bytes count. Raises Usage."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        what = "a fact is named by its id or how that begins, an even number of hex digits: no relation, no name, no value"
        raise Usage(what, hint="refold facts") from None


def call_id(text: str) -> bytes:
    """Read the first hex digits of a call's id. Raises Usage."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise Usage("a call id is an even number of hex digits", hint="refold calls list") from None


def alias_kind(alias: str) -> AliasKind:
    """Return what kind of alias this is by its form: an address, a number, a word, or a name."""
    if re.fullmatch(r"\S+@\S+\.\S+", alias):
        return AliasKind.EMAIL
    if re.fullmatch(r"\+?[0-9][0-9 ()/.-]{4,}", alias):
        return AliasKind.PHONE
    return AliasKind.HANDLE if re.fullmatch(r"[a-z0-9_.-]+", alias) else AliasKind.NAME
