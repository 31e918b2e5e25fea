"""What a caller of the library hands in, read and checked at the edge: inside, a value is right by its type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from refold import times
from refold.closed.closure import Level
from refold.errors import Usage
from refold.model import AliasKind, Role


def moment(when: str | int | None, what: str) -> int | None:
    """Read a time that is given as ISO 8601 text or in whole µs since 1970 UTC. Raises Usage."""
    if isinstance(when, str):
        return times.parse(when, what=what)
    if when is not None and type(when) is not int:
        raise Usage(f"{what} is neither text nor whole microseconds")
    return when


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


def role_of(role: str) -> Role:
    """Read a role by its name. Raises Usage."""
    try:
        return Role(role)
    except ValueError:
        raise Usage(f"a role is one of {', '.join(Role)}") from None


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
        raise Usage("a fact id is an even number of hex digits", hint="refold facts") from None


def alias_kind(alias: str) -> AliasKind:
    """Return what kind of alias this is by its form: an address, a number, a word, or a name."""
    if re.fullmatch(r"\S+@\S+\.\S+", alias):
        return AliasKind.EMAIL
    if re.fullmatch(r"\+?[0-9][0-9 ()/.-]{4,}", alias):
        return AliasKind.PHONE
    return AliasKind.HANDLE if re.fullmatch(r"[a-z0-9_.-]+", alias) else AliasKind.NAME
