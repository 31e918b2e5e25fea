"""Profiles and an erasure: what rested on a person's events is made anew without them, and what a model wrote of them is nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from refold import recipes
from refold.calls.gateway import Mode
from refold.erase.difference import OPERATOR
from refold.extractors import Choice
from refold.fold.recipe import ModelRecipe
from refold.memory import Memory
from refold.recover.verify import verify
from refold.state import profiles
from refold.state.digest import state_hash
from refold.state.generation import State
from refold.state.profiles import pending
from refold.state.sight import Sight
from refold.store import Store
from tests.conftest import now
from tests.erase.small import erase, everything_under, say, target
from tests.erase.test_model import CANARY, copies, influenced, recorded, turn, words
from tests.fold_model.asked import content, fact
from tests.fold_model.scripted import fold
from tests.fold_model.scripted import told as events
from tests.fold_model.telling import asked_for, is_profile, sentence, sentences, shown, telling, told
from tests.openai_server import Asked, Reply, Server, answer, failure


def copies_all(asked: Asked) -> Reply:
    """Answer with all that is told: of facts, a sentence that holds every one of them and names them all, and one for each."""
    if not is_profile(asked):
        return copies(asked)
    facts = [(alias, " ".join(fact.values())) for alias, fact in told(asked)]
    every = sentence(" ".join(sorted(text for _, text in facts)), *(alias for alias, _ in facts))
    return answer(sentences(every, *(sentence(text, alias) for alias, text in facts)))


def standing(store: Store) -> dict[bytes, str]:
    """Return every sentence that an operator is shown of anybody, by its id."""
    state = State.open(store)
    sight = Sight(state, OPERATOR, recipes.relations())
    return {row["fact_id"]: row["text"] for row in profiles.standing(sight, state.table("profiles").to_pylist())}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(copies_all) as running:
        yield running


@pytest.fixture
def by(server: Server) -> ModelRecipe:
    return telling(server, facts_min=1, characters=10_000)


@pytest.fixture
def chatting(store: Store, by: ModelRecipe) -> Store:
    """Return a memory of two chats; what Ruth says is told of Ada too, and what Ben says in the second chat is his own."""
    say(
        store,
        turn("ada", 1, "Rye bread again"),
        turn("ruth", 2, f"Call me {CANARY}"),
        turn("ada", 3, "Trail running"),
        turn("ada", 4, "Oat milk"),
        turn("ben", 1, "Chess at noon", chat="8"),
        turn("ben", 2, "Swimming", chat="8"),
    )
    fold(store, by)
    return store


def test_e24_of_a_profile_that_copies_all_that_it_is_told_no_word_of_the_person_is_left(chatting: Store, server: Server, by: ModelRecipe):
    before = server.count
    told_before = [facts for facts in asked_for(server) if CANARY not in str(facts)]
    assert any(is_profile(asked) and CANARY in asked.text for asked in server.asked)
    assert CANARY in str(State.open(chatting).table("profiles").to_pylist())
    changed = len(influenced(chatting))
    done = erase(chatting, target(chatting, "ruth"), choice=Choice(by))
    state = State.open(chatting)
    assert CANARY not in words(state)
    assert state.table("profiles").num_rows
    assert CANARY.encode() not in everything_under(chatting.places)
    assert not any(CANARY in asked.text for asked in server.asked[before:])
    assert server.count - before == done.calls_made <= changed == done.calls
    again = [asked for asked in server.asked[before:] if is_profile(asked)]
    assert not any(facts in told_before for facts in ([f"{fact['of']} {fact['value']}" for _, fact in told(asked)] for asked in again))
    kept = state_hash(state)
    fold(chatting, by, full=True, mode=Mode.REPLAY)
    assert state_hash(State.open(chatting)) == kept
    assert verify(chatting.places, deep=True).is_whole


def test_e43_the_plan_names_the_sentences_that_go_and_those_written_beside_them(store: Store, server: Server):
    def script(asked: Asked) -> Reply:
        if is_profile(asked):
            return copies_all(asked)
        name, does = dict(events(asked))["e1"].split()[-2:]
        return answer(content(fact(does, does, relation="likes", entity=name)))

    server.script, by = script, telling(server, facts_min=1)
    say(store, turn("ruth", 1, f"My friend Ida {CANARY}"), turn("ada", 2, "My friend Addie sings"), turn("ben", 3, "My friend Cleo skates"))
    say(store, replace(turn("ada", 4, "My friend Addie sails"), subjects=("ruth",)))
    fold(store, by)
    before = standing(store)
    plan = Memory(store, now=now).plan_erasure(user_id="ruth")
    planned = {fact.fact_id: fact.value for fact in plan.diff.sentences}
    addie = ["Addie likes sails", "Addie likes sails Addie likes sings", "Addie likes sings"]  # the model was told both at once
    assert sorted(planned.values()) == [*addie, *[f"Ida likes {CANARY}"] * 2]
    assert sorted(fact.value for fact in plan.diff.of_others(plan.target.subjects).sentences) == addie
    server.script = lambda asked: failure(500) if is_profile(asked) else script(asked)
    erase(store, plan.target, choice=Choice(by))
    after = standing(store)
    assert {one: text for one, text in before.items() if one not in after} == planned
    assert set(after.values()) == {"Cleo likes skates"}


def test_the_profile_of_somebody_else_stays_and_is_not_asked_for_again(chatting: Store, server: Server, by: ModelRecipe):
    said, before = shown(chatting, "Chess at noon"), server.count
    assert said
    erase(chatting, target(chatting, "ruth"), choice=Choice(by))
    assert shown(chatting, "Chess at noon") == said
    assert not any("Chess" in asked.text for asked in server.asked[before:])


def test_where_the_model_does_not_answer_an_erasure_goes_on_and_the_profile_is_pending(chatting: Store, server: Server, by: ModelRecipe):
    server.script = lambda asked: failure(500) if is_profile(asked) else copies(asked)
    erase(chatting, target(chatting, "ruth"), choice=Choice(by))
    assert CANARY not in words(State.open(chatting))
    assert chatting.vault.live_epoch() == 2
    assert pending(State.open(chatting)) > 0
    server.script = copies_all
    fold(chatting, by)
    assert pending(State.open(chatting)) == 0


def test_a_profile_of_two_names_goes_dark_with_the_statement_that_joined_them(store: Store, server: Server):
    said = ("My friend Addie sings", "My friend Lovelace sails", "Addie is Lovelace")
    say(store, *(turn("ada", part, text) for part, text in enumerate(said, 1)))
    edge: dict[str, object] = {"event": "e1", "act": "say", "a": "Addie", "b": "Lovelace", "words": said[2]}

    def script(asked: Asked) -> Reply:
        if is_profile(asked):
            return copies_all(asked)
        text = dict(events(asked))["e1"]
        name, does = text.split()[-2:]
        return answer(content(aliases=(edge,)) if text == said[2] else content(fact(does, does, relation="likes", entity=name)))

    server.script, by = script, telling(server, facts_min=1)
    fold(store, by)
    assert asked_for(server) == [["Addie sings", "Lovelace sails"]]
    (joined,) = [one.seq for one in recorded(store).values() if b"profile" in one.recording.request and len(one.inputs) == 3]
    server.asked.clear()
    erase(store, target(store, parts=("3",)), choice=Choice(by))
    assert asked_for(server) == [["Addie sings"], ["Lovelace sails"]]
    assert joined not in recorded(store)
