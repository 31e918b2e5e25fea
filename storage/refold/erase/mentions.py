"""Mentions: where a text may mean a person, by aliases in every form in which people write them. Pure; no IO.

Texts are read in their plain form (`letters`). A word is looked up in what is known of it: whether it is a first or last name of the
person, in full, short or misspelled, or part of a handle or address; each word is judged once, however often it comes. Only a text that
has such a word is read closely. A lone misspelled word counts only where it begins with a capital letter, and initials without a name
beside them only in capitals: what is left out is what nobody could review.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from refold.erase.letters import WORD, Plain, is_near, plain, spellings, unmarked, words
from refold.erase.nicknames import NICKNAMES
from refold.model import AliasKind, Span, SubjectId

PHONE = re.compile(r"\+?\(?[0-9][0-9 ()/.\-]{5,}[0-9]")
LONG_NUMBER = re.compile(r"[0-9][0-9 ()/.\-]{5,}[0-9]")
EMAIL = re.compile(r"[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+")
# Two or more letters of Chinese, Japanese, Korean (as they are taken apart), Thai, Lao, Burmese or Khmer: words stand side by side there.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]{2,}")
SIGNS = re.compile(r"[^\w\s.,;'’@+\-]")  # that no name or address has, and a handle may
DIGITS_MIN = 7  # of a telephone number, without what comes before the area code
ONE_SLIP_MIN, TWO_SLIPS_MIN = 5, 9  # letters of a word that may be misspelled by itself
BESIDE_MIN = 3  # and beside another part of the name
BETWEEN_MAX = 2  # middle names between a first and a last name
_NEVER_A_SLIP = """
monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december
please thanks hello after before where which there their would could should maybe while since about other again yesterday
"""
NEVER_A_SLIP = frozenset(_NEVER_A_SLIP.split())  # words that often begin with a capital letter
WORDS_REMEMBERED_MAX = 1 << 20


class Part(IntEnum):
    """What a word may be of a person's name."""

    FIRST = 1
    LAST = 2


@dataclass(frozen=True, slots=True)
class Known:
    """What a word is: a part of the name, and how it is written."""

    part: Part
    variant: str
    is_sure: bool = True  # else a slip: it needs a capital letter, or another part of the name beside it
    needs_another: bool = False  # counts beside another part of the name only


@dataclass(frozen=True, slots=True)
class Relation:
    """Somebody's relation to the person, as a fact names it: Ben's manager. `speakers` call them "my manager"."""

    of: tuple[str, ...]  # what that somebody is called
    what: str
    speakers: frozenset[SubjectId] = frozenset()


@dataclass
class Aliases:
    """One person's aliases, taken apart."""

    first: set[str] = field(default_factory=set)
    last: set[str] = field(default_factory=set)
    one_word: set[str] = field(default_factory=set)
    handles: list[str] = field(default_factory=list)  # patterns over the plain form
    initials: list[str] = field(default_factory=list)  # patterns over the text as written
    emails: set[tuple[str, str]] = field(default_factory=set)
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
            else:
                made.handles.append(_spaced(alias))
            if (sign := unmarked(alias).strip()) and (SIGNS.search(sign) or not words(alias) or UNSPACED.fullmatch(sign)):
                made.signs.add(sign)
        return made

    def _take_name(self, name: str) -> None:
        if "," in name:
            last, _, first = name.partition(",")
            name = f"{first} {last}"
        parts = [one for one in name.split() if words(one)]
        first, last = parts[0], parts[-1]
        self.first |= _spelled(first)
        if len(parts) > 1:
            self.last |= _spelled(last)
            self.one_word |= {form for a in _spelled(first) for b in _spelled(last) for form in _in_one_word(a, b)}
            letters = [sorted({part[0].upper(), unmarked(part)[0].upper()}) for part in (first, last)]
            a, b = ("".join(map(re.escape, each)) for each in letters)
            self.initials.append(rf"[{a}](?<![^\W_].)(?<!\w\..)(?:\.\s?|-)?[{b}](?!\w)(?!\.\w)")


class Matcher:
    """Finds where texts may mean one person."""

    def __init__(self, aliases: Iterable[tuple[AliasKind, str]], relations: Sequence[Relation] = ()) -> None:
        self._of = of = Aliases.of(aliases)
        self._short = {short for first in of.first for short in NICKNAMES.get(first, ())} - of.first
        self._letters = {form[0] for form in of.first}, {form[0] for form in of.last}
        self._handles = re.compile(
            "|".join(rf"(?<![^\W_]){each}(?![^\W_])" for each in sorted(set(of.handles), key=len, reverse=True)) or "(?!)"
        )
        self._signs = re.compile("|".join(map(re.escape, sorted(of.signs, key=len, reverse=True))) or "(?!)")
        self._initials = re.compile("|".join(sorted(set(of.initials))) or "(?!)")
        self._hosts = {host for _, host in of.emails}
        self._keys = {word for each in of.handles for word in re.findall(r"[^\W_]+", re.sub(r"\[\\W_\]\{0,\d+\}", " ", each))}
        self._keys |= {words(host)[0] for host in self._hosts} | of.one_word
        self._relations = [(_of_somebody(one), _mine(one), one.speakers) for one in relations]
        self._keys |= {words(one.what)[-1] for one in relations if words(one.what)}
        self._known: dict[str, Known | None] = {}
        self._telling: set[str] = set()

    def notices(self, text: str) -> bool:
        """Whether a text has anything that a mention could be made of; cheap, and asked of every text."""
        if not self._telling.isdisjoint(self._words(text)) or self._initials.search(text):
            return True
        if self._of.signs and any(sign in said for said in [unmarked(text)] for sign in self._of.signs):
            return True
        return bool(self._of.phones) and LONG_NUMBER.search(text) is not None

    def find(self, text: str, *, speaker: SubjectId | None = None) -> list[tuple[Span, str]]:
        """Return the places of a text that may mean the person, each with how it was recognised, in order; they do not overlap."""
        if not self.notices(text):
            return []
        said = plain(text)
        found = [*self._addresses(text), *self._names(said), *self._others(said, speaker)]
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
            known = self._known[word] = self._judged(word)
            if known is not None or word in self._keys:
                self._telling.add(word)
        return found

    def _judged(self, word: str) -> Known | None:
        """Return what a word may be of the name."""
        of = self._of
        for part, forms, variant in (
            (Part.FIRST, of.first, "first name"),
            (Part.LAST, of.last, "last name"),
            (Part.FIRST, self._short, "nickname"),
        ):
            if word in forms:
                return Known(part, variant)
            if word[-1] == "s" and word[:-1] in forms:
                return Known(part, "possessive")
        if word in NEVER_A_SLIP:
            return None
        for part, forms in ((Part.LAST, of.last), (Part.FIRST, of.first)):
            for form in forms:
                most = 2 if len(form) >= TWO_SLIPS_MIN else 1
                if len(form) >= BESIDE_MIN and len(word) >= BESIDE_MIN and is_near(word, form, most):
                    return Known(part, "misspelled", is_sure=False, needs_another=len(form) < ONE_SLIP_MIN)
        return None

    def _names(self, said: Plain) -> Iterator[tuple[Span, str]]:
        """Yield names, in any order, in full or by one part, and with an initial for the other."""
        tokens = [(match.start(), match.end(), match[0]) for match in WORD.finditer(said.text)]
        known = [self._known.get(word) for _, _, word in tokens]
        at = 0
        while at < len(tokens):
            one = known[at]
            last, variant = (at, "") if one is None else self._joined(said, tokens, known, at)
            if one is not None and last > at:
                yield said.span(self._start(tokens, at, one), tokens[last][1]), variant
            elif one is not None and self._counts_alone(said, tokens[at], one):
                start, end, _ = tokens[at]
                is_handle = one.part is Part.FIRST and said.text[max(start - 1, 0)] == "@"
                with_initial = self._start(tokens, at, one)
                yield said.span(with_initial, end), "handle" if is_handle else "initials" if with_initial < start else one.variant
            at = last + 1

    def _joined(self, said: Plain, tokens: list, known: list[Known | None], at: int) -> tuple[int, str]:
        """Return the last word of a name that begins here, and its variant: the same word where nothing of the name follows."""
        one = known[at]
        assert one is not None
        for after in range(at + 1, min(at + 2 + BETWEEN_MAX, len(tokens))):
            if not _is_near_by(said.text[tokens[after - 1][1] : tokens[after][0]]):
                break
            other, word = known[after], tokens[after][2]
            if other is not None and other.part is not one.part:
                slip = not (one.is_sure and other.is_sure)
                short = "nickname" in (one.variant, other.variant)
                return after, "misspelled" if slip else "nickname" if short else "name"
            if after == at + 1 and one.part is Part.LAST and len(word) == 1 and word in self._letters[0]:
                follows = said.text[tokens[after][1] : tokens[after][1] + 1]
                if follows == "." or said.is_capital(tokens[after][0]):
                    return after, "initials"
            if len(word) > 1 and not said.is_capital(tokens[after][0]):
                break
        return at, one.variant

    def _start(self, tokens: list, at: int, one: Known) -> int:
        """Return where a name begins: at the initial of the first name, where that stands before a last name."""
        before = tokens[at - 1] if at else None
        if before and one.part is Part.LAST and before[2] in self._letters[0] and tokens[at][0] - before[1] <= 2:
            return before[0]
        return tokens[at][0]

    def _counts_alone(self, said: Plain, token: tuple[int, int, str], one: Known) -> bool:
        if one.needs_another:
            return False
        return said.is_capital(token[0]) if not one.is_sure or token[1] - token[0] < BESIDE_MIN else True

    def _addresses(self, text: str) -> Iterator[tuple[Span, str]]:
        """Yield e-mail addresses and telephone numbers."""
        if self._of.emails and "@" in text:
            for match in EMAIL.finditer(text):
                if mailbox(match[0]) in self._of.emails:
                    yield (match.start(), match.end()), "e-mail"
        if self._of.phones:
            for match in PHONE.finditer(text):
                digits = number(match[0])
                if any(_is_same_number(digits, own) for own in self._of.phones):
                    yield (match.start(), match.end()), "phone"

    def _others(self, said: Plain, speaker: SubjectId | None) -> Iterator[tuple[Span, str]]:
        """Yield handles, names in one word, and relations."""
        for match in self._handles.finditer(said.text):
            yield said.span(match.start(), match.end()), "handle"
        for match in self._signs.finditer(said.text):
            yield said.span(match.start(), match.end()), "handle"
        for match in WORD.finditer(said.text):
            if match[0] in self._of.one_word:
                yield said.span(match.start(), match.end()), "handle"
        for theirs, mine, speakers in self._relations:
            for pattern in (theirs, mine) if speaker in speakers else (theirs,):
                for match in pattern.finditer(said.text):
                    yield said.span(match.start(), match.end()), "relation"


def mailbox(address: str) -> tuple[str, str]:
    """Return an e-mail address as its owner's mailbox: without a tag, dots and case."""
    local, _, host = unmarked(address).rpartition("@")
    return local.partition("+")[0].replace(".", "").replace("-", "").replace("_", ""), host.replace("googlemail.", "gmail.")


def number(phone: str) -> str:
    """Return the digits of a telephone number, without zeros before it; "" where it is too short to be one."""
    digits = re.sub(r"\D", "", phone.replace("(0)", "")).lstrip("0")
    return digits if len(digits) >= DIGITS_MIN else ""


def _is_same_number(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return bool(short) and long.endswith(short) and len(long) - len(short) <= 3  # of a country code


_BETWEEN = r"[\W_]{0,2}"
_BETWEEN_THESE = r"[\W_]{0,%d}"  # of a handle that has more signs between its words


def _spaced(alias: str) -> str:
    """Return the pattern of a handle: its words, with whatever stands between them."""
    between = max((len(each) for each in re.findall(r"[\W_]+", unmarked(alias))), default=0)
    return (_BETWEEN if between <= 2 else _BETWEEN_THESE % between).join(map(re.escape, words(alias))) or re.escape(unmarked(alias))


def _spelled(name: str) -> set[str]:
    """Return the plain forms of one part of a name; of a double name also those of its halves."""
    pieces = WORD.findall(name)
    return {form for piece in {"".join(pieces), *pieces} if len(piece) > 1 or len(pieces) == 1 for form in spellings(piece)}


def _in_one_word(first: str, last: str) -> Iterator[str]:
    yield from (first + last, last + first, first[0] + last, last + first[0], first + last[0])


def _is_near_by(between: str) -> bool:
    """Whether two words stand as the parts of a name do."""
    return len(between) <= 3 and not re.search(r"[!?;:\n(]", between)


def _of_somebody(one: Relation) -> re.Pattern[str]:
    names = "|".join(rf"{_spaced(name)}(?:['’]s|s|['’])?" for name in sorted(one.of, key=len, reverse=True) if words(name)) or "(?!)"
    return re.compile(rf"(?<![^\W_])(?:{names})\s+{_spaced(one.what)}(?![^\W_])")


def _mine(one: Relation) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:my|our)\s+{_spaced(one.what)}(?![^\W_])")
