"""Words, cues and the recipe: what search compares, from texts in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold import settings
from refold.errors import Usage
from refold.search_recipe import Recipe, named, shipped
from refold.state.cues import Cue, Dates, asks_when, cues_of, date_words
from refold.times import DAY, parse
from refold.words import LETTERS_MAX, Stems, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ada's dog isn't here.", ["ada", "dog", "isn", "t", "here"]),
        ("ADA\u2019S e-mail: a_b@x.org, 3.5 kg", ["ada", "e", "mail", "a", "b", "x", "org", "3", "5", "kg"]),
        ("Zürich caf\u0065\u0301 ÅNGSTRÖM", ["zurich", "cafe", "angstrom"]),
        ("Ειρήνη Живу йод", ["ειρηνη", "живу", "йод"]),
        ("मैं दिल्ली में", ["मैं", "दिल्ली", "में"]),
        ("東京に", ["東京", "京に", "東", "京"]),
        ("猫 ｶﾀｶﾅ", ["猫", "カタ", "タカ", "カナ"]),
        ("서울에 산다", ["서울", "울에", "산다"]),
        ("x" * 100, ["x" * LETTERS_MAX]),
        ("...", []),
    ],
)
def test_words_of_many_scripts(text, words):
    assert words_of(text) == words


@given(st.text(), st.text())
def test_words_do_not_reach_over_spaces(one, other):
    assert words_of(f"{one} {other}") == words_of(one) + words_of(other)


def test_stop_words_are_dropped_and_plain_words_stemmed():
    stems = Stems(frozenset({"the"}))
    assert [stems.of(word) for word in ("the", "running", "runs", "zürich")] == [None, "run", "run", "zürich"]


@pytest.mark.parametrize(
    ("text", "has_time"),
    [
        ("we met yesterday", True),
        ("three weeks ago", True),
        ("next summer maybe", True),
        ("on 5th of May", True),
        ("it was in 2019", True),
        ("since then", True),
        ("I may come", False),
        ("my day was good", False),
        ("room 2500", False),
    ],
)
def test_expressions_of_time_are_seen(text, has_time):
    assert (Cue.TIME in cues_of(text, words_of(text), spoken=False)) is has_time


@pytest.mark.parametrize(
    ("text", "asks"), [("Really?", True), ('He said "who?"', True), ("本当？", True), ("Who? Me.", False), ("", False)]
)
def test_a_question_is_seen_at_the_end(text, asks):
    assert (Cue.ASKS in cues_of(text, words_of(text), spoken=False)) is asks


@pytest.mark.parametrize(
    ("query", "when"), [("When did she leave?", True), ("how long was it", True), ("which year was it", True), ("who whenever", False)]
)
def test_a_question_for_a_time_is_seen(query, when):
    assert asks_when(query) is when


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("on 7 May 2023", "2023-05-07", "2023-05-07"),
        ("on May 7th, 2023?", "2023-05-07", "2023-05-07"),
        ("2023-05-07", "2023-05-07", "2023-05-07"),
        ("in February 2024", "2024-02-01", "2024-02-29"),
        ("in Dec. 2023", "2023-12-01", "2023-12-31"),
        ("2023-12", "2023-12-01", "2023-12-31"),
        ("during 2022", "2022-01-01", "2022-12-31"),
    ],
)
def test_dates_of_a_query_are_ranges(query, first, last):
    dates = Dates(query)
    low, high = parse(first), parse(last) + DAY
    assert [dates.distance(moment) for moment in (low, high - 1, low - 5, high + 4)] == [0, 0, 5, 5]


def test_a_date_without_a_year_comes_back_every_year():
    dates = Dates("what happened on 31 December?")
    assert dates.distance(parse("2019-12-31")) == 0
    assert dates.distance(parse("2020-01-02")) == DAY + 1
    assert dates.distance(parse("2020-12-30")) == DAY


@pytest.mark.parametrize("query", ["31 February 2023", "may I ask", "in 9999-99", "0000-01-01", "year 12345", "99 May"])
def test_what_is_no_date_is_none(query):
    assert Dates(query).distance(0) is None


@given(st.text(max_size=40), st.integers(-(1 << 62), 1 << 62))
def test_no_query_and_no_time_break_the_reading_of_dates(query, moment):
    Dates(query).distance(moment)
    date_words(moment)


def test_a_time_as_words():
    assert date_words(parse("2023-05-07")) == "7 may 2023"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("b = 0.4", 'b = "much"', "index.b is not a number"),
        ("b = 0.4", "", "index.b is missing"),
        ("names = 0.25", "names = 0.25\nnoise = 1", "query.noise is unknown"),
        ("weight = 1.0, average = 12.0", "weight = 1.0", "index.fields.text.average is missing"),
        ("candidates = 200", "candidates = true", "query.candidates is not a number"),
        ("candidates = 200", "candidates = 0", "query.candidates is below one"),
        ("[query.cues]", "[query.cues", "not valid TOML"),
    ],
)
def test_a_recipe_with_a_mistake_is_refused_by_name(old, new, expected):
    text = settings.text("search.toml")
    assert old in text
    with pytest.raises(Usage, match=expected):
        Recipe.load(text.replace(old, new))


def test_a_file_of_before_there_was_a_choice_of_who_makes_vectors_means_the_package():
    text = settings.text("search.toml").replace("use = false", "use = true")
    older = "".join(line for line in text.splitlines(keepends=True) if not line.startswith('by = "wordllama"'))
    assert older != text
    assert (Recipe.load(older), named(older)) == (Recipe.load(text), ("wordllama", ""))


def test_the_digest_names_what_postings_depend_on_and_nothing_else():
    text = settings.text("search.toml")
    assert Recipe.load(text.replace("names = 0.25", "names = 0.5")).digest == shipped().digest
    assert Recipe.load(text.replace("b = 0.4", "b = 0.5")).digest != shipped().digest
    assert Recipe.load(text.replace("average = 12.0", "average = 13.0")).digest != shipped().digest
