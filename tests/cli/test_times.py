"""Times at the edge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold import times
from refold.errors import Usage


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
