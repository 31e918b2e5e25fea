"""The conversations.json of a Claude export: a list of conversations, each a list of messages.

The source is `chat:REF#PART`: REF is the conversation's id, PART the message's number in it. Of what a message is made of, the text
counts: what the assistant thought and searched is not said. Files that were attached are counted, and not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from refold.errors import Usage
from refold.imports import conversations, records
from refold.imports.openai_messages import said_text
from refold.imports.reader import File, Malformed, Options, Reader, Said, attached, clean_ref
from refold.imports.stamps import stamp
from refold.model import Draft, Role, Source

SENDERS = {"human": Role.USER, "assistant": Role.ASSISTANT}


def recognises(path: Path, head: bytes) -> bool:
    """Whether this starts as a list of conversations, or as one conversation."""
    start = head.removeprefix(records.BOM).lstrip()
    return bool(re.match(rb'(\[\s*)?\{\s*"', start) and re.search(rb'"chat_messages"\s*:', start))


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each message of each conversation; one conversation is in memory at a time."""
    return conversations.read(file, options, each=_conversation)


def _conversation(conversation: Mapping[str, object], file: File, *, number: int, options: Options) -> Iterator[Draft | Malformed]:
    messages, given, name = conversation.get("chat_messages"), conversation.get("uuid"), conversation.get("name")
    if not isinstance(messages, list):
        raise Usage("the messages are not a list")
    ref = clean_ref(given) if isinstance(given, str) and given else f"{file.ref_of_stem}/{number}"
    metadata: dict[str, object] = {"title": name} if isinstance(name, str) and name else {}
    latest = stamp(conversation.get("created_at"), options.latest)  # the newest time known: for messages that have none
    for position, message in enumerate(messages, 1):
        try:
            told = records.as_object(message, "the message")
            said_at = stamp(told.get("created_at"), options.latest)
            latest = latest if said_at is None else said_at
            about = metadata | attached(told.get("attachments"), told.get("files"))
            yield options.draft(Said(_text(told), Source("chat", ref, str(position)), _role(told.get("sender")), latest, metadata=about))
        except Usage as error:
            yield Malformed(f"conversation {number}, message {position}", error.message)


def _role(sender: object) -> Role:
    if not isinstance(sender, str) or sender not in SENDERS:
        raise Usage(f"the sender is none of {', '.join(SENDERS)}")
    return SENDERS[sender]


def _text(message: Mapping[str, object]) -> str:
    """Return the words: of the parts that are text, and where there are none, of the message itself. Raises Usage."""
    said = said_text(message)
    text = message.get("text")
    if not isinstance(text, str | None):
        raise Usage("the text is not a text")
    return said or text or ""


READER = Reader("claude-export", recognises, read)
