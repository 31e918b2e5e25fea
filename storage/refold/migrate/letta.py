"""Letta's agent file (.af): its agents with their messages, and the blocks of their memory.

Two forms: agents, blocks and messages in lists of the file, joined by ids; or, older, one agent with `core_memory` and `messages`.
The file names the agent, never the user that it spoke with. A block is a note that the agent keeps, said by it as a document of its
own (`letta:AGENT#LABEL`); a message has the speaker of its role. What Letta wraps as JSON is unwrapped: the words of the user are
theirs, its own heartbeats and alerts, which come in the user's role, are the system's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from refold.errors import Usage
from refold.imports.openai_messages import ROLES, said_text
from refold.imports.reader import clean_ref
from refold.migrate.documents import Document, objects
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
    assert isinstance(value, dict)
    if "core_memory" in value:
        yield from _agent(value, "", value["core_memory"], latest=latest)
        return
    blocks = {block.get("id"): block for block in objects(value, "blocks")}
    met: set[object] = set()
    for number, agent in enumerate(objects(value, "agents"), 1):
        ids = agent.get("block_ids")
        known = [each for each in ids if isinstance(each, str)] if isinstance(ids, list) else []
        met.update(known)
        own = agent.get("memory_blocks")
        yield from _agent(
            agent,
            f"agent {number} ",
            [*(own if isinstance(own, list) else []), *(blocks.get(each) for each in known)],
            latest=latest,
        )
    for number, (known, block) in enumerate(blocks.items(), 1):
        if known not in met:
            yield from _attempt(lambda place, block=block: _block(block, place, "shared", None, latest=latest), f"block {number}")


def _agent(agent: Json, where: str, blocks: object, *, latest: int) -> Iterator[Record | Unreadable]:
    name = text(agent, "name")
    ref = clean_ref(name or str(agent.get("id") or "agent"))
    for number, block in enumerate(blocks if isinstance(blocks, list) else (), 1):
        yield from _attempt(lambda place, block=block: _block(block, place, ref, name, latest=latest), f"{where}block {number}")
    messages = agent.get("messages")
    for number, message in enumerate(messages if isinstance(messages, list) else (), 1):
        yield from _attempt(
            lambda place, message=message, number=number: _message(message, place, Source("letta", ref, str(number)), name, latest=latest),
            f"{where}message {number}",
        )


def _attempt(read_one, place: str) -> Iterator[Record | Unreadable]:
    try:
        yield read_one(place)
    except Usage as error:
        yield Unreadable(place, error.message)


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
    role = message.get("role")
    if role not in ROLES and role != "approval":
        raise Usage(f"the role is none of {', '.join(ROLES)}")
    said, who, speaker = _unwrapped(said_text(message), ROLES.get(str(role), Role.TOOL), text(message, "name"))
    if who is Role.ASSISTANT:
        said = _sent(message) or said
    return Record(
        place=place,
        text=said,
        source=source,
        role=who,
        said_at=moment(message, "created_at", latest=latest),
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
