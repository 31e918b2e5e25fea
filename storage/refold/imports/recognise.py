"""Which reader a file wants: asked in this order, the first that recognises it."""

from __future__ import annotations

from pathlib import Path

from refold.errors import Usage
from refold.imports import chatgpt_export, claude_code, claude_export, codex, markdown, mbox, openai_messages, text
from refold.imports.reader import Reader

HEAD_BYTES = 64 << 10
AUTO = "auto"
READERS = (
    claude_export.READER,
    chatgpt_export.READER,
    claude_code.READER,
    codex.READER,
    openai_messages.READER,
    mbox.READER,
    markdown.READER,
    text.READER,
)
NAMES = tuple(reader.name for reader in READERS)


def recognise(path: Path, head: bytes) -> Reader | None:
    """Return the reader for a file that starts with `head`, or None."""
    return next((reader for reader in READERS if reader.recognises(path, head)), None)


def named(name: str) -> Reader:
    """Return the reader of that name. Raises Usage."""
    for reader in READERS:
        if reader.name == name:
            return reader
    raise Usage(f"there is no reader of that name; there are {AUTO}, {', '.join(NAMES)}", hint="refold help import")
