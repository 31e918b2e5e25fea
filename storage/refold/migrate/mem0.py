"""mem0's memories, as its `get_all` and its exports give them: `{"results": [...]}`, `{"memories": [...]}` or the bare list.

A memory is a sentence that a model derived from what somebody said, and the words it was derived from are gone. So it is a document of
mem0's own (`mem0:ID`) in the memory of the user it names. Only what mem0 kept as it was said carries a role, and has that speaker.
The text as it stands was written at `updated_at`. The edges of its graph store (`relations`) tell neither user nor time. Its service gives
a list by pages (`count`, `next`): what the others hold is told to be missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from refold.errors import Usage
from refold.imports.openai_messages import ROLES
from refold.imports.reader import clean_ref
from refold.migrate.documents import Document, listed, objects
from refold.migrate.record import Record, Unreadable, kept, moment, text
from refold.model import Role, Source

NAME = "mem0"
LISTS = ("results", "memories")


def recognises(document: Document) -> bool:
    """Whether this is a list of memories: objects with an id and a `memory`."""
    return any("memory" in each and "id" in each for each in objects(document.value, *LISTS)) or document.value == {"results": []}


def read(document: Document, *, latest: int) -> Iterator[Record | Unreadable]:
    """Yield each memory, and each edge of the graph."""
    for number, each in enumerate(listed(document.value, *LISTS), 1):
        place = f"result {number}"
        try:
            yield _memory(each, place, latest=latest)
        except Usage as error:
            yield Unreadable(place, error.message)
    yield from _other_pages(document.value)
    edges = listed(document.value, "relations") if isinstance(document.value, dict) else []
    for number, each in enumerate(edges, 1):
        place = f"relation {number}"
        try:
            yield _edge(each, place, number)
        except Usage as error:
            yield Unreadable(place, error.message)


def _other_pages(value: object) -> Iterator[Unreadable]:
    """Yield what says that this is one page of a list."""
    if not isinstance(value, dict):
        return
    here, count = len(listed(value, *LISTS)), value.get("count")
    of = f" of {count}" if isinstance(count, int) and not isinstance(count, bool) and count > here else ""
    if of or value.get("next") or value.get("previous"):
        yield Unreadable("other pages", f"this is one page, with {here}{of} memories: put the results of all pages into one list")


def _memory(each: object, place: str, *, latest: int) -> Record:
    if not isinstance(each, dict):
        raise Usage("it is not a JSON object")
    known = each.get("id")
    if not isinstance(known, str | int) or isinstance(known, bool) or known == "":
        raise Usage("it has no id")
    said = text(each, "memory")
    if said is None and not isinstance(each.get("memory"), str):
        raise Usage("it has no memory")
    role = _role(text(each, "role"))
    user, agent, run = text(each, "user_id"), text(each, "agent_id"), text(each, "run_id")
    metadata = each.get("metadata")
    return Record(
        place=place,
        text=said or "",
        source=Source("mem0", clean_ref(str(known))),
        role=role,
        said_at=moment(each, "updated_at", "created_at", latest=latest),
        user=user,
        agent=agent,
        run=run,
        author=text(each, "actor_id") if role is not Role.DOCUMENT else None,
        asks_user=user is agent is run is None,
        metadata=kept(of_mem0=metadata, categories=each.get("categories"), actor=text(each, "actor_id"), created_at=each.get("created_at")),
    )


def _role(name: str | None) -> Role:
    """Return who speaks: mem0 itself, unless it kept the words of somebody. Raises Usage."""
    if name is None:
        return Role.DOCUMENT
    if name not in ROLES:
        raise Usage(f"its role is none of {', '.join(ROLES)}")
    return ROLES[name]


def _edge(each: object, place: str, number: int) -> Record:
    if not isinstance(each, dict):
        raise Usage("it is not a JSON object")
    start, how, end = text(each, "source"), text(each, "relationship", "relation"), text(each, "target", "destination")
    if start is None or how is None or end is None:
        raise Usage("it has no source, relationship or target")
    return Record(
        place=place, text=f"{start} {how} {end}", source=Source("mem0", "relations", str(number)), perhaps=(start, end), asks_user=True
    )
