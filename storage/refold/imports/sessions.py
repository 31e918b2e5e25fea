"""What the session files of coding agents have in common: JSON lines, of which some are messages.

The source is `chat:SESSION#LINE`. What the tool puts into the user's mouth (a setting, the output of a command, a reminder) stands in
tags, and is the system's: nobody said it. Calls of tools and what they gave have no words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from refold.errors import Usage
from refold.imports import records
from refold.imports.openai_messages import role_of, said_text
from refold.imports.reader import File, Malformed, Options, Said, clean_ref
from refold.imports.stamps import stamp
from refold.model import Draft, Role, Source

Line = Mapping[str, object]
_IN_TAGS = re.compile(r"\s*<([a-z][a-z_-]*)>.*</\1>\s*", re.DOTALL)


class Told(NamedTuple):
    """A message within a line."""

    message: Line
    is_ours: bool = True  # False: an agent wrote it to another, in the user's role


def read_session(
    file: File, options: Options, *, session: Callable[[Line], object], message: Callable[[Line], Told | None]
) -> Iterator[Draft | Malformed]:
    """Yield a draft for each message; `session` finds the session's id in a line, `message` what was said in it, if anything."""
    ref = file.ref_of_stem
    with file.path.open("rb") as handle:
        for record in records.lines(handle):
            if isinstance(record, Malformed):
                yield record
                continue
            try:
                line = records.as_object(records.parse(record.raw), "the line")
                named = session(line)
                ref = clean_ref(named) if isinstance(named, str) and named else ref
                told = message(line)
                if told is not None:
                    yield options.draft(_said(told, Source("chat", ref, str(record.number)), stamp(line.get("timestamp"), options.latest)))
            except Usage as error:
                yield Malformed(f"line {record.number}", error.message)


def _said(told: Told, source: Source, said_at: int | None) -> Said:
    role, text = role_of(told.message.get("role")), said_text(told.message)
    if role is Role.USER and not told.is_ours:
        role = Role.ASSISTANT
    elif role is Role.USER and _IN_TAGS.fullmatch(text):
        role = Role.SYSTEM
    return Said(text, source, role, said_at)
