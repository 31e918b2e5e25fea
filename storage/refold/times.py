"""Times at the edge: ISO 8601 text on one side, integer microseconds since 1970 UTC on the other."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from refold.errors import Usage
from refold.model import Precision

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = 86_400_000_000  # µs
WRITTEN = {Precision.YEAR: 4, Precision.MONTH: 7, Precision.DAY: 10, None: 10}  # how much of an ISO date a precision keeps
FIRST = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND  # the first time that can be written: letters are older than 1970
LAST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND


def parse(text: str, *, what: str = "a time") -> int:
    """Read `2024`, `2024-06`, `2024-06-01` or a full ISO 8601 time; without an offset it is UTC. Raises Usage."""
    full = {4: f"{text}-01-01", 7: f"{text}-01"}.get(len(text), text) if re.fullmatch(r"\d{4}(-\d\d)?", text) else text
    try:
        if not re.match(r"\d{4}-\d\d-\d\d", full):
            raise ValueError
        moment = datetime.fromisoformat(full)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware.astimezone(UTC) - EPOCH) // MICROSECOND
    except (ValueError, OverflowError):
        raise Usage(f"{what} is not an ISO 8601 date or time (2024, 2024-06, 2024-06-01, 2024-06-01T18:30Z)") from None


def iso(moment: int) -> str:
    """Write a time in full, in UTC: `2024-06-01T18:30:00Z`, with a fraction only where there is one."""
    return _datetime(moment).isoformat().replace("+00:00", "Z")


def day(moment: int) -> str:
    """Write the UTC day of a time: `2024-06-01`."""
    return _datetime(moment).date().isoformat()


def short(moment: int) -> str:
    """Write a time for a person: the day alone at midnight, else to the minute."""
    return day(moment) if moment % DAY == 0 else f"{_datetime(moment):%Y-%m-%d %H:%M}"


def span(start: int | None, end: int | None, precision: Precision | None) -> str:
    """Write the time that a fact claims for itself: `since 2023`, `until 2020`, `2020 to 2022`, `in 2022-05`, `on 2022-05-03`.

    An end is exclusive: what ended in 2020 ends with the first moment of 2021, and is written by the last day, month or year that it
    still covers. Without a precision the end is the moment at which something else was said, and is written as it is.
    """
    last = end if end is None or precision is None else max(end - 1, end - 1 if start is None else start)
    first, final = (None if moment is None else day(moment)[: WRITTEN[precision]] for moment in (start, last))
    if first and final:
        return f"{first} to {final}" if first != final else f"{'on' if len(first) == WRITTEN[None] else 'in'} {first}"
    return f"since {first}" if first else f"until {final}" if final else ""


def _datetime(moment: int) -> datetime:
    try:
        return EPOCH + timedelta(microseconds=moment)
    except OverflowError:
        raise Usage("a time lies outside the years 1 to 9999") from None
