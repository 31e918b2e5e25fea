"""Which format a source has: recognised by what is in it, asked in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from refold.migrate import graphiti, letta, mcp_memory, mem0
from refold.migrate.documents import Document
from refold.migrate.record import Record, Unreadable


class Format(NamedTuple):
    """A format: how it is recognised, and how it is read. A time later than `latest` (µs) is none."""

    name: str
    recognises: Callable[[Document], bool]
    read: Callable[..., Iterator[Record | Unreadable]]  # (document, *, latest: int)


FORMATS = {module.NAME: Format(module.NAME, module.recognises, module.read) for module in (letta, mem0, graphiti, mcp_memory)}


def recognise(document: Document) -> Format | None:
    """Return the format of a source, or None."""
    return next((each for each in FORMATS.values() if each.recognises(document)), None)
