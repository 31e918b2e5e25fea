"""A sentence with what is known of it before anything is matched: its time phrases, and which of its words are names."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from refold.fold import dates, english
from refold.fold.grammar import Grammar
from refold.fold.sentences import Sentence
from refold.fold.verbs import BE_PAST, BE_PRESENT, PAST, Form

Range = tuple[int, int]  # of words, half-open
Filled = tuple[list[Range], int] | None  # the values of a slot and the word behind them; None: the kind does not fit there
CLAUSE_ENDS = frozenset(",;:()[]\u2014") | english.TERMINATORS | english.ASIDES | {"...", "\x01", "\x02"}
NAME_WORDS_MAX = 8
_DIGITS = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class Scene:
    """A sentence, the grammar it is read with, and its time phrases as word ranges."""

    sentence: Sentence
    words: tuple[str, ...]
    has: frozenset[str]  # the words again
    grammar: Grammar
    times: tuple[Range, ...]
    time_at: dict[int, int]  # where a time phrase begins: where it ends

    @classmethod
    def of(cls, sentence: Sentence, grammar: Grammar) -> Scene:
        words = sentence.words
        times: tuple[Range, ...] = ()
        has = frozenset(words)
        if not english.TIME_WORDS.isdisjoint(has) or not _DIGITS.isdisjoint({word[0] for word in words}):
            times = _times(sentence)
        return cls(sentence, words, has, grammar, times, dict(times))

    def word(self, index: int) -> str:
        """Return a word, "" past the end."""
        return self.words[index] if 0 <= index < len(self.words) else ""

    def is_name(self, index: int) -> bool:
        """Whether a word is written as a name and is no word of the language. Where nothing has capitals, any other word may be one."""
        word = self.word(index)
        if word in english.AUXILIARY_NAMES:
            return self._is_called(index)
        if word in english.NOT_NAMES or not word or not word[0].isalpha() or "@" in word or "/" in word:
            return False
        if self.sentence.is_caseless:
            return word not in english.CLOSERS and len(word) > 1
        raw = self.sentence.raw(index)
        return raw != raw.lower() or raw.lower() == raw.upper()

    def name_end(self, at: int, *, links: frozenset[str] = english.NAME_PARTICLES) -> int:
        """Return the word behind the name that begins at `at`; `at` itself where none does. `links` are words that may join its parts."""
        limit = min(len(self.words), at + (3 if self.sentence.is_caseless else NAME_WORDS_MAX))
        end = at
        while end < limit and end not in self.time_at:
            if self.sentence.is_caseless and end > at and (self.words[end] in self.grammar.forms or self.words[end] in english.AUXILIARIES):
                break
            if self.is_name(end) or (end > at and (self._is_number(end) or self._is_of_name(end))):
                end += 1
                continue
            ahead = self._beyond_links(end, links) if end > at and not self.sentence.is_caseless else end
            if ahead == end or ahead >= limit or not self.is_name(ahead) or ahead in self.time_at:
                break
            end = ahead + 1
        if end > at and links is english.NAME_LINKS and self.word(end) == "'s" and self.is_closed(end + 1):
            return end + 1  # "I work at McDonald's."
        return end

    def _is_called(self, index: int) -> bool:
        """Whether Will or May is a name here: with a capital letter within a clause, or before what follows no auxiliary."""
        if self.sentence.is_caseless or not self.sentence.raw(index).istitle():
            return False
        if index and self.words[index - 1] not in CLAUSE_ENDS and self.words[index - 1] not in english.CONJUNCTIONS:
            return True
        at = index + 1
        if at < len(self.words) and self.sentence.raw(at).istitle() and self.words[at] not in english.NOT_NAMES:
            at += 1
        return self.word(at) in ("is", "was", "has", "'s") or not self.may_be_base(at)

    def may_be_base(self, at: int) -> bool:
        """Whether a word may be a verb behind an auxiliary: "visit", not "visited", "is" or "Rome". What is not known may be one."""
        word = self.word(at)
        forms = {form for _, form in self.grammar.forms.get(word, ())}
        if forms or not word:
            return not word or Form.BASE in forms
        is_name = not self.sentence.is_caseless and self.sentence.raw(at)[0].isupper()
        is_inflected = word.endswith(("ed", "s")) and not word.endswith(("eed", "ss"))
        return not (is_name or is_inflected or word in PAST or word in BE_PRESENT | BE_PAST)

    def _is_of_name(self, index: int) -> bool:
        """Whether a word that is no name by itself goes on with one: Elbe School, the Elbe school."""
        if self.words[index] not in english.OF_NAMES or self.sentence.is_caseless:
            return False
        return self.words[index] == "school" or self.sentence.raw(index)[0].isupper()

    def _is_number(self, index: int) -> bool:
        return self.words[index][0].isdigit() and not self.sentence.is_caseless

    def _beyond_links(self, at: int, links: frozenset[str]) -> int:
        """Return the word behind up to two linking words."""
        end = at
        if self.word(end) in ("and", "&") and self.word(end + 1) in english.FIRM_ENDINGS and links is english.NAME_LINKS:
            return end + 1
        while end < at + 2 and self.word(end) in links:
            end += 1
        return end

    def passed(self, at: int) -> str:
        """Return the word at which a pattern goes on: the next one that is no adverb, date or denial."""
        for _ in range(4):
            if at in self.time_at:
                at = self.time_at[at]
            elif (
                self.word(at) in english.ADVERBS
                or self.word(at) == "not"
                or (self.word(at).endswith("ly") and self.word(at) not in self.grammar.forms)
            ):
                at += 1
            else:
                break
        return self.word(at)

    def is_closed(self, at: int) -> bool:
        """Whether the clause has ended before the word at `at`."""
        return at >= len(self.words) or self.words[at] in CLAUSE_ENDS


def _times(sentence: Sentence) -> tuple[Range, ...]:
    found: list[Range] = []
    behind = 0
    for index, word in enumerate(sentence.words):
        if index < behind or not dates.may_begin(word):
            continue
        end = dates.phrase_end(sentence.text, sentence.starts[index], sentence.ends[-1])
        if end is not None:
            behind = bisect_left(sentence.starts, end)
            found.append((index, behind))
    return tuple(found)
