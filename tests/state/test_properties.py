"""The fold over a real log and the shipped vocabulary, as properties: what was said decides, not when it came in or in how many goes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from refold import folding, ingest, recipes
from refold.model import Draft, Role, Scope, Source, View
from refold.state.facts import facts
from refold.state.generation import State
from refold.store import Store
from tests.erase.small import Heard, folded_without
from tests.journal import unsynced
from tests.log import blank
from tests.recover.alice import EXHAUSTIVE
from tests.state import made
from tests.state.made import DAY, NOW, rows

EVERYTHING = View()
EXAMPLES = 100 if EXHAUSTIVE else 6
SAID = (
    "I live in Berlin.",
    "I've been living in Munich since 2023.",
    "I don't live in Berlin.",
    "I work at Siemens.",
    "I quit my job.",
    "I like tea.",
    "I don't like tea any more.",
    "My sister is called Ruth.",
    "My sister Ruth lives in Lyon.",
    "Ruth, also known as Ruthie, works at Acme.",
    "Ben told me that Ruth lives in Turin.",
    "She likes jazz.",
    "Perhaps I will move to Oslo next year.",
    "Does Ruth live in Paris?",
)
STATEMENT = st.tuples(st.sampled_from(("ada", "ben")), st.sampled_from(("7", "8")), st.sampled_from(SAID), st.booleans())
STATEMENTS = st.lists(STATEMENT, min_size=1, max_size=10)


@contextmanager
def a_store() -> Generator[Store]:
    with unsynced(), made.a_store() as store:
        yield store


def drafts(statements: Sequence[tuple[str, str, str, bool]]) -> list[Draft]:
    """Return what is said, no two things at one time or place; some only to the family, and every fourth thing in a document."""
    every = []
    for at, (user, chat, text, private) in enumerate(statements):
        said = Draft(text, Source("chat", chat, str(at)), NOW + (at - 1000) * DAY, scope=Scope(user), audience=("family",) * private)
        written = Draft(f"Owner: {user}\nStatus: {chat}", Source("doc", "plan", f"p{at}"), said.said_at, role=Role.DOCUMENT)
        every.append(written if at % 4 == 3 else said)
    return every


def say(store: Store, said: Sequence[Draft]) -> None:
    ingest.add(store, said, now=lambda: NOW, random=os.urandom)


def fold(store: Store, *, full: bool = False) -> State:
    folding.fold(store, State.open(store), relations=recipes.relations(), recipe=recipes.search(), full=full, now=lambda: NOW)
    return State.open(store)


def told(store: Store) -> Counter[str]:
    """Return every fact, of everybody in whatever standing and of each user, without ids, keys and sequence numbers."""
    state = fold(store)
    every = facts(state, store.log, EVERYTHING, all=True)
    for user in ("ada", "ben"):
        every += facts(state, store.log, View(Scope(user=user)), history=True)
    bare = {fact.fact_id: replace(fact, seq=0, fact_id=b"", support=(), subjects=(), premises=()) for fact in every}
    beaters = {fact_id: repr(replace(fact, beaten_by=None)) for fact_id, fact in bare.items()}
    return Counter(repr(replace(bare[fact.fact_id], beaten_by=None)) + beaters.get(fact.beaten_by or b"", "") for fact in every)


@settings(max_examples=EXAMPLES)
@given(statements=STATEMENTS, chance=st.randoms(use_true_random=False))
def test_in_which_order_it_came_in_does_not_matter(statements, chance):
    said = drafts(statements)
    arrived = list(said)
    chance.shuffle(arrived)
    with a_store() as one, a_store() as other:
        say(one, said)
        for draft in arrived:
            say(other, [draft])
        assert told(other) == told(one)


@settings(max_examples=EXAMPLES)
@given(statements=STATEMENTS, data=st.data())
def test_without_any_of_the_events_it_is_what_a_fold_of_the_others_gives(statements, data):
    with a_store() as store:
        say(store, drafts(statements))
        heard = Heard.of(store)
        gone = data.draw(st.sets(st.sampled_from([event.seq for event, _ in heard.events])))
        fold(store)
        if gone:
            blank(store, sorted(gone))
        left = rows(fold(store, full=True))
        assert left == rows(folded_without(store, heard, gone))
        assert len(left["events"]) == len(statements) - len(gone)


@settings(max_examples=EXAMPLES)
@given(statements=STATEMENTS, ends=st.sets(st.integers(1, 9), max_size=3), chance=st.randoms(use_true_random=False))
def test_in_how_many_goes_it_was_folded_does_not_matter(statements, ends, chance):
    said = drafts(statements)
    chance.shuffle(said)  # so that what comes later stands before others in its conversation
    with a_store() as store:
        for at, draft in enumerate(said):
            say(store, [draft])
            if at in ends:
                fold(store)
        assert rows(fold(store)) == rows(fold(store, full=True))
