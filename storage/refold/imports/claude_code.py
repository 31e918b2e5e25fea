"""A session of Claude Code: JSON lines, of which those of type `user` and `assistant` carry a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from refold.imports import records
from refold.imports.reader import File, Malformed, Options, Reader
from refold.imports.sessions import Line, Told, read_session
from refold.model import Draft


def recognises(path: Path, head: bytes) -> bool:
    """Whether one of the first lines has a session's id and a place in its tree of messages."""
    return any(
        re.match(rb'\s*\{\s*"', line) and b'"sessionId"' in line and b'"parentUuid"' in line
        for line in head.removeprefix(records.BOM).split(b"\n")[:20]
    )


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each message."""
    return read_session(file, options, session=lambda line: line.get("sessionId"), message=_message)


def _message(line: Line) -> Told | None:
    """Return the message of a line; what an agent wrote to an agent of its own, or of all before to go on from, is not the user's."""
    if line.get("type") not in ("user", "assistant") or line.get("isMeta") is True:
        return None
    is_ours = line.get("isSidechain") is not True and line.get("isCompactSummary") is not True
    return Told(records.as_object(line.get("message"), "the message"), is_ours=is_ours)


READER = Reader("claude-code", recognises, read)
