"""Letters as they are compared in a search for mentions: case, marks and width do not count, and an umlaut may be written out.

A letter may also be written as an escape of JSON, a URL or HTML. `plain` keeps the way back: for each letter of the plain form, where it
stands in the text.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from refold.model import Span

# The vowel signs of Indian scripts are parts of words, and no letters.
WORD = re.compile("[^\\W_]+(?:[\u0900-\u0963\u0966-\u0dff]+[^\\W_]*)*")
_WORD_OF_ASCII = re.compile("[a-z0-9]+")
_DIGITS = {chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50) for digit in range(10)}
_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
_ARABIC = {"ة": "ه", "ى": "ي", "ی": "ي", "ک": "ك"}  # one letter each, as it is written in several countries
_DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
_UNMARKED = str.maketrans(_LETTERS | _ARABIC | _DIGITS | _DASHES)
_WRITTEN_OUT = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}  # beside the letter without its mark
_WRITTEN_BACK = {"ae": "a", "oe": "o", "ue": "u", "aa": "a"}
# Accents; the vowel points of Hebrew, Arabic, Syriac, Thaana and N'Ko; what joins, parts and turns letters and cannot be seen.
_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_ESCAPED = re.compile(
    r"\\u[0-9a-fA-F]{4}|%[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3}|%[2-7][0-9a-fA-F]|&(?:#[0-9]{2,7}|#x[0-9a-fA-F]{2,6}|[A-Za-z]{2,8});"
)
_BLANK = re.compile(r"\\[nrt]")  # in JSON; elsewhere a folder of a path may begin so
# Cyrillic and Greek letters by the Latin ones that stand for them most; what else is written is near enough to that, or sounds like it.
_ROMAN = str.maketrans(
    dict(zip("абвгдезиклмнопрстуфыэіјґєћђљњўαβγδεζηικλμνοπρστυω", "abvgdeziklmnoprstufyeijgecdlnuavgdeziiklmnoprstyo", strict=True))
    | {"ж": "zh", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ь": "", "ю": "iu", "я": "ia", "џ": "dz"}
    | {"θ": "th", "ξ": "x", "φ": "f", "χ": "ch", "ψ": "ps"}
)
_FOREIGN = re.compile("[\u0370-\u052f]")
_SOUNDS = tuple(
    (re.compile(written), heard)
    for written, heard in (
        *(("tsch|tch", "ch"), ("sch", "sh"), ("ph", "f"), ("th", "t"), ("dh", "d"), ("kh", "h"), ("gh", "g"), ("x", "ks"), ("ck", "k")),
        *(("oo|ou", "u"), ("ee", "i"), ("w", "v"), ("[jy]", "i"), (r"(.)\1+", r"\1"), ("f$", "v")),
    )
)


@dataclass(frozen=True, slots=True)
class Plain:
    """A text in its plain form, and where each letter of it stands in the text as it was written."""

    written: str
    text: str
    places: tuple[int, ...] | None  # None: as many letters, each at its place
    letters: str = ""  # where there are places: for each letter of the plain form the one that was meant, with its case

    def span(self, start: int, end: int) -> Span:
        """Return where a part of the plain form stands in the text as written."""
        if self.places is None:
            return start, end
        after = self.places[end] if end < len(self.places) else len(self.written)
        return self.places[start], after

    def is_capital(self, start: int) -> bool:
        """Whether the letter at a place of the plain form is a capital one in the text, or of a script that has none."""
        letter = self.written[start] if self.places is None else self.letters[start]
        return letter.isupper() or (letter.lower() == letter.upper() and letter.isalpha())


def plain(text: str) -> Plain:
    """Return a text in the form in which mentions are looked for."""
    if text.isascii() and not _may_escape(text):
        return Plain(text, text.lower(), None)
    found: list[str] = []
    places: list[int] = []
    letters: list[str] = []
    for at, letter in _letters(text):
        bare = letter.lower() if letter.isascii() else unmarked(letter)
        found.append(bare)
        places += [at] * len(bare)
        letters.append(letter * len(bare))
    return Plain(text, "".join(found), tuple(places), "".join(letters))


def unmarked(text: str) -> str:
    """Return letters in their plain form: without case, marks and width."""
    bare = unicodedata.normalize("NFKD", text.casefold()).translate(_UNMARKED)
    return _MARKS.sub("", bare)


def words(text: str) -> list[str]:
    """Return the words of a text in their plain form."""
    if _may_escape(text):
        text = "".join(letter for _, letter in _letters(text))
    return _WORD_OF_ASCII.findall(text.lower()) if text.isascii() else WORD.findall(unmarked(text))


def spellings(word: str) -> frozenset[str]:
    """Return the plain forms under which a word may be written: without its marks, written out, and where it is written out, back.

    A word in Cyrillic or Greek letters is written in Latin ones too, and what comes behind "Mac" also behind "Mc".
    """
    folded = unicodedata.normalize("NFC", word.casefold())
    found = {unmarked(folded)}
    found.add(unmarked("".join(_WRITTEN_OUT.get(letter, letter) for letter in folded)))
    if folded.isascii():
        found.add(re.sub("|".join(_WRITTEN_BACK), lambda pair: _WRITTEN_BACK[pair[0]], folded))
    found |= {f"{'mc' if match[1] == 'mac' else 'mac'}{match[2]}" for each in found if (match := re.fullmatch("(mac|mc)(.{4,})", each))}
    return frozenset(found | {romanised(each) for each in found})


def romanised(word: str) -> str:
    """Return a word in its plain form with Latin letters for Cyrillic and Greek ones."""
    return word.translate(_ROMAN) if _FOREIGN.search(word) else word


def sound(word: str) -> str:
    """Return what words that are spelled in different ways and sound alike have in common: Krishnamurthy and Krishnamoorthi."""
    for written, heard in _SOUNDS:
        word = written.sub(heard, word)
    return word


def is_near(a: str, b: str, most: int) -> bool:
    """Whether one word becomes another by at most so many letters left out, added, replaced or exchanged with the next one."""
    if abs(len(a) - len(b)) > most:
        return False
    older, old, row = list[int](), list[int](), list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        older, old, row = old, row, [i]
        for j, other in enumerate(b, 1):
            cost = min(old[j] + 1, row[j - 1] + 1, old[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1] <= most


def _may_escape(text: str) -> bool:
    return "\\" in text or "%" in text or "&" in text


def _letters(text: str) -> Iterator[tuple[int, str]]:
    """Yield the letters of a text, with what escapes mean in their places."""
    reached = 0
    for start, end, meant in sorted(_escapes(text)) if _may_escape(text) else ():
        yield from enumerate(text[reached:start], reached)
        yield from ((start, letter) for letter in meant)
        reached = end
    yield from enumerate(text[reached:], reached)


def _escapes(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _ESCAPED.finditer(text):
        escape = match[0]
        meant = chr(int(escape[2:], 16)) if escape[0] == "\\" else unquote(escape) if escape[0] == "%" else html.unescape(escape)
        yield match.start(), match.end(), meant
    if text.lstrip()[:1] in ("{", "[", '"'):
        yield from ((match.start(), match.end(), " ") for match in _BLANK.finditer(text))
