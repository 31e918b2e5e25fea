"""Times at the edge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold import times
from refold.errors import Usage
from refold.model import Precision


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("2024", "2024-01-01T00:00:00Z"),
        ("2024-06", "2024-06-01T00:00:00Z"),
        ("2024-06-01", "2024-06-01T00:00:00Z"),
        ("2024-06-01T18:30", "2024-06-01T18:30:00Z"),
        ("2024-06-01 18:30:01.5+02:00", "2024-06-01T16:30:01.500000Z"),
        ("1950-02-03", "1950-02-03T00:00:00Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_read_as_utc(text, full):
    assert times.iso(times.parse(text)) == full


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "yesterday",
        "20240101",
        "2024-1-1",
        "2024-13",
        "2024-06-31",
        "2024-W01-1",
        "12",
        "٢٠٢٤",
        "1717200000",
        "2024-06-01T25:00",
        "0001-01-01T00:00+10:00",
    ],
)
def test_what_is_no_time_is_refused_without_quoting_it(text):
    with pytest.raises(Usage) as refused:
        times.parse(text, what="--said-at")
    assert refused.value.message.startswith("--said-at is not")
    assert len(text) < 3 or text not in refused.value.message.replace("2024-06-01T18:30Z", "")


@given(st.integers(times.parse("0001"), times.parse("9999-12-31T23:59:59.999999")))
def test_every_moment_is_read_back_as_written(moment):
    assert times.parse(times.iso(moment)) == moment


def test_a_moment_outside_the_calendar_is_refused():
    with pytest.raises(Usage):
        times.iso(1 << 62)


def test_midnight_is_shown_as_a_day_and_other_times_to_the_minute():
    assert times.short(times.parse("2024-06-01")) == "2024-06-01"
    assert times.short(times.parse("2024-06-01T18:30:59Z")) == "2024-06-01 18:30"


@pytest.mark.parametrize(
    ("start", "end", "precision", "written"),
    [
        (None, "2021", Precision.YEAR, "until 2020"),
        ("2020", "2023", Precision.YEAR, "2020 to 2022"),
        ("2020", "2021", Precision.YEAR, "in 2020"),
        ("2022-05", "2022-06", Precision.MONTH, "in 2022-05"),
        ("2022-05", "2023-01", Precision.MONTH, "2022-05 to 2022-12"),
        ("2022-05-03", "2022-05-04", Precision.DAY, "on 2022-05-03"),
        (None, "2022-05-04", Precision.DAY, "until 2022-05-03"),
        ("2023", None, Precision.YEAR, "since 2023"),
        ("2023", "2023", Precision.YEAR, "in 2023"),  # it was taken back at the moment from which it was said to hold
        (None, "2024-06-01", None, "until 2024-06-01"),
        (None, None, None, ""),
    ],
)
def test_a_span_is_written_by_the_last_time_that_it_covers(start, end, precision, written):
    assert times.span(*(None if when is None else times.parse(when) for when in (start, end)), precision) == written


def test_an_end_is_shown_as_it_was_said_in_a_table_and_in_a_context(shell):
    shell("add", "I visited Paris in May 2022.", "--user", "ida", "--said-at", "2024-01-01")
    shell("fold")
    for said in (shell("facts", "--user", "ida", "--history"), shell("context", "Paris", "--user", "ida")):
        assert "in 2022-05" in said.out


def test_an_end_without_a_value_stands_without_a_space(shell):
    shell("add", "I quit my job in 2020.", "--user", "ida", "--said-at", "2024-01-01")
    shell("fold")
    facts = shell.json("facts", "--user", "ida", "--all").data["facts"]
    assert [fact["value"] for fact in facts] == [""]
    assert "  (end)  until 2020" in shell("facts", "--user", "ida", "--all").out
