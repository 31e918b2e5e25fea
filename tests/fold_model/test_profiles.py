"""Profiles: what a model says of an entity, from facts alone, asked for again only where these changed, and shown while they hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from refold.calls.gateway import Mode
from refold.errors import NotRecorded, Undeclared
from refold.fold import prompt
from refold.fold.request import FactRef, Message, Template, fact_digest
from refold.folding import Reason
from refold.model import Draft, Scope, Source, View
from refold.reading import Fate
from refold.state import profiles as stored
from refold.state.digest import state_hash
from refold.state.generation import State
from tests.fold_model.asked import content, fact
from tests.fold_model.scripted import add, asking, fold, reads, says
from tests.fold_model.scripted import told as events
from tests.fold_model.telling import MARK, asked_for, is_profile, only, sentence, sentences, shown, telling, tells, told
from tests.openai_server import Asked, Reply, Server, answer, failure
from tests.state.made import every_claim


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(tells) as running:
        yield running


@pytest.fixture
def moved(store, server):
    """A memory of two people, told."""
    add(store, says("ada", 1, "I live in Berlin."), says("ada", 2, "My sister Ruth called. She lives in Oslo."))
    add(store, says("bob", 1, "I live in Kiel."))
    fold(store, telling(server))
    return store


def test_an_entity_is_told_in_sentences_that_name_the_facts_they_rest_on(moved, server):
    assert asked_for(server) == [["Ruth Oslo"], ["ada Berlin"], ["bob Kiel"]]
    assert shown(moved, "ada") == ["ada lives_in Berlin."]
    profile = only(moved, "ada")
    (claim,) = [claim for claim in every_claim(State.open(moved)) if claim.entity == "ada"]
    assert profile.sentences[0].premises == (claim.fact_id,)
    assert (profile.told, profile.held, profile.extractor) == (1, 1, "openai/small")


def test_there_are_none_unless_the_recipe_asks_for_them(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    report = fold(store, asking(server))
    assert (report.profiles, asked_for(server), State.open(store).manifest.profiles) == (None, [], None)


def test_a_fact_that_changes_asks_again_about_its_entity_only(moved, server):
    server.asked.clear()
    add(moved, says("ada", 3, "I live in Munich."))
    fold(moved, telling(server))
    assert asked_for(server) == [["ada Munich"]]
    assert (shown(moved, "ada"), shown(moved, "bob")) == (["ada lives_in Munich."], ["bob lives_in Kiel."])


def test_what_is_said_again_asks_nothing_again(moved, server):
    server.asked.clear()
    add(moved, says("ada", 3, "Yes, I live in Berlin."))
    report = fold(moved, telling(server))
    assert report.profiles is not None
    assert (asked_for(server), report.profiles.entities) == ([], 1)
    assert shown(moved, "ada") == ["ada lives_in Berlin."]


def test_a_second_full_fold_makes_no_call_and_gives_the_same_state(moved, server):
    before, asked = state_hash(State.open(moved)), server.count
    report = fold(moved, telling(server), full=True)
    assert (server.count, state_hash(State.open(moved))) == (asked, before)
    assert report.spent is not None
    assert (report.spent.calls, report.spent.reused) == (0, asked)
    fold(moved, telling(server), full=True, mode=Mode.REPLAY)
    assert state_hash(State.open(moved)) == before


def test_a_sentence_that_rests_on_nothing_it_was_told_is_dropped_and_counted(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    wrong = [
        sentence("She is kind."),
        sentence("She is tall.", "f1", "f2"),
        sentence("x" * 201, "f1"),
        {"text": "No facts."},
        {"text": 7, "facts": ["f1"]},
        sentence("half \ud800 a character", "f1"),
        sentence(" \n ", "f1"),
        "only words",
    ]
    right = [sentence(f"Sentence {number}.", "f1") for number in range(5)]
    server.script = lambda asked: answer(sentences(*wrong, *right)) if is_profile(asked) else reads(asked)
    report = fold(store, telling(server))
    assert report.profiles is not None
    assert shown(store, "ada") == [f"Sentence {number}." for number in range(4)]
    dropped = {"uncited": 1, "unknown-premise": 1, "bad-shape": 5, "too-long": 1, "beyond-limit": 1}
    assert report.profiles.dropped == dropped
    assert stored.counts(State.open(store)) == {"stands": 4} | dropped
    assert "kind" not in str(State.open(store).table("profiles").to_pylist())


def test_an_answer_in_another_form_is_asked_for_three_times_and_then_given_up(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    server.script = lambda asked: answer("I would rather not.") if is_profile(asked) else reads(asked)
    report = fold(store, telling(server))
    assert len(asked_for(server)) == 3
    assert report.profiles is not None
    assert report.profiles.dropped == {"unreadable-answer": 1}
    assert fold(store, telling(server)).plan.reason is Reason.NOTHING


def test_a_model_that_fails_leaves_the_state_without_the_profile_and_the_next_fold_asks_for_it(store, server):
    add(store, says("ada", 1, "I live in Berlin."), says("bob", 1, "I live in Kiel."))
    server.script = lambda asked: failure(500) if is_profile(asked) and '"ada"' in asked.text else tells(asked)
    report = fold(store, telling(server))
    assert report.profiles is not None
    assert (report.pending, report.profiles.pending, report.faults) == (0, 1, {"server-error": 1})
    assert (shown(store, "ada"), shown(store, "bob")) == ([], ["bob lives_in Kiel."])
    assert len(every_claim(State.open(store))) == 2
    server.script, before = tells, len(server.asked)
    again = fold(store, telling(server))
    assert again.plan.reason is Reason.PROFILES
    assert [told(asked)[0][1]["of"] for asked in server.asked[before:]] == ["ada"]
    assert shown(store, "ada") == ["ada lives_in Berlin."]
    assert stored.pending(State.open(store)) == 0


def test_a_replay_misses_where_a_profile_was_never_recorded(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    fold(store, asking(server, parts=1, context=1))
    with pytest.raises(NotRecorded):
        fold(store, telling(server), mode=Mode.REPLAY)
    assert asked_for(server) == []


def test_a_fresh_fold_asks_for_all_profiles_again(moved, server):
    before = len(asked_for(server))
    fold(moved, telling(server), full=True, mode=Mode.REFRESH)
    assert len(asked_for(server)) == 2 * before


def test_another_prompt_asks_again_for_profiles_and_not_about_events(moved, server):
    server.asked.clear()
    fold(moved, telling(server, sentences=3))
    assert all(map(is_profile, server.asked))
    assert len(server.asked) == 3


def test_of_an_entity_of_whom_too_little_holds_there_is_no_profile(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    fold(store, telling(server, facts_min=2))
    assert (asked_for(server), shown(store, "ada")) == ([], [])


def test_of_one_of_whom_too_much_holds_what_was_said_last_is_told(store, server):
    add(store, *(says("ada", part, f"My sister Ruth{part} called. She lives in Oslo.") for part in range(3)))
    likes = {"relation": "likes", "entity": None}

    def reads_likes(asked: Asked) -> Reply:
        if is_profile(asked):
            return tells(asked)
        return answer(content(*(fact(text, text, event=alias, **likes) for alias, text in events(asked) if alias.startswith("e"))))

    server.script = reads_likes
    fold(store, telling(server, facts=2))
    profile = only(store, "ada")
    assert (profile.told, profile.held, len(profile.sentences)) == (2, 3, 2)
    assert not any("Ruth0" in said.text for said in profile.sentences)


# Nothing that a model said is told to a model


def test_no_request_about_events_holds_what_a_profile_says(moved, server):
    add(moved, says("ada", 3, "I live in Munich."), says("ada", 4, "My sister Ruth called."), says("bob", 2, "She lives in Bonn."))
    fold(moved, telling(server))
    fold(moved, telling(server), full=True, mode=Mode.REFRESH)
    assert any(MARK in str(said) for said in State.open(moved).table("profiles")["text"].to_pylist())
    assert not any(MARK.encode() in asked.body for asked in server.asked)


def test_a_profile_that_is_fed_to_the_reading_of_events_is_refused_before_anything_is_sent(moved, server, monkeypatch):
    said = only(moved, "ada").sentences[0]
    made = prompt.request
    fed = {
        "fact": FactRef(said.fact_id, fact_digest(said.fact_id, said.text), said.text, (moved.log.event(1).event_id,)),
        "words": Template("profile", said.text),
    }
    add(moved, says("ada", 3, "I live in Munich."))
    for segment in fed.values():

        def feeding(wording, context, events, refs, segment=segment):
            asked = made(wording, context, events, refs)
            system, user = asked.messages
            return replace(asked, messages=(system, Message(user.voice, (*user.segments, segment))))

        monkeypatch.setattr(prompt, "request", feeding)
        before = server.count
        with pytest.raises(Undeclared):
            fold(moved, telling(server))
        assert server.count == before


# Who sees them


def kept(text: str, part: int, *labels: str, run: str | None = None) -> Draft:
    """Return a turn of Ada's for those who hold some labels."""
    return Draft(
        text,
        Source("chat", f"7{''.join(labels)}{run or ''}", str(part)),
        1_700_000_000_000_000 + part,
        "ada",
        scope=Scope("ada", run=run),
        audience=labels,
    )


def test_no_profile_is_made_of_facts_that_not_everybody_sees_who_sees_it(store, server):
    add(store, kept("I live in Berlin.", 1), kept("My sister Ruth lives in Oslo.", 2, "family"), kept("I live in Bonn.", 3, "family"))
    add(store, kept("I live in Kiel.", 4, run="r1"))
    server.script = lambda asked: tells(asked)
    fold(store, telling(server))
    for facts in asked_for(server):
        assert len({fact.split()[1] for fact in facts} & {"Berlin", "Bonn", "Kiel"}) <= 1
    nobody = frozenset[str]()
    assert shown(store, "ada", View(Scope("ada"), labels=nobody)) == ["ada lives_in Kiel."], "Berlin does not hold for who sees both"
    assert shown(store, "ada", View(Scope("ada", run="r1"), labels=nobody)) == ["ada lives_in Kiel."]
    assert shown(store, "ada", View(Scope("ada", run="r2"), labels=nobody)) == []


def test_a_hidden_premise_hides_the_sentence(store, server):
    add(store, kept("I live in Bonn.", 1, "family"), kept("I live in Bonn.", 2, "work"))
    fold(store, telling(server))
    assert shown(store, "ada", View(labels=frozenset())) == []
    assert shown(store, "ada", View(labels=frozenset({"family"}))) == ["ada lives_in Bonn."]
    assert shown(store, "ada", View(labels=frozenset({"other"}))) == []


def test_a_sentence_is_shown_while_its_premise_holds_in_the_view(store, server):
    add(store, kept("I live in Bonn.", 1), kept("I live in Kiel.", 2, "family"))
    fold(store, telling(server))
    assert shown(store, "ada", View(labels=frozenset())) == ["ada lives_in Bonn."]
    assert shown(store, "ada", View(labels=frozenset({"family"}))) == ["ada lives_in Kiel."]


def test_as_of_a_time_before_one_of_its_events_there_is_no_profile(moved):
    newest = max(claim.newest_seq for claim in every_claim(State.open(moved)) if claim.entity == "ada")
    assert shown(moved, "ada", View(as_of_seq=newest)) == ["ada lives_in Berlin."]
    assert shown(moved, "ada", View(as_of_seq=newest - 1)) == []


# However it is folded


@pytest.mark.parametrize("seed", range(2))
def test_folding_as_events_come_gives_the_profiles_that_folding_all_of_them_gives(store, server, seed):
    chance = random.Random(seed)
    alike: dict[str, object] = {"event": "e1", "act": "say", "a": None, "b": "Addie", "words": "Call me Addie"}

    def script(asked: Asked) -> Reply:
        if is_profile(asked) or not any("Addie" in text for alias, text in events(asked) if alias == "e1"):
            return tells(asked)
        return answer(content(aliases=(alike,)))

    server.script = script
    by = telling(server)
    texts = ["I live in Town{}.", "My sister Ruth called.", "She lives in Town{}.", "My sister Addie called.", "Call me Addie.", "Hello."]
    parts = {"ada": list(range(8)), "bob": list(range(4))}
    for said in parts.values():
        chance.shuffle(said)
    for user, part in sorted(((user, part) for user, said in parts.items() for part in said), key=lambda _: chance.random()):
        add(store, says(user, part, chance.choice(texts).format(chance.randrange(3))))
        if chance.random() < 0.4:
            fold(store, by)
    fold(store, by)
    rows, hashed = State.open(store).table("profiles").to_pylist(), state_hash(State.open(store))
    assert any(row["fate"] == Fate.STANDS for row in rows)
    fold(store, by, full=True)
    assert State.open(store).table("profiles").to_pylist() == rows
    assert state_hash(State.open(store)) == hashed
