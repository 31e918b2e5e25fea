"""What the session files of coding agents have in common: JSON lines, of which some are messages.

The source is `chat:SESSION#LINE`. What the tool puts into the user's mouth (a setting, the output of a command, a reminder) stands in
tags or under a heading of its own, and is the system's: nobody said it. Calls of tools and what they gave have no words. A line without
a time was said when the one before it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from refold.errors import Usage
from refold.imports import records
from refold.imports.openai_messages import role_of, text_parts
from refold.imports.reader import File, Malformed, Options, Said, clean_ref
from refold.imports.stamps import stamp
from refold.model import Draft, Role, Source

Line = Mapping[str, object]
_TAG = re.compile(r"\s*<([A-Za-z][\w-]*)(?: [^<>]*)?>")
_INSTRUCTIONS = "# AGENTS.md instructions for "
_CONTEXT = ("# Context from my IDE setup", "# Files mentioned by the user")  # which an editor writes before what the user asks
_REQUEST = re.compile(r"^## My request(?: for Codex)?:[ \t]*$", re.MULTILINE)


class Told(NamedTuple):
    """A message within a line."""

    message: Line
    is_ours: bool = True  # False: an agent wrote it to another, in the user's role


def read_session(
    file: File, options: Options, *, session: Callable[[Line], object], message: Callable[[Line], Told | None]
) -> Iterator[Draft | Malformed]:
    """Yield a draft for each message; `session` finds the session's id in a line, `message` what was said in it, if anything."""
    ref, latest = file.ref_of_stem, None
    with file.path.open("rb") as handle:
        for record in records.lines(handle):
            if isinstance(record, Malformed):
                yield record
                continue
            try:
                line = records.as_object(records.parse(record.raw), "the line")
                named = session(line)
                ref = clean_ref(named) if isinstance(named, str) and named else ref
                own = stamp(line.get("timestamp"), options.latest)
                latest = latest if own is None else own
                told = message(line)
                if told is not None:
                    yield options.draft(_said(told, Source("chat", ref, str(record.number)), latest))
            except Usage as error:
                yield Malformed(f"line {record.number}", error.message)


def _said(told: Told, source: Source, said_at: int | None) -> Said:
    role, parts = role_of(told.message.get("role")), text_parts(told.message)
    if role is Role.USER and not told.is_ours:
        role = Role.ASSISTANT
    elif role is Role.USER and parts:
        own = [words for part in parts if (words := _own_words(part))]
        role, parts = (Role.USER, own) if own else (Role.SYSTEM, parts)
    return Said("\n".join(parts), source, role, said_at)


def _own_words(part: str) -> str:
    """Return what the user typed of a part in the user's name; nothing where the tool wrote all of it."""
    if part.lstrip().startswith(_INSTRUCTIONS) or not _outside_tags(part):
        return ""
    if part.lstrip().startswith(_CONTEXT):
        return _REQUEST.split(part)[-1].strip()
    return part


def _outside_tags(part: str) -> str:
    """Return what follows the blocks in tags that a part starts with."""
    at = 0
    while opened := _TAG.match(part, at):
        closing = f"</{opened[1]}>"
        end = part.find(closing, opened.end())
        if end < 0:
            break
        at = end + len(closing)
    return part[at:].strip()
