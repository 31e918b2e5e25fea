"""A session of Codex: JSON lines, of which those of type `response_item` carry a message; the others tell the same again, or no words.

Older releases wrote the messages as lines of their own, under a first line with the session's id, time and instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from refold.imports import records
from refold.imports.reader import File, Malformed, Options, Reader
from refold.imports.sessions import Line, Told, read_session
from refold.model import Draft

_OURS = re.compile(rb'^\s*\{(?=.*"payload")(?=.*"type"\s*:\s*"(session_meta|response_item|event_msg|turn_context)")', re.MULTILINE)
_OLDER = re.compile(rb'\s*\{(?=[^\n]*"id"\s*:)(?=[^\n]*"timestamp"\s*:)[^\n]*"instructions"\s*:')


def recognises(path: Path, head: bytes) -> bool:
    """Whether one of the first lines has a payload of a kind that only such a session has, or the first is that of an older one."""
    start = head.removeprefix(records.BOM)
    return bool(_OURS.search(start) or _OLDER.match(start))


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each message."""
    return read_session(file, options, session=_session, message=_message)


def _session(line: Line) -> object:
    if line.get("type") == "session_meta":
        return _payload(line).get("id")
    return line.get("id") if "instructions" in line and "type" not in line else None


def _message(line: Line) -> Told | None:
    if line.get("type") == "message" and "payload" not in line:
        return Told(line)
    payload = _payload(line) if line.get("type") == "response_item" else {}
    return Told(payload) if payload.get("type") == "message" else None


def _payload(line: Line) -> Line:
    return records.as_object(line.get("payload"), "the payload")


READER = Reader("codex", recognises, read)
