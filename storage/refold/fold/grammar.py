"""The patterns of all relations, arranged by the words that give them away, so that a sentence meets only those that could fit it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from refold.errors import Usage
from refold.fold import english
from refold.fold.patterns import Element, Pattern, Shape, Slot, verb_forms
from refold.fold.verbs import BE_PAST, BE_PRESENT, MODALS, Form
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
    notes: Index  # of `be`: what a note may say without "I am"
    things: tuple[Pattern, ...]  # {x} is my ...
    possessives: Index
    phrases: Index
    phrase_words: frozenset[str]  # a sentence without any of these has no such phrase
    triggers: frozenset[str]  # a sentence without any of these states nothing
    lines: tuple[Pattern, ...]
    wholes: tuple[Pattern, ...]  # {x:Person} here
    aliases: Mapping[str, tuple[Pattern, ...]]  # by a word without which it is not there
    alias_words: frozenset[str]
    words: Mapping[str, WordList]


_CORRECTIONS = frozenset(("meant", "mean", "make", "sorry", "correction", "oops", "rather", "wait")) | {
    phrase[0] for phrase in english.JOKES
}


def build(patterns: Iterable[tuple[Pattern, bool]], aliases: tuple[Pattern, ...], word_lists: Mapping[str, frozenset[str]]) -> Grammar:
    """Arrange patterns; each comes with whether its relation is of events."""
    by_shape: dict[Shape, list[Pattern]] = {shape: [] for shape in Shape}
    forms: dict[str, set[tuple[str, Form]]] = {}
    for pattern, event in patterns:
        by_shape[pattern.shape].append(pattern)
        if pattern.shape is Shape.SUBJECT:
            for text, kinds in verb_forms(pattern, event=event or pattern.act is Act.END).items():
                forms.setdefault(text, set()).update((pattern.verb, form) for form in kinds)
    be = BE_PRESENT | BE_PAST | {"be", "been", "'s", "'d"}
    lists = {name: WordList.of(sorted(entries)) for name, entries in word_lists.items()}
    phrase_words = frozenset(word for pattern in by_shape[Shape.PHRASE] for word in _giveaways(pattern, word_lists))
    whole_words = frozenset(_telling(pattern) for pattern in by_shape[Shape.WHOLE])
    notes = [pattern for pattern in by_shape[Shape.SUBJECT] if _is_note(pattern)]
    alias_words = frozenset(_telling(pattern) for pattern in aliases)
    clauses = _by_first_word(by_shape[Shape.CLAUSE], word_lists)
    return Grammar(
        forms={text: tuple(sorted(found)) for text, found in forms.items()},
        subjects=_by_verb(by_shape[Shape.SUBJECT]),
        clauses=clauses,
        notes=_note_index(notes, word_lists),
        things=tuple(one for one in by_shape[Shape.SUBJECT] if one.subject and one.subject.kind != "Name"),
        possessives=_index((one, one.before) for one in by_shape[Shape.POSSESSIVE]),
        phrases=_index((one, one.rest) for one in by_shape[Shape.PHRASE]),
        phrase_words=phrase_words,
        triggers=frozenset(forms)
        | frozenset(clauses)
        | phrase_words
        | alias_words
        | whole_words
        | be
        | MODALS
        | _CORRECTIONS
        | frozenset(_note_words(notes, word_lists)),
        lines=tuple(by_shape[Shape.LINE]),
        wholes=tuple(by_shape[Shape.WHOLE]),
        aliases={word: tuple(one for one in aliases if _telling(one) == word) for word in sorted(alias_words)},
        alias_words=alias_words,
        words=lists,
    )


def _telling(pattern: Pattern) -> str:
    """Return the longest word without which a pattern is not there: the one least likely to be there by chance."""
    return max(sorted(pattern.needed), key=len, default="")


_PREDICATES = frozenset(
    (
        "allergic",
        "intolerant",
        "based",
        "employed",
        "married",
        "engaged",
        "fond",
        "keen",
        "into",
        "crazy",
        "obsessed",
        "big",
        "a",
        "planning",
        "hoping",
        "intending",
        "thinking",
        "considering",
        "off",
        "heading",
        "visiting",
        "going",
        "flying",
        "travelling",
    )
)


def _is_note(pattern: Pattern) -> bool:
    """Whether a note may state it without "I am": "allergic to nuts", "vegan since 2019"; not "nurse" or "at Acme"."""
    head = pattern.rest[0] if pattern.rest else ""
    if pattern.verb != "be" or pattern.is_past or pattern.subject:
        return False
    return head in _PREDICATES if isinstance(head, str) else head.kind == "Trait"


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


def _note_index(notes: list[Pattern], word_lists: Mapping[str, frozenset[str]]) -> Index:
    """Arrange notes by their first word, those that begin with a listed word by every word of the list."""
    found: dict[str, list[Pattern]] = {}
    for pattern in notes:
        head = pattern.rest[0]
        for word in [head] if isinstance(head, str) else sorted({entry.split()[0] for entry in word_lists[head.kind]}):
            found.setdefault(word, []).append(pattern)
    return Index({word: tuple(several) for word, several in found.items()}, ())


def _note_words(notes: list[Pattern], word_lists: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield words of which a note has one."""
    for pattern in notes:
        head = pattern.rest[0]
        if isinstance(head, Slot):
            yield from (entry.split()[-1] for entry in word_lists[head.kind])
        else:
            yield _telling(pattern)


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


def _giveaways(pattern: Pattern, word_lists: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield words of which a sentence that matches the pattern has one: of its first element after `my`."""
    first = pattern.rest[0] if pattern.rest else ""
    if isinstance(first, Slot) and first.kind in word_lists:
        yield from (entry.split()[-1] for entry in word_lists[first.kind])
        if any(entry.startswith("*") for entry in word_lists[first.kind]):
            yield from ("my", "our", "'s")
    elif isinstance(first, str):
        yield first
    else:
        what = "a pattern of the form `my ...` goes on with a word or a word list, or has an `is`"
        raise Usage(f"relations: {pattern.relation}: {what}", path="configs/relations.toml")
