"""In the library: plan an erasure, look at what everybody would know and not know, carry it out, and look at the disk again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refold.erase.model import Decision
from refold.errors import Blocked, Corrupt, SubjectErased
from refold.heads import kept
from refold.memory import Memory
from refold.store import Places
from tests.conftest import now
from tests.erase.small import CANARY, draft, event, filled, fold, say
from tests.journal import unsynced


@pytest.fixture
def memory(tmp_path: Path):
    places = filled(tmp_path)
    with Memory.open(places.store, vault=places.vault, root=places.root) as opened:
        say(opened.store, draft("ben", "50", "I live in Lyon.", ("ruth",)))
        fold(opened.store)
        yield opened


def test_what_is_planned_is_what_everybody_knows_afterwards(memory: Memory):
    before = {fact.fact_id for user in ("ada", "ben") for fact in memory.facts(user_id=user)}
    plan = memory.plan_erasure(user_id="ruth", mentions=Decision.CONCERNS)
    gone, again = {fact.fact_id for fact in plan.diff.gone}, {fact.fact_id for fact in plan.diff.again}
    assert {fact.value for fact in plan.diff.again} == {"Ghent"}
    assert memory.facts(user_id="ben", relation="lives_in")[0].value == "Lyon"
    done = memory.erase(plan)
    assert {fact.fact_id for user in ("ada", "ben") for fact in memory.facts(user_id=user)} == (before - gone) | again
    assert done.verify() == done.reached
    assert kept.sizes(memory.places.store / kept.CHECKPOINTS)[-1] == memory.store.log.head.size
    assert (done.reached.events, done.reached.shared_events) == (plan.events, plan.shared)
    assert not any(CANARY in hit.text for hit in memory.search(CANARY, user_id="ben"))
    with pytest.raises(SubjectErased):
        memory.add("I am back.", user_id="ruth")


def test_a_mention_that_nobody_decided_about_stops_it(memory: Memory):
    plan = memory.plan_erasure(user_id="ruth")
    assert plan.undecided
    with pytest.raises(Blocked):
        memory.erase(plan)
    assert memory.store.vault.live_epoch() == 1


def test_one_wrong_memory_can_go_alone(memory: Memory):
    done = memory.erase(memory.plan_erasure(event=event(memory.store, "1")))
    assert (done.verify().events, memory.facts(user_id="ada", relation="lives_in")) == (1, [])
    assert memory.add("I live in Turin.", user_id="ada").new


def test_a_keyring_that_comes_back_is_no_end_of_an_erasure(memory: Memory):
    kept = {path.name: path.read_bytes() for path in (memory.store.vault.keys / "epoch-000001").iterdir()}
    done = memory.erase(memory.plan_erasure(event=event(memory.store, "1")))
    folder = memory.store.vault.keys / "epoch-000001"
    folder.mkdir()
    for name, raw in kept.items():
        (folder / name).write_bytes(raw)
    with pytest.raises(Corrupt):
        done.verify()


@pytest.mark.parametrize("who", ["eraser", "reader"])
def test_a_memory_that_was_open_finds_nothing_of_what_was_erased_before_any_fold(places: Places, who: str):
    with unsynced(), Memory.create(places.store, vault=places.vault, root=places.root, now=now, random=os.urandom) as memory:
        for at, text in enumerate(("The tea was green.", "Green tea is best.")):
            memory.add(text, user_id="ada", source=f"chat:{at}#1")
        with Memory.open(places.store, vault=places.vault, root=places.root) as other:
            asked = memory if who == "eraser" else other
            [gone] = [hit.event_id for hit in asked.search("green tea", user_id="ada") if hit.text == "Green tea is best."]
            memory.erase(memory.plan_erasure(event=gone))
            assert [hit.text for hit in asked.search("green tea", user_id="ada")] == ["The tea was green."]
            assert "best" not in asked.context("green tea", user_id="ada").text
            assert asked.unfolded(user_id="ada") == 1
