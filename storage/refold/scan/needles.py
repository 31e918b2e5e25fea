"""Needles: each thing that is looked for, as the byte patterns of the ways it may be written, and what is certain to stand in each.

A pattern spells out letters in both cases and both normal forms, any few separators between the words, and the words of a name in any
order, those of a long one beginning with any of them. Searching a disk with hundreds of such patterns is slow, so each has anchors: a few
bytes that every match of it contains.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from refold.errors import Usage
from refold.scan.chance import FREE_MIN, is_short

LETTERS_MIN = 3
BYTES_MIN = 6  # of a word: two letters of Chinese say as much as six of an alphabet
DIGITS_MIN = 7
NATIONAL_DIGITS = 9  # of a phone number: what is left when country and trunk prefixes go
SEPARATOR_BYTES_MAX = 80  # between two words
ORDERED_MAX = 3  # words of a name that may stand in any order
TURNED_MAX = 5  # words of one that may begin with any of them, as with the last name ("van der Berg, Pieter"); stretches of a text have six
WORD = re.compile(r"[^\W_]+")
ASCII = re.compile(r"[\x21-\x7e]+")

# What may stand between two words: any few characters that are neither letters nor digits, also escaped.
# One beyond ASCII counts once, however many bytes it has.
BETWEEN = (
    rb"(?:[\xc2-\xf4][\x80-\xbf]{1,3}|%[0-9a-f]{2}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[nrt]|"
    rb"&(?:nbsp|\#\d{1,6}|\#x[0-9a-f]{1,5});|=[0-9a-f]{2}|[^0-9a-z]){0,8}?"
)
BETWEEN_16 = {
    "utf-16-le": rb"(?:[^0-9A-Za-z]\x00|[\x00-\xff][\x20\x30]){0,8}?",
    "utf-16-be": rb"(?:\x00[^0-9A-Za-z]|[\x20\x30][\x00-\xff]){0,8}?",
}


class Written:
    """A regular expression, compiled where it is tried first: a thousand needles take seconds, and what is gone meets few of them."""

    __slots__ = ("_compiled", "_source")

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._compiled: re.Pattern[bytes] | None = None

    def finditer(self, data: bytes) -> Iterator[re.Match[bytes]]:
        """Yield what matches."""
        if self._compiled is None:
            self._compiled = re.compile(self._source, re.IGNORECASE | re.DOTALL)
        return self._compiled.finditer(data)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to write a needle."""

    needle: int
    encoding: str
    regex: Written | re.Pattern[bytes]
    anchors: tuple[bytes, ...]  # one of these stands in every match; case folded as `fold` does
    words: tuple[bytes, ...]  # in lower case: all of these do
    span: int  # bytes that a match may be long
    is_short: bool = False  # so that chance writes it


@dataclass(frozen=True, slots=True)
class Needles:
    """What is looked for."""

    count: int
    patterns: tuple[Pattern, ...]
    numbers: tuple[tuple[int, bytes], ...]  # needle and the digits of a phone number
    control: int | None

    @property
    def short(self) -> frozenset[int]:
        """Which are too short to be looked for in what is random."""
        return frozenset(pattern.needle for pattern in self.patterns if pattern.is_short)

    @property
    def long(self) -> Needles:
        """What is looked for in what is random: all that chance does not write."""
        patterns = tuple(pattern for pattern in self.patterns if not pattern.is_short)
        numbers = tuple((needle, number) for needle, number in self.numbers if not is_short(number.decode()))
        return Needles(self.count, patterns, numbers, self.control)

    def without(self, found: Collection[int]) -> Needles:
        """Return the others of these needles, under the numbers that they have here."""
        patterns = tuple(pattern for pattern in self.patterns if pattern.needle not in found)
        return replace(self, patterns=patterns, numbers=tuple(number for number in self.numbers if number[0] not in found))

    @classmethod
    def of(cls, texts: Sequence[str], *, digests: Sequence[bytes] = (), control: str | None = None, may_be_none: bool = False) -> Needles:
        """Make patterns of texts, of digests in their raw bytes, and of what has to be found. Raises Usage where one is too short.

        Where there is nothing to look for that is a mistake, unless there `may_be_none`.
        """
        if not texts and not digests and not may_be_none:
            raise Usage("nothing is given that could be looked for", hint="refold help scan")
        everything = [*texts, *([control] if control else [])]
        at = len(texts)
        patterns, numbers = [], []
        for number, text in enumerate(everything):
            digits = _digits(text)
            if digits:
                numbers.append((number, digits))
            else:
                patterns += _patterns(number, text)
        patterns += [_digest(len(everything) + each, digest) for each, digest in enumerate(digests)]
        return cls(len(texts) + len(digests), tuple(patterns), tuple(numbers), at if control else None)


def is_long_enough(text: str) -> bool:
    """Whether a text can be looked for: shorter ones stand everywhere."""
    return any(len(word) >= LETTERS_MIN or len(word.encode()) >= BYTES_MIN for word in _words(text))


def fold(data: bytes) -> bytes:
    """Fold the case of ASCII letters, and what else differs in that bit: enough to find anchors."""
    return bytes(byte | 0x20 for byte in data)


def _words(text: str) -> list[str]:
    return WORD.findall(unicodedata.normalize("NFC", text))


def _digits(text: str) -> bytes | None:
    """Return the last digits of a phone number; None of anything else."""
    if re.search(r"[^\d\s()+./\-]", text):
        return None
    digits = re.sub(r"\D", "", text)
    return digits[-NATIONAL_DIGITS:].encode() if len(digits) >= DIGITS_MIN else None


def _patterns(number: int, text: str) -> Iterator[Pattern]:
    if not is_long_enough(text):
        raise Usage(f"what is looked for needs a word of {LETTERS_MIN} letters or digits", hint="refold help scan")
    words = _words(text)
    is_name = 1 < len(words) <= TURNED_MAX and "@" not in text and all(word.isalpha() for word in words)
    orders = _orders(words) if is_name else [tuple(words)]
    free = len("".join(words)) >= FREE_MIN
    longest = max(words, key=lambda word: len(word))
    yield _pattern(number, "utf-8", orders, BETWEEN, longest, free=free)
    for encoding, between in BETWEEN_16.items():
        yield _pattern(number, encoding, orders, between, longest, free=free)


def _orders(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the orders in which the words of a name may stand."""
    if len(words) <= ORDERED_MAX:
        return list(permutations(words))
    return [(*words[at:], *words[:at]) for at in range(len(words))]


def _pattern(number: int, encoding: str, orders: Sequence[Sequence[str]], between: bytes, longest: str, *, free: bool) -> Pattern:
    written = [between.join(b"".join(_letter(letter, encoding) for letter in word) for word in order) for order in orders]
    bounded = written if free else [_bounded(each, order, encoding) for each, order in zip(written, orders, strict=True)]
    regex = Written(b"|".join(bounded))
    words = tuple({word.lower().encode(encoding) for word in orders[0] if word.isascii()})
    letters = sum(len(form) for word in orders[0] for form in [_letter(letter, encoding) for letter in word])
    span = letters + len(orders[0]) * SEPARATOR_BYTES_MAX
    # Two bytes a letter are more than chance writes.
    return Pattern(
        number, encoding, regex, tuple(_anchors(longest, encoding)), words, span, encoding == "utf-8" and is_short("".join(orders[0]))
    )


def _bounded(written: bytes, order: Sequence[str], encoding: str) -> bytes:
    """Keep a short match from standing inside a longer word or number."""

    def group(letter: str) -> bytes:
        return b"0-9" if letter.isdigit() else b"a-zA-Z"

    first, last = group(order[0][0]), group(order[-1][-1])
    if encoding == "utf-8":
        return b"(?<![" + first + b"])" + written + b"(?![" + last + b"])"
    if encoding == "utf-16-le":
        return b"(?<![" + first + b"]\0)" + written + b"(?![" + last + b"]\0)"
    return b"(?<!\0[" + first + b"])" + written + b"(?!\0[" + last + b"])"


def _letter(letter: str, encoding: str) -> bytes:
    """Return a pattern of all ways to write one letter."""
    if letter.isascii():
        return re.escape(letter.encode(encoding))
    forms = {unicodedata.normalize(form, case) for form in ("NFC", "NFD") for case in (letter, letter.lower(), letter.upper())}
    spelled = {form.encode(encoding) for form in forms}
    if encoding == "utf-8":
        spelled |= {form.encode("cp1252") for form in forms if len(form) == 1 and _is_western(form)}
    return b"(?:" + b"|".join(re.escape(each) for each in sorted(spelled, key=len, reverse=True)) + b")"


def _is_western(form: str) -> bool:
    try:
        form.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _anchors(word: str, encoding: str) -> set[bytes]:
    """Return bytes of which one stands in every spelling of a word: its longest stretch of ASCII, or else its beginning, spelled out."""
    plain = max(ASCII.findall(word), key=len, default="")
    # Before a combining mark stands a letter that may be ASCII or not: a stretch of ASCII is the same in every form.
    if len(plain) >= (4 if encoding == "utf-8" else LETTERS_MIN) or plain == word:
        return {fold(plain.encode(encoding))}
    cases = {word, word.lower(), word.upper(), word.title()}
    spelled = {unicodedata.normalize(form, case).encode(encoding) for form in ("NFC", "NFD") for case in cases}
    if encoding == "utf-8" and all(_is_western(letter) for letter in word):
        spelled |= {unicodedata.normalize("NFC", case).encode("cp1252") for case in cases if all(map(_is_western, case))}
    return {fold(each) for each in spelled}


def _digest(number: int, digest: bytes) -> Pattern:
    return Pattern(number, "digest", re.compile(re.escape(digest), re.DOTALL), (fold(digest),), (), len(digest))
