"""What a reader is told: the user's own facts, entities by name, histories, times, and never more than the view may see."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refold import recipes
from refold.errors import Usage
from refold.fold.rules import Rules
from refold.model import Precision
from refold.reading import Standing
from refold.store import create, places
from tests.conftest import now
from tests.facts.world import World, day, say, told

BERLIN = say("ada", "I live in Berlin.", on=9)
MUNICH = say("ada", "I've been living in Munich since 2023.", on=152)
SISTER = say("ada", "My sister Ruth works at Acme.", on=20)
LISTINGS: tuple[dict[str, Any], ...] = ({}, {"all": True})  # of one entity, in Python; of everybody, in SQL


def test_what_holds_about_the_user_is_told(world: World):
    world.tell(BERLIN, MUNICH, SISTER)
    assert told(world.facts()) == [("ada", "lives_in", "Munich"), ("ada", "kin(sister)", "Ruth")]


def test_a_fact_comes_with_its_words_source_time_and_support(world: World):
    world.tell(MUNICH)
    (fact,) = world.facts()
    event = world.store.log.event(fact.seq)
    assert (fact.quote, fact.source, fact.said_at) == (MUNICH.text, "chat:ada#152", day(152))
    assert (fact.valid_from, fact.valid_to, fact.valid_precision, fact.valid_source) == (day(-365), None, Precision.YEAR, "since 2023")
    assert {event_id for event_id, _ in fact.support} == {event.event_id}
    assert [event.text[first:end] for _, (first, end) in fact.support][-1] == "Munich"
    assert (fact.subjects, fact.asserted_by, fact.extractor) == (event.subjects, "ada", "symbolic/en-1")


def test_a_history_says_what_held_until_when_and_what_beat_it(world: World):
    world.tell(BERLIN, MUNICH)
    now, before = world.facts(relation="lives_in", history=True)
    assert (before.value, before.standing, before.beaten_by) == ("Berlin", Standing.SUPERSEDED, now.fact_id)
    assert (before.valid_to, before.valid_source) == (day(152), "superseded")


def test_a_denied_value_is_in_the_history_and_its_denial_in_all(world: World):
    world.tell(say("ada", "I like tea.", on=1), say("ada", "I don't like tea any more.", on=2))
    assert world.facts() == []
    assert [fact.standing for fact in world.facts(history=True)] == [Standing.DENIED]
    assert [fact.standing for fact in world.facts(all=True)] == [Standing.CLOSING, Standing.DENIED]


def test_a_value_said_again_is_one_fact_on_the_support_of_all_sayings(world: World):
    world.tell(BERLIN, say("ada", "I live in Berlin.", on=30), say("ada", "I still live in Berlin.", on=40))
    (fact,) = world.facts()
    assert fact.said_at == day(40)
    assert len({event_id for event_id, _ in fact.support}) == 3


def test_a_stated_time_outlives_a_later_saying_without_one(world: World):
    world.tell(MUNICH, say("ada", "I live in Munich.", on=200))
    (fact,) = world.facts()
    assert (fact.said_at, fact.valid_from, fact.valid_source) == (day(200), day(-365), "since 2023")


def test_an_entity_is_found_by_its_name_and_by_nobody_elses(world: World):
    world.tell(SISTER, say("ben", "My sister Ruth works at Borealis.", on=20))
    assert told(world.facts(entity="RUTH", relation="works_at")) == [("Ruth", "works_at", "Acme")]
    assert told(world.facts(None, entity="ruth", relation="works_at")) == [("Ruth", "works_at", "Borealis"), ("Ruth", "works_at", "Acme")]


def test_what_somebody_says_of_a_namesake_is_not_about_the_user(world: World):
    world.tell(BERLIN, say("ada", "Ada lives in Oslo.", on=60, author="ben"))
    assert told(world.facts()) == [("ada", "lives_in", "Berlin")]
    assert told(world.facts(entity="Ada")) == [("Ada", "lives_in", "Oslo"), ("ada", "lives_in", "Berlin")]


def test_what_holds_stands_before_what_held(world: World):
    world.tell(*(say("ada", text, on=on) for on, text in enumerate(("I like tea.", "I like jazz.", "I don't like jazz any more."))))
    for listing in LISTINGS:
        assert next(fact.standing for fact in world.facts(history=True, **listing)) is Standing.HOLDS


@pytest.mark.parametrize("limit", [0, -1])
@pytest.mark.parametrize("user", ["ada", None])
def test_a_limit_below_one_is_refused(world: World, limit: int, user: str | None):
    world.tell(BERLIN)
    with pytest.raises(Usage, match="the limit is below one"):
        world.facts(user, limit=limit)


def test_an_alias_leads_to_the_same_facts(world: World):
    world.tell(BERLIN, say("ada", "My name is Ada Brandt.", on=10))
    assert world.facts(entity="ada brandt") == world.facts()


def test_nobody_by_that_name_is_no_fact(world: World):
    world.tell(BERLIN)
    assert world.facts(entity="Zoe") == []


def test_a_user_of_whom_nothing_is_known_has_no_facts(world: World):
    world.tell(BERLIN)
    assert world.facts("zoe") == []


def test_a_memory_that_was_never_folded_has_no_facts(world: World):
    assert world.facts() == world.facts(None) == []


def test_without_a_user_everybody_is_told_of(world: World):
    world.tell(BERLIN, SISTER, say("ben", "I live in Oslo.", on=5))
    assert told(world.facts(None)) == [
        ("ada", "lives_in", "Berlin"),
        ("ada", "kin(sister)", "Ruth"),
        ("ben", "lives_in", "Oslo"),
        ("Ruth", "works_at", "Acme"),
    ]


def test_all_is_everybody_in_that_memory(world: World):
    world.tell(BERLIN, SISTER, say("ben", "I live in Oslo.", on=5))
    assert told(world.facts(all=True)) == [("ada", "lives_in", "Berlin"), ("ada", "kin(sister)", "Ruth"), ("Ruth", "works_at", "Acme")]


def test_a_statement_with_labels_changes_nothing_for_those_who_do_not_hold_them(world: World):
    world.tell(BERLIN, say("ada", "I moved to Munich.", on=50, audience=("family",)))
    for listing in LISTINGS:
        assert told(world.facts(history=True, **listing)) == [("ada", "lives_in", "Berlin")]
    assert told(world.facts(labels=["family"])) == [("ada", "lives_in", "Munich")]
    assert told(world.facts(labels=None)) == [("ada", "lives_in", "Munich")]


def test_a_hidden_saying_lends_no_support(world: World):
    world.tell(BERLIN, say("ada", "I live in Berlin.", on=50, audience=("family",)))
    assert [(fact.said_at, len(fact.support)) for fact in world.facts()] == [(day(9), 2)]
    assert [(fact.said_at, len(fact.support)) for fact in world.facts(labels=["family"])] == [(day(50), 4)]


def test_a_hidden_alias_joins_nobody(world: World):
    world.tell(BERLIN, say("ada", "My name is Ada Brandt.", on=10, audience=("family",)))
    assert world.facts(entity="Ada Brandt") == []
    assert told(world.facts(entity="Ada Brandt", relation="lives_in", labels=["family"])) == [("ada", "lives_in", "Berlin")]


def test_a_hidden_alias_joins_nobody_in_the_listing_of_everybody(world: World):
    alias = say("ada", "My name is Ada Brandt.", on=10, audience=("family",))
    world.tell(BERLIN, alias, say("ada", "Ada Brandt lives in Oslo.", on=60))
    assert [fact.value for fact in world.facts(None, relation="lives_in")] == ["Berlin", "Oslo"]
    assert [fact.value for fact in world.facts(None, relation="lives_in", labels=["family"])] == ["Berlin"]


def test_another_memory_is_not_seen(world: World):
    world.tell(BERLIN, say("ben", "Ada lives in Oslo.", on=60))
    assert told(world.facts(entity="Ada")) == [("ada", "lives_in", "Berlin")]


def test_as_of_decides_over_what_was_recorded_by_then(world: World):
    world.tell(BERLIN, MUNICH)
    first = next(fact for fact in world.facts(history=True) if fact.value == "Berlin")
    for listing in LISTINGS:
        assert told(world.facts(as_of_seq=first.seq, **listing)) == [("ada", "lives_in", "Berlin")]
        assert world.facts(as_of_seq=first.seq - 1, **listing) == []
    recorded = world.store.log.event(first.seq).recorded_at
    assert told(world.facts(as_of_time=recorded)) == [("ada", "lives_in", "Berlin")]
    assert world.facts(as_of_time=recorded - 1) == []


def test_valid_at_tells_what_held_then_by_all_that_is_known(world: World):
    world.tell(BERLIN, MUNICH)
    for listing in LISTINGS:
        assert world.facts(valid_at=day(-400), **listing) == []
        assert told(world.facts(valid_at=day(-300), **listing)) == [("ada", "lives_in", "Munich")]
    assert told(world.facts(valid_at=day(100), as_of_seq=1)) == [("ada", "lives_in", "Berlin")]


def test_a_relation_can_be_asked_for_alone_and_must_exist(world: World):
    world.tell(BERLIN, SISTER)
    assert told(world.facts(relation="kin")) == [("ada", "kin(sister)", "Ruth")]
    assert told(world.facts(relation="kin", all=True)) == [("ada", "kin(sister)", "Ruth")]
    with pytest.raises(Usage, match="no relation of this name"):
        world.facts(relation="nonsense")


def test_a_limit_keeps_the_first(world: World):
    world.tell(BERLIN, SISTER)
    for listing in LISTINGS:
        assert world.facts(limit=1, **listing) == world.facts(**listing)[:1]
    with pytest.raises(Usage, match="limit is below one"):
        world.facts(limit=0)


def test_what_follows_by_rule_is_told_of_whom_it_is_about(world: World):
    world.tell(SISTER)
    (fact,) = world.facts(entity="Ruth", relation="kin")
    (premise,) = world.facts(relation="kin")
    assert told([fact]) == [("Ruth", "kin(sibling)", "ada")]
    assert (fact.rule, fact.premises, fact.support) == ("siblings", (premise.fact_id,), premise.support)


def test_a_limit_counts_what_follows(world: World):
    world.tell(SISTER)
    assert [len(world.facts(entity="Ruth", limit=limit)) for limit in (1, 2, 3)] == [1, 2, 2]


def test_nothing_follows_from_what_does_not_hold(world: World):
    world.tell(say("ada", "My husband Tom works at Acme.", on=10))
    assert told(world.facts(entity="Tom", relation="kin")) == [("Tom", "kin(spouse)", "ada")]
    world.tell(say("ada", "I divorced Tom.", on=30))
    assert world.facts(entity="Tom", relation="kin") == []


def test_the_bound_of_a_rule_is_not_spent_on_the_facts_of_others(world: World):
    world.tell(SISTER, say("ada", "My sister Mia works at Borealis.", on=30))
    narrow = Rules(recipes.rules().rules, fan_in=1)
    for name in ("Ruth", "Mia"):
        assert told(world.facts(entity=name, relation="kin", rules=narrow)) == [(name, "kin(sibling)", "ada")]


def test_what_follows_goes_with_its_premise(world: World):
    world.tell(say("ada", "My sister Ruth works at Acme.", on=20, audience=("family",)), say("ada", "Ruth lives in Oslo.", on=21))
    assert told(world.facts(entity="Ruth", labels=["family"]))[-1] == ("Ruth", "kin(sibling)", "ada")
    assert told(world.facts(entity="Ruth")) == [("Ruth", "lives_in", "Oslo")]


def test_a_relation_that_only_rules_know_can_be_asked_for(world: World):
    relations = recipes.relations()
    text = '[rules.knows]\nif = ["?a kin ?b"]\nthen = ["?a knows ?b"]'
    own = Rules.load(text, relations=relations.names, policy_of=relations.policy)
    world.tell(SISTER)
    assert told(world.facts(relation="knows", rules=own)) == [("ada", "knows", "Ruth")]


def test_no_rules_derive_nothing(world: World):
    world.tell(SISTER)
    assert world.facts(entity="Ruth", relation="kin", rules=Rules()) == []


WORDS = st.lists(
    st.tuples(
        st.sampled_from(["ada", "ben"]),
        st.sampled_from(
            [
                "I live in Berlin.",
                "I moved to Oslo.",
                "I don't live in Berlin any more.",
                "My sister Ruth works at Acme.",
                "Ruth lives in Rome.",
                "I like tea.",
                "I don't like tea.",
                "I might move to Rome.",
                "My name is Ada Brandt.",
                "I visited Lisbon.",
            ]
        ),
        st.integers(0, 30),
        st.sampled_from([(), ("family",)]),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORDS, st.sampled_from([None, frozenset(), frozenset({"family"})]))
def test_everybody_is_the_sum_of_each(tmp_path_factory, words, labels):
    folder = tmp_path_factory.mktemp("world")
    with create(places(folder / "store", folder / "vault", folder / "root", env={}), now=now, random=os.urandom) as store:
        world = World.empty(store)
        world.tell(*(say(user, text, on=on, audience=audience) for user, text, on, audience in words))
        listed = world.facts(None, labels=labels, all=True)
        each = {
            f.fact_id: f
            for name in ("ada", "ben", "Ruth")
            for f in world.facts(None, labels=labels, entity=name, history=True, rules=Rules())
        }
        assert {f.fact_id: f for f in listed if f.fact_id in each} == each
        assert {f.fact_id for f in listed if f.standing in (Standing.HOLDS, Standing.SUPERSEDED, Standing.DENIED)} == set(each)
