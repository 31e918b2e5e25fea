"""OpenAI messages as JSON lines: a message on each line, or a conversation `{"messages": [...]}` on each line.

The source is `chat:REF#PART`. REF is the conversation's id where the file gives one, else the file's name without its ending (for the
second and later conversations of a file with the number of their line: `notes/2`). PART is the message's number in its conversation,
or the number of its line, so that a broken line that is mended later moves no other message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from refold.errors import Usage
from refold.imports import records
from refold.imports.reader import File, Malformed, Options, Reader, Said, clean_ref
from refold.imports.stamps import stamp
from refold.model import Draft, Role, Source

ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
TIMES = ("created_at", "timestamp", "created", "create_time")
IDS_OF_A_CONVERSATION = ("conversation_id", "thread_id", "session_id")
TEXT_PARTS = ("text", "input_text", "output_text")

Message = Mapping[str, object]


def recognises(path: Path, head: bytes) -> bool:
    """Whether one of the first lines is, or starts like, a message or a conversation."""
    lines = head.removeprefix(records.BOM).split(b"\n")[:20]
    return any(_is_like_ours(line, is_cut=len(lines) == 1) for line in lines)


def _is_like_ours(line: bytes, *, is_cut: bool) -> bool:
    if not re.match(rb'\s*\{\s*"', line):
        return False
    has_role, has_content = b'"role"' in line, b'"content"' in line
    return (
        b'"messages"' in line or (has_role and has_content) or (is_cut and (has_role or has_content) and not line.rstrip().endswith(b"}"))
    )


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each message."""
    latest: dict[str, int | None] = {}  # the newest time known in each conversation: for messages that have none
    with file.path.open("rb") as handle:
        for record in records.lines(handle):
            if isinstance(record, Malformed):
                yield record
                continue
            try:
                line = records.as_object(records.parse(record.raw), "the line")
                if "messages" in line:
                    yield from _conversation(line, file, number=record.number, options=options)
                else:
                    said = _message(line, Source("chat", _ref(line, file), str(record.number)), latest=latest, options=options)
                    yield options.draft(said)
            except Usage as error:
                yield Malformed(f"line {record.number}", error.message)


def _conversation(line: Message, file: File, *, number: int, options: Options) -> Iterator[Draft | Malformed]:
    messages = line["messages"]
    if not isinstance(messages, list):
        raise Usage("the messages are not a list")
    ref = _ref(line, file, keys=("id", *IDS_OF_A_CONVERSATION), number=number)
    latest = {ref: _time(line, options)}
    for position, message in enumerate(messages, 1):
        try:
            said = _message(records.as_object(message, "the message"), Source("chat", ref, str(position)), latest=latest, options=options)
            yield options.draft(said)
        except Usage as error:
            yield Malformed(f"line {number}, message {position}", error.message)


def _message(message: Message, source: Source, *, latest: dict[str, int | None], options: Options) -> Said:
    said_at = _time(message, options)
    latest[source.ref] = said_at if said_at is not None else latest.get(source.ref)
    name = message.get("name")
    if name is not None and not isinstance(name, str):
        raise Usage("the name is not a text")
    return Said(said_text(message), source, role_of(message.get("role")), latest[source.ref], name or None)


def _time(record: Message, options: Options) -> int | None:
    return next((moment for key in TIMES if (moment := stamp(record.get(key), options.latest)) is not None), None)


def _ref(record: Message, file: File, *, keys: tuple[str, ...] = IDS_OF_A_CONVERSATION, number: int = 1) -> str:
    for key in keys:
        given = record.get(key)
        if (isinstance(given, str) and given) or type(given) is int:
            return clean_ref(str(given))
    return file.ref_of_stem if number == 1 else f"{file.ref_of_stem}/{number}"


def role_of(name: object) -> Role:
    """Return the role that a chat format names. Raises Usage."""
    if not isinstance(name, str) or name not in ROLES:
        raise Usage(f"the role is none of {', '.join(ROLES)}")
    return ROLES[name]


def said_text(message: Message) -> str:
    """Return the words of a message: of typed parts, those that are text."""
    return "\n".join(text_parts(message))


def text_parts(message: Message) -> list[str]:
    """Return the parts of a message that have words. Raises Usage."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return [content] if content else []
    if not isinstance(content, list):
        raise Usage("the content is neither a text nor a list of parts")
    return [text for part in content if (text := _text_of_part(part))]


def _text_of_part(part: object) -> str:
    if isinstance(part, str):
        return part
    kind = records.as_object(part, "a part of the content").get("type")
    if kind not in TEXT_PARTS:
        return ""
    text = records.as_object(part, "a part").get("text")
    value = text.get("value") if isinstance(text, dict) else text
    if not isinstance(value, str):
        raise Usage("a text part of the content has no text")
    return value


READER = Reader("openai-messages", recognises, read)
