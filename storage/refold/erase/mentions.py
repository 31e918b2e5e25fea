"""Mentions: where a text may mean a person, by aliases in every form in which people write them. Pure; no IO.

Texts are read in their plain form (`letters`). A word is looked up in what is known of it: whether it is a first, middle or last name of
the person, in full, short, with an ending, misspelled or spelled as it sounds, or part of a handle or address; each word is judged once,
however often it comes. Only a text that has such a word is read closely. A lone misspelled word counts only where it begins with a
capital letter, a name that is a word too (`common`) only where the text does not use the word, and initials without a name beside them
only in capitals: what is left out is what nobody could review.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from refold.erase.addresses import addresses, last_digits, numbers
from refold.erase.aliases import Aliases, in_any_spacing, splits
from refold.erase.common import BEFORE_TIMES, COMMON, FOLLOWERS, TIMES, TITLES
from refold.erase.endings import Endings
from refold.erase.letters import WORD, Plain, is_near, plain, romanised, sound, unmarked, words
from refold.erase.nicknames import NICKNAMES
from refold.erase.relations import Relation, Relations
from refold.model import AliasKind, Span, SubjectId

LONG_NUMBER = re.compile(r"[0-9][0-9 ()/.\-]{5,}[0-9]")
ONE_SLIP_MIN, TWO_SLIPS_MIN = 5, 9  # letters of a word that may be misspelled by itself
BESIDE_MIN = 3  # and beside another part of the name
SOUND_MIN = 4  # letters of how a name sounds
BETWEEN_MAX = 2  # middle names between a first and a last name
_NEVER_A_SLIP = """
monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december
please thanks hello after before where which there their would could should maybe while since about other again yesterday change changing
brine christmas brand brands branch bring things think thank today every never always really great first right still being having
"""
NEVER_A_SLIP = frozenset(_NEVER_A_SLIP.split()) | COMMON  # words that often begin with a capital letter
_SPLIT = re.compile(r"[ .'\u2019`\u00b4]|-(?:\s?\n\s?)?")  # between the halves of a name
# "And", "to", "by", "the" of Hebrew and Arabic, which are written with the word that follows.
_PREFIXED = re.compile("[\u05d4\u05d5\u05d1\u05dc\u05de\u05e9\u05db]|[\u0648\u0641\u0628\u0644\u0643]?(?:\u0627\u0644)?")
WORDS_REMEMBERED_MAX = 1 << 20


class Part(IntEnum):
    """What a word may be of a person's name."""

    FIRST = 1
    LAST = 2
    MIDDLE = 3


@dataclass(frozen=True, slots=True)
class Known:
    """What a word is: a part of the name, and how it is written."""

    part: Part
    variant: str
    is_sure: bool = True  # else a slip: it needs a capital letter, or another part of the name beside it
    needs_another: bool = False  # counts beside another part of the name only
    is_common: bool = False  # a word as well


class Matcher:
    """Finds where texts may mean one person."""

    def __init__(self, aliases: Iterable[tuple[AliasKind, str]], relations: Sequence[Relation] = ()) -> None:
        self._of = of = Aliases.of(aliases)
        self._forms = _Forms(of)
        self._letters = {form[0] for form in of.first}
        self._handles = re.compile(
            "|".join(rf"(?<![^\W_]){each}(?![^\W_])" for each in sorted(set(of.handles), key=len, reverse=True)) or "(?!)"
        )
        self._signs = re.compile("|".join(map(in_any_spacing, sorted(of.signs, key=len, reverse=True))) or "(?!)")
        self._initials = re.compile("|".join(sorted(set(of.initials))) or "(?!)")
        self._phones = [(digits, last_digits(digits)) for digits in sorted(of.phones)]
        self._halves = dict.fromkeys(splits(of.first | of.middle | of.last))
        self._keys = {word for each in of.handles for word in re.findall(r"[^\W_]+", re.sub(r"\[\\W_\]\{0,\d+\}", " ", each))}
        self._keys |= {word for each in of.emails for word in words(each.host)[:-1]} | of.one_word | of.joined
        self._keys |= {max(halves, key=len) for halves in self._halves}
        self._relations = Relations(relations)
        self._keys |= {words(one.what)[-1] for one in relations if words(one.what)}
        self._known: dict[str, Known | None] = {}
        self._telling: set[str] = set()

    def notices(self, text: str) -> bool:
        """Whether a text has anything that a mention could be made of; cheap, and asked of every text."""
        if not self._telling.isdisjoint(self._words(text)) or self._initials.search(text):
            return True
        if self._of.signs and self._signs.search(unmarked(text)):
            return True
        return bool(self._phones) and LONG_NUMBER.search(text if text.isascii() else unmarked(text)) is not None

    def find(self, text: str, *, speaker: SubjectId | None = None) -> list[tuple[Span, str]]:
        """Return the places of a text that may mean the person, each with how it was recognised, in order; they do not overlap."""
        if not self.notices(text):
            return []
        said = plain(text)
        found = [*self._addresses(said), *self._names(said), *self._others(said, speaker)]
        found += [((match.start(), match.end()), "initials") for match in self._initials.finditer(text)]
        found.sort(key=lambda one: (one[0][0] - one[0][1], one[0]))
        kept: list[tuple[Span, str]] = []
        for span, variant in found:
            if all(span[1] <= other[0] or other[1] <= span[0] for other, _ in kept):
                kept.append((span, variant))
        return sorted(kept)

    def _words(self, text: str) -> list[str]:
        """Return the words of a text, after judging those that were not seen before."""
        found = words(text)
        if len(self._known) > WORDS_REMEMBERED_MAX:
            self._known.clear()
        for word in set(found).difference(self._known):
            known = self._known[word] = self._forms.judged(word)
            if known is not None or word in self._keys:
                self._telling.add(word)
        return found

    def _names(self, said: Plain) -> Iterator[tuple[Span, str]]:
        """Yield names, in any order, in full or by one part, and with an initial for the other."""
        tokens, known = self._tokens(said)
        at = 0
        while at < len(tokens):
            one = known[at]
            last, variant = (at, "") if one is None else self._joined(said, tokens, known, at)
            if one is not None and last > at:
                yield said.span(self._start(said, tokens, at, one), tokens[last][1]), variant
            elif one is not None and self._counts_alone(said, tokens, at, one):
                start, end, _ = tokens[at]
                is_handle = one.part is Part.FIRST and said.text[max(start - 1, 0)] == "@"
                with_initial = self._start(said, tokens, at, one)
                yield said.span(with_initial, end), "handle" if is_handle else "initials" if with_initial < start else one.variant
            at = last + 1

    def _tokens(self, said: Plain) -> tuple[list[tuple[int, int, str]], list[Known | None]]:
        """Return the words of a text with what they are; the halves of a name written in two are one word."""
        tokens = [(match.start(), match.end(), match[0]) for match in WORD.finditer(said.text)]
        if self._halves:
            for at in range(len(tokens) - 2, -1, -1):
                (start, reached, one), (follows, end, other) = tokens[at : at + 2]
                between = said.text[reached:follows]
                if (one, other) not in self._halves or not _SPLIT.fullmatch(between) or not said.is_capital(start):
                    continue
                if between != " " or said.is_capital(follows):
                    tokens[at : at + 2] = [(start, end, one + other)]
        return tokens, [self._known[word] if word in self._known else self._forms.judged(word) for _, _, word in tokens]

    def _joined(self, said: Plain, tokens: list, known: list[Known | None], at: int) -> tuple[int, str]:
        """Return the last word of a name that begins here, and its variant: the same word where nothing of the name follows."""
        one = known[at]
        assert one is not None
        for after in range(at + 1, min(at + 2 + BETWEEN_MAX, len(tokens))):
            if not _is_near_by(said.text[tokens[after - 1][1] : tokens[after][0]]):
                break
            other, word = known[after], tokens[after][2]
            if other is not None and (other.part is not one.part or other.part is Part.MIDDLE):
                slip = not (one.is_sure and other.is_sure)
                short = "nickname" in (one.variant, other.variant)
                last = self._further(said, tokens, known, after)
                return last, "misspelled" if slip else "nickname" if short else "name"
            if after == at + 1 and one.part is Part.LAST and len(word) == 1 and word in self._letters:
                follows = said.text[tokens[after][1] : tokens[after][1] + 1]
                if follows == "." or (said.is_capital(tokens[after][0]) and not (one.is_common and word == "i")):
                    return after, "initials"
            if len(word) > 1 and not said.is_capital(tokens[after][0]) and word not in self._of.particles:
                break
        return at, one.variant

    def _further(self, said: Plain, tokens: list, known: list[Known | None], at: int) -> int:
        """Return where a name of more than two parts ends."""
        last = at
        for after in range(at + 1, len(tokens)):
            if said.text[tokens[after - 1][1] : tokens[after][0]] not in (" ", "-"):
                break
            if known[after] is not None:
                last = after
            elif tokens[after][2] not in self._of.particles:
                break
        return last

    def _start(self, said: Plain, tokens: list, at: int, one: Known) -> int:
        """Return where a name begins: at the initial of the first name, where that stands before a last name."""
        before = tokens[at - 1] if at else None
        start = tokens[at][0]
        if before is None or one.part is Part.FIRST or before[2] not in self._letters or start - before[1] > 2:
            return start
        is_used = one.is_common and not said.is_capital(start) and "." not in said.text[before[1] : start]  # "I may"
        return start if is_used else before[0]

    def _counts_alone(self, said: Plain, tokens: list, at: int, one: Known) -> bool:
        start, end, _ = tokens[at]
        if one.needs_another:
            before = tokens[at - 1][2] if at else ""
            return before in self._of.particles and said.is_capital(start)
        if one.is_common:
            return _is_used_as_name(said, tokens, at) or self._start(said, tokens, at, one) < start
        if one.is_sure and end - start < BESIDE_MIN:
            return said.is_capital(start) or _is_marked(said, start, end)
        return one.is_sure or said.is_capital(start)

    def _addresses(self, said: Plain) -> Iterator[tuple[Span, str]]:
        """Yield e-mail addresses and telephone numbers."""
        for span, address in addresses(said.text) if self._of.emails else ():
            if any(address.is_one_with(own) for own in self._of.emails):
                yield said.span(*span), "e-mail"
        for digits, pattern in self._phones:
            yield from ((said.span(*span), "phone") for span in numbers(said.text, digits, pattern))

    def _others(self, said: Plain, speaker: SubjectId | None) -> Iterator[tuple[Span, str]]:
        """Yield handles, names in one word, and relations."""
        for match in self._handles.finditer(said.text):
            yield said.span(match.start(), match.end()), "handle"
        for match in self._signs.finditer(said.text):
            yield said.span(match.start(), match.end()), "handle"
        for match in WORD.finditer(said.text):
            if match[0] in self._of.one_word:
                yield said.span(match.start(), match.end()), "handle"
        for span in self._relations.find(said.text, speaker):
            yield said.span(*span), "relation"


class _Forms:
    """Every form of every part of a name, and what a word is of it."""

    def __init__(self, of: Aliases) -> None:
        self._sure: dict[str, Known] = {}
        named = ((Part.FIRST, of.first, "first name"), (Part.LAST, of.last, "last name"), (Part.MIDDLE, of.middle, "middle name"))
        for part, forms, variant in named:
            for form in forms:
                self._sure.setdefault(form, Known(part, variant, is_common=form in COMMON))
        short = [(part, each) for part, forms, _ in named for form in forms for each in NICKNAMES.get(form, ()) if part is not Part.LAST]
        for part, form in short:
            self._sure.setdefault(form, Known(part, "nickname", is_common=form in COMMON))
        full = [form for _, forms, _ in named for form in forms]
        self._near = [*sorted(of.last), *sorted(of.first), *sorted(of.middle)]
        self._one_word = sorted(form for form in of.one_word if len(form) >= TWO_SLIPS_MIN)
        self._sounds = {sound(form): form for form in full if len(form) >= ONE_SLIP_MIN}
        self._endings = Endings(self._sure, of.last | of.middle)

    def judged(self, word: str) -> Known | None:
        """Return what a word may be of the name."""
        roman = romanised(word)
        for each in (word, roman, roman[:-1] if word[-1] == "s" else roman, *_without_prefix(word)):
            if (known := self._sure.get(each)) is not None:
                return replace(known, variant="possessive") if len(each) < len(roman) and each == roman[:-1] else known
        if word in NEVER_A_SLIP:
            return None
        form = self._endings.form(word)
        if form is not None:
            return replace(self._sure[form], variant="with an ending", is_sure=False)
        for form in self._near:
            if len(form) >= BESIDE_MIN and len(roman) >= BESIDE_MIN and _may_slip(roman, form):
                return replace(self._sure[form], variant="misspelled", is_sure=False, needs_another=len(form) < ONE_SLIP_MIN)
        if len(heard := sound(roman)) >= SOUND_MIN and heard in self._sounds:
            return replace(self._sure[self._sounds[heard]], variant="misspelled", is_sure=False)
        if any(_may_slip(roman, form) for form in self._one_word):
            return Known(Part.MIDDLE, "misspelled", is_sure=False)
        return None


def _may_slip(word: str, form: str) -> bool:
    """Whether a word is a form with a slip or two of the pen. What is cheap to see comes first: a half without a slip at one end."""
    most = 2 if len(form) >= TWO_SLIPS_MIN else 1
    if abs(len(word) - len(form)) > most:
        return False
    half = 3 if most > 1 else (min(len(word), len(form)) - 1) // 2
    return (word[:half] == form[:half] or word[-half:] == form[-half:]) and is_near(word, form, most)


def _without_prefix(word: str) -> Iterator[str]:
    """Yield an Arabic or Hebrew word without the little words that are written with it."""
    if word[0] > "\u0580" and (prefix := _PREFIXED.match(word)) and 0 < prefix.end() < len(word) - 2:
        yield from (word[prefix.end() :], word[1:])


def _is_marked(said: Plain, start: int, end: int) -> bool:
    """Whether a word stands as a handle does: behind its sign, or alone in a field."""
    return said.text[max(start - 1, 0)] in "@#" or said.text.strip() == said.text[start:end]


def _is_used_as_name(said: Plain, tokens: list, at: int) -> bool:
    """Whether a name that is a word too is used as a name."""
    start, end, word = tokens[at]
    before = tokens[at - 1] if at else None
    follows = tokens[at + 1] if at + 1 < len(tokens) else None
    if (before and before[2] in TITLES) or _is_marked(said, start, end):
        return True
    if not said.is_capital(start):
        return False
    lead = said.text[:start][-3:].rstrip(" \"'(\u201c\u201e")
    is_next = follows is not None and said.text[end : follows[0]] in (" ", " '")
    is_first = not lead or lead[-1] in ".!?:\n"
    is_loud = all(said.is_capital(place) for place in range(start, end))
    if is_next and follows and (is_first or is_loud) and follows[2] in FOLLOWERS:
        return False
    if word in TIMES:
        digits = (is_next and follows and follows[2].isdigit()) or (before and before[2].isdigit() and said.text[before[1] : start] == " ")
        return not digits and not (before and before[2] in BEFORE_TIMES)
    return True


_NOT_BETWEEN = re.compile(r"[!?;:\n(]")


def _is_near_by(between: str) -> bool:
    """Whether two words stand as the parts of a name do."""
    return len(between) <= 3 and not _NOT_BETWEEN.search(between)
