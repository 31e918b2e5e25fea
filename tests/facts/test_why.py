"""Why a fact stands where it stands: its words in their text, what it beat, what beat it, and nothing that is not seen from here."""

from __future__ import annotations

import json

import pytest

from refold import times
from refold.errors import Usage
from refold.fold.entities import MENTIONS_MAX
from refold.reading import Fact, Standing
from refold.state.why import Explanation, as_data
from tests.facts.world import World, day, say, told

BERLIN = say("ada", "I live in Berlin.", on=9)
MUNICH = say("ada", "Guess what! I've been living in Munich since 2023. It rains.", on=152)
SISTER = say("ada", "My sister Ruth works at Acme.", on=20)


def of(world: World, relation: str, value: str, **asked) -> Explanation:
    """Explain the fact of a relation that has a value."""
    return world.why(next(fact for fact in world.facts(relation=relation, all=True, **asked) if fact.value == value), **asked)


def test_the_words_are_shown_in_their_text(world: World):
    world.tell(MUNICH)
    (saying,) = of(world, "lives_in", "Munich").sayings
    assert (saying.text, saying.quote) == (MUNICH.text, "I've been living in Munich since 2023.")
    assert [saying.text[first:end] for first, end in saying.spans][-1] == "Munich"
    assert (saying.source, saying.said_at, saying.speaker) == ("chat:ada#152", day(152), "ada")


def test_a_fact_names_what_it_beat_and_by_which_policy(world: World):
    world.tell(BERLIN, MUNICH)
    found = of(world, "lives_in", "Munich")
    assert told(found.beat) == [("ada", "lives_in", "Berlin")]
    assert found.beaten_by is None
    assert (found.policy and found.policy.cardinality, found.asserted_as) == ("one", "the entity itself")


def test_a_superseded_fact_names_what_beat_it(world: World):
    world.tell(BERLIN, MUNICH)
    found = of(world, "lives_in", "Berlin")
    assert found.fact.standing is Standing.SUPERSEDED
    assert found.beaten_by
    assert found.beaten_by.value == "Munich"


def test_a_denial_names_what_it_closed(world: World):
    world.tell(say("ada", "I like tea.", on=1), say("ada", "I don't like tea any more.", on=2))
    denial = next(fact for fact in world.facts(all=True) if fact.standing is Standing.CLOSING)
    assert [fact.standing for fact in world.why(denial).beat] == [Standing.DENIED]


def test_all_sayings_of_a_fact_are_shown_newest_first(world: World):
    world.tell(BERLIN, say("ada", "I still live in Berlin.", on=40))
    assert [saying.said_at for saying in of(world, "lives_in", "Berlin").sayings] == [day(40), day(9)]


def test_an_earlier_saying_leads_to_the_same_fact(world: World):
    world.tell(BERLIN)
    (earlier,) = world.facts()
    world.tell(say("ada", "I still live in Berlin.", on=40))
    (fact,) = world.facts()
    assert world.why(earlier).fact.fact_id == fact.fact_id != earlier.fact_id


def test_the_names_that_lead_to_an_entity_are_explained(world: World):
    world.tell(BERLIN, say("ada", "My name is Ada Brandt.", on=10))
    (alias,) = of(world, "lives_in", "Berlin").aliases
    assert alias.quote == "My name is Ada Brandt."


def test_of_an_alias_said_twice_the_newest_saying_is_shown(world: World):
    world.tell(BERLIN, say("ada", "My name is Ada Brandt.", on=10), say("ada", "Hello, my name is Ada Brandt.", on=11))
    assert [alias.said_at for alias in of(world, "lives_in", "Berlin").aliases] == [day(11)]


def test_names_beyond_the_bound_of_an_entity_explain_nothing(world: World):
    names = [f"Ada {chr(65 + n // 26)}{chr(97 + n % 26)}lund" for n in range(70)]
    world.tell(BERLIN, say("ada", " ".join(f"My name is {name}." for name in names), on=10))
    assert len(of(world, "lives_in", "Berlin").aliases) == MENTIONS_MAX - 1


def test_no_id_is_not_the_id_of_the_only_fact(world: World):
    world.tell(BERLIN)
    with pytest.raises(Usage, match="digits, is needed"):
        world.why(b"")


def test_who_speaks_is_said(world: World):
    world.tell(SISTER)
    assert of(world, "works_at", "Acme").asserted_as == "somebody else"


def test_a_derived_fact_shows_its_rule_and_its_premises(world: World):
    world.tell(SISTER)
    (fact,) = world.facts(entity="Ruth", relation="kin")
    found = world.why(fact)
    assert found.rule == "siblings: if ?a kin[sister|brother|sisters|brothers] ?b then ?b kin[sibling] ?a"
    assert [premise.sayings[0].text for premise in found.premises] == [SISTER.text]


def test_a_derived_fact_is_found_by_its_id_alone(world: World):
    world.tell(SISTER)
    (fact,) = world.facts(entity="Ruth", relation="kin")
    assert world.why(fact.fact_id[:4], user=None).fact.fact_id == fact.fact_id


def test_what_is_hidden_does_not_refuse_the_search_for_a_derived_fact(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("refold.state.why.ENTITIES_MAX", 2)
    world.tell(SISTER, *(say("ben", f"My sister is called {name}.", on=1, audience=("family",)) for name in ("Greta", "Olga", "Ida")))
    (fact,) = world.facts(entity="Ruth", relation="kin")
    assert world.why(fact.fact_id[:4], user=None).fact.fact_id == fact.fact_id
    with pytest.raises(Usage, match="say whose memory is meant"):
        world.why(fact.fact_id[:4], user=None, labels=["family"])


def test_a_derived_premise_is_explained_in_turn(world: World):
    world.tell(say("ada", "My mother is Greta.", on=1), say("ada", "Greta's mother is Olga.", on=2))
    found = [fact for fact in world.facts("ada", relation="kin") if fact.rule == "grandparents"]
    for fact in found:
        assert len(world.why(fact).premises) == 2


def test_the_first_bytes_of_an_id_are_enough(world: World):
    world.tell(BERLIN)
    (fact,) = world.facts()
    assert world.why(fact.fact_id[:4]).fact == world.why(fact).fact


def test_a_fact_is_not_found_by_trying_few_bytes(world: World):
    world.tell(BERLIN)
    (fact,) = world.facts()
    for user in ("ada", None):
        with pytest.raises(Usage, match="at least its first 8 digits"):
            world.why(fact.fact_id[:3], user=user)


def test_an_id_that_several_facts_begin_with_is_refused(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("refold.state.why.ID_BYTES_MIN", 1)  # two facts that share four bytes are not to be had
    world.tell(say("ada", " ".join(f"I like tea number {number}." for number in range(257)), on=1))  # more facts than first bytes
    first = [fact.fact_id[0] for fact in world.facts()]
    twice = next(byte for byte in first if first.count(byte) > 1)
    with pytest.raises(Usage, match="facts have an id that begins so"):
        world.why(bytes([twice]))


def test_what_is_not_seen_from_here_is_as_if_it_were_not(world: World):
    world.tell(say("ada", "I live in Berlin.", on=9, audience=("family",)), say("ben", "I live in Oslo.", on=9))
    (hidden,), (foreign,) = world.facts(labels=["family"]), world.facts("ben")
    for fact_id in (hidden.fact_id, foreign.fact_id, b"nothing at all!!", b""):
        with pytest.raises(Usage):
            world.why(fact_id)
    assert world.why(hidden, labels=["family"]).fact.value == "Berlin"


def test_a_hidden_rival_is_not_named(world: World):
    world.tell(BERLIN, say("ada", "I moved to Munich.", on=50, audience=("family",)))
    (fact,) = world.facts()
    assert (world.why(fact).beaten_by, world.why(fact).fact.standing) == (None, Standing.HOLDS)
    family = world.why(fact, labels=["family"])
    assert family.beaten_by
    assert family.beaten_by.value == "Munich"


def test_an_explanation_can_be_written_as_json(world: World):
    world.tell(SISTER, BERLIN, MUNICH)
    (derived,) = world.facts(entity="Ruth", relation="kin")

    def fact_data(fact: Fact) -> dict[str, object]:
        return {"fact_id": fact.fact_id.hex(), "value": fact.value}

    data = json.loads(json.dumps(as_data(world.why(derived), fact_data)))
    assert data["premises"][0]["sayings"][0]["said_at"] == times.iso(day(20))
    data = json.loads(json.dumps(as_data(of(world, "lives_in", "Berlin"), fact_data)))
    assert data["beaten_by"]["value"] == "Munich"
    assert data["policy"]["cardinality"] == "one"
