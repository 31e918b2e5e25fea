"""Aliases, taken apart: the parts of a name and every way to write them in one word, as letters, or in a script without spaces. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from refold.erase.addresses import Mailbox, mailbox, number
from refold.erase.common import ABBREVIATIONS, COMMON, TITLES
from refold.erase.letters import WORD, romanised, spellings, unmarked, words
from refold.model import AliasKind

# Two or more letters of Chinese, Japanese, Korean (as they are taken apart), Thai, Lao, Burmese or Khmer: words stand side by side there.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]{2,}")
_HANGUL, _HAN = re.compile("[\uac00-\ud7a3]{3}"), re.compile("[\u3005-\u30ff\u3400-\u9fff]{2,4}")
_TITLED = "先生 女士 小姐 太太 老师 老師 博士 医生 醫生 同学 经理 經理 教授 主任 さん 様 さま 君 くん ちゃん 氏"
_HONORIFICS = _TITLED.split()
SIGNS = re.compile(r"[^\w\s.,;'’@+\-]")  # that no name or address has, and a handle may
_JOINING = """
de del della dello degli di da do dos das du des la le las los van von vom der den ter ten zu zum zur af av auf til und of the bin ibn ben
bint al el ul ud ad ar az
"""
PARTICLES = frozenset(_JOINING.split())
_NO_PARTS = TITLES - {"don", "ing"} | {"jr", "sen", "jun", "ii", "iii", "phd", "md", "esq", "msc", "bsc", "mba", "fr", "hr"}
SHORT = 3  # letters: a shorter name or handle needs a capital letter or its sign
_RUN_MIN = 4  # letters of several parts in one word
_INITIALS_MAX = 6


@dataclass
class Aliases:
    """One person's aliases, taken apart."""

    first: set[str] = field(default_factory=set)
    last: set[str] = field(default_factory=set)
    middle: set[str] = field(default_factory=set)  # a second given name, the first of two surnames, a patronymic
    particles: set[str] = field(default_factory=set)
    one_word: set[str] = field(default_factory=set)
    handles: list[str] = field(default_factory=list)  # patterns over the plain form
    joined: set[str] = field(default_factory=set)  # handles of several words in one
    initials: list[str] = field(default_factory=list)  # patterns over the text as written
    emails: set[Mailbox] = field(default_factory=set)
    phones: set[str] = field(default_factory=set)
    signs: set[str] = field(default_factory=set)  # what stands between any other letters: of signs alone, or of a script without spaces

    @classmethod
    def of(cls, aliases: Iterable[tuple[AliasKind, str]]) -> Aliases:
        """Take aliases apart, each by its kind."""
        made = cls()
        for kind, alias in aliases:
            if kind is AliasKind.EMAIL and "@" in alias:
                made.emails.add(mailbox(alias))
            elif kind is AliasKind.PHONE and number(alias):
                made.phones.add(number(alias))
            elif kind is AliasKind.NAME and words(alias):
                made._take_name(alias)
            elif len(said := words(alias)) == 1 and (said[0] in COMMON or len(said[0]) < SHORT) and unmarked(alias) == said[0]:
                made.first.add(said[0])
            else:
                made.handles.append(spaced(alias))
                made.joined.add("".join(words(alias)))
            if (sign := unmarked(alias).strip()) and (SIGNS.search(sign) or not words(alias) or UNSPACED.fullmatch(sign)):
                made.signs.add(sign)
            made.signs |= {unmarked(each) for each in _unspaced(alias)}
        made.middle -= made.first | made.last
        return made

    def _take_name(self, name: str) -> None:
        parts = _parts(name)
        named = [part for part in parts[1:-1] if not _is_particle(part)]
        first, last = parts[0], parts[-1]
        self.first |= spelled(first)
        self.middle |= {form for part in named for form in spelled(part) if len(form) > 1}
        self.particles |= {unmarked(part) for part in parts[:-1]} & PARTICLES
        if len(parts) > 1:
            self.last |= spelled(last)
            self.one_word |= {form for a in spelled(first) for b in spelled(last) for form in _in_one_word(a, b)}
            pieces = [piece for part in parts for piece in (part.split("-") if "-" in part else [part]) if words(piece)]
            self.one_word |= {run for several in (parts, pieces) for run in _runs(several) if len(run) >= _RUN_MIN and run not in COMMON}
            self.initials += _initials(first, last, pieces)


def spelled(name: str) -> set[str]:
    """Return the plain forms of one part of a name; of a double name also those of its halves."""
    pieces = [piece for piece in WORD.findall(unicodedata.normalize("NFC", name)) if piece.casefold() not in PARTICLES] or WORD.findall(
        name
    )
    whole = "".join(WORD.findall(name))
    return {form for piece in {whole, *pieces} if len(piece) > 1 or len(pieces) == 1 for form in spellings(piece)}


def spaced(alias: str) -> str:
    """Return the pattern of a handle: its words, with whatever stands between them."""
    between = max((len(each) for each in re.findall(r"[\W_]+", unmarked(alias))), default=0)
    return rf"[\W_]{{0,{max(between, 2)}}}".join(map(re.escape, words(alias))) or re.escape(unmarked(alias))


def _is_particle(part: str) -> bool:
    return unmarked(part).strip(".'’") in PARTICLES or len(unmarked(part).strip(".")) < 2


def _parts(name: str) -> list[str]:
    """Return the parts of a name in the order of speaking, without titles."""
    last, _, first = name.partition(",")
    if first and all(unmarked(part).strip(".") in _NO_PARTS for part in first.split()):
        first = ""
    parts = [one for one in f"{first} {last}".split() if words(one)]
    parts = [one for one in parts if unmarked(one).strip(".") not in _NO_PARTS] or parts
    while len(parts) > 1 and parts[0].islower() and _is_particle(parts[0]):
        parts = parts[1:]
    return parts


def _in_one_word(first: str, last: str) -> Iterator[str]:
    yield from (first + last, last + first, first[0] + last, last + first[0], first + last[0])


def _runs(parts: Sequence[str]) -> Iterator[str]:
    """Yield parts of a name that stand side by side in one word, the first ones in full or by their letters: vandenberg, mjgarcia."""
    for write in (unmarked, lambda part: max(spellings(part), key=len)):
        plain = ["".join(WORD.findall(romanised(write(part)))) for part in parts]
        plain = [part for part in plain if part]
        for begin, end in ((b, e) for b in range(len(plain)) for e in range(b + 2, len(plain) + 1)):
            if any(part not in PARTICLES for part in plain[begin:end]):
                yield "".join(plain[begin:end])
        for full, end in ((f, e) for f in range(1, len(plain)) for e in range(f + 1, len(plain) + 1)):
            if plain[end - 1] not in PARTICLES:
                yield "".join(part[0] for part in plain[:full]) + "".join(plain[full:end])


def _initials(first: str, last: str, pieces: Sequence[str]) -> Iterator[str]:
    """Yield the patterns of initials: of the first and the last name, and of all parts, with and without particles."""
    yield _letters_of([(first,), (last,)])
    for several in (pieces, [piece for piece in pieces if not _is_particle(piece)]):
        if 2 < len(several) <= _INITIALS_MAX:
            yield _letters_of([(piece,) for piece in several])
    if match := re.fullmatch(r"(\w)['’](\w)\w+", last):
        yield rf"(?<!\w){re.escape(first[0])}\.?\s?{match[1]}\W?{match[2]}(?!\w)"


def _letters_of(parts: Sequence[tuple[str]]) -> str:
    letters = [sorted({part[0].upper(), unmarked(part)[0].upper()} | ({part[0]} if part in PARTICLES else set())) for (part,) in parts]
    begin, *rest = ("".join(map(re.escape, each)) for each in letters)
    between = r"(?:\.\s?|-)?"
    bare = "".join(min(each) for each in letters).lower()
    if len(letters) == 2 and bare in ABBREVIATIONS:
        between = r"(?:\.\s?|-)"
    return rf"[{begin}](?<![^\W_].)(?<!\w\..)" + "".join(rf"{between}[{each}]" for each in rest) + r"(?!\w)(?!\.\w)"


def _unspaced(alias: str) -> Iterator[str]:
    """Yield what a name in a script without spaces goes by: its given or family name alone, in the usual places, and that with a title."""
    written = unicodedata.normalize("NFKC", alias).split()
    if len(written) > 1:
        yield from (part for part in written if UNSPACED.fullmatch(unmarked(part)) and len(part) > 1)
        return
    for name in written:
        if _HANGUL.fullmatch(name):
            yield name[1:]
        elif _HAN.fullmatch(name):
            halves = {2: (), 3: (name[1:], name[:2]), 4: (name[2:], name[:2])}[len(name)]
            yield from halves
            yield from (f"{name[0]}{title}" for title in _HONORIFICS)


def in_any_spacing(sign: str) -> str:
    """Return the pattern of a sign, with blanks between its letters where its script has none."""
    return r"\s?".join(map(re.escape, sign)) if UNSPACED.fullmatch(sign) else re.escape(sign)


def splits(forms: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield every way to write a name in two words: Mac Donald, Krishna Murthy."""
    yield from ((form[:at], form[at:]) for form in forms if len(form) > 4 for at in range(2, len(form) - 1))
