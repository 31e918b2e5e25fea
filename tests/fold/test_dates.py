"""Times are resolved against the moment of the saying, by the words alone: no clock, whenever it is read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.fold.dates import Bare, may_begin, phrase_end, resolve
from refold.model import Precision, Validity
from refold.times import day, parse

SAID = parse("2024-03-05T10:00:00Z")  # a Tuesday
Days = tuple[str | None, str | None, str | None]


def shown(validity: Validity) -> Days:
    start, end = (None if at is None else day(at) for at in (validity.start, validity.end))
    return start, end, None if validity.precision is None else validity.precision.name.lower()


PERIODS: dict[str, Days] = {
    "2024-06-01": ("2024-06-01", "2024-06-02", "day"),
    "on 3 May 2024": ("2024-05-03", "2024-05-04", "day"),
    "on the 3rd of May 2024": ("2024-05-03", "2024-05-04", "day"),
    "May 3rd, 2024": ("2024-05-03", "2024-05-04", "day"),
    "01.06.2024": ("2024-06-01", "2024-06-02", "day"),
    "in May 2024": ("2024-05-01", "2024-06-01", "month"),
    "2024-12": ("2024-12-01", "2025-01-01", "month"),
    "in 2023": ("2023-01-01", "2024-01-01", "year"),
    "in the summer of 2020": ("2020-06-01", "2020-09-01", "month"),
    "in winter 2020": ("2020-12-01", "2021-03-01", "month"),
    "yesterday": ("2024-03-04", "2024-03-05", "day"),
    "the day before yesterday": ("2024-03-03", "2024-03-04", "day"),
    "last week": ("2024-02-26", "2024-03-04", "day"),
    "next week": ("2024-03-11", "2024-03-18", "day"),
    "last weekend": ("2024-03-02", "2024-03-04", "day"),
    "this month": ("2024-03-01", "2024-04-01", "month"),
    "last year": ("2023-01-01", "2024-01-01", "year"),
    "last Friday": ("2024-03-01", "2024-03-02", "day"),
    "next Friday": ("2024-03-08", "2024-03-09", "day"),
    "last March": ("2023-03-01", "2023-04-01", "month"),
    "last summer": ("2023-06-01", "2023-09-01", "month"),
    "two years ago": ("2022-01-01", "2023-01-01", "year"),
    "three months ago": ("2023-12-01", "2024-01-01", "month"),
    "a year and a half ago": ("2022-01-01", "2023-01-01", "year"),
    "for two and a half years": ("2021-01-01", None, "year"),
    "last Christmas": ("2023-12-25", "2023-12-26", "day"),
    "next Christmas": ("2024-12-25", "2024-12-26", "day"),
    "this Christmas": ("2024-12-25", "2024-12-26", "day"),
    "on New Year's Eve": ("2023-12-31", "2024-01-01", "day"),
    "since New Year": ("2024-01-01", None, "day"),
    "in Q3 2021": ("2021-07-01", "2021-10-01", "month"),
    "10 days ago": ("2024-02-24", "2024-02-25", "day"),
    "from 2010 to 2014": ("2010-01-01", "2015-01-01", "year"),
    "between May and July 2021": ("2021-05-01", "2021-08-01", "month"),
    "from October to March": ("2023-10-01", "2024-04-01", "month"),
    "2015-2019": ("2015-01-01", "2020-01-01", "year"),
    "since 2023": ("2023-01-01", None, "year"),
    "since March": ("2024-03-01", None, "month"),
    "since May": ("2023-05-01", None, "month"),
    "ever since last summer": ("2023-06-01", None, "month"),
    "as of 2024-02-01": ("2024-02-01", None, "day"),
    "after 2020": ("2021-01-01", None, "year"),
    "for five years": ("2019-01-01", None, "year"),
    "for about 3 months": ("2023-12-01", None, "month"),
    "over the last two weeks": ("2024-02-20", None, "day"),
    "until 2024-06-01": (None, "2024-06-02", "day"),
    "until 2014": (None, "2015-01-01", "year"),
    "until May": (None, "2024-06-01", "month"),
    "by Friday": (None, "2024-03-09", "day"),
    "before 2020": (None, "2020-01-01", "year"),
}


@pytest.mark.parametrize(("words", "expected"), PERIODS.items(), ids=PERIODS)
def test_words_name_a_period(words, expected):
    assert shown(resolve(words, SAID)) == expected


@pytest.mark.parametrize(
    "words", [*PERIODS, "every Friday", "at 5 pm", "in the morning", "all my life", "once a week", "first thing tomorrow"]
)
def test_the_words_of_a_time_are_found_whole(words):
    text = f"x {words}, and so on"
    assert may_begin(words.split()[0].lower())
    assert phrase_end(text, 2, len(text)) == 2 + len(words)


@pytest.mark.parametrize(
    "text", ["I may go", "a march", "in Munich", "the second", "12 Birch Lane", "two cats", "version 3.5", "my 2023x", "on it"]
)
def test_other_words_are_no_time(text):
    begins = [0, *(at + 1 for at, char in enumerate(text) if char == " ")]
    assert [phrase_end(text, at, len(text)) for at in begins] == [None] * len(begins)


AHEAD: dict[str, Days] = {
    "in May": ("2024-05-01", "2024-06-01", "month"),
    "in January": ("2025-01-01", "2025-02-01", "month"),
    "on Monday": ("2024-03-11", "2024-03-12", "day"),
    "on 1 February": ("2025-02-01", "2025-02-02", "day"),
    "in two weeks": ("2024-03-19", "2024-03-20", "day"),
    "on the 1st": ("2024-04-01", "2024-04-02", "day"),
    "tomorrow": ("2024-03-06", "2024-03-07", "day"),
}


@pytest.mark.parametrize(("words", "expected"), AHEAD.items(), ids=AHEAD)
def test_a_plan_looks_ahead_for_a_day_or_month_without_a_year(words, expected):
    assert shown(resolve(words, SAID, ahead=True)) == expected


def test_a_time_without_since_or_until_means_what_the_statement_makes_of_it():
    assert shown(resolve("in 2023", SAID, bare=Bare.BEGINS)) == ("2023-01-01", None, "year")
    assert shown(resolve("in 2023", SAID, bare=Bare.ENDS)) == (None, "2024-01-01", "year")
    assert shown(resolve("since 2023", SAID, bare=Bare.ENDS)) == ("2023-01-01", None, "year")


@pytest.mark.parametrize("words", ["31 February 2024", "every Friday", "since then", "at 5 pm", "all my life", "in two days", ""])
def test_what_cannot_be_resolved_keeps_its_words_and_no_time(words):
    assert resolve(words, SAID) == Validity(words=words)


def test_the_words_are_kept_as_written():
    assert resolve("Since  MARCH", SAID).words == "Since  MARCH"


def test_the_same_words_said_at_another_time_name_another_period():
    assert shown(resolve("last year", parse("2019-07-01"))) == ("2018-01-01", "2019-01-01", "year")
    assert shown(resolve("yesterday", parse("2024-03-01T00:00:00Z"))) == ("2024-02-29", "2024-03-01", "day")


@given(st.text(max_size=60), st.integers(-(2**63), 2**63 - 1))
def test_no_words_and_no_moment_make_an_error(words, said_at):
    assert resolve(words, said_at).words == words


@given(
    st.sampled_from([*PERIODS, *AHEAD]),
    st.datetimes(datetime(1001, 1, 1), datetime(9900, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(list(Bare)),
    st.booleans(),
)
def test_a_period_begins_before_it_ends_and_says_how_exact_it_is(words, moment, bare, ahead):
    found = resolve(words, int(moment.timestamp()) * 1_000_000, bare=bare, ahead=ahead)
    assert found.start is None or found.end is None or found.start < found.end
    assert (found.precision is None) == (found.start is None and found.end is None)
    assert found.precision is None or found.precision in Precision
