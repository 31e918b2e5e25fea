"""Letters as they are compared in a search for mentions: case, marks and width do not count, and an umlaut may be written out.

`plain` keeps the way back: for each letter of the plain form, where it stands in the text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from refold.model import Span

WORD = re.compile(r"[^\W_]+")
_UNMARKED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"})
_WRITTEN_OUT = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}  # beside the letter without its mark
_WRITTEN_BACK = {"ae": "a", "oe": "o", "ue": "u", "aa": "a"}
_MARKS = re.compile(r"[\u0300-\u036f\u200b-\u200d\u00ad]")


@dataclass(frozen=True, slots=True)
class Plain:
    """A text in its plain form, and where each letter of it stands in the text as it was written."""

    written: str
    text: str
    places: tuple[int, ...] | None  # None: as many letters, each at its place

    def span(self, start: int, end: int) -> Span:
        """Return where a part of the plain form stands in the text as written."""
        if self.places is None:
            return start, end
        after = self.places[end] if end < len(self.places) else len(self.written)
        return self.places[start], after

    def is_capital(self, start: int) -> bool:
        """Whether the letter at a place of the plain form is a capital one in the text."""
        return self.written[self.span(start, start + 1)[0]].isupper()


def plain(text: str) -> Plain:
    """Return a text in the form in which mentions are looked for."""
    if text.isascii():
        return Plain(text, text.lower(), None)
    letters: list[str] = []
    places: list[int] = []
    for at, letter in enumerate(text):
        bare = letter.lower() if letter.isascii() else unmarked(letter)
        letters.append(bare)
        places += [at] * len(bare)
    return Plain(text, "".join(letters), tuple(places))


def unmarked(text: str) -> str:
    """Return letters in their plain form: without case, marks and width."""
    bare = unicodedata.normalize("NFKD", text.casefold()).translate(_UNMARKED)
    return _MARKS.sub("", bare)


def words(text: str) -> list[str]:
    """Return the words of a text in their plain form."""
    return WORD.findall(text.lower() if text.isascii() else unmarked(text))


def spellings(word: str) -> frozenset[str]:
    """Return the plain forms under which a word may be written: without its marks, written out, and where it is written out, back."""
    folded = unicodedata.normalize("NFC", word.casefold())
    found = {unmarked(folded)}
    found.add(unmarked("".join(_WRITTEN_OUT.get(letter, letter) for letter in folded)))
    if folded.isascii():
        found.add(re.sub("|".join(_WRITTEN_BACK), lambda pair: _WRITTEN_BACK[pair[0]], folded))
    return frozenset(found)


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
