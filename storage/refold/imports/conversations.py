"""Conversations: an export that is a list of them, or one, read so that one at a time is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from refold.errors import Usage
from refold.imports import records
from refold.imports.reader import File, Malformed, Options
from refold.model import Draft


class Reads(Protocol):
    """Reads one conversation, the `number`th of its file. Raises Usage where it is none."""

    def __call__(self, conversation: Mapping[str, Any], file: File, *, number: int, options: Options) -> Iterator[Draft | Malformed]: ...


def read(file: File, options: Options, *, each: Reads) -> Iterator[Draft | Malformed]:
    """Yield what `each` reads in the conversations of a file, and those that are none, with their place and the reason."""
    with file.path.open("rb") as handle:
        for record in records.elements(handle, "conversation"):
            if isinstance(record, Malformed):
                yield record
                continue
            try:
                conversation = records.as_object(records.parse(record.raw), "the conversation")
                yield from each(conversation, file, number=record.number, options=options)
            except Usage as error:
                yield Malformed(f"conversation {record.number}", error.message)
