"""Stores with something in them, folded by hand: what the tests of the state start from."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from refold import ingest, search_recipe, settings
from refold.model import Act, Draft, Event, Mention, Modality, Scope, Source, Validity
from refold.reading import AliasEdge, Assertion, Claim, Folded, Rejection, RejectionCode
from refold.search_recipe import Recipe
from refold.state.builder import Builder, Published
from refold.state.claims import claims
from refold.state.generation import State
from refold.state.tables import PROFILES
from refold.store import Store, create
from refold.store import places as find_places

RELATIONS = bytes(32)
NOW = 1_750_000_000_000_000
DAY = 86_400_000_000

Fold = Callable[[Event], Folded]


@contextmanager
def a_store() -> Generator[Store]:
    """A fresh store, for tests that need one for each example."""
    ticks = itertools.count(NOW)
    with TemporaryDirectory() as folder:
        where = find_places(*(Path(folder) / name for name in ("store", "vault", "root")), env={})
        with create(where, now=lambda: next(ticks), random=os.urandom) as store:
            yield store


def nothing(event: Event) -> Folded:
    return Folded()


def add(store: Store, drafts: Iterable[Draft]) -> None:
    ticks = itertools.count(NOW)
    ingest.add(store, list(drafts), now=lambda: next(ticks), random=os.urandom)


def say(user: str, text: str, *, at: str = "", audience: tuple[str, ...] = (), day: int = 0) -> Draft:
    """One thing that a user says in their chat."""
    return Draft(text, source=Source("chat", user, at), said_at=NOW - 1000 * DAY + day * DAY, scope=Scope(user=user), audience=audience)


def builder(store: Store, base: State | None = None, *, recipe: Recipe | None = None, **options: Any) -> Builder:
    return Builder(store, base, relations=RELATIONS, recipe=recipe or search_recipe.shipped(), **options)


def with_vectors() -> Recipe:
    """The shipped recipe of search, with vectors."""
    return search_recipe.of(settings.text("search.toml").replace("use = false", "use = true"))


def fold(
    store: Store,
    base: State | None = None,
    *,
    end: int | None = None,
    by: Fold = nothing,
    batch: int = 1000,
    later: int = 0,
    profiles: pa.Table | None = None,
    **options: Any,
) -> Published:
    """Fold what a base does not have yet, up to `end`, and publish it; with `profiles` in place of those of the base."""
    head = store.log.head
    first, end = base.size if base else 0, head.size if end is None else end
    build = builder(store, base, **options)
    for start in range(first, end, batch):
        for events, subjects in store.log.entries(start, min(end, start + batch)):
            build.add(events, joined(map(by, events)), subjects=subjects)
    if profiles is not None:
        build.put_profiles(profiles)
    return build.publish(until(store, end), now=lambda: NOW + later)


@dataclass(frozen=True)
class Until:
    """A point of the log as a builder is told of it."""

    size: int
    last_hash: bytes


def until(store: Store, end: int) -> Until:
    rows = list(store.log.rows(end - 1, end)) if end else []
    return Until(end, rows[-1].batch.column("entry_hash")[-1].as_py() if rows else store.log.head.last_hash)


def joined(parts: Iterable[Folded]) -> Folded:
    every = list(parts)
    return Folded(
        tuple(one for part in every for one in part.assertions),
        tuple(one for part in every for one in part.edges),
        tuple(one for part in every for one in part.rejections),
    )


def told(*rows: tuple[int, str]) -> pa.Table:
    """Return the table of profiles: for each entity a sentence that stands, resting on nothing."""
    filled = {"text": [text for _, text in rows], "mention": [mention for mention, _ in rows]}
    empty = {field.name: pa.array([_nothing(field.type)] * len(rows), field.type) for field in PROFILES.schema}
    return pa.table([filled.get(name, empty[name]) for name in PROFILES.schema.names], schema=PROFILES.schema)


def _nothing(kind: pa.DataType) -> object:
    if pa.types.is_list(kind):
        return []
    return "" if pa.types.is_string(kind) else bytes(16) if pa.types.is_fixed_size_binary(kind) else 0


def mentions_each_word(event: Event) -> Folded:
    """A stand-in for extraction: the speaker likes every word, is the same as every name, and every question is refused."""
    owner = event.speaker.hex() if event.speaker else event.source.document
    me = Mention(owner)
    words = [(word, event.text.index(word)) for word in dict.fromkeys(event.text.split())]
    spans = [(word, (at, at + len(word))) for word, at in words]
    said = tuple(_likes(event, me, word, span) for word, span in spans)
    edges = tuple(_same(event, me, Mention(owner, word.lower()), span) for word, span in spans if word.istitle())
    refused = (Rejection(event.seq, "likes", RejectionCode.BAD_SHAPE),) if event.text.endswith("?") else ()
    return Folded(said, edges, refused)


def _likes(event: Event, me: Mention, word: str, span: tuple[int, int]) -> Assertion:
    return Assertion(
        fact_id=(event.event_id + word.encode())[-16:].rjust(16, b"\0"),
        entity=me,
        entity_text=event.speaker_name,
        relation="likes" if len(word) % 2 else "name",
        qualifier="",
        value=word,
        value_mention=Mention(me.owner, word.lower()) if word.istitle() else None,
        act=Act.DENY if word.startswith("no") else Act.SAY,
        modality=Modality.ASSERTED,
        asserted_by=me,
        rank=2,
        said_at=event.said_at,
        source=event.source.document,
        part=event.source.part,
        seq=event.seq,
        event_id=event.event_id,
        spans=(span,),
        span=span,
        validity=Validity(start=event.said_at, words="now") if "now" in word else Validity(),
        extractor="words/1",
    )


def _same(event: Event, a: Mention, b: Mention, span: tuple[int, int]) -> AliasEdge:
    return AliasEdge(a, b, Act.SAY, a, event.said_at, event.source.document, event.source.part, event.seq, event.event_id, (span,))


def every_claim(state: State) -> list[Claim]:
    """Return what was ever stated, in the order of the table."""
    return claims(state.table("assertions"))


def rows(state: State, *, without: Sequence[str] = ()) -> dict[str, list[dict[str, object]]]:
    """Return all logical rows of a state."""
    from refold.state.tables import TABLES

    return {name: state.table(name).to_pylist() for name in TABLES if name not in without}
