from __future__ import annotations

import pytest

from refold.errors import Usage
from refold.imports.stamps import stamp, written
from refold.times import parse


@pytest.mark.parametrize(
    "value",
    [
        1_704_879_000,
        1_704_879_000.0,
        1_704_879_000_000,
        1_704_879_000_000_000,
        "1704879000",
        "1704879000.0",
        "1704879000000",
        "2024-01-10T09:30:00Z",
        " 2024-01-10 10:30:00+01:00 ",
    ],
)
def test_every_way_of_writing_a_time_gives_microseconds(value):
    assert stamp(value) == parse("2024-01-10T09:30Z")


@pytest.mark.parametrize("value", [None, ""])
def test_no_time_is_none(value):
    assert stamp(value) is None


def test_times_before_1970_and_fractions_are_kept():
    assert stamp(-86_400.5) == parse("1969-12-30T23:59:59.5Z")
    assert stamp("2024") == parse("2024-01-01")


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 1e17, -1e18, 10**400, -99_999_999_999, "1" * 19, True, [], {}, "soon", "2024-13-01"]
)
def test_what_is_no_time_is_refused(value):
    with pytest.raises(Usage):
        stamp(value)


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-03",
        "3 March 2024",
        "3rd March, 2024",
        "3 Mar 2024",
        "March 3, 2024",
        "Mar 3 2024",
        "3. March 2024",
        "03.03.2024",
        "2024/03/03",
        "Sunday, 3 March 2024",
        "Sun, 3 Mar 2024 00:00:00 +0000",
        "Sun, 03 Mar 2024 01:00:00 +0100",
    ],
)
def test_the_date_of_a_letter_is_read_in_the_ways_people_write_it(text):
    assert written(text) == parse("2024-03-03")


@pytest.mark.parametrize(
    "text", ["03/04/2024", "spring", "31 February 2024", "2024-02-31", "", "Mon, 99 Mar 2024 00:00:00 +0000", "9999999999999"]
)
def test_a_date_that_could_be_another_is_refused(text):
    with pytest.raises(Usage):
        written(text)
