"""Words of a text: what search compares. Pure.

Lower case, `'s` dropped, runs of letters and digits of any script, a short stop list, Snowball stems for English.
Scripts written without spaces give overlapping pairs of characters, and Han characters also stand alone.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections.abc import Iterable
from functools import cache

import Stemmer  # ty: ignore[import-not-found]  (a C extension without type stubs)

WORDS_VERSION = "words/1"  # part of the recipe's digest: change it when any function here gives other words
LETTERS_MAX = 64  # of one word; longer runs are no words, and are cut the same way in texts and queries

_ASCII = re.compile(r"[a-z0-9]+")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_ACCENTED = re.compile(r"([a-z\u0370-\u03ff])[\u0300-\u036f]+")
_HAN = "\u2e80-\u2fd5\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = f"{_HAN}\u3040-\u30ff\u31f0-\u31ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uac00-\ud7af"
_IS_HAN = re.compile(f"[{_HAN}]")
_PIECE = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, before stop list and stems."""
    folded = text.lower()
    if folded.isascii():
        return [word[:LETTERS_MAX] for word in _ASCII.findall(_POSSESSIVE.sub("", folded) if "'" in folded else folded)]
    return [piece for word in _any_script().findall(_POSSESSIVE.sub("", _folded(text))) for piece in _pieces(word)]


def _folded(text: str) -> str:
    """Fold case and width, and take the accents off Latin and Greek letters; other scripts keep their marks."""
    bare = _ACCENTED.sub(r"\1", unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold()))
    return unicodedata.normalize("NFKC", bare)


@cache
def _any_script() -> re.Pattern[str]:
    """Return letters and digits of any script with the marks that belong to them, which a plain word class leaves out."""
    marks = "".join(chr(code) for code in range(0x300, min(sys.maxunicode, 0x20000)) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return re.compile(f"[^\\W_](?:[^\\W_]|[{marks}])*")


def _pieces(word: str) -> Iterable[str]:
    if word.isascii():
        yield word[:LETTERS_MAX]
        return
    for piece in _PIECE.findall(word):
        if not re.match(f"[{_UNSPACED}]", piece):
            yield piece[:LETTERS_MAX]
            continue
        if len(piece) == 1:
            yield piece
            continue
        yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        yield from _IS_HAN.findall(piece)


class Stems:
    """Stop list and stems."""

    def __init__(self, stop: frozenset[str]) -> None:
        self._stop = stop
        self._stemmer = Stemmer.Stemmer("english")
        self._turn = threading.Lock()  # a Snowball stemmer serves one caller at a time

    def of(self, word: str) -> str | None:
        """Return the stem of a word; None where it is not kept. Only words in plain letters are stemmed."""
        if word in self._stop:
            return None
        if not word.isascii():
            return word
        with self._turn:
            return self._stemmer.stemWord(word)
