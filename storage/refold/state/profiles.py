"""Profiles as a reader sees them: sentences that a model wrote about an entity, shown while all that they rest on may be seen and holds.

A profile is made from what one scope and one set of labels see, and of nothing else. So it may be seen by whoever may see both: there is
no event behind it that is hidden from them. A sentence goes, for one view, with any fact that it names and that does not hold there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from refold import recipes
from refold.fold.relations import Relations
from refold.model import View
from refold.reading import Claim, Fact, Fate, Profile, Sentence, Standing
from refold.state.facts import entities_named
from refold.state.generation import State
from refold.state.sight import Sight
from refold.state.tables import PROFILES

Row = dict[str, Any]


def profiles(state: State, view: View, *, entity: str | None = None, relations: Relations | None = None) -> list[Profile]:
    """Return what a model says of an entity, or of the view's user; nothing where neither is named."""
    named = entity or view.scope.user
    if named is None or not state.runs(PROFILES.name):
        return []
    sight = Sight(state, view, relations or recipes.relations())
    return [profile for of in entities_named(sight, named, first_person=entity is None) for profile in _of(sight, of)]


def standing(sight: Sight, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield those of some rows of the table that stand in a view: whose events are all seen, and whose premises hold."""
    held: dict[int, set[bytes]] = {}
    for row in rows:
        if row["fate"] != Fate.STANDS or not sight.visible.sees(
            row["scope"], row["audience"], seq=row["seq"], recorded_at=row["recorded_at"]
        ):
            continue
        entity = sight.component_of(row["mention"])
        if entity not in held:
            held[entity] = _held(sight, entity)
        if held[entity].issuperset(row["premises"]):
            yield row


def with_id(sight: Sight, prefix: bytes) -> list[Row]:
    """Return the rows of the sentences that a view sees and whose ids start with `prefix`."""
    rows = sight.state.table(PROFILES.name).to_pylist() if sight.state.runs(PROFILES.name) else []
    return list(standing(sight, (row for row in rows if row["fact_id"].startswith(prefix))))


def as_fact(row: Row, premises: Iterable[Claim]) -> Fact:
    """Return a sentence as a fact whose value it is; the premises are those that it names."""
    claims = list(premises)
    newest = max(claims, key=lambda claim: (claim.said_at, claim.seq))
    return Fact(
        fact_id=row["fact_id"],
        entity=row["entity"],
        relation="profile",
        value=row["text"],
        qualifier="",
        act=newest.act,
        modality=max(claim.modality for claim in claims),
        asserted_by="",
        said_at=newest.said_at,
        valid_from=None,
        valid_to=None,
        valid_precision=None,
        valid_source="",
        seq=max(claim.newest_seq for claim in claims),
        extractor=row["extractor"],
        support=tuple(dict.fromkeys((claim.event_id, span) for claim in claims for span in claim.spans)),
        subjects=tuple(sorted({subject for claim in claims for subject in claim.subjects})),
        standing=Standing.HOLDS,
        call_id=row["call_id"],
        premises=tuple(row["premises"]),
        depth=1,
    )


def counts(state: State) -> dict[str, int]:
    """Return how many sentences stand, or were dropped and why; pending counts profiles."""
    if not state.runs(PROFILES.name):
        return {}
    fates = Counter(Fate(fate) for fate in state.table(PROFILES.name, ["fate"])["fate"].to_pylist())
    return {fate.written: fates[fate] for fate in Fate if fates[fate]}


def pending(state: State) -> int:
    """Return how many profiles a model has not answered about yet."""
    return counts(state).get(Fate.PENDING.written, 0)


def _of(sight: Sight, entity: int) -> Iterator[Profile]:
    found = sight.state.lookup(PROFILES.name, list(sight.mentions_of(entity))).to_pylist()
    rows = sorted(standing(sight, found), key=lambda row: (*_made(row), row["place"]))
    for _, group in groupby(rows, key=_made):
        said = list(group)
        sentences = tuple(Sentence(row["fact_id"], row["text"], tuple(row["premises"])) for row in said)
        first = said[0]
        yield Profile(first["entity"], sentences, first["extractor"], first["call_id"], first["told"], first["held"])


def _made(row: Row) -> tuple[int, int, int]:
    return row["mention"], row["scope"], row["audience"]


def _held(sight: Sight, entity: int) -> set[bytes]:
    """Return the sayings of all facts about an entity that hold and that nobody disputes."""
    stances = (stance for stance in sight.stances(entity) if stance.standing is Standing.HOLDS and not stance.contested)
    return {claim.fact_id for stance in stances for claim in stance.sayings}
