"""E-mail addresses and telephone numbers in a text in its plain form, however they are written. Pure.

An address is one mailbox with and without dots, a tag or a part of its host in front, also where its signs are written as words. A number
is one with and without its country and area, whatever stands between its digits, beside other numbers too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from refold.erase.letters import unmarked
from refold.model import Span

DIGITS_MIN = 7  # of a telephone number, without what comes before the area code
AGREEING = 2  # digits of an area code that must be the same before the last seven
LOCAL_MAX = 100  # characters looked at before the sign
NEAR = 24  # characters looked at before the last digits of a number
_SHARED = "info contact admin office mail hello sales support team noreply no-reply webmaster kontakt service"
NOBODYS = frozenset(_SHARED.split())  # what comes before the sign where no one person reads it
_AT = re.compile(r"@|\s?[(\[{]\s?(?:at|arroba)\s?[)\]}]\s?|\s\[at\]\s")
_DOT = r"(?:\.|\s?[(\[{]\s?(?:dot|punkt|punto|point)\s?[)\]}]\s?)"
_SIGN = re.compile(_DOT)
_LOCAL = re.compile(rf"[\w+\-]{{1,64}}(?:{_DOT}[\w+\-]{{1,64}}){{0,8}}$")
_HOST = re.compile(rf"[\w\-]{{1,64}}(?:{_DOT}[\w\-]{{1,64}}){{1,8}}")
_BETWEEN = r"[ ()/.\-]{0,3}"
_ABROAD = re.compile(r"(?:(?:\+|(?<![0-9])00)[0-9]{1,3}[ \-./]?)?\(?(?<![1-9])0?\)?[ \-]?$|\+$|\($")


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An e-mail address as its owner's mailbox: without a tag, dots and case."""

    local: str
    host: str

    def is_one_with(self, other: Mailbox) -> bool:
        """Whether two addresses are one: the host of one may be a part of the other's."""
        short, long = sorted((self.host, other.host), key=len)
        return self.local == other.local and (short == long or ("." in short and long.endswith(f".{short}")))


def mailbox(address: str) -> Mailbox:
    """Return the mailbox of an address."""
    local, _, host = _SIGN.sub(".", _AT.sub("@", unmarked(address))).rpartition("@")
    return Mailbox(re.sub(r"[.\-_]", "", local.partition("+")[0]), host.replace("googlemail.", "gmail."))


def number(phone: str) -> str:
    """Return the digits of a telephone number, without zeros before it; "" where it is too short to be one."""
    digits = re.sub(r"\D", "", unmarked(phone).replace("(0)", "")).lstrip("0")
    return digits if len(digits) >= DIGITS_MIN else ""


def addresses(text: str) -> Iterator[tuple[Span, Mailbox]]:
    """Yield every e-mail address of a plain text."""
    for sign in _AT.finditer(text):
        begin = max(sign.start() - LOCAL_MAX, 0)
        local, host = _LOCAL.search(text[begin : sign.start()]), _HOST.match(text, sign.end())
        if local and host:
            yield (begin + local.start(), host.end()), mailbox(f"{local[0]}@{host[0]}")


def last_digits(digits: str) -> re.Pattern[str]:
    """Return what finds the last digits of a telephone number in a text."""
    return re.compile(_BETWEEN.join(digits[-DIGITS_MIN:]) + "(?![0-9])")


def numbers(text: str, digits: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    """Yield where a telephone number stands in a plain text: with no area code, its own, or another country's way to write it."""
    area = digits[:-DIGITS_MIN][::-1]
    for last in pattern.finditer(text):
        begin = max(last.start() - NEAR, 0)
        before = re.search(rf"(?:[0-9]{_BETWEEN})*$", text[begin : last.start()])
        written = [begin + at for at in range(before.start(), before.end()) if text[begin + at].isdigit()][::-1] if before else []
        agreeing = 0
        while agreeing < min(len(area), len(written)) and text[written[agreeing]] == area[agreeing]:
            agreeing += 1
        said = "".join(text[at] for at in reversed(written)).lstrip("0")
        if agreeing >= min(AGREEING, len(area), len(said)):
            start = written[agreeing - 1] if agreeing else last.start()
            outer = _ABROAD.search(text[max(start - 8, 0) : start])
            yield start - len(outer[0]) if outer else start, last.end()
