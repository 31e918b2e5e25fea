"""Times as files write them: seconds, milliseconds, ISO 8601, the dates of letters and of e-mail headers."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from refold import times
from refold.errors import Usage

# A number counts seconds up to the year 5138, then milliseconds, then microseconds: no real time is ambiguous.
SECONDS_BELOW = 1e11
MILLISECONDS_BELOW = 1e14
MICROSECONDS_BELOW = 1e17

WRITTEN = ("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y", "%d. %B %Y", "%d.%m.%Y", "%Y/%m/%d")


def stamp(value: object, latest: int | None = None) -> int | None:
    """Read a time out of a record: a number since 1970, or a text; None for none. Raises Usage, also where it is later than `latest`."""
    if value is None or value == "":
        return None
    return _by(latest, _moment(value))


def _by(latest: int | None, moment: int) -> int:
    if latest is not None and moment > latest:
        raise Usage("a time lies more than a day ahead of now")
    return moment


def _moment(value: object) -> int:
    if isinstance(value, str):
        text = value.strip()
        return _number(float(text)) if re.fullmatch(r"-?\d{6,19}(\.\d{1,9})?", text) else times.parse(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Usage("a time is neither a number nor a text")
    return _number(value)


def written(text: str, latest: int | None = None) -> int:
    """Read the date in the head of a letter: ISO 8601, an e-mail's date, or `3 March 2024` and its like. Raises Usage, as `stamp` does."""
    text = " ".join(text.replace(",", " ").split())
    if re.match(r"\d{4}(-|$)", text):
        return _by(latest, times.parse(text, what="the date in the head"))
    bare = re.sub(r"^[A-Za-z]+day |(?<=\d)(st|nd|rd|th)\b", "", text)
    moment = next((moment for form in WRITTEN if (moment := _strptime(bare, form))), None) or _of_mail(text)
    if moment is None:
        raise Usage("the date in the head is not one that can be read: write it as 2024-03-03")
    return _by(latest, times.parse(moment.isoformat()))


def _number(value: float) -> int:
    size = abs(value)
    for below, unit in ((SECONDS_BELOW, 1_000_000), (MILLISECONDS_BELOW, 1_000), (MICROSECONDS_BELOW, 1)):
        if size < below:
            moment = round(value * unit)
            break
    else:
        is_finite = isinstance(value, int) or math.isfinite(value)
        raise Usage("a time is out of range" if is_finite else "a time is not a finite number")
    times.day(moment)  # refuses what no calendar shows
    return moment


def _strptime(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return None


def _of_mail(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
