"""Cues: what in an event or a query speaks of time, asks, or names a person. Pure, by regular expressions over English.

Only absolute dates of a query are read: it has no clock to say what "yesterday" is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from enum import IntFlag

from refold.times import DAY, EPOCH

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
LAST_DAY = datetime.max.replace(tzinfo=UTC) - EPOCH

_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" if len(month) > 3 else month for month in MONTHS).replace(
    "sep(?:tember)?", "sept?(?:ember)?"
)
_UNIT = "(?:minute|hour|day|night|week|weekend|fortnight|month|year|decade)s?"
_TIME = re.compile(
    rf"""\b(?:yesterday|today|tonight|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)days?
    |(?:last|next|this|past|previous|coming|every|each)\s+(?:few\s+)?(?:{_UNIT}|spring|summer|autumn|fall|winter|christmas|(?:{_MONTH}))
    |(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|several|few|couple\s+of)\s+{_UNIT}
    |{_UNIT}\s+ago|since|recently|lately|the\s+other\s+day|(?:{_MONTH})\.?\s+(?:\d{{1,2}}(?:st|nd|rd|th)?|\d{{4}})
    |\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTH})|(?:in|on|by|until|till|during|of)\s+(?:{_MONTH})|(?:19|20)\d\d)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WHEN = re.compile(
    r"\b(?:when|how\s+(?:long|recently|old|often)|(?:what|which)\s+(?:date|day|time|week|weekend|month|year|season))\b", re.IGNORECASE
)
_QUESTION = re.compile(r"[?\uff1f][\s\"'\u201d\u2019)\]]*\Z")

_DATES = re.compile(
    rf"""\b(?P<iso>\d{{4}}-\d\d(?:-\d\d)?)\b
    |\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{_MONTH})\b\.?(?:,?\s+(?P<y1>\d{{4}}))?
    |\b(?P<m2>{_MONTH})\b\.?(?:\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,?\s+(?P<y2>\d{{4}}))?
    |\b(?P<year>(?:19|20)\d\d)\b""",
    re.IGNORECASE | re.VERBOSE,
)


# A text without any of these words has no expression of time; looking for them first is twenty times faster.
_SIGNS = frozenset(
    {*MONTHS, *(month[:3] for month in MONTHS), "sept", *(str(year) for year in range(1900, 2100))}
    | {f"{day}day{s}" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun", "") for s in ("", "s")}
    | {f"{unit}{s}" for unit in ("minute", "hour", "night", "week", "weekend", "fortnight", "month", "year", "decade") for s in ("", "s")}
    | {"yesterday", "today", "tonight", "tomorrow", "spring", "summer", "autumn", "fall", "winter", "christmas"}
    | {"since", "recently", "lately"}
)


class Cue(IntFlag):
    """What is known of an event without its text; the u8 of the events table."""

    TIME = 1  # it has an expression of time
    ASKS = 2  # it ends in a question mark
    SPOKEN = 4  # somebody speaks; else it is shown under its document


def cues_of(text: str, words: Iterable[str], *, spoken: bool) -> Cue:
    """Return what a text with these words shows."""
    found = Cue.SPOKEN if spoken else Cue(0)
    if not _SIGNS.isdisjoint(words) and _TIME.search(text):
        found |= Cue.TIME
    end = text[-64:]
    if ("?" in end or "\uff1f" in end) and _QUESTION.search(end):
        found |= Cue.ASKS
    return found


def asks_when(query: str) -> bool:
    """Whether a query asks when, or how long."""
    return _WHEN.search(query) is not None


def date_words(moment: int) -> str:
    """Return a time as words that a query may hold: `7 may 2023`. Empty outside the years 1 to 9999."""
    if not EPOCH_FIRST <= moment <= EPOCH_LAST:
        return ""
    day = (EPOCH + timedelta(microseconds=moment)).date()
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


class Dates:
    """The dates that a query names, as half-open ranges of time; one without a year comes back every year."""

    def __init__(self, query: str) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._yearly: list[tuple[int, int]] = []  # (month, day)
        for found in _DATES.finditer(query):
            self._take(found.groupdict())

    def __bool__(self) -> bool:
        return bool(self._ranges or self._yearly)

    def distance(self, moment: int) -> int | None:
        """Return the µs between a time and the nearest of the dates, 0 within one. None where there is no date."""
        return min((max(low - moment, moment - high + 1, 0) for low, high in (*self._ranges, *self._near(moment))), default=None)

    def _near(self, moment: int) -> Iterator[tuple[int, int]]:
        if not self._yearly or not EPOCH_FIRST <= moment <= EPOCH_LAST:
            return
        year = (EPOCH + timedelta(microseconds=moment)).year
        for month, day in self._yearly:
            for near in (year - 1, year, year + 1):
                yield from _range(near, month, day)

    def _take(self, found: dict[str, str | None]) -> None:
        if iso := found["iso"]:
            self._ranges += _range(*(int(number) for number in iso.split("-")))
        elif year := found["year"]:
            self._ranges += _range(int(year))
        else:
            month = _month(found["m1"] or found["m2"] or "")
            day = found["d1"] or found["d2"]
            if year := found["y1"] or found["y2"]:
                self._ranges += _range(int(year), month, int(day) if day else None)
            elif day:
                self._yearly.append((month, int(day)))


EPOCH_FIRST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
EPOCH_LAST = LAST_DAY // timedelta(microseconds=1)


def _month(word: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(word[:3].lower()))


def _range(year: int, month: int | None = None, day: int | None = None) -> list[tuple[int, int]]:
    """Return the µs of a year, month or day; nothing where the calendar has no such day."""
    try:
        first = date(year, month or 1, day or 1)
        last = first if day else date(year + (month or 12) // 12, (month or 12) % 12 + 1, 1) - timedelta(days=1)
    except ValueError:
        return []
    zero = EPOCH.date().toordinal()
    return [((first.toordinal() - zero) * DAY, (last.toordinal() + 1 - zero) * DAY)]
