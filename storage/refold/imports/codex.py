"""A session of Codex: JSON lines, of which those of type `response_item` carry a message; the others tell the same again, or no words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from refold.imports import records
from refold.imports.reader import File, Malformed, Options, Reader
from refold.imports.sessions import Line, Told, read_session
from refold.model import Draft

_OURS = re.compile(rb'^\s*\{(?=.*"payload")(?=.*"type"\s*:\s*"(session_meta|response_item|event_msg|turn_context)")', re.MULTILINE)


def recognises(path: Path, head: bytes) -> bool:
    """Whether one of the first lines has a payload of a kind that only such a session has."""
    return bool(_OURS.search(head.removeprefix(records.BOM)))


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each message."""
    return read_session(file, options, session=_session, message=_message)


def _session(line: Line) -> object:
    return _payload(line).get("id") if line.get("type") == "session_meta" else None


def _message(line: Line) -> Told | None:
    payload = _payload(line) if line.get("type") == "response_item" else {}
    return Told(payload) if payload.get("type") == "message" else None


def _payload(line: Line) -> Line:
    return records.as_object(line.get("payload"), "the payload")


READER = Reader("codex", recognises, read)
