"""The conversations.json of a ChatGPT export: a list of conversations, each a tree of messages.

The source is `chat:REF#PART`: REF is the conversation's id, PART the depth of the message in its tree. Wherever a message was edited or
answered again, the tree has a second branch; its parts carry the id of the message that opened it: `7/3f2a9c1d`. Neither changes when
the tree grows, whichever branch is the current one, so that a later export of the same conversation adds only what is new. What does
not lie between current_node and the root is kept, flagged `branch: abandoned`. Files that were attached are counted, and not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from refold.errors import Usage
from refold.imports import conversations, records
from refold.imports.openai_messages import role_of
from refold.imports.reader import File, Malformed, Options, Reader, Said, attached, clean_ref
from refold.imports.stamps import stamp
from refold.model import Draft, Source

Json = Mapping[str, object]
ID_CHARACTERS_MAX = 64


class Place(NamedTuple):
    """Where a node stands in the tree."""

    node: str
    depth: int
    branch: str  # the node that opened it; "" for the first
    said_at: int | None  # of the message, or of the nearest one above that has a time

    @property
    def part(self) -> str:
        return f"{self.depth}/{clean_ref(self.branch[:ID_CHARACTERS_MAX])}" if self.branch else str(self.depth)


def recognises(path: Path, head: bytes) -> bool:
    """Whether this starts as a list of conversations, or as one conversation."""
    start = head.removeprefix(records.BOM).lstrip()
    if re.match(rb'(\[\s*)?\{\s*"', start):
        return bool(re.search(rb'"mapping"\s*:', start))
    return path.name == "conversations.json" and start.startswith(b"[")


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each message of each conversation; one conversation is in memory at a time."""
    return conversations.read(file, options, each=_conversation)


def _conversation(conversation: Json, file: File, *, number: int, options: Options) -> Iterator[Draft | Malformed]:
    nodes = _nodes(conversation)
    ref = _ref(conversation, file, number=number)
    current = _current(nodes, conversation.get("current_node"))
    title = conversation.get("title")
    shared: dict[str, object] = {"title": title} if isinstance(title, str) and title else {}
    reached = 0
    created = stamp(conversation.get("create_time"), options.latest)
    for place in _places(nodes, created=created, latest=options.latest):
        reached += 1
        metadata = shared | ({"branch": "abandoned"} if current and place.node not in current else {})
        try:
            message = nodes[place.node].get("message")
            if message is not None:
                said = _said(records.as_object(message, "the message"), place, ref=ref, latest=options.latest)
                yield options.draft(replace(said, metadata=metadata | said.metadata))
        except Usage as error:
            yield Malformed(f"conversation {number}, message {place.part}", error.message)
    if reached < len(nodes):
        yield Malformed(f"conversation {number}", f"{len(nodes) - reached} of its messages hang together in a circle")


def _nodes(conversation: Json) -> dict[str, Json]:
    mapping = records.as_object(conversation.get("mapping"), "the mapping of the conversation")
    return {name: records.as_object(node, "a node of the conversation") for name, node in mapping.items()}


def _ref(conversation: Json, file: File, *, number: int) -> str:
    for key in ("conversation_id", "id"):
        given = conversation.get(key)
        if isinstance(given, str) and given:
            return clean_ref(given)
    return f"{file.ref_of_stem}/{number}"


def _current(nodes: Mapping[str, Json], name: object) -> set[str]:
    """Return the nodes from the current one up to the root; none where the export does not say which is current."""
    path: set[str] = set()
    while isinstance(name, str) and name in nodes and name not in path:
        path.add(name)
        name = nodes[name].get("parent")
    return path


def _places(nodes: Mapping[str, Json], *, created: int | None, latest: int | None) -> Iterator[Place]:
    """Walk the tree from its roots, a branch to its end before the next one."""
    children = _children(nodes)
    waiting = [Place(root, 0, "" if first else root, created) for root, first in _first_last(children[None])]
    while waiting:
        place = waiting.pop()
        place = place._replace(said_at=_time(nodes[place.node], place.said_at, latest=latest))
        yield place
        below = _first_last(children.get(place.node, ()))
        waiting += [Place(child, place.depth + 1, place.branch if first else child, place.said_at) for child, first in below]


def _first_last(siblings: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield siblings backwards, as a stack wants them, and whether each is the first."""
    return ((name, at == 0) for at, name in reversed([*enumerate(siblings)]))


def _children(nodes: Mapping[str, Json]) -> dict[str | None, list[str]]:
    """Return the children of each node, in the order in which its own list has them; under None the roots."""
    order = {child: place for node in nodes.values() for place, child in enumerate(_names(node.get("children")))}
    children: dict[str | None, list[str]] = {None: []}
    for name, node in nodes.items():
        parent = node.get("parent")
        children.setdefault(parent if isinstance(parent, str) and parent in nodes else None, []).append(name)
    for siblings in children.values():
        siblings.sort(key=lambda name: order.get(name, len(nodes)))
    return children


def _names(value: object) -> Sequence[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _time(node: Json, known: int | None, *, latest: int | None) -> int | None:
    message = node.get("message")
    try:
        own = stamp(message.get("create_time"), latest) if isinstance(message, dict) else None
    except Usage:
        own = None  # the message itself is refused for it below
    return known if own is None else own


def _said(message: Json, place: Place, *, ref: str, latest: int | None) -> Said:
    author = records.as_object(message.get("author"), "the author of the message")
    stamp(message.get("create_time"), latest)
    name = author.get("name")
    known = name if isinstance(name, str) and name else None
    about = message.get("metadata")
    files = attached(about.get("attachments")) if isinstance(about, dict) else {}
    return Said(_text(message), Source("chat", ref, place.part), role_of(author.get("role")), place.said_at, known, files)


def _text(message: Json) -> str:
    """Return the words of a message: of several parts, those that are or carry text; of what the export hides, none."""
    about = message.get("metadata")
    if isinstance(about, dict) and about.get("is_visually_hidden_from_conversation") is True:
        return ""
    content = message.get("content")
    if content is None:
        return ""
    content = records.as_object(content, "the content of the message")
    parts = content.get("parts")
    if parts is None:
        text = content.get("text")
        if not isinstance(text, str | None):
            raise Usage("the text of the message is not a text")
        return text or ""
    if not isinstance(parts, list):
        raise Usage("the parts of the message are not a list")
    return "\n".join(text for part in parts if isinstance(text := part.get("text") if isinstance(part, dict) else part, str) and text)


READER = Reader("chatgpt-export", recognises, read)
