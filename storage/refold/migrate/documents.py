"""What was captured, read once: as one JSON value, or as lines of JSON."""

from __future__ import annotations

from functools import cached_property

from refold.errors import Usage
from refold.imports import records
from refold.migrate.record import Json, Unreadable


class Document:
    """The bytes of one source."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw.removeprefix(records.BOM)

    @cached_property
    def value(self) -> object:
        """Return the whole as JSON; None where it is not one JSON value."""
        try:
            return records.parse(self.raw)
        except Usage:
            return None

    @cached_property
    def lines(self) -> tuple[tuple[int, Json | Unreadable], ...]:
        """Return each line that is not blank, with its number."""
        return tuple((number, _line(raw, number)) for number, raw in enumerate(self.raw.split(b"\n"), 1) if raw.strip())


def _line(raw: bytes, number: int) -> Json | Unreadable:
    try:
        return records.as_object(records.parse(raw), "the line")
    except Usage as error:
        return Unreadable(f"line {number}", error.message)


def listed(value: object, *keys: str) -> list[object]:
    """Return what a list holds, or the first list under one of these keys of an object; nothing where there is none."""
    if isinstance(value, dict):
        value = next((value[key] for key in keys if isinstance(value.get(key), list)), None)
    return value if isinstance(value, list) else []


def objects(value: object, *keys: str) -> list[Json]:
    """Return the objects among what a list holds."""
    return [each for each in listed(value, *keys) if isinstance(each, dict)]
