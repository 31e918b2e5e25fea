"""In the library: plan an erasure, look at what everybody would know and not know, carry it out, and look at the disk again."""

from __future__ import annotations

from pathlib import Path

import pytest

from refold.erase.model import Decision
from refold.errors import Blocked, Corrupt, SubjectErased
from refold.heads import kept
from refold.memory import Memory
from tests.erase.small import CANARY, draft, event, filled, fold, say


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
