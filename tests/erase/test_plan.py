"""The plan says what will be: everybody's memory afterwards is the one before, less what goes, more what holds again."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from refold import recipes
from refold.erase.difference import OPERATOR, diff
from refold.erase.find import concerning, find
from refold.erase.model import Decision, Selector, Target
from refold.erase.requests import decide, search
from refold.erase.run import run
from refold.fold.rules import derive
from refold.memory import Memory
from refold.model import AliasKind, normalise
from refold.reading import Fact, Standing
from refold.state.facts import Look, facts
from refold.state.generation import State
from refold.state.sight import Sight
from refold.store import Store
from tests.conftest import now
from tests.erase.corpus import corpus
from tests.erase.score import folded

Told = tuple[str, str, str, str]


def told(fact: Fact) -> Told:
    return (normalise(fact.entity), fact.relation, normalise(fact.qualifier), normalise(fact.value))


def known(store: Store) -> Counter[Told]:
    """Return everything that holds of anybody, stated or derived."""
    state = State.open(store)
    held = facts(state, store.log, OPERATOR, quotes=False)
    assert all(fact.standing is Standing.HOLDS for fact in held)
    sight, rules = Sight(state, OPERATOR, recipes.relations()), recipes.rules()
    look = Look(sight, rules)
    every = state.table("assertions", ["mention"])["mention"].to_pylist()
    derived = [one.fact for component in sight.components(every) for one in derive(component.entity, rules, look)]
    return Counter(map(told, [*held, *derived]))


def target_of(memory: Memory, *aliases: tuple[AliasKind, str]) -> Target:
    """Search for somebody, let every mention concern them, and return what goes."""
    with memory._reading() as state:
        found = find(memory.store, state, Selector(aliases=aliases))
    events = frozenset(one.event_id for one in found.candidates) | found.events
    return Target(os.urandom(16), found.subjects, events, frozenset(), found.size, found.last_hash)


@pytest.mark.parametrize("who", [0, 3])
def test_e43_the_state_changes_exactly_as_planned(tmp_path: Path, who: int):
    made = corpus(500, count=8)
    memory, _ = folded(tmp_path, made)
    with memory:
        target = target_of(memory, *made.people[who].aliases)
        before = known(memory.store)
        changes = diff(State.open(memory.store), target)
        run(memory.store, target, now=now, random=os.urandom)
        after = known(memory.store)
        assert before - after == Counter(map(told, changes.gone))
        assert after - before == Counter(map(told, changes.again))
        assert changes.gone
        assert changes.again
        assert changes.claims > len(changes.gone)


@pytest.fixture
def family(tmp_path: Path) -> Memory:
    memory = Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root")
    memory.add("I live in Berlin.", user_id="ada", said_at="2024-01-01")
    memory.add("Ruth lives in Oslo.", user_id="ada", said_at="2024-01-02")
    memory.add("My sister is called Ruth.", user_id="ada", said_at="2024-01-03")
    memory.add("My name is Ada Brandt.", user_id="ada", said_at="2024-01-04")
    memory.add("I live in Porto.", user_id="ruth", said_at="2024-01-05")
    memory.add("I live in Munich.", user_id="ada", subjects=["ruth"], said_at="2024-02-02")
    memory.fold()
    return memory


def test_e26_an_older_statement_that_holds_again_is_in_the_plan(family: Memory):
    with family:
        changes = diff(State.open(family.store), target_of(family, (AliasKind.HANDLE, "ruth")))
        assert ("ada", "lives_in", "", "berlin") in map(told, changes.again)
        assert {("ada", "lives_in", "", "munich"), ("ada", "kin", "sister", "ruth"), ("ruth", "lives_in", "", "porto")} <= set(
            map(told, changes.gone)
        )
        ruth = target_of(family, (AliasKind.HANDLE, "ruth")).subjects
        assert ("ruth", "lives_in", "", "porto") not in map(told, changes.of_others(ruth).gone)
        assert ("ada", "lives_in", "", "munich") in map(told, changes.of_others(ruth).gone)


def test_e43_what_follows_by_rule_changes_as_planned_too(family: Memory):
    with family:
        target, before = target_of(family, (AliasKind.HANDLE, "ruth"), (AliasKind.NAME, "Ruth")), known(family.store)
        changes = diff(State.open(family.store), target)
        assert any(fact.rule for fact in changes.gone)
        run(family.store, target, now=now, random=os.urandom)
        after = known(family.store)
        assert (before - after, after - before) == (Counter(map(told, changes.gone)), Counter(map(told, changes.again)))


def test_planning_changes_nothing(family: Memory):
    with family:
        places = family.places
        before = {path: path.read_bytes() for place in (places.store, places.vault) for path in place.rglob("*") if path.is_file()}
        diff(State.open(family.store), target_of(family, (AliasKind.HANDLE, "ruth")))
        assert before == {path: path.read_bytes() for place in (places.store, places.vault) for path in place.rglob("*") if path.is_file()}


def test_a_namesake_stays(family: Memory):
    with family, family._reading() as state:
        found = find(family.store, state, Selector(aliases=((AliasKind.HANDLE, "ruth"),)))
        assert found.candidates
        from refold.erase.model import Request, Stage

        request = search(Request(bytes(16), Selector(), 0, 0, Stage.REQUESTED, ()), found)
        kept = decide(request, {(one.seq, *one.span): Decision.NAMESAKE for one in found.candidates})
        assert kept.found is not None
        assert concerning(kept.found) == frozenset()
