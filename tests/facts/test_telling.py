"""How a stance is told: its time, its words, its support."""

from __future__ import annotations

import pytest

from refold.fold.merge import decide, stances
from refold.model import Act, Modality, Precision, Validity
from refold.reading import Claim, Fact
from refold.state.telling import QUOTE_MAX, around, fact_of, quoted, source_of
from tests.merge.claims import DAY, claim, policy_of


def told(*claims: Claim) -> list[Fact]:
    return [fact_of(stance) for stance in stances(decide(claims, policy_of), policy_of)]


def test_a_stated_end_is_told_before_the_one_that_follows():
    stay = claim("Berlin", day=1, validity=Validity(end=5 * DAY, precision=Precision.MONTH, words="until May"))
    berlin, _ = told(stay, claim("Munich", day=9))
    assert (berlin.valid_to, berlin.valid_source, berlin.valid_precision) == (5 * DAY, "until May", Precision.MONTH)


def test_an_outranked_value_has_no_end():
    _, outranked = told(claim("Ada", relation="property", rank=1, day=1), claim("Ben", relation="property", rank=0, day=2))
    assert (outranked.value, outranked.valid_to, outranked.valid_source) == ("Ben", None, "")


def test_an_end_stated_before_the_value_was_said_again_counts_no_more():
    until_may = Validity(end=5 * DAY, words="until May")
    (fact,) = told(claim("Berlin", day=1, validity=until_may), claim("Berlin", day=9))
    assert (fact.valid_to, fact.valid_source) == (None, "")
    (fact,) = told(claim("Berlin", day=1, validity=until_may), claim("Berlin", day=4))
    assert (fact.valid_to, fact.valid_source) == (5 * DAY, "until May")


def test_the_time_of_the_latest_saying_that_states_one_is_told():
    since = [Validity(start=d * DAY, words=f"since day {d}") for d in (1, 2)]
    (fact,) = told(claim("Berlin", day=3, validity=since[0]), claim("Berlin", day=4, validity=since[1]), claim("Berlin", day=5))
    assert (fact.valid_from, fact.valid_source) == (2 * DAY, "since day 2")


def test_the_saying_shown_lends_its_support_first():
    weak = claim("tea", relation="likes", day=2, modality=Modality.HEDGED)
    (fact,) = told(claim("tea", relation="likes", day=1), weak)
    assert [event_id for event_id, _ in fact.support] == [claim("", day=1).event_id, weak.event_id]


def test_a_denial_is_told_as_what_it_is():
    (fact,) = told(claim("tea", relation="likes", act=Act.DENY))
    assert (fact.act, fact.standing.value, fact.beaten_by) == (Act.DENY, "inert", None)


def test_a_source_without_a_part_has_no_sign_for_it():
    assert [source_of(claim("", part=part)) for part in ("3", "")] == ["chat:1#3", "chat:1"]


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("I live in Berlin. It rains.", "Berlin", "I live in Berlin."),
        ("Hello! I live in Berlin", "Berlin", "I live in Berlin"),
        ("One line\nI live in Berlin\nanother", "Berlin", "I live in Berlin"),
        ("Born in Oslo. Raised in Rome. Gone.", "Oslo. Raised in Rome", "Born in Oslo. Raised in Rome."),
        ("Berlin", "Berlin", "Berlin"),
        ("It rains. Berlin it is.", "Berlin", "Berlin it is."),
    ],
)
def test_words_are_quoted_in_whole_sentences(text: str, words: str, sentence: str):
    first, end = around(text, text.index(words), text.index(words) + len(words))
    assert text[first:end] == sentence


@pytest.mark.parametrize(("length", "quoted_length"), [(QUOTE_MAX, QUOTE_MAX), (QUOTE_MAX + 1, QUOTE_MAX), (9_000, QUOTE_MAX)])
def test_a_quote_has_a_bound(length: int, quoted_length: int):
    text = "x" * length
    quote = quoted(text, [(0, 1)])
    assert (len(quote), quote.endswith("…")) == (quoted_length, length > QUOTE_MAX)


def test_a_quote_is_one_line():
    assert quoted("I live\tin  Berlin", [(0, 1)]) == "I live in Berlin"
