"""Letta's agent file (.af): its agents with their messages, and the blocks of their memory.

Two forms: agents, blocks and messages in lists of the file, joined by ids; or, older, one agent with `core_memory` and `messages`.
The file names the agent, never the user that it spoke with. A block is a note that the agent keeps, said by it as a document of its
own (`letta:AGENT#LABEL`); a message has the speaker of its role. What Letta wraps as JSON is unwrapped: the words of the user are
theirs, its own heartbeats and alerts, which come in the user's role, are the system's.

An export holds the newest messages only, so the part of a message is its time and not its number: a later export of the same agent
adds only what is new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from refold import times
from refold.errors import Usage
from refold.imports.openai_messages import ROLES, said_text
from refold.imports.reader import clean_ref
from refold.migrate.documents import Document, listed, objects
from refold.migrate.record import Json, Record, Unreadable, kept, moment, text
from refold.model import Role, Source

NAME = "letta"


def recognises(document: Document) -> bool:
    """Whether this is an agent file of either form."""
    value = document.value
    if not isinstance(value, dict):
        return False
    one = isinstance(value.get("core_memory"), list) and isinstance(value.get("messages"), list)
    return one or (isinstance(value.get("blocks"), list) and any("messages" in agent for agent in objects(value, "agents")))


def read(document: Document, *, latest: int) -> Iterator[Record | Unreadable]:
    """Yield the blocks and the messages of each agent; a block that several agents share is said by each of them."""
    value = document.value
    if isinstance(value, dict) and "core_memory" in value:
        yield from _agent(value, "", listed(value, "core_memory"), latest=latest)
        return
    blocks = {str(block.get("id")): block for block in objects(value, "blocks")}
    met: set[str] = set()
    for number, agent in enumerate(listed(value, "agents"), 1):
        if not isinstance(agent, dict):
            yield Unreadable(f"agent {number}", "it is not a JSON object")
            continue
        ids = [str(each) for each in listed(agent, "block_ids")]
        met.update(ids)
        own = [*listed(agent, "memory_blocks"), *(blocks.get(each) for each in ids)]
        yield from _agent(agent, f"agent {number} ", own, latest=latest)
    for number, block in enumerate(listed(value, "blocks"), 1):
        if not isinstance(block, dict) or str(block.get("id")) not in met:
            yield _attempt(f"block {number}", lambda place, block=block: _block(block, place, "shared", None, latest=latest))


def _agent(agent: Json, where: str, blocks: list[object], *, latest: int) -> Iterator[Record | Unreadable]:
    given = agent.get("name")
    name = given if isinstance(given, str) and given.strip() else None
    ref = clean_ref(name or str(agent.get("id") or "agent"))
    for number, block in enumerate(blocks, 1):
        yield _attempt(f"{where}block {number}", lambda place, block=block: _block(block, place, ref, name, latest=latest))
    for number, message in enumerate(listed(agent, "messages"), 1):
        source = Source("letta", ref, str(number))
        yield _attempt(
            f"{where}message {number}", lambda place, message=message, source=source: _message(message, place, source, name, latest=latest)
        )


def _attempt(place: str, read_one: Callable[[str], Record]) -> Record | Unreadable:
    try:
        return read_one(place)
    except Usage as error:
        return Unreadable(place, error.message)


def _block(block: object, place: str, ref: str, agent: str | None, *, latest: int) -> Record:
    if not isinstance(block, dict) or not isinstance(block.get("value"), str):
        raise Usage("a block is not there, or has no value")
    label = text(block, "label") or "block"
    return Record(
        place=place,
        text=block["value"].strip(),
        source=Source("letta", ref, clean_ref(label)),
        said_at=moment(block, "updated_at", "created_at", latest=latest),
        agent=agent,
        asks_user=True,
        metadata=kept(label=label),
    )


def _message(message: object, place: str, source: Source, agent: str | None, *, latest: int) -> Record:
    if not isinstance(message, dict):
        raise Usage("the message is not a JSON object")
    role = text(message, "role")
    if role not in ROLES and role != "approval":
        raise Usage(f"the role is none of {', '.join(ROLES)}")
    said_at = moment(message, "created_at", latest=latest)
    said, who, speaker = _unwrapped(said_text(message), ROLES.get(role, Role.TOOL), text(message, "name"))
    if who is Role.ASSISTANT:
        said = _sent(message) or said
    return Record(
        place=place,
        text=said,
        source=source if said_at is None else replace(source, part=times.iso(said_at)),
        role=who,
        said_at=said_at,
        agent=agent,
        author=speaker if who is Role.USER else None,
        asks_user=True,
        metadata=kept(name=speaker if who is not Role.USER else None),
    )


def _unwrapped(said: str, role: Role, name: str | None) -> tuple[str, Role, str | None]:
    """Return the words of a message out of the JSON that Letta wraps them in, and whose they are."""
    wrapped = _object(said)
    kind, inside = wrapped.get("type"), wrapped.get("message")
    if role is Role.USER and isinstance(kind, str):
        speaker = wrapped.get("name")
        if kind == "user_message" and isinstance(inside, str):
            return inside, role, speaker if isinstance(speaker, str) and speaker else name
        return inside if isinstance(inside, str) else "", Role.SYSTEM, None
    if role is Role.TOOL and "status" in wrapped and isinstance(inside, str):
        return inside, role, name
    return said, role, name


def _sent(message: Json) -> str:
    """Return what an agent said aloud by its tool `send_message`; the text beside it is what it thought."""
    calls = [call.get("function") for call in objects(message, "tool_calls")]
    spoken = [_object(call.get("arguments")) for call in calls if isinstance(call, dict) and call.get("name") == "send_message"]
    return "\n".join(words for each in spoken if isinstance(words := each.get("message"), str))


def _object(raw: object) -> Json:
    try:
        value = json.loads(raw) if isinstance(raw, str) and raw.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
