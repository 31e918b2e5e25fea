"""Times that a statement names: found as words, resolved by one pure function against the time at which it was said.

There is no clock here. "Last week", said on 2024-03-05, is a week of February 2024 whenever it is read; all days are days in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum

from refold.fold import english
from refold.model import Precision, Validity
from refold.times import DAY

_ORDINAL = date(1970, 1, 1).toordinal()
_YEARS = range(1000, 9990)  # outside of these nothing is resolved

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

_FEASTS = {"christmas": (25, 12), "christmas day": (25, 12), "christmas eve": (24, 12), "new year": (1, 1), "new year's day": (1, 1)}
_FEASTS |= {"new year's": (1, 1), "new year's eve": (31, 12)}

_FEAST = r"(?:christmas(?: eve| day)?|easter|new year(?:'s(?: eve| day)?)?)"
_MONTH = rf"(?:{'|'.join(_MONTHS)}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_WEEKDAY = rf"(?:{'|'.join(_WEEKDAYS)})"
_SEASON = r"(?:spring|summer|autumn|fall|winter)"
_YEAR = r"(?:1[5-9]|20)\d\d"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_COUNT = (
    r"(?:\d{1,3}|(?:a )?few|(?:a )?couple of|several|many|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|fifteen|twenty)"
)
_UNIT = r"(?:day|week|month|year|decade)s?"
_HALF = r"(?: and a half)?"
_PART = r"(?:early|mid|late|the (?:beginning|start|end|middle) of)[ -]"
_DATED = (
    r"(?:\d{4}-\d\d-\d\d|\d{4}-\d\d(?!\d)|\d{1,2}\.\d{1,2}\.\d{4}"
    rf"|(?:the )?{_NTH}(?: of)? {_MONTH}(?:,? {_YEAR})?|{_MONTH} {_NTH}(?!\d)(?:,? {_YEAR})?|{_MONTH}(?: of|,)? {_YEAR}"
    rf"|(?:the )?{_SEASON}(?: of)? {_YEAR}|q[1-4](?: of)? {_YEAR})"
)
_TURNS = r"(?:last|next|this|past|this past|this coming|coming|later this|earlier this)"
_TURNED = rf"(?:week(?:end)?|month|year|decade|{_WEEKDAY}|{_SEASON}|{_MONTH}|{_FEAST}|morning|afternoon|evening|night)"
_RELATIVE = (
    rf"(?:(?:the )?{_TURNS} {_TURNED}|the day (?:before yesterday|after tomorrow)|yesterday|today|tomorrow|tonight"
    rf"|{_COUNT}{_HALF} {_UNIT}{_HALF} (?:ago|from now))"
)
_BARE = (
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)|{_YEAR}(?!\d)|{_MONTH}|{_SEASON}|{_WEEKDAY}"
    rf"|{_FEAST}|then|now|childhood|birth|week|month|year|day|weekend)"
)
_LEAD = (
    r"(?:ever since|since|starting(?: from| in| on)?|beginning(?: in| on)?|as of|from|until|till|up to|up until|in|on|by|before|after"
    r"|during|through|throughout|around|back in|later in|early in|late in|effective"
    r"|(?:at|by|since|until|towards|from) the (?:beginning|start|end|middle) of)"
)
_POINT = rf"(?:{_PART})?(?:{_DATED}|{_RELATIVE}|{_BARE})"
_TO = r"(?: ?(?:to|until|till|through|and) | ?[-\u2013\u2014] ?)"
_CLOCK = (
    r"at (?:about |around )?(?:\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\b| o'clock)?|noon|midnight|night)"
    rf"|in the (?:morning|afternoon|evening)s?|on {_WEEKDAY}s|at the weekend|at weekends|on weekends"
    rf"|(?:every|each) (?:other |single )?(?:day|week|month|year|morning|evening|night|weekend|{_WEEKDAY}|{_SEASON})"
)
_VAGUE = (
    r"(?:before|after|at|during|over) (?:work|school|breakfast|lunch|dinner|supper)|first thing(?: in the morning| tomorrow)?"
    r"|(?:sometime|some time) (?:next|this) (?:week|month|year|weekend)|at some point|one day|some day|one of these days"
    rf"|(?:in|within|over) the (?:next|coming) (?:{_COUNT} )?{_UNIT}|(?:once|twice|three times) a (?:day|week|month|year)"
)
_SPAN_OF = (
    r"for (?:about |around |almost |nearly |over |more than |at least |the (?:last|past) )?"
    rf"(?:{_COUNT}{_HALF}(?: more)? {_UNIT}{_HALF}|(?:years|months|decades|weeks|ages))(?: now)?|all my life|my (?:whole|entire) life"
)
_PHRASE = re.compile(
    rf"(?<![\w.])(?:{_SPAN_OF}|over the (?:last|past) {_COUNT} {_UNIT}"
    rf"|(?:in|within) (?:about )?{_COUNT} {_UNIT}(?:' time)?"
    rf"|(?:from|between) {_POINT}{_TO}{_POINT}"
    rf"|{_LEAD} {_POINT}(?:(?! and then\b){_TO}(?:{_DATED}|{_BARE}))?"
    rf"|{_DATED}(?:{_TO}{_DATED})?|\((?:since|until|from) {_POINT}\)|{_YEAR}{_TO}{_YEAR}|{_RELATIVE}"
    rf"|{_WEEKDAY}(?: (?:morning|afternoon|evening|night))?|{_CLOCK}|{_VAGUE})(?![\w-])",
    re.IGNORECASE,
)


class Bare(IntEnum):
    """What a time without `since` or `until` means for the statement it stands in."""

    PERIOD = 0  # it is the time of it: "visited Rome in 2023"
    BEGINS = 1  # it began then: "moved to Munich in 2023"
    ENDS = 2  # it ended then: "left Acme in 2023"


_BEGINNINGS = english.TIME_BEGINNINGS | set(_MONTHS) | {month[:3] for month in _MONTHS} | {"sept", *_WEEKDAYS, *_SEASONS}


def may_begin(word: str) -> bool:
    """Whether a time phrase may begin with a word (in lower case): a cheap question before the dear one."""
    return word in _BEGINNINGS or word[0].isdigit()


def phrase_end(text: str, at: int, end: int) -> int | None:
    """Return where the time phrase ends that begins at `at`, or None."""
    match = _PHRASE.match(text, at, end)
    return match.end() if match else None


def resolve(words: str, said_at: int, *, bare: Bare = Bare.PERIOD, ahead: bool = False) -> Validity:
    """Return the time that a phrase names, said at `said_at` (µs): where it begins and ends (exclusive), how exactly, and the words.

    The end of a named period counts as within it: "until 2014" ends with the last day of 2014. `ahead` looks forward for a month or
    weekday without a year, as a plan does. What cannot be resolved keeps its words and no time.
    """
    today = _date(said_at)
    if today is None:
        return Validity(words=words)
    try:
        found = _resolve(" ".join(words.lower().replace("\u2013", "-").replace("\u2014", "-").split()).strip("()"), today, bare, ahead)
    except (ValueError, OverflowError):  # the 31st of February, or a year past the calendar
        found = None
    if found is None:
        return Validity(words=words)
    start, stop, precision = found
    return Validity(_micros(start), _micros(stop), precision, words)


Period = tuple[date, date, Precision]  # half-open
Found = tuple[date | None, date | None, Precision]


def _date(said_at: int) -> date | None:
    seconds = said_at // 1_000_000
    if not -30_000_000_000 < seconds < 253_000_000_000:
        return None
    day = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).date()
    return day if day.year in _YEARS else None


def _micros(day: date | None) -> int | None:
    return None if day is None else (day.toordinal() - _ORDINAL) * DAY


_RANGE = re.compile(rf"^(?:from |between )?({_POINT}){_TO}({_POINT})$")
_LASTING = re.compile(rf"^(?:for|over)\b.*?({_COUNT}{_HALF})(?: more)? ({_UNIT}{_HALF})(?: now)?$")
_COMING = re.compile(rf"^(?:in|within) (?:about )?({_COUNT}) ({_UNIT})(?:' time)?$")
_LED = re.compile(rf"^({_LEAD}) (.+)$")


def _resolve(words: str, today: date, bare: Bare, ahead: bool) -> Found | None:
    if match := _LASTING.match(words):
        begin, _, precision = _shifted(today, match.group(1), match.group(2), -1)
        return begin, None, precision
    if match := _COMING.match(words):
        return _as(_shifted(today, match.group(1), match.group(2), 1), bare) if ahead else None
    if match := _RANGE.match(words):
        return _between(match.group(1), match.group(2), today)
    match = _LED.match(words)
    lead, named = (match.group(1), match.group(2)) if match else ("", words)
    if lead.startswith(("until", "till", "up to", "up until", "by")):
        period = _point(named, today, ahead=True)
        return period and (None, period[1], period[2])
    period = _point(named, today, ahead=ahead or lead in ("starting", "effective"))
    if period is None:
        return None
    if lead.startswith("before"):
        return None, period[0], period[2]
    if lead.startswith("after"):
        return period[1], None, period[2]
    if lead.startswith(("since", "ever since", "starting", "beginning", "as of", "from", "effective")):
        return period[0], None, period[2]
    return _as(period, bare)


def _as(period: Period, bare: Bare) -> Found:
    start, stop, precision = period
    if bare is Bare.BEGINS:
        return start, None, precision
    return (None, stop, precision) if bare is Bare.ENDS else (start, stop, precision)


def _between(first: str, last: str, today: date) -> Found | None:
    end = _point(last, today)
    if end is not None and re.search(_YEAR, last) and not re.search(_YEAR, first):  # "from March to May 2021"
        begin = _point(first, end[1] - timedelta(days=1))
    else:
        begin = _point(first, today)
    if begin is not None and end is not None and end[1] <= begin[0]:  # "from October to March": one follows the other
        end = _point(last, begin[0], ahead=True)
    if begin is None or end is None or end[1] <= begin[0]:
        return None
    return begin[0], end[1], max(begin[2], end[2])


_ISO = re.compile(r"^(\d{4})-(\d\d)(?:-(\d\d))?$")
_DOTTED = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})$")
_DAY_MONTH = re.compile(rf"^(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})(?:,? ({_YEAR}))?$")
_MONTH_DAY = re.compile(rf"^({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?(?:,? ({_YEAR}))?$")
_MONTH_YEAR = re.compile(rf"^({_MONTH})(?:(?: of|,)? ({_YEAR}))?$")
_SEASON_YEAR = re.compile(rf"^(?:the )?({_SEASON})(?:(?: of)? ({_YEAR}))?$")
_TURN = re.compile(rf"^(?:the )?({_TURNS}) ({_TURNED})$")
_NTH_ONLY = re.compile(r"^(?:the )?(\d{1,2})(?:st|nd|rd|th)$")
_QUARTER = re.compile(rf"^q([1-4])(?: of)? ({_YEAR})$")
_AGO = re.compile(rf"^({_COUNT}{_HALF}) ({_UNIT}{_HALF}) (ago|from now)$")
_NEAR = {"yesterday": -1, "today": 0, "tonight": 0, "now": 0, "tomorrow": 1, "the day before yesterday": -2, "the day after tomorrow": 2}


def _point(words: str, today: date, *, ahead: bool = False) -> Period | None:
    """Return the period that words like `2023`, `3 May`, `last week`, `two years ago` name, or None."""
    words = re.sub(rf"^(?:{_PART})", "", words)
    if words in _NEAR:
        return _days(today + timedelta(days=_NEAR[words]))
    if re.fullmatch(_YEAR, words.removeprefix("the ")):
        return _year(int(words.removeprefix("the ")))
    if match := _ISO.match(words):
        year, month, day = match.groups()
        return _days(date(int(year), int(month), int(day))) if day else _month(int(year), int(month))
    if match := _DOTTED.match(words):
        return _days(date(int(match.group(3)), int(match.group(2)), int(match.group(1))))
    if match := _DAY_MONTH.match(words):
        return _day_of(int(match.group(1)), match.group(2), match.group(3), today, ahead)
    if match := _MONTH_DAY.match(words):
        return _day_of(int(match.group(2)), match.group(1), match.group(3), today, ahead)
    if match := _AGO.match(words):
        return _shifted(today, match.group(1), match.group(2), -1 if match.group(3) == "ago" else 1)
    if match := _TURN.match(words):
        return _turned(match.group(1), match.group(2), today)
    if match := _QUARTER.match(words):
        year, month = int(match.group(2)), 3 * int(match.group(1)) - 2
        return _month(year, month)[0], _month(year, month + 2)[1], Precision.MONTH
    if match := _NTH_ONLY.match(words):
        return _nth(int(match.group(1)), today, ahead)
    return _named(words, today, ahead)


def _nth(day: int, today: date, ahead: bool) -> Period:
    """Return the nearest day of that number: "the 1st"."""
    away = 0 if day == today.day or (day > today.day) == ahead else 1 if ahead else -1
    month = _month(today.year, today.month + away)[0]
    return _days(month.replace(day=day))


def _named(words: str, today: date, ahead: bool) -> Period | None:
    """Return the nearest month, season or weekday of a name: the one before (or of) today, or after it."""
    if match := _MONTH_YEAR.match(words):
        month = _month_number(match.group(1))
        return _month(int(match.group(2)) if match.group(2) else _near_year(today, month, ahead), month)
    if match := _SEASON_YEAR.match(words):
        month = _SEASONS[match.group(1)]
        year = int(match.group(2)) if match.group(2) else _near_year(today, month, ahead)
        return _month(year, month)[0], _month(year, month + 2)[1], Precision.MONTH
    if words in _FEASTS:
        day, month = _FEASTS[words]
        return _day_of(day, _MONTHS[month - 1], None, today, ahead)
    if words in _WEEKDAYS:
        away = (_WEEKDAYS.index(words) - today.weekday()) % 7
        return _days(today + timedelta(days=away if ahead else (away - 7 if away else 0)))
    return None


def _near_year(today: date, month: int, ahead: bool) -> int:
    return today.year + (1 if ahead and month < today.month else 0) - (1 if not ahead and month > today.month else 0)


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.rstrip(".")[:3]))


def _days(day: date, count: int = 1) -> Period:
    return day, day + timedelta(days=count), Precision.DAY


def _month(year: int, month: int) -> Period:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1), Precision.MONTH


def _year(year: int) -> Period:
    return date(year, 1, 1), date(year + 1, 1, 1), Precision.YEAR


def _day_of(day: int, month_name: str, year: str | None, today: date, ahead: bool) -> Period:
    month = _month_number(month_name)
    if year:
        return _days(date(int(year), month, day))
    this = date(today.year, month, day)
    if ahead and this < today:
        this = date(today.year + 1, month, day)
    if not ahead and this > today:
        this = date(today.year - 1, month, day)
    return _days(this)


def _shifted(today: date, count: str, unit: str, sign: int) -> Period:
    """Return the day, month or year that lies so many units before (or after) today, no more exact than the unit."""
    is_half = "half" in count + unit
    count, unit = count.removesuffix(" and a half"), unit.removesuffix(" and a half")
    number = sign * _number(count)
    kind = unit.rstrip("s")
    if is_half and kind == "year":
        return _year(_month(today.year, today.month + 12 * number + 6 * sign)[0].year)
    if kind in ("day", "week"):
        return _days(today + timedelta(days=number * (7 if kind == "week" else 1)))
    if kind == "month":
        return _month(today.year, today.month + number)
    return _year(today.year + number * (10 if kind == "decade" else 1))


def _number(count: str) -> int:
    if count.isdigit():
        return int(count)
    words = count.removeprefix("a ").removesuffix(" of")
    return english.NUMBERS.get(words, 1)


def _turned(turn: str, unit: str, today: date) -> Period | None:
    step = -1 if turn in ("last", "past", "this past") else 1 if turn in ("next", "coming", "this coming") else 0
    monday = today - timedelta(days=today.weekday())
    if unit == "week":
        return _days(monday + timedelta(days=7 * step), 7)
    if unit == "weekend":
        return _days(monday + timedelta(days=5 + 7 * step), 2)
    if unit == "month":
        return _month(today.year, today.month + step)
    if unit == "year":
        return _year(today.year + step)
    if unit in ("morning", "afternoon", "evening", "night"):
        return _days(today + timedelta(days=step))
    if unit in _FEASTS:
        day, month = _FEASTS[unit]
        return _named(unit, today + timedelta(days=min(step, 0)), ahead=step > 0) if step else _days(date(today.year, month, day))
    if unit in _WEEKDAYS:
        away = (_WEEKDAYS.index(unit) - today.weekday()) % 7
        return _days(today + timedelta(days=away - 7 if step < 0 else away or (7 if step else 0)))
    if unit in _SEASONS or re.fullmatch(_MONTH, unit):
        begin = _SEASONS.get(unit) or _month_number(unit)
        before = today.replace(day=1) - timedelta(days=1)
        base = before if step < 0 else today
        return _named(unit, base, ahead=step > 0) if step else _named(f"{unit} {today.year}", today, ahead=False) if begin else None
    return None
