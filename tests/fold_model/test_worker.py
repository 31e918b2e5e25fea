"""The worker takes nothing on trust that a model answers: each string is a quote, each alias one of the request's, or it is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refold.fold.ground import Told
from refold.fold.job import Answered, Job, decode_job, encode_job
from refold.model import Act, Event, Modality, Precision, Role
from refold.reading import RejectionCode
from tests.fold.said import event, folded, line
from tests.fold_model.asked import CALL, content, fact, reading, turn

BERLIN = [turn("I live in Berlin.", 1)]
SISTER = [turn("My sister Ruth called.", 1, role=Role.ASSISTANT)]


def lines(context: list[Event], events: list[Event], said: str) -> list[str]:
    return [line(one) for one in reading(context, events, said).folded.assertions]


def codes(context: list[Event], events: list[Event], said: str) -> list[RejectionCode]:
    read = reading(context, events, said)
    assert read.folded.assertions == ()
    assert read.folded.edges == ()
    return [one.code for one in read.folded.rejections]


def test_a_grounded_statement_becomes_an_assertion_with_its_spans_and_its_call():
    (made,) = reading([], BERLIN, content(fact("Berlin", "I live in Berlin"))).folded.assertions
    assert line(made) == "ada lives_in Berlin"
    assert (made.spans, made.span) == (((0, 16), (10, 16)), (10, 16))
    assert (made.call_id, made.extractor, made.rank) == (CALL, "openai/small", 2)


def test_a_model_and_the_symbolic_extractor_give_the_same_assertion_but_for_who_read_it():
    said = event("I live in Berlin.")
    (symbolic,) = folded(said).assertions
    (model,) = reading([], [said], content(fact("Berlin", "I live in Berlin"))).folded.assertions
    same = ("entity", "entity_text", "relation", "value", "act", "modality", "asserted_by", "rank", "spans", "span", "validity")
    assert [getattr(model, name) for name in same] == [getattr(symbolic, name) for name in same]
    assert model.fact_id != symbolic.fact_id


def test_an_entity_may_be_named_by_an_earlier_event_and_the_fact_then_rests_on_both():
    told = fact("Oslo", "moved to Oslo", entity="Ruth", entity_in="c1")
    (made,) = reading(SISTER, [turn("She moved to Oslo!", 2)], content(told)).folded.assertions
    assert line(made) == "Ruth lives_in Oslo"
    assert (made.seq, made.named_seq, made.named_span) == (2, 1, (10, 14))
    other = [turn("My sister Ruth called.", 1, seq=9, role=Role.ASSISTANT)]
    (again,) = reading(other, [turn("She moved to Oslo!", 2)], content(told)).folded.assertions
    assert again.fact_id != made.fact_id, "the id goes dark with either event"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"value": "Rome"}, RejectionCode.UNGROUNDED_VALUE),
        ({"value": "Ber"}, RejectionCode.UNGROUNDED_VALUE),
        ({"value": "berlin"}, RejectionCode.UNGROUNDED_VALUE),
        ({"words": "I live near Berlin"}, RejectionCode.UNGROUNDED_VALUE),
        ({"when": "since 2020"}, RejectionCode.UNGROUNDED_VALUE),
        ({"qualifier": "sister"}, RejectionCode.UNGROUNDED_VALUE),
        ({"qualifier": "live"}, RejectionCode.BAD_SHAPE),
        ({"value": None}, RejectionCode.BAD_SHAPE),
        ({"value": ""}, RejectionCode.BAD_SHAPE),
        ({"value": 7}, RejectionCode.BAD_SHAPE),
        ({"value": ["Berlin"]}, RejectionCode.BAD_SHAPE),
        ({"words": None}, RejectionCode.BAD_SHAPE),
        ({"act": "shout"}, RejectionCode.BAD_SHAPE),
        ({"modality": "certain"}, RejectionCode.BAD_SHAPE),
        ({"note": "more"}, RejectionCode.BAD_SHAPE),
        ({"relation": "hates"}, RejectionCode.UNKNOWN_RELATION),
        ({"event": "e2"}, RejectionCode.UNKNOWN_EVENT),
        ({"event": "c1"}, RejectionCode.UNKNOWN_EVENT),
        ({"entity": "Ruth", "entity_in": "c9"}, RejectionCode.UNKNOWN_EVENT),
        ({"entity": "Ruth"}, RejectionCode.UNGROUNDED_ENTITY),
        ({"entity": "Tom", "entity_in": "c1"}, RejectionCode.UNGROUNDED_ENTITY),
        ({"entity": "Rut", "entity_in": "c1"}, RejectionCode.UNGROUNDED_ENTITY),
        ({"entity": "she"}, RejectionCode.UNGROUNDED_ENTITY),
        ({"relation": "condition", "entity": "Ruth", "entity_in": "c1"}, RejectionCode.NOT_THE_SPEAKER),
        ({"relation": "property", "qualifier": "live"}, RejectionCode.NOT_THE_SPEAKER),
    ],
)
def test_what_is_not_grounded_or_not_in_the_form_is_refused_with_a_code(changed, code):
    said = content(fact("Berlin", "I live in Berlin") | changed)
    assert codes(SISTER, [turn("I live in Berlin.", 2)], said) == [code]


def test_a_pronoun_names_nobody():
    said = content(fact("Oslo", "She lives in Oslo", entity="She"))
    assert codes([], [turn("She lives in Oslo.", 1)], said) == [RejectionCode.UNGROUNDED_ENTITY]


def test_a_refused_statement_takes_no_other_with_it():
    said = content(fact("Rome", "I live in Berlin"), fact("Berlin", "I live in Berlin"))
    assert lines([], BERLIN, said) == ["ada lives_in Berlin"]


def test_nothing_is_asserted_from_what_was_only_told():
    events = [turn("You live in Rome.", 1, role=Role.ASSISTANT), turn("I live in Berlin.", 2)]
    assert codes([], events, content(fact("Rome", "You live in Rome"))) == [RejectionCode.UNGROUNDED_VALUE]
    assert lines([], events, content(fact("Berlin", "I live in Berlin"))) == ["ada lives_in Berlin"]


@pytest.mark.parametrize(
    "said",
    [
        *("", "no", "null", "[]", "7", '{"facts": []}', '{"facts": [], "aliases": {}}', '{"facts": [], "aliases": [], "more": 1}'),
        *("[" * 100_000, '{"facts": [' + "0," * 1_000 + '0], "aliases": []}', "```json\n" + content() + "\n```"),
    ],
)
def test_an_answer_in_another_form_is_not_readable(said):
    read = reading([], BERLIN, said)
    assert not read.readable
    assert not read.folded.assertions


def test_a_denial_needs_no_value_and_a_time_is_resolved_against_the_day_it_was_said():
    quit_it = [turn("I quit last month. My new job is at Acme since 2021.", 1)]
    said = content(
        fact(None, "I quit", relation="works_at", act="end", when="last month"),
        fact("Acme", "My new job is at Acme", relation="works_at", when="since 2021"),
    )
    end, since = reading([], quit_it, said).folded.assertions
    assert (end.act, end.value, end.validity.precision) == (Act.END, "", Precision.MONTH)
    assert since.validity.precision is Precision.YEAR
    assert since.validity.start is not None


def test_a_plan_is_planned_however_firmly_the_model_reads_it():
    said = content(fact("learn Greek", "I will learn Greek", relation="plans"))
    (made,) = reading([], [turn("I will learn Greek.", 1)], said).folded.assertions
    assert made.modality is Modality.PLANNED


def test_the_value_is_found_in_the_words_that_state_it_rather_than_before_them():
    (made,) = reading([], [turn("Berlin is nice, and I live in Berlin.", 1)], content(fact("Berlin", "I live in Berlin"))).folded.assertions
    assert made.span == (30, 36)


def test_two_names_of_one_person_are_joined_where_both_stand_there():
    events = [turn("Ruth, also called Ruthie, is here.", 1)]
    edge: dict[str, object] = {"event": "e1", "act": "say", "a": "Ruth", "b": "Ruthie", "words": "Ruth, also called Ruthie"}
    (made,) = reading([], events, content(aliases=(edge,))).folded.edges
    assert (made.a.name, made.b.name, made.act) == ("ruth", "ruthie", Act.SAY)
    changes: tuple[dict[str, object], ...] = (
        {"b": "Rob"},
        {"act": "end"},
        {"b": None},
        {"event": "e2"},
        {"a": "ruth", "b": "Ruth"},
        {"more": ""},
    )
    for changed in changes:
        assert len(codes([], events, content(aliases=(edge | changed,)))) == 1


def test_an_event_that_was_not_told_to_its_end_is_counted():
    read = reading([], BERLIN, content(), characters=5).folded
    assert [one.code for one in read.rejections] == [RejectionCode.TOO_LONG]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["Berlin", "I live in Berlin", "e1", "c1", "say", "lives_in", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
ANY = fact("Berlin", "I live in Berlin")


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(ANY, JSON)) | JSON, max_size=3), st.lists(JSON, max_size=2))
@example([ANY | {"event": {}}], [])
@example([ANY | {"relation": []}], [])
def test_whatever_is_answered_nothing_comes_of_it_but_quotes(facts, aliases):
    read = reading(SISTER, [turn("I live in Berlin.", 2)], json.dumps({"facts": facts, "aliases": aliases}))
    assert read.readable
    for made in read.folded.assertions:
        assert made.value in "I live in Berlin."
    assert len(read.folded.assertions) + len(read.folded.edges) + len(read.folded.rejections) <= len(facts) + len(aliases)


def test_a_job_is_read_as_it_was_written_and_says_no_more_of_an_event_than_a_statement_may_depend_on():
    known = replace(BERLIN[0], metadata={"heading": "Move", "phone": "canary"}, audience=("canary",), key="canary", ingest=b"canary")
    job = Job("openai/small", 10, (Answered(CALL, {"e1": Told(known, b"k" * 32)}, "{}"),))
    raw = encode_job(job)
    read = decode_job(raw)
    assert encode_job(read) == raw
    assert read.answers[0].events["e1"].event.text == "I live in Berlin."
    assert read.answers[0].events["e1"].event.metadata == {"heading": "Move"}
    assert not any(canary in raw for canary in (b"canary", b"canary".hex().encode()))


def test_an_event_that_several_answers_are_about_is_sent_to_the_worker_once():
    told = Told(BERLIN[0], b"k" * 32)
    job = Job("openai/small", 10, tuple(Answered(bytes([number] * 16), {f"e{number}": told}, "{}") for number in range(3)))
    raw = encode_job(job)
    assert raw.count(b"I live in Berlin.") == 1
    assert [list(one.events) for one in decode_job(raw).answers] == [["e0"], ["e1"], ["e2"]]
    assert {one.event.text for answered in decode_job(raw).answers for one in answered.events.values()} == {"I live in Berlin."}
    with pytest.raises(ValueError, match="no event of its job"):
        decode_job(raw.replace(b'["e2",0]', b'["e2",1]'))
