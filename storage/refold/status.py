"""Status: how a memory is, in numbers that a person reads every morning. No names, no content."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

from refold import journal, recipes
from refold.calls.totals import Totals
from refold.errors import Blocked, Corrupt
from refold.keys.subjects import alias_tag
from refold.log import stored
from refold.model import View
from refold.outside import clock
from refold.reading import RejectionCode, Standing
from refold.state import profiles
from refold.state.generation import State
from refold.state.sight import Sight
from refold.store import Places, Store

DECIDED_MAX = 2_000  # assertions


@dataclass(frozen=True, slots=True)
class Status:
    """How a memory is."""

    places: Places
    origin: str
    epoch: int
    custody: str  # what keeps the root
    fenced: bool
    entries: int  # of the log
    commits: int
    parts: int
    log_bytes: int
    recorded_until: int | None  # µs, the time of the newest commit; None: nothing was added yet
    generation: int
    absent: str | None  # why there is no state, where there is none
    folded: int  # entries
    unfolded: int
    pending: int  # events that are folded but for what a model would read out of them
    events: int  # folded
    sources: int
    subjects: int  # ids with an alias, folded
    named: int  # names that facts give somebody, and that are no subject's alias
    assertions: int
    standings: dict[str, int] | None  # how many facts stand how; None where there are too many to decide at once
    edges: int
    rejections: dict[str, int]  # by code
    profiles: dict[str, int]  # sentences that stand, and that were dropped, by why; pending counts profiles
    finding: str | None  # what is damaged in the state
    calls: Totals  # of language models, ever
    unfinished: int  # transactions that forbid changes
    incomplete_since: int | None  # the first entry that damage took for good: all that is derived from there on lacks it
    blocked: str | None = None  # why nothing is added, where the log was found damaged
    vectors: str = ""  # of which model, and at which host, where one makes them by the search recipe
    rerank: str = ""  # which model, and at which host, reranks what is found, where one does by the search recipe
    lost: tuple[int, int] | None = None  # entries [first, end) that the vault has seen, and that are not in the log any more
    behind: tuple[int, int] | None = None  # entries [first, end) that the store has, where this is a copy of it


def read(store: Store, state: State) -> Status:
    """Return the status of an open store and its state."""
    head, _ = store.log.refresh()
    counts = state.counts
    return Status(
        places=store.places,
        origin=store.origin,
        epoch=head.epoch,
        custody=store.vault.roots.custody,
        fenced=head.fence is not False,
        entries=head.size,
        commits=head.version,
        parts=len(head.parts),
        log_bytes=sum(part.size for part in head.parts),
        recorded_until=head.commit.time if head.size else None,
        generation=state.number,
        absent=None if state.absent is None else state.absent.value,
        folded=state.size,
        unfolded=head.size - state.size,
        pending=len(state.pending),
        events=counts["events"],
        sources=_distinct(state, "events", "source"),
        subjects=_distinct(state, "aliases", "subject"),
        named=_named(state),
        assertions=counts["assertions"],
        standings=_standings(state) if counts["assertions"] <= DECIDED_MAX else None,
        edges=counts["edges"] // 2,
        rejections=_rejections(state),
        profiles=profiles.counts(state),
        finding=None if state.finding is None else state.finding.message,
        incomplete_since=store.log.incomplete_since,
        blocked=_blocked(store),
        lost=store.log.lost,
        behind=store.log.behind,
        calls=_calls(store),
        vectors=_vectors(),
        rerank=_rerank(),
        unfinished=0 if journal.is_running(store.places) else sum(entry.forbids_changes for entry in journal.entries(store.places)),
    )


def _blocked(store: Store) -> str | None:
    """Return what an addition would be refused with, where the last verification found the log damaged."""
    try:
        stored.require_intact(store.vault.path, store.places.store)
        store.log.require_unchanged()
    except (Blocked, Corrupt) as error:
        return error.message
    return None


def _vectors() -> str:
    """Return which model makes vectors, and where the words are sent that it makes them of."""
    search = recipes.search().vectors
    if search is None or search.model is None:
        return ""
    from refold.fold.embedding import host

    return f"{search.model.maker} at {host(search.model)}"


def _rerank() -> str:
    """Return which model reranks, and where the words are sent of queries and of what is found for them."""
    recipe = recipes.search().rerank
    return "" if recipe is None else f"{recipe.maker} at {recipe.host}"


def _calls(store: Store) -> Totals:
    if store.calls is None:
        return Totals()
    from refold.calls.recordings import Recordings

    return Recordings(store, now=clock, random=os.urandom).totals()


def _standings(state: State) -> dict[str, int]:
    """Count how the facts of everybody stand, decided one entity after the other: so few need no SQL."""
    sight = Sight(state, View(), recipes.relations())
    entities = [component.entity for component in sight.components(state.table("assertions", ["mention"])["mention"].to_pylist())]
    found = Counter(stance.standing.value for stances in sight.stances_each(entities) for stance in stances)
    return {standing.value: found[standing.value] for standing in Standing if found[standing.value]}


def _distinct(state: State, table: str, column: str) -> int:
    return len(state.table(table, [column])[column].unique())


def _named(state: State) -> int:
    """Count the names by which facts know somebody whom nobody has declared: what is asked about them is found by search alone."""
    names = {name for name in state.table("mentions", ["name"])["name"].to_pylist() if name is not None}
    known = set(state.table("aliases", ["alias_tag"])["alias_tag"].to_pylist()) if names else set()
    keyring = state.store.keyring
    return sum(alias_tag(keyring, name) not in known for name in names)


def _rejections(state: State) -> dict[str, int]:
    codes = Counter(state.table("rejections", ["code"])["code"].to_pylist())
    return {RejectionCode(code).name.lower().replace("_", "-"): count for code, count in sorted(codes.items())}
