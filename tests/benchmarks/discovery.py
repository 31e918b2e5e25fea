"""Finding whom an erasure is about: how soon, against folding the same log, and how well on what was planted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from refold import folding, recipes
from refold.erase.difference import diff
from refold.erase.find import concerning, find
from refold.erase.model import Selector, Target
from refold.model import AliasKind
from refold.state.generation import State
from tests.benchmarks import Row
from tests.benchmarks.corpus import big_store
from tests.erase.corpus import corpus
from tests.erase.score import folded, score

SIZES = {"small": (30_000, 300), "full": (1_000_000, 10_000)}  # events, people
ALIASES = (
    (AliasKind.HANDLE, "ada-0"),
    (AliasKind.NAME, "Ada Brandt"),
    (AliasKind.EMAIL, "ada.brandt@example.org"),
    (AliasKind.PHONE, "+49 170 555 1000"),
)


def now() -> int:
    return time.time_ns() // 1000


def rows(size: str) -> Iterator[Row]:
    events, people = SIZES[size]
    with TemporaryDirectory() as name:
        yield from speed(Path(name, "big"), events, people)
        yield from quality(Path(name, "planted"))


def speed(folder: Path, events: int, people: int) -> Iterator[Row]:
    """Search a log for one person, who has a first name that many are called by; and plan what their erasure changes."""
    store = big_store(folder, events, people=people)
    begun = time.perf_counter()
    folding.fold(store, State.open(store), relations=recipes.relations(), recipe=recipes.search(), now=now)
    full = time.perf_counter() - begun
    state = State.open(store)
    begun = time.perf_counter()
    found = find(store, state, Selector(aliases=ALIASES))
    searched = time.perf_counter() - begun
    target = Target(bytes(16), found.subjects, concerning(found), frozenset(), found.size, found.last_hash)
    begun = time.perf_counter()
    changes = diff(state, target)
    planned = time.perf_counter() - begun
    note = f"of {events:,} events, {people:,} people, {len(found.candidates):,} candidates; full fold {full:.1f} s"
    yield Row("finding one person in every event, of a full fold", searched / full, 0.25, note=note)
    yield Row("planning what changes for everybody, of a full fold", planned / full, 0.25, note=f"{changes.claims:,} statements go")
    state.close()
    store.close()


def quality(folder: Path) -> Iterator[Row]:
    """Search for everybody of the planted corpus."""
    made = corpus()
    memory, seqs = folded(folder, made)
    with memory:
        reached = score(memory, made, seqs)
    yield Row("recall on planted mentions", reached.recall, 1.0, at_least=True, note=f"{reached.planted:,} mentions")
    yield Row("precision on them, namesakes among them", reached.precision, note=f"{reached.proposed:,} candidates")
