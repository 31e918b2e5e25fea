"""The gate: only what is quoted exactly, by whom it may be said, becomes an assertion; and a fact's id is its event's secret."""

from __future__ import annotations

import hmac
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.fold.extraction import EdgeCandidate, Extraction
from refold.fold.ground import fold_batch, fold_event, ground, is_quote
from refold.fold.symbolic import extract
from refold.model import Act, Event, Mention, Modality, Role, Validity
from refold.reading import Candidate, Folded, RejectionCode
from tests.fold.said import ADA, FACT_KEY, event, folded, shipped

TEXT = "My sister Ruth lives in Hamburg, and I live in M\u00fcnchen."
SAID = event(TEXT)


def at(words: str) -> tuple[int, int]:
    return TEXT.index(words), TEXT.index(words) + len(words)


GOOD = Candidate(
    relation="lives_in",
    act=Act.SAY,
    modality=Modality.ASSERTED,
    value="Hamburg",
    value_span=at("Hamburg"),
    relation_span=at("Ruth lives in Hamburg"),
    entity="Ruth",
    entity_span=at("Ruth"),
)


def gate(*candidates: Candidate, said: Event = SAID, edges: tuple[EdgeCandidate, ...] = ()) -> Folded:
    return ground(said, Extraction(candidates, edges), shipped(), fact_key=FACT_KEY)


def code(candidate: Candidate, said: Event = SAID) -> RejectionCode | None:
    result = gate(candidate, said=said)
    assert len(result.assertions) + len(result.rejections) == 1
    return result.rejections[0].code if result.rejections else None


def test_a_quoted_candidate_is_asserted():
    fact = gate(GOOD).assertions[0]
    assert (fact.entity_text, fact.value, fact.spans, fact.span) == (
        "Ruth",
        "Hamburg",
        tuple(sorted([at("Ruth lives in Hamburg"), at("Ruth"), at("Hamburg")])),
        at("Hamburg"),
    )
    assert (fact.source, fact.part, fact.seq, fact.extractor) == ("chat:7", "3", 0, "symbolic/en-1")


REFUSED = {
    "an unknown relation": (replace(GOOD, relation="shoe_size"), RejectionCode.UNKNOWN_RELATION),
    "a value that is not there": (replace(GOOD, value="Berlin"), RejectionCode.UNGROUNDED_VALUE),
    "a value elsewhere": (replace(GOOD, value_span=at("and I l")), RejectionCode.UNGROUNDED_VALUE),
    "a value past the end": (replace(GOOD, value_span=(1_000, 1_007)), RejectionCode.UNGROUNDED_VALUE),
    "a value at a negative place": (replace(GOOD, value_span=(-7, 0)), RejectionCode.UNGROUNDED_VALUE),
    "half a token": (replace(GOOD, value="Ham", value_span=at("Ham")), RejectionCode.UNGROUNDED_VALUE),
    "the end of a token": (replace(GOOD, value="burg", value_span=at("burg")), RejectionCode.UNGROUNDED_VALUE),
    "a token cut before an umlaut": (replace(GOOD, value="M", value_span=at("M\u00fcnchen")[:1] * 2), RejectionCode.UNGROUNDED_VALUE),
    "an entity that is not there": (replace(GOOD, entity="Rosa"), RejectionCode.UNGROUNDED_ENTITY),
    "an entity without a place": (replace(GOOD, entity_span=None), RejectionCode.UNGROUNDED_ENTITY),
    "a place without an entity": (replace(GOOD, entity=None), RejectionCode.UNGROUNDED_ENTITY),
    "half an entity": (replace(GOOD, entity="Rut", entity_span=at("Rut")), RejectionCode.UNGROUNDED_ENTITY),
    "a private matter of somebody else": (replace(GOOD, relation="condition"), RejectionCode.NOT_THE_SPEAKER),
    "a property in a chat": (
        replace(GOOD, relation="property", qualifier="sister", qualifier_span=at("sister")),
        RejectionCode.NOT_THE_SPEAKER,
    ),
    "a saying without a value": (replace(GOOD, value=None, value_span=None), RejectionCode.BAD_SHAPE),
    "a value without a place": (replace(GOOD, value_span=None), RejectionCode.BAD_SHAPE),
    "an empty value": (replace(GOOD, value="", value_span=(3, 3)), RejectionCode.BAD_SHAPE),
    "no words that state it": (replace(GOOD, relation_span=(5, 5)), RejectionCode.BAD_SHAPE),
    "words past the end": (replace(GOOD, relation_span=(0, 10_000)), RejectionCode.BAD_SHAPE),
    "a qualifier that the relation has not": (replace(GOOD, qualifier="sister", qualifier_span=at("sister")), RejectionCode.BAD_SHAPE),
    "kin without a qualifier": (replace(GOOD, relation="kin"), RejectionCode.BAD_SHAPE),
    "a qualifier that is not there": (
        replace(GOOD, relation="kin", qualifier="aunt", qualifier_span=at("sister")),
        RejectionCode.BAD_SHAPE,
    ),
    "a time that is not there": (replace(GOOD, validity=Validity(words="since 1999")), RejectionCode.BAD_SHAPE),
    "a time that ends before it begins": (replace(GOOD, validity=Validity(start=2, end=1)), RejectionCode.BAD_SHAPE),
}


@pytest.mark.parametrize(("candidate", "expected"), REFUSED.values(), ids=REFUSED)
def test_the_gate_refuses(candidate, expected):
    assert code(candidate) is expected


def test_a_rejection_has_a_code_and_no_text():
    rejection = gate(replace(GOOD, relation="Ruth's secret")).rejections[0]
    assert (rejection.seq, rejection.relation, rejection.code) == (0, "", RejectionCode.UNKNOWN_RELATION)


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.SYSTEM, Role.TOOL])
def test_the_gate_refuses_what_an_assistant_says(role):
    assert code(GOOD, replace(SAID, role=role)) is RejectionCode.NOT_AN_ASSERTING_ROLE


def test_a_document_may_not_instruct():
    order = replace(GOOD, relation="instructs", entity=None, entity_span=None)
    assert code(order, replace(SAID, role=Role.DOCUMENT)) is RejectionCode.NOT_THE_SPEAKER
    assert code(order) is None


def test_a_value_may_be_very_long_but_not_without_end():
    text = "Note " + "x" * 1200
    said = event(text, role=Role.DOCUMENT)
    long = replace(GOOD, entity=None, entity_span=None, value=text[5:], value_span=(5, len(text)), relation_span=(0, 4))
    assert code(long, said) is RejectionCode.BAD_SHAPE


def test_an_end_without_a_value_is_asserted_with_an_empty_one():
    end = replace(GOOD, relation="works_at", act=Act.END, value=None, value_span=None, entity=None, entity_span=None)
    fact = gate(end).assertions[0]
    assert (fact.value, fact.value_mention, fact.span) == ("", None, GOOD.relation_span)


def test_a_heading_is_known_and_another_one_is_not():
    said = event("Owner: Ada Brandt", role=Role.DOCUMENT, author=None, metadata={"heading": "Offsite", "title": "Plans"})
    candidate = Candidate(
        "property", Act.SAY, Modality.ASSERTED, "Ada Brandt", (7, 17), (0, 17), None, None, "Owner", (0, 5), value_is_entity=True
    )
    for name, expected in [("Offsite", None), ("Plans", None), ("Onsite", RejectionCode.UNGROUNDED_ENTITY)]:
        assert code(replace(candidate, entity=name), said) is expected
    fact = gate(replace(candidate, entity="Offsite"), said=said).assertions[0]
    assert (fact.entity, fact.entity_text) == (Mention("doc:7", "offsite"), "Offsite")
    assert fact.value_mention == Mention("doc:7", "ada brandt")


WHO = {
    "a user of themselves": (event("I live in Munich."), Mention(ADA.hex()), "ada", 2),
    "a user of another": (event("Ruth lives in Munich."), Mention(ADA.hex(), "ruth"), "Ruth", 0),
    "a user without a name": (event("I live in Munich.", author=None), Mention("chat:7"), "chat:7", 2),
    "a letter of its author": (event("I live in Munich.", role=Role.DOCUMENT), Mention(ADA.hex()), "ada", 2),
    "a document of a person": (event("Ruth lives in Munich.", role=Role.DOCUMENT, author=None), Mention("doc:7", "ruth"), "Ruth", 1),
    "a document of itself": (event("I live in Munich.", role=Role.DOCUMENT, author=None), Mention("doc:7"), "doc:7", 1),
}


@pytest.mark.parametrize(("said", "entity", "text", "rank"), WHO.values(), ids=WHO)
def test_an_entity_is_the_speakers_word_for_it_and_has_a_rank(said, entity, text, rank):
    fact = folded(said).assertions[0]
    assert (fact.entity, fact.entity_text, fact.rank) == (entity, text, rank)
    assert fact.asserted_by == Mention(entity.owner)


@pytest.mark.parametrize("text", ["My sister Ruth is here.", "Ruth is my sister.", "Ruth, my sister, is here.", "Ruth isn't my sister."])
def test_a_relative_is_an_entity_however_it_is_said(text):
    assert [fact.value_mention for fact in folded(text).assertions] == [Mention(ADA.hex(), "ruth")]


def test_what_somebody_is_called_or_likes_is_no_entity():
    assert [fact.value_mention for fact in folded("My name is Ruth and I like Mozart.").assertions] == [None, None]


def test_two_speakers_mean_two_people_by_one_name():
    other = replace(event("Ruth lives in Munich."), speaker=type(ADA)(b"o" * 16))
    assert folded(other).assertions[0].entity != folded("Ruth lives in Munich.").assertions[0].entity


def test_a_name_is_compared_normalised_and_shown_as_written():
    fact = folded("RUTH  lives in Munich.").assertions[0]
    assert (fact.entity.name, fact.entity_text) == ("ruth", "RUTH")


EDGE = EdgeCandidate("Ruth", at("Ruth"), "Hamburg", at("Hamburg"), Act.SAY, at("Ruth lives in Hamburg"))
EDGES_REFUSED = {
    "a name that is not there": (replace(EDGE, b="Berlin"), RejectionCode.UNGROUNDED_ENTITY),
    "another that is not there": (replace(EDGE, a="Rosa"), RejectionCode.UNGROUNDED_ENTITY),
    "a name joined with itself": (replace(EDGE, b="Ruth", b_span=at("Ruth")), RejectionCode.BAD_SHAPE),
    "an end": (replace(EDGE, act=Act.END), RejectionCode.BAD_SHAPE),
    "no words that state it": (replace(EDGE, relation_span=(9, 9)), RejectionCode.BAD_SHAPE),
}


@pytest.mark.parametrize(("edge", "expected"), EDGES_REFUSED.values(), ids=EDGES_REFUSED)
def test_the_gate_refuses_an_edge(edge, expected):
    result = gate(edges=(edge,))
    assert [rejection.code for rejection in result.rejections] == [expected]
    assert result.edges == ()


def test_an_edge_joins_mentions_of_one_speaker():
    first, other = gate(edges=(replace(EDGE, a=None, a_span=None), EDGE)).edges
    assert (first.a, first.b) == (Mention(ADA.hex()), Mention(ADA.hex(), "hamburg"))
    assert (other.a, other.b) == (Mention(ADA.hex(), "ruth"), Mention(ADA.hex(), "hamburg"))
    assert other.spans == tuple(sorted([at("Ruth"), at("Hamburg"), at("Ruth lives in Hamburg")]))


# Fact ids


def test_the_fact_id_is_a_known_value():
    # HMAC-SHA256(0x07 * 32, SHA256("refold/fact-id/v1") ‖ length-prefixed fields ‖ act ‖ modality ‖ spans)[:16], computed by hand.
    def prefixed(text: str | None) -> bytes:
        return b"\xff" * 4 if text is None else len(text.encode()).to_bytes(4, "big") + text.encode()

    message = sha256(b"refold/fact-id/v1").digest()
    message += b"".join(prefixed(field) for field in ("symbolic/en-1", None, "lives_in", None, "Munich")) + bytes([0, 0])
    message += b"".join(number.to_bytes(4, "big") for number in (0, 16, 10, 16))
    assert folded("I live in Munich").assertions[0].fact_id == hmac.new(FACT_KEY, message, "sha256").digest()[:16]


DIFFERENT = {
    "entity": replace(GOOD, entity=None, entity_span=None),
    "value": replace(GOOD, value="M\u00fcnchen", value_span=at("M\u00fcnchen")),
    "act": replace(GOOD, act=Act.DENY),
    "modality": replace(GOOD, modality=Modality.HEDGED),
    "relation": replace(GOOD, relation="works_at"),
    "words": replace(GOOD, relation_span=at("lives in Hamburg")),
}


@pytest.mark.parametrize("other", DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_has_another_id(other):
    ids = {fact.fact_id for fact in gate(GOOD, other).assertions}
    assert len(ids) == 2


def test_the_same_statement_under_another_key_or_extractor_has_another_id():
    mine = gate(GOOD).assertions[0].fact_id
    assert ground(SAID, Extraction((GOOD,)), shipped(), fact_key=b"\x08" * 32).assertions[0].fact_id != mine
    assert ground(SAID, Extraction((GOOD,)), shipped(), fact_key=FACT_KEY, extractor="other/1").assertions[0].fact_id != mine


def test_a_candidate_given_twice_is_one_fact():
    assert len(gate(GOOD, GOOD).assertions) == 1


@given(st.text(max_size=40), st.integers(-5, 45), st.integers(-5, 45))
def test_a_quote_is_exactly_the_words_and_cuts_no_token(text, first, end):
    words = text[max(first, 0) : max(end, 0)]
    if is_quote(text, (first, end), words):
        assert 0 <= first < end <= len(text)
        assert not (first > 0 and text[first - 1].isalnum() and text[first].isalnum())
        assert not (end < len(text) and text[end - 1].isalnum() and text[end].isalnum())


def test_a_combining_mark_belongs_to_its_word():
    text = "Jose\u0301 here"
    assert not is_quote(text, (0, 4), "Jose")
    assert is_quote(text, (0, 5), "Jose\u0301")


TEXTS = [
    "I live in Munich and work at Acme.", "My sister Ruth lives in Kiel.", "Ruth is allergic to bees.", "My name is Ada.", "I quit!", "ok",
]  # fmt: skip


@given(st.lists(st.sampled_from(TEXTS), max_size=8), st.data())
def test_any_batches_give_the_same_rows(texts, data):
    events = [(event(text, seq=seq), bytes([seq]) * 32) for seq, text in enumerate(texts)]
    whole = fold_batch(events, shipped())
    cut = data.draw(st.integers(0, len(events)))
    parts = [fold_batch(events[:cut], shipped()), fold_batch(events[cut:], shipped())]
    assert whole.assertions == parts[0].assertions + parts[1].assertions
    assert whole.edges == parts[0].edges + parts[1].edges
    assert whole.rejections == parts[0].rejections + parts[1].rejections
    assert whole.assertions == tuple(fact for said, key in events for fact in fold_event(said, key, shipped()).assertions)


def test_extraction_and_gate_agree_on_every_quote():
    for text in TEXTS:
        said = event(text)
        result = ground(said, extract(said, shipped()), shipped(), fact_key=FACT_KEY)
        assert {rejection.code for rejection in result.rejections} <= {RejectionCode.NOT_THE_SPEAKER}
