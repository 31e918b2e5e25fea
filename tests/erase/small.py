"""What the tests of erasures share: a small memory of a few people, targets, and what is folded of a log without some entries."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from refold import files, folding, ingest, recipes
from refold.erase.model import Decision, Footprint, Mode, Reached, Request, Target
from refold.erase.prove import gathering_of
from refold.erase.run import run
from refold.errors import WriteFailed
from refold.fold.ground import fold_batch
from refold.keys.subjects import alias_tag, suppressed_alias
from refold.log.events import SubjectEntry
from refold.log.head import Head
from refold.memory import Memory
from refold.model import Draft, Event, EventId, Scope, Source, SubjectId
from refold.state.builder import Builder
from refold.state.generation import State
from refold.state.tables import TABLES
from refold.store import Places, Store, create, open_store
from refold.store import places as find_places
from tests.conftest import now
from tests.journal import CALLS
from tests.log import Disk

CANARY = "canary-7f3a"

# user, part, text, whom else it concerns
SAID = (
    ("ada", "1", "I live in Berlin.", ()),
    ("ruth", "2", f"I live in Oslo. My secret word is {CANARY}.", ()),
    ("ruth", "3", "My sister Ada works at Northwind.", ()),
    ("ada", "4", "My sister Ruth lives in Porto.", ("ruth",)),
    ("ben", "5", "I work at Halden Works.", ()),
    ("ben", "6", f"Ruth told me about {CANARY}.", ()),
    ("ruth", "7", "I like chess.", ()),
    ("ada", "8", "I like rye bread.", ()),
    ("ben", "9", "I live in Ghent.", ()),
)


def draft(user: str, part: str, text: str, others: Iterable[str] = ()) -> Draft:
    return Draft(
        text, Source("chat", "7", part), said_at=1_700_000_000_000_000, author=user, scope=Scope(user=user), subjects=tuple(others)
    )


def say(store: Store, *drafts: Draft) -> list[ingest.Added]:
    return ingest.add(store, drafts, now=now, random=os.urandom)


def filled(folder: Path, *, folded: int | None = None) -> Places:
    """Make a memory in which Ruth speaks, is spoken of with and without being declared; fold it after `folded` of the events."""
    places = find_places(folder / "store", folder / "vault", folder / "root", env={})
    drafts = [draft(*line) for line in SAID]
    with create(places, now=now, random=os.urandom) as store:
        for start in (0, 4):
            say(store, *drafts[start : (start + 4) if start == 0 else None])
            if folded is None or start < folded:
                fold(store)
    return places


def fold(store: Store) -> State:
    folding.fold(store, State.open(store), relations=recipes.relations(), recipe=recipes.search(), now=now)
    return State.open(store)


def person(store: Store, name: str) -> SubjectId:
    """Return the id under which somebody is known."""
    tag = alias_tag(store.keyring, name)
    found = store.log.tail.follow(*store.log.refresh(), None).subjects_of([tag])
    return found[tag]


def event(store: Store, part: str) -> EventId:
    """Return the id of the event of a part."""
    (found,) = [each for events in store.log.events() for each in events if each.source.part == part]
    return found.event_id


def target(store: Store, *names: str, parts: Collection[str] = (), mode: Mode = Mode.SHRED, suppress: bool = True) -> Target:
    """Return what erases people, with some events that mention them."""
    head: Head = store.log.refresh()[0]
    return Target(
        os.urandom(16),
        frozenset(person(store, name) for name in names),
        frozenset(event(store, part) for part in parts),
        frozenset(suppressed_alias(store.keyring, name) for name in names) if suppress else frozenset(),
        head.size,
        head.last_hash,
        mode,
    )


def erase(store: Store, aim: Target, **rest: object) -> Reached:
    return run(store, aim, now=now, **rest)  # ty: ignore[invalid-argument-type]


def footprint_of(store: Store, state: State, request: Request, aim: Target) -> Footprint:
    """Return what must not be found after an erasure, by a log that has it still."""
    gathering = gathering_of(store, state, request, aim)
    for events in store.log.events():
        gathering.read(events)
    return gathering.footprint


def ruth(store: Store, **rest: object) -> Target:
    """Return what erases Ruth, and what Ben said of her."""
    return target(store, "ruth", parts=("6",), **rest)  # ty: ignore[invalid-argument-type]


def approved(memory: Memory, user: str = "ruth") -> bytes:
    """Ask for the erasure of somebody, with all that others say of them, as far as its approval; return the request's id."""
    request_id = memory.plan_erasure(user_id=user, mentions=Decision.CONCERNS).target.request_id
    memory.erase_approve(request_id)
    return request_id


def read_anew(places: Places, work: Callable[[Store], object]) -> object:
    """Do something in the store as another process would see it."""
    with open_store(places) as store:
        return work(store)


def rows(state: State) -> dict[str, pa.Table]:
    """Return every table of a state, in its order."""
    return {name: state.table(name) for name in TABLES}


@dataclass(frozen=True)
class Heard:
    """All that a log held before an erasure, with what its events lend to the ids of facts."""

    events: list[tuple[Event, bytes]]
    subjects: list[SubjectEntry]

    @classmethod
    def of(cls, store: Store) -> Heard:
        store.log.refresh()
        events = [(event, store.log.fact_key(event)) for events in store.log.events() for event in events]
        return cls(events, [*store.log.subjects()])

    def reached(self, aim: Target) -> set[int]:
        """Return what is to go, by what was said: not by how an erasure finds it."""
        events = {event.seq for event, _ in self.events if event.event_id in aim.events or aim.subjects & set(event.subjects)}
        return events | {entry.seq for entry in self.subjects if entry.subject in aim.subjects}


def folded_without(store: Store, heard: Heard, gone: Collection[int]) -> State:
    """Fold what was heard, but for some entries, from nothing, under the keys that live now; it becomes the current state."""
    relations, search = recipes.relations(), recipes.search()
    builder = Builder(store, None, relations=folding.recipe_digest(relations), recipe=search, random=os.urandom)
    left = [(event, key) for event, key in heard.events if event.seq not in gone]
    folded = fold_batch([(event, key) for event, key in left if event.asserts], relations=relations)
    builder.add([event for event, _ in left], folded, subjects=[entry for entry in heard.subjects if entry.seq not in gone])
    return builder.publish(store.log.head, now=now).state


def everything_under(places: Places) -> bytes:
    """Return every byte at the three places, and every name."""
    tops = (places.store, places.vault, places.root)
    paths = [path for top in tops for path in sorted(top.rglob("*"))]
    return b"\0".join(str(path).encode() + b"\0" + (path.read_bytes() if path.is_file() else b"") for path in paths)


def stopped(memory: Memory, request_id: bytes, *, once: Path) -> None:
    """Run an erasure on a disk that is full once something is there."""

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        if name == "write" and once.exists():
            raise OSError(errno.ENOSPC, "full")
        return None if name == "fsync" else call()

    kept, files.os = files.os, Disk(step, calls=CALLS)  # ty: ignore[invalid-assignment]
    try:
        with pytest.raises(WriteFailed):
            memory.erase_run(request_id)
    finally:
        files.os = kept
