"""Graphiti's episodes as JSON: the list of them, or `{"episodes": [...]}`, as nodes of its graph or as they were handed to it.

An episode of source `text` is a document (`graphiti:UUID`). One of source `message` has a line per turn, `speaker: words` or, from its
server, `NAME(user): words`: where every line reads so, each is an event of its speaker; else the whole is one document, for nobody can
tell which colon names a speaker. One of source `json` is data that a tool handed over: it is found by search and states nothing.
It speaks at `valid_at` (`reference_time`); `created_at` is only when Graphiti read it. A group may be a user or not: it does not say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from refold.errors import Usage
from refold.imports.reader import clean_ref
from refold.migrate.documents import Document, listed, objects
from refold.migrate.record import Record, Unreadable, kept, moment, text
from refold.model import Role, Source

NAME = "graphiti"
CONTENT = ("content", "episode_body")
WORDS = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "agent": Role.ASSISTANT,
    "system": Role.SYSTEM,
}
_TYPED = re.compile(r"(?P<name>[^():\n]{0,60})\((?P<type>user|assistant|system)\):[ \t]?(?P<text>.*)")
_PLAIN = re.compile(r"(?P<name>[^\W\d_][\w .'@-]{0,40}):[ \t]+(?P<text>\S.*)")


def recognises(document: Document) -> bool:
    """Whether this is a list of episodes: objects with words and a source, a description or a time of the kind that episodes have."""
    marks = ("source_description", "valid_at", "reference_time", "entity_edges", "group_id")
    return any(any(key in each for key in CONTENT) and any(key in each for key in marks) for each in objects(document.value, "episodes"))


def read(document: Document, *, latest: int) -> Iterator[Record | Unreadable]:
    """Yield each episode, or each turn of one."""
    for number, each in enumerate(listed(document.value, "episodes"), 1):
        place = f"episode {number}"
        try:
            yield from _episode(each, place, number, latest=latest)
        except Usage as error:
            yield Unreadable(place, error.message)


def _episode(each: object, place: str, number: int, *, latest: int) -> Iterator[Record]:
    if not isinstance(each, dict):
        raise Usage("it is not a JSON object")
    said = text(each, *CONTENT)
    if said is None and not any(isinstance(each.get(key), str) for key in CONTENT):
        raise Usage("it has no content")
    kind = (text(each, "source", "type") or "text").removeprefix("EpisodeType.")
    if kind not in ("text", "message", "json"):
        raise Usage("its source is none of text, message, json")
    name = text(each, "name")
    whole = Record(
        place=place,
        text=said or "",
        source=Source("graphiti", clean_ref(text(each, "uuid") or name or str(number))),
        role=Role.TOOL if kind == "json" else Role.DOCUMENT,
        said_at=moment(each, "valid_at", "reference_time", latest=latest),
        group=text(each, "group_id"),
        asks_user=True,
        metadata=kept(name=name, description=text(each, "source_description"), group=text(each, "group_id")),
    )
    turns = _turns(whole.text) if kind == "message" else []
    if not turns:
        yield whole
    for at, (speaker, role, words) in enumerate(turns, 1):
        here = place if len(turns) == 1 else f"{place} turn {at}"
        yield replace(whole, place=here, text=words, role=role, author=speaker, source=replace(whole.source, part=str(at)))


def _turns(said: str) -> list[tuple[str | None, Role, str]]:
    """Return speaker, role and words of each turn; none where it cannot be told who said what."""
    lines = said.strip("\n").split("\n")
    if _TYPED.fullmatch(lines[0]):
        return [_typed(turn) for turn in _from_typed(lines)]
    found = [_PLAIN.fullmatch(line) for line in lines if line.strip()]
    if not found or not all(found):
        return []
    return [_plain(match) for match in found if match]


def _from_typed(lines: list[str]) -> list[str]:
    """Group lines into turns: what names no speaker goes on with the one before."""
    turns: list[str] = []
    for line in lines:
        if _TYPED.fullmatch(line):
            turns.append(line)
        else:
            turns[-1] += "\n" + line
    return turns


def _typed(turn: str) -> tuple[str | None, Role, str]:
    match = re.fullmatch(_TYPED.pattern, turn, re.DOTALL)
    assert match is not None
    role, name = WORDS[match["type"]], match["name"].strip()
    speaks = role is Role.USER and name and name.casefold() not in WORDS
    return name if speaks else None, role, match["text"]


def _plain(match: re.Match[str]) -> tuple[str | None, Role, str]:
    name = match["name"].strip()
    role = WORDS.get(name.casefold())
    return (None, role, match["text"]) if role else (name, Role.USER, match["text"])
