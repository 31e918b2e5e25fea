"""Which part of a sentence is not stated: what is asked, and what hangs on a condition or a wish."""

from __future__ import annotations

from dataclasses import dataclass

from refold.fold import english
from refold.fold.sentences import Sentence

_IFS = english.by_first(english.CONVERSATIONAL_IF)
_EXEMPLIFYING = english.by_first(english.EXEMPLIFYING)
_RETRACTION_MAX = 12  # words
_LEADS_MAX = 3  # words before "for example" at the beginning of a sentence
_HEDGING_VERBS = frozenset(("suppose", "assume", "imagine"))  # "I suppose" hedges, "suppose" supposes
_REQUESTS = frozenset(("can", "could", "will", "would"))
_CLAUSE_MARKS = frozenset((",", ";", "\u2014", "but"))


@dataclass(frozen=True, slots=True)
class Limits:
    """Up to which word a sentence states anything, and where it begins to suppose."""

    end: int
    blockers: tuple[int, ...] = ()
    dictated: int | None = None  # where the text begins that is to be written for the speaker: "Draft a message: ..."
    is_request: bool = False  # "could you remind me to": asked, but asked for

    def forbid(self, words: tuple[str, ...], start: int) -> bool:
        """Whether the clause at `start` hangs on a condition or wish: one before it, within it, or right behind its end."""
        if self.dictated is not None and start > self.dictated:
            return True
        if not self.blockers:
            return False
        if self.blockers[0] < start:
            return True
        end = start
        while end < len(words) and words[end] not in _CLAUSE_MARKS:
            end += 1
        return any(start <= at <= end + 1 for at in self.blockers)


def limits(sentence: Sentence) -> Limits:
    """Return what of a sentence may state something."""
    words = sentence.words
    blockers = _blockers(words)
    dictated = words.index(":") if words[0] in english.DICTATING and ":" in words else _example(words)
    if sentence.end_mark != "?":
        return Limits(len(words), blockers, dictated)
    at = 1 if words[0] in ("please", "and", "so", "ok", "okay") else 0
    is_request = words[at] in _REQUESTS and words[at + 1 : at + 2] == ("you",)
    return Limits(_question(words), blockers, dictated, is_request)


def _example(words: tuple[str, ...]) -> int | None:
    """Return the word behind which a sentence only gives an example: -1 where all of it does."""
    found = [at for at in range(len(words)) if english.longest(words, at, _EXEMPLIFYING)]
    found += [at for at in range(1, len(words)) if words[at] == ":" and words[at - 1] in english.EXAMPLE_HEADS]
    if not found:
        return None
    return -1 if min(found) <= _LEADS_MAX else min(found)


def announces_example(words: tuple[str, ...]) -> bool:
    """Whether a sentence is no more than the announcement of an example: "Suppose.", "Here is an example:"."""
    plain = [word for word in words if word[0].isalpha() and word not in ("the", "this", "that")]
    if words[-1] == ":" and not english.EXAMPLE_HEADS.isdisjoint(plain[-2:]):
        return True
    return bool(plain) and (english.EXAMPLE_HEADS.issuperset(plain) or tuple(plain) in english.EXEMPLIFYING)


def takes_back(sentence: Sentence) -> tuple[int, int] | None:
    """Return the words of a sentence that take back what was said before them: "That was a lie", "I live in Rome, that's not true"."""
    words = sentence.words
    if sentence.voice or sentence.end_mark == "?" or english.RETRACTING_WORDS.isdisjoint(words):
        return None
    marks = [at for at, word in enumerate(words[:-1]) if word in english.BOUNDARIES or word in ("but", "and")]
    for end in (len(words), *marks):  # all of it, or its beginning: "That was a lie, I live in Munich"
        if _bare(words[:end]) in english.RETRACTING:
            return 0, end
    return next(((at + 1, len(words)) for at in marks if _bare(words[at + 1 :]) in english.RETRACTING), None)


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    if len(words) > _RETRACTION_MAX:
        return ()
    return tuple(word for word in words if word[0] in "'abcdefghijklmnopqrstuvwxyz" and word not in english.BESIDE_RETRACTING)


def _question(words: tuple[str, ...]) -> int:
    """Return the word at which a question begins; 0 where all of it is one, or only asks to be confirmed."""
    for index, word in enumerate(words[:-1]):
        if word not in english.BOUNDARIES and word not in english.CONJUNCTIONS:
            continue
        following = words[index + 1]
        is_tag = following in english.QUESTION_OPENERS and len(words) - index <= 5 and words[index + 2] in ("not", "i", "it", "he", "she")
        if is_tag:
            return 0
        if following in english.QUESTION_OPENERS:
            return index
    return 0


def _blockers(words: tuple[str, ...]) -> tuple[int, ...]:
    """Return where a sentence turns to what is only supposed, wished or conditional."""
    fiction = [at for at, word in enumerate(words) if word in english.FICTION and at > 1 and words[at - 2] == "in"]
    if english.BLOCKERS.isdisjoint(words):
        return tuple(fiction)
    pardoned: set[int] = set()
    for at in range(len(words)):
        if phrase := english.longest(words, at, _IFS):
            pardoned |= set(range(at, at + len(phrase)))
    hedged = {at for at, word in enumerate(words) if word in _HEDGING_VERBS and at and words[at - 1] == "i"}
    blocking = {at for at, word in enumerate(words) if word in english.BLOCKERS}
    return tuple(sorted({*fiction, *blocking} - pardoned - hedged))
