"""The memory.jsonl of MCP's reference memory server: a line per entity, with observations, and a line per relation.

Also the one object `{"entities": [...], "relations": [...]}` that the server answers with. Each observation is an event of its own,
`mcp:ENTITY#n`, under its entity as heading; a relation is the sentence that its three words make. The file tells no user and no time.
It tells by an entity's type whether it is a person, as far as the type is a known word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from refold.errors import Usage
from refold.imports.reader import clean_ref
from refold.migrate.documents import Document, listed, objects
from refold.migrate.record import Json, Record, Unreadable, kept, text
from refold.model import Source, normalise

NAME = "mcp"
KINDS = ("entity", "relation")
PEOPLE = frozenset({"person", "people", "human", "user", "individual"})
THINGS = frozenset(
    {
        "animal", "book", "city", "company", "component", "concept", "country", "date", "document", "event", "feature", "file", "film",
        "food", "goal", "language", "location", "organisation", "organization", "place", "preference", "product", "project", "repository",
        "software", "song", "task", "team", "technology", "tool", "topic",
    }
)  # fmt: skip


def recognises(document: Document) -> bool:
    """Whether a line is an entity or a relation, or the whole is the graph that the server answers with."""
    if _is_graph(document):
        return any("observations" in each for each in objects(document.value, "entities"))
    known = [line for _, line in document.lines if not isinstance(line, Unreadable) and line.get("type") in KINDS]
    return any("entityType" in line or "relationType" in line for line in known)


def read(document: Document, *, latest: int) -> Iterator[Record | Unreadable]:
    """Yield each observation and each relation."""
    lines = [*_lines(document)]
    types = {str(line.get("name")): _type(line) for _, line in lines if not isinstance(line, Unreadable) and line["type"] == "entity"}
    for place, line in lines:
        if isinstance(line, Unreadable):
            yield line
            continue
        try:
            yield from _observations(line, place) if line["type"] == "entity" else [_relation(line, place, types)]
        except Usage as error:
            yield Unreadable(place, error.message)


def _lines(document: Document) -> Iterator[tuple[str, Json | Unreadable]]:
    """Yield entities and relations, however they are written down."""
    if _is_graph(document):
        for kind, key in (("entity", "entities"), ("relation", "relations")):
            for number, each in enumerate(listed(document.value, key), 1):
                place = f"{kind} {number}"
                yield place, {**each, "type": kind} if isinstance(each, dict) else Unreadable(place, "it is not a JSON object")
        return
    for number, line in document.lines:
        place = f"line {number}"
        known = isinstance(line, Unreadable) or line.get("type") in KINDS
        yield place, line if known else Unreadable(place, "it is neither an entity nor a relation")


def _is_graph(document: Document) -> bool:
    """Whether the whole is one object: what the server answers with, not what it writes."""
    return isinstance(document.value, dict) and "type" not in document.value


def _type(entity: Json) -> str:
    kind = entity.get("entityType")
    return normalise(kind) if isinstance(kind, str) else ""


def _observations(entity: Json, place: str) -> Iterator[Record | Unreadable]:
    name, kind, observations = text(entity, "name"), _type(entity), entity.get("observations")
    if name is None or not isinstance(observations, list):
        raise Usage("an entity has a name and a list of observations")
    for number, said in enumerate(observations, 1):
        here = f"{place} observation {number}"
        if not isinstance(said, str):
            yield Unreadable(here, "the observation is not a text")
            continue
        yield Record(
            place=here,
            text=said,
            source=Source("mcp", clean_ref(name), str(number)),
            group=kind or None,
            subjects=(name,) if kind in PEOPLE else (),
            perhaps=() if kind in PEOPLE | THINGS else (name,),
            asks_user=True,
            metadata=kept(heading=name, entity_type=entity.get("entityType")),
        )


def _relation(line: Json, place: str, types: Mapping[str, str]) -> Record:
    start, how, end = text(line, "from"), text(line, "relationType"), text(line, "to")
    if start is None or how is None or end is None:
        raise Usage("a relation has a from, a relationType and a to")
    ends = dict.fromkeys((start, end))
    return Record(
        place=place,
        text=f"{start} {how} {end}",
        source=Source("mcp", clean_ref(start), clean_ref(how)),
        subjects=tuple(name for name in ends if types.get(name) in PEOPLE),
        perhaps=tuple(name for name in ends if types.get(name) not in PEOPLE | THINGS),
        asks_user=True,
        metadata=kept(heading=start),
    )
