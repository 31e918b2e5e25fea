"""Answers fill what the sources leave open, the nearest first; nothing else does, and nothing that a source says is overruled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refold.errors import Usage
from refold.migrate import decisions, drafting
from refold.migrate.drafting import Outcome
from refold.model import Draft, Scope
from refold.times import parse
from tests.migrate import EPISODES, LETTA, MEM0, SAMPLES, TODAY, places_of, records


def draft(answers: dict[str, Any], *texts: str) -> Outcome:
    return drafting.draft([records(text) for text in texts], decisions.parse(answers), prepared_at=TODAY)


def by_text(outcome: Outcome) -> dict[str, Draft]:
    return {each.text: each for each in outcome.drafts}


MEM0_TEXT, MCP_TEXT, LETTA_TEXT, GRAPHITI_TEXT = json.dumps(MEM0), SAMPLES["mcp"][1], json.dumps(LETTA), json.dumps(EPISODES)


def test_what_lacks_something_is_listed_with_its_place_and_what_it_lacks():
    outcome = draft({}, MEM0_TEXT, MCP_TEXT)
    assert places_of(outcome) == {
        "0/result 4": ["user"],
        "0/result 5": ["said_at"],
        "0/relation 1": ["user", "said_at", "subjects"],
        "1/line 1 observation 1": ["user", "said_at"],
        "1/line 1 observation 2": ["user", "said_at"],
        "1/line 2 observation 1": ["user", "said_at"],
        "1/line 3 observation 1": ["user", "said_at", "subjects"],
        "1/line 4": ["user", "said_at"],
        "1/line 5": ["user", "said_at", "subjects"],
    }
    assert len(outcome.drafts) == 3


def test_every_letta_record_needs_a_user_and_a_block_without_a_time_one_too():
    outcome = draft({}, LETTA_TEXT)
    assert set(map(tuple, places_of(outcome).values())) == {("user",), ("user", "said_at")}
    assert (len(outcome.drafts), outcome.empty) == (0, 1)


def test_a_default_answers_all_that_is_open_and_nothing_that_is_not():
    outcome = draft({"default": {"user": "zoe", "said_at": "2020-01-01", "person": False}}, MEM0_TEXT, MCP_TEXT)
    assert not outcome.open
    made = by_text(outcome)
    assert made["Likes tea"].scope.user == "zoe"
    assert made["Likes tea"].said_at == parse("2024-02-12T08:00:00Z")
    assert (made["Plays chess"].scope.user, made["Plays chess"].said_at) == ("ben", parse("2020-01-01"))
    assert made["Is on leave"].subjects == ()
    assert made["Speaks fluent Spanish"].subjects == ("Ruth_Brandt",)


def test_the_nearest_answer_counts():
    answers = {
        "default": {"user": "d", "said_at": "2020", "person": True},
        "sources": {"0": {"user": "s"}},
        "groups": {"employee": {"user": "g", "person": False}},
        "records": {"0/line 3 observation 1": {"said_at": "2021"}, "0/line 4": {"user": "r"}},
    }
    made = by_text(draft(answers, MCP_TEXT))
    assert (made["Is on leave"].scope.user, made["Is on leave"].said_at, made["Is on leave"].subjects) == ("g", parse("2021"), ())
    assert made["Ruth_Brandt works on Kestrel"].scope.user == "r"
    assert made["Owner: Ada Brandt"].scope.user == "s"
    assert made["Kestrel is led by Nobody Known"].subjects == ("Nobody Known",)


def test_a_record_of_no_user_belongs_to_its_agent_and_never_to_nobody():
    answers = {"default": {"said_at": "2020", "user": None}}
    assert {each.scope for each in draft(answers, LETTA_TEXT).drafts} == {Scope(agent="Sam")}
    assert "user" in places_of(draft(answers, MCP_TEXT))["0/line 4"]
    assert draft(answers | {"records": {"0/agent 1 message 2": {"user": "zoe"}}}, LETTA_TEXT).drafts[3].scope == Scope("zoe", "Sam")


def test_groups_are_users_where_the_operator_says_so():
    made = by_text(draft({"default": {"user_is_group": True, "said_at": "2020", "user": "rest"}}, GRAPHITI_TEXT))
    assert made["I live in Ghent."].scope.user == "rest"
    made = by_text(
        draft({"default": {"user_is_group": True, "said_at": "2020"}, "records": {"0/episode 5": {"user": "crm"}}}, GRAPHITI_TEXT)
    )
    assert made["I live in Ghent."].scope.user == "ada"


def test_what_is_left_out_is_counted_and_what_lacks_nothing_stays():
    outcome = draft({"default": {"leave_out": True}, "records": {"0/result 1": {"leave_out": True}}}, MEM0_TEXT)
    assert (len(outcome.drafts), outcome.left_out, outcome.open) == (2, 4, ())


def test_what_cannot_be_read_is_open_until_it_is_left_out():
    text = MCP_TEXT + "{\n"
    answers: dict[str, Any] = {"default": {"user": "a", "said_at": "2020", "person": False}}
    (waiting,) = draft(answers, text).open
    assert (waiting.place, list(waiting.needs)) == ("0/line 6", ["form"])
    assert draft(answers | {"records": {"0/line 6": {"leave_out": True}}}, text).left_out == 1


def test_what_could_be_no_event_is_open_with_the_reason():
    (waiting,) = draft({"default": {"user": "x" * 2000}}, json.dumps(MEM0["results"][3:4])).open
    assert list(waiting.needs) == ["form"]
    assert "2000 characters" in waiting.reason


def test_further_people_labels_and_an_author_come_from_answers():
    answer = {
        "user": "a",
        "said_at": "2020",
        "subjects": ["Ruth", "Ruth"],
        "audience": ["family"],
        "author": "Ada",
        "run": "r",
        "agent": "b",
    }
    made = by_text(draft({"default": answer}, MCP_TEXT))
    one = made["Speaks fluent Spanish"]
    assert (one.subjects, one.audience, one.author, one.scope) == (("Ruth_Brandt", "Ruth"), ("family",), "Ada", Scope("a", "b", "r"))
    assert made["Is on leave"].subjects == ("Ruth",)


@pytest.mark.parametrize("answers", [{"records": {"0/result 99": {}}}, {"sources": {"7": {}}}, {"groups": {"nobody": {}}}])
def test_an_answer_for_what_is_not_there_is_refused(answers: dict[str, Any]):
    with pytest.raises(Usage, match="not there"):
        draft(answers, MEM0_TEXT)


@pytest.mark.parametrize(
    "wrong",
    [
        "[]",
        "{",
        '{"defaults": {}}',
        '{"default": 7}',
        '{"default": {"name": "SECRET"}}',
        '{"default": {"user": ""}}',
        '{"default": {"user": 7}}',
        '{"default": {"said_at": "SECRET"}}',
        '{"default": {"said_at": null}}',
        '{"default": {"person": "yes"}}',
        '{"default": {"subjects": "SECRET"}}',
        '{"default": {"subjects": [""]}}',
        '{"records": []}',
        '{"records": {"SECRET": 7}}',
        '{"default": {"leave_out": 1}}',
    ],
)
def test_decisions_that_are_none_are_refused_without_being_quoted(wrong: str):
    with pytest.raises(Usage) as caught:
        decisions.read(wrong.encode())
    assert "SECRET" not in caught.value.message


def test_the_same_sources_and_answers_give_the_same_bytes():
    answers = decisions.parse({"default": {"user": "a"}, "records": {"0/result 5": {"said_at": "2020"}}})
    made = [drafting.draft([records(MEM0_TEXT)], answers, prepared_at=TODAY).encode(answers) for _ in range(2)]
    assert made[0] == made[1]
    other = decisions.parse({"default": {"user": "b"}, "records": {"0/result 5": {"said_at": "2020"}}})
    assert drafting.draft([records(MEM0_TEXT)], other, prepared_at=TODAY).encode(other) != made[0]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_draft_comes_back_from_json_as_it_was(name: str):
    outcome = draft({"default": {"user": "a", "said_at": "2020", "person": True, "audience": ["x"]}}, SAMPLES[name][1])
    assert outcome.drafts
    assert tuple(drafting.from_json(json.loads(json.dumps(drafting.as_json(each)))) for each in outcome.drafts) == outcome.drafts
