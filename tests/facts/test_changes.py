"""What changed since a point: together with what was known then it is what is known now, for every point."""

from __future__ import annotations

import os

import pytest
from hypothesis import given

from refold.errors import NotAllowed, Usage
from refold.fold.merge import Stance, decide, stances
from refold.memory import Memory
from refold.model import normalise
from refold.reading import Claim, Fact, Standing
from refold.settings import Principal
from refold.state.changes import Changes, changes, compared
from refold.state.telling import fact_of
from refold.store import Store
from tests.conftest import now
from tests.facts.world import World, say, told
from tests.merge.claims import claim_sets, policy_of

STATEMENTS = (
    say("ada", "I live in Berlin.", on=1),
    say("ada", "I like tea.", on=2),
    say("ben", "I work at Acme.", on=3),
    say("ada", "My sister Ruth works at Siemens.", on=4),
    say("ada", "I moved to Munich.", on=5),
    say("ada", "I don't like tea any more.", on=6),
    say("ben", "I quit.", on=7),
    say("ada", "I moved to Oslo.", on=8, audience=("doctor",)),
    say("ada", "I have lived in Munich since 2020.", on=9),
)


def since(world: World, seq: int, user: str | None = "ada", labels: tuple[str, ...] | None = ()) -> Changes:
    return changes(world.state, world.view(user, labels=labels), world.view(user, labels=labels, as_of_seq=seq))


@pytest.fixture
def folded(world: World) -> World:
    world.tell(*STATEMENTS)
    return world


def test_what_is_new_was_learned_and_what_took_a_place_changed(folded: World):
    seqs = [event.seq for batch in folded.store.log.events() for event in batch]
    found = since(folded, seqs[3])
    assert told(found.learned) == []
    assert [(told([one.before])[0][2], told([one.after])[0][2]) for one in found.changed] == [("Berlin", "Munich")]
    assert [(fact.value, fact.standing) for fact in found.unlearned] == [("tea", Standing.DENIED)]
    assert told(since(folded, 0).learned) == [
        ("ada", "kin(sister)", "Ruth"),
        ("ada", "lives_in", "Munich"),
        ("Ruth", "works_at", "Siemens"),
    ]


def test_another_time_that_a_fact_claims_is_a_change(folded: World):
    last = [event.seq for batch in folded.store.log.events() for event in batch][-1]
    (one,) = since(folded, last - 1).changed
    assert (one.before.value, one.before.valid_from, one.after.value) == ("Munich", None, "Munich")
    assert one.after.valid_from is not None


def test_what_may_not_be_seen_changed_nothing(folded: World):
    seqs = [event.seq for batch in folded.store.log.events() for event in batch]
    assert since(folded, seqs[6], labels=()).changed == since(folded, seqs[7], labels=()).changed
    assert [one.after.value for one in since(folded, seqs[6], labels=("doctor",)).changed] == ["Munich"]
    assert [one.before.value for one in since(folded, seqs[7], labels=("doctor",)).changed] == ["Oslo"]


def test_what_was_known_and_what_changed_are_what_is_known(folded: World):
    now_known = known(everybody(folded, None))
    for seq in range(-1, folded.state.size, 2):
        assert applied(everybody(folded, seq), since(folded, seq, None, None)) == now_known


def everybody(world: World, seq: int | None) -> list[Fact]:
    return world.facts(None, labels=None, **({} if seq is None else {"as_of_seq": seq}))


def known(facts: list[Fact]) -> set[tuple[object, ...]]:
    return {
        (*map(normalise, (fact.entity, fact.relation, fact.qualifier, fact.value)), fact.contested, fact.valid_from, fact.valid_to)
        for fact in facts
    }


def applied(before: list[Fact], found: Changes) -> set[tuple[object, ...]]:
    gone = {(fact.entity, fact.relation, fact.qualifier, fact.value) for fact in found.unlearned}
    gone |= {(one.before.entity, one.before.relation, one.before.qualifier, one.before.value) for one in found.changed}
    stay = [fact for fact in before if (fact.entity, fact.relation, fact.qualifier, fact.value) not in gone]
    return known([*stay, *found.learned, *(one.after for one in found.changed)])


@given(claim_sets(size=14))
def test_of_any_claims_nothing_is_lost_between_then_and_now(some: list[Claim]):
    def decided(of: list[Claim]) -> list[Stance]:
        return stances(decide(of, policy_of), policy_of)

    now_ = decided(some)
    holding = {stance.shown.fact_id for stance in now_ if stance.standing is Standing.HOLDS}
    for seq in {claim.seq for claim in some}:
        before = [stance for stance in decided([claim for claim in some if claim.seq <= seq]) if stance.standing is Standing.HOLDS]
        found = compared(before, now_)
        kept = {fact_of(stance).fact_id for stance in now_ if stance.standing is Standing.HOLDS and _is_kept(stance, before)}
        new = [fact.fact_id for fact in (*found.learned, *(one.after for one in found.changed))]
        assert kept | set(new) == holding
        assert all(fact.standing is not Standing.HOLDS for fact in found.unlearned)
        assert len(found.unlearned) + len(found.changed) <= len(before)
    assert compared([stance for stance in now_ if stance.standing is Standing.HOLDS], now_).is_empty


def _is_kept(stance: Stance, before: list[Stance]) -> bool:
    known_before = {claim.fact_id for one in before for claim in one.sayings}
    return any(claim.fact_id in known_before for claim in stance.sayings)


def test_a_generation_knows_what_the_folds_before_it_had_read(store: Store):
    with Memory(store, now=now, random=os.urandom) as memory:
        for text in ("I live in Berlin.", "I like tea.", "I moved to Munich."):
            memory.add(text, user_id="ada")
            memory.fold()
        learned = {number: told(memory.diff(since=f"generation:{number}", user_id="ada").learned) for number in (0, 1, 2, 3)}
        tea, munich = ("ada", "likes", "tea"), ("ada", "lives_in", "Munich")
        assert learned == {0: [tea, munich], 1: [tea], 2: [], 3: []}
        assert [one.after.value for one in memory.diff(since="generation:2", user_id="ada").changed] == ["Munich"]
        memory.fold(full=True)
        with pytest.raises(Usage, match="not known what it had folded"):
            memory.diff(since="generation:2", user_id="ada")


@pytest.mark.parametrize("when", [1, "generation:1"])
def test_a_limited_principal_asks_by_time(store: Store, when: int | str):
    with Memory(store, principal=Principal("guest", frozenset()), now=now) as memory, pytest.raises(NotAllowed):
        memory.diff(since=when, user_id="ada")


def test_what_was_erased_is_counted_and_in_no_list(store: Store):
    with Memory(store, now=now, random=os.urandom) as memory:
        memory.add("I live in Berlin.", user_id="ada")
        memory.add("I live in Oslo.", user_id="ben")
        memory.fold()
        assert memory.diff(since=0, user_id="ben").erasures == 0
        memory.erase(memory.plan_erasure(user_id="ada"))
        found = memory.diff(since=-1, user_id="ben")
        assert (told(found.learned), found.erasures) == ([("ben", "lives_in", "Oslo")], 1)
