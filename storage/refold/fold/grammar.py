"""The patterns of all relations, arranged by the words that give them away, so that a sentence meets only those that could fit it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from refold.errors import Usage
from refold.fold import english
from refold.fold.patterns import Element, Pattern, Shape, verb_forms
from refold.fold.verbs import MODALS, Form
from refold.model import Act


@dataclass(frozen=True, slots=True)
class WordList:
    """A list under [words]: whole words, word groups by their first word, and endings (`*ist`)."""

    words: frozenset[str]
    groups: Mapping[str, tuple[tuple[str, ...], ...]]
    endings: tuple[str, ...]

    def group_at(self, words: tuple[str, ...], at: int) -> int:
        """Return how many words the longest group has that stands at a word; 0 for none."""
        return next((len(group) for group in self.groups.get(words[at], ()) if words[at : at + len(group)] == group), 0)

    def __contains__(self, word: str) -> bool:
        return word in self.words or (bool(self.endings) and word.endswith(self.endings))

    @classmethod
    def of(cls, entries: Iterable[str]) -> WordList:
        entries = tuple(entries)
        plain = [entry for entry in entries if not entry.startswith("*")]
        groups = english.by_first([tuple(entry.split()) for entry in plain if " " in entry])
        return cls(
            frozenset(entry for entry in plain if " " not in entry),
            {word: tuple(several) for word, several in groups.items()},
            tuple(entry[1:] for entry in entries if entry.startswith("*")),
        )


@dataclass(frozen=True, slots=True)
class Index:
    """Patterns by the word that their rest begins with; those that begin with a slot are under every word."""

    by_word: Mapping[str, tuple[Pattern, ...]]
    others: tuple[Pattern, ...]

    def at(self, word: str) -> tuple[Pattern, ...]:
        """Return the patterns that may go on with a word, in file order."""
        return self.by_word.get(word, self.others)


NONE = Index({}, ())
MARKS = frozenset((",", "(", ")", "\u2014", "-"))
THEIRS = frozenset(("my", "our", "his", "her", "their", "the"))
SPELLINGS = {
    ",": MARKS,
    "my": THEIRS,
    "is": frozenset(("is", "are", "'s")),
    "I": frozenset(("i", "we")),
}  # how a literal may stand in a text


@dataclass(frozen=True, slots=True)
class Grammar:
    """The patterns of all relations, arranged by the words that give them away."""

    forms: Mapping[str, tuple[tuple[str, Form], ...]]  # a written verb form: the verbs it may be a form of
    subjects: Mapping[str, Index]  # by verb
    clauses: Mapping[str, Index]  # by first word
    openers: frozenset[str]  # words that begin a clause, not a noun: "remind", "please"
    things: tuple[Pattern, ...]  # {x} is my ...
    possessives: Index
    phrases: Index
    phrase_words: frozenset[str]  # a sentence without any of these has no such phrase
    telling: frozenset[str]  # a sentence without any of these states nothing
    lines: tuple[Pattern, ...]
    wholes: tuple[Pattern, ...]  # {x:Person} here
    aliases: Mapping[str, tuple[Pattern, ...]]  # by a word without which it is not there
    alias_words: frozenset[str]
    words: Mapping[str, WordList]


_CORRECTIONS = frozenset(("meant", "mean", "make", "sorry", "correction", "oops", "rather", "wait", "scratch"))
_COMMON = english.PREPOSITIONS | english.ARTICLES | {"and", "to", "of", "not", "you", "that", "as", "do", "did", "be", "now"}
_THIRD = frozenset(("is", "are", "has", "was", "'s"))  # what a third person's sentence has of the shared verbs
_SHARED = frozenset(("be", "have", *MODALS))  # verbs that are in every other sentence and give nothing away


def build(patterns: Iterable[tuple[Pattern, bool]], aliases: tuple[Pattern, ...], word_lists: Mapping[str, frozenset[str]]) -> Grammar:
    """Arrange patterns; each comes with whether its relation is of events."""
    by_shape: dict[Shape, list[Pattern]] = {shape: [] for shape in Shape}
    forms: dict[str, set[tuple[str, Form]]] = {}
    telling: set[str] = set()
    for pattern, event in patterns:
        by_shape[pattern.shape].append(pattern)
        written = verb_forms(pattern, event=event or pattern.act is Act.END) if pattern.shape is Shape.SUBJECT else {}
        for text, kinds in written.items():
            forms.setdefault(text, set()).update((pattern.verb, form) for form in kinds)
        telling |= set(written) if pattern.verb not in _SHARED and written else _giveaways(pattern, word_lists)
    alias_words = frozenset(_telling(pattern) for pattern in aliases)
    return Grammar(
        forms={text: tuple(sorted(found)) for text, found in forms.items()},
        subjects=_by_verb(by_shape[Shape.SUBJECT]),
        clauses=_by_first_word(by_shape[Shape.CLAUSE], word_lists),
        openers=frozenset(one.verb for one in by_shape[Shape.CLAUSE] if one.verb and not one.is_note),
        things=tuple(one for one in by_shape[Shape.SUBJECT] if one.subject and one.subject.kind != "Name"),
        possessives=_index((one, one.before) for one in by_shape[Shape.POSSESSIVE]),
        phrases=_index((one, one.rest) for one in by_shape[Shape.PHRASE]),
        phrase_words=frozenset(word for one in by_shape[Shape.PHRASE] for word in _giveaways(one, word_lists)),
        telling=frozenset(telling - {""}) | alias_words | _CORRECTIONS | {"i", "we"},
        lines=tuple(by_shape[Shape.LINE]),
        wholes=tuple(by_shape[Shape.WHOLE]),
        aliases={word: tuple(one for one in aliases if _telling(one) == word) for word in sorted(alias_words)},
        alias_words=alias_words,
        words={name: WordList.of(sorted(entries)) for name, entries in word_lists.items()},
    )


def _telling(pattern: Pattern) -> str:
    """Return a word without which a pattern is not there: the one least likely to be there by chance."""
    return max(sorted(pattern.needed), key=lambda word: (word not in _COMMON, len(word)), default="")


def _giveaways(pattern: Pattern, word_lists: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return words of which a sentence with the pattern has one; for some, a first person is all that there must be."""
    word = _telling(pattern)
    if word and word not in _COMMON:
        return frozenset((word,))
    for slot in pattern.slots:
        entries = word_lists.get(slot.only or slot.kind)
        if entries and not any(entry.startswith("*") for entry in entries):
            return frozenset(entry.split()[0 if slot.only else -1] for entry in entries)
    if pattern.shape is Shape.PHRASE:
        if not any(slot.kind in word_lists for slot in pattern.slots):
            what = "a pattern of the form `my ...` has another word, a word list, or an `is`"
            raise Usage(f"relations: {pattern.relation}: {what}", path="configs/relations.toml")
        return frozenset(("my", "our", "'s"))
    return frozenset((pattern.verb,)) if pattern.shape is Shape.CLAUSE else _THIRD


def _index(patterns: Iterable[tuple[Pattern, tuple[Element, ...]]]) -> Index:
    """Arrange patterns by the first of the elements that come with each."""
    numbered = list(enumerate(patterns))
    by_word: dict[str, list[int]] = {}
    others: list[int] = []
    for number, (pattern, elements) in numbered:
        head = elements[0] if elements else None
        if not isinstance(head, str) or head == "." or (pattern.subject and head in ("my", "me")):
            others.append(number)
        else:
            for word in SPELLINGS.get(head, (head,)):
                by_word.setdefault(word, []).append(number)
    only = [pattern for pattern, _ in (patterns for _, patterns in numbered)]
    return Index(
        {word: tuple(only[number] for number in sorted({*numbers, *others})) for word, numbers in by_word.items()},
        tuple(only[number] for number in others),
    )


def _by_verb(patterns: list[Pattern]) -> dict[str, Index]:
    found: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        found.setdefault(pattern.verb, []).append(pattern)
    return {verb: _index((one, one.rest) for one in several) for verb, several in found.items()}


def _by_first_word(patterns: list[Pattern], word_lists: Mapping[str, frozenset[str]]) -> dict[str, Index]:
    """Arrange patterns by the word they begin with, or by every word that a slot at their head may begin with."""
    found: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        head = pattern.elements[0]
        words = [head] if isinstance(head, str) else sorted({entry.split()[0] for entry in word_lists[head.only]})
        for word in words:
            found.setdefault(word, []).append(pattern)
    return {word: _index((one, one.rest) for one in several) for word, several in found.items()}
