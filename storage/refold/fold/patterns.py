"""The language in which configs/relations.toml says how a relation is stated.

    I, my            whoever the statement is of: the speaker, or a named person ("Ruth lives", "Ruth's")
    a word           that word; the verb after `I` is read in all its forms, also denied, planned, begun and given up
    [words]          may be missing
    (a|b c)          one of them
    {x} {x:Kind}     the value; {q:Kind} the qualifier; {_:Kind} something that must be there and is not kept
    {o:Name}         whose it is, where `my` does not say it
    I {q=married}    the verb as written is the qualifier
    {when}           a time that lies ahead
    [I am] ...       also as a note of the speaker, without "I am"
    {x:Kind-List}    not if its first or last word is in that word list; {x:Kind+List} only if

`compile_line` turns a line into flat patterns without choices, so that matching is a walk along the words: no regular expression, no
backtracking, no way to make it slow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import product

from refold.errors import Usage
from refold.fold.verbs import BE_PAST, BE_PRESENT, MODALS, Form, conjugate
from refold.model import Act

FLAT_MAX = 256  # flat patterns of one line
# Kinds that are code; every list under [words] is a kind too. With each, an example that is one.
EXAMPLES = {
    "Thing": "dark chocolate",
    "Noun": "silver trumpet",
    "Name": "Acme Robotics",
    "Person": "Leonie",
    "Place": "Munich",
    "Action": "repair the fence",
    "Rest": "write in short sentences",
    "Contact": "leonie@example.org",
    "Handle": "moonfox",
    "Address": "12 Birch Lane",
    "Key": "Owner",
    "Words": "evening",
    "Doing": "repairing the fence",
    "When": "on Friday",
}


class Shape(IntEnum):
    """Where a pattern may begin."""

    SUBJECT = 0  # I verb ...: the subject of a clause
    POSSESSIVE = 1  # my ... is ...: the subject of a clause
    PHRASE = 2  # my ... {x}, or {x}, my ...: anywhere, for what is taken for granted
    CLAUSE = 3  # other words: the beginning of a clause
    LINE = 4  # {q:Key}: ...: a line of a document
    ANYWHERE = 5  # an alias
    WHOLE = 6  # {x:Person} ...: a clause without a verb


@dataclass(frozen=True, slots=True)
class Slot:
    """A gap in a pattern: `role` x, q or _ (a and b in aliases), and what may fill it."""

    role: str
    kind: str
    unless: str = ""  # a word list that its first and last word must not be in
    only: str = ""  # a word list that one of them must be in


Element = str | Slot
WHEN = Slot("when", "When")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One flat way to state a relation. `rest` is what follows the verb, or all of it where no verb is read."""

    relation: str
    act: Act
    shape: Shape
    line: str  # as written in the file
    elements: tuple[Element, ...]
    rest: tuple[Element, ...]
    before: tuple[Element, ...] = ()  # what stands between `my` and `is`
    subject: Slot | None = None  # {x:Name} is my ...: the subject is the value
    verb: str = ""  # the key of its verb
    is_past: bool = False  # written as something that happened: "I moved to"
    is_shared: bool = False  # {x:Name} and I ...: the subject is both
    is_pair: bool = False  # {o:Name} and {x:Name} are ...: the second of two is the value of the first
    is_quoting: bool = False  # I {q=married} {x}: the verb as written is the qualifier
    is_note: bool = False  # written with [I am] and read without it: "allergic to nuts"
    is_denial: bool = False  # written with `do not`: it states something only where it is denied
    needed: frozenset[str] = frozenset()  # words without which it is not there: a quick way to know that it is not

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Return its gaps in order."""
        return tuple(element for element in self.elements if isinstance(element, Slot))

    def example(self, words: Mapping[str, frozenset[str]]) -> tuple[str, str]:
        """Return a sentence that states the relation this way, and the value in it ("" for none)."""
        value, pieces = "", []
        for element in self.elements:
            piece = element if isinstance(element, str) else _filler(element, words)
            value = piece if isinstance(element, Slot) and element.role == "x" else value
            pieces.append(piece)
        return _spelled(pieces), value


def _filler(slot: Slot, words: Mapping[str, frozenset[str]]) -> str:
    """Return an example of what fills a slot."""
    if slot.only[:1] == "=":
        return slot.only[1:]
    if slot.only and slot.kind in EXAMPLES:
        return f"{min(words[slot.only])} {EXAMPLES[slot.kind]}"
    return (EXAMPLES.get(slot.kind) or min(words[slot.kind])).replace("*", "art")


def _spelled(pieces: list[str]) -> str:
    text = re.sub(r" ([,:.]|'s\b)", r"\1", " ".join(pieces))
    text = re.sub(r"\bi\b", "I", text)
    return text[0].upper() + text[1:]


def compile_line(line: str, *, relation: str, act: Act, kinds: Collection[str], event: bool = False) -> list[Pattern]:
    """Return the flat patterns of one line of relations.toml. Raises Usage, without the relation: the caller knows where the line is."""
    flats = _expand(line)
    if len(flats) > FLAT_MAX:
        raise Usage(f"the pattern has {len(flats)} variants, at most {FLAT_MAX} are allowed")
    patterns = [_pattern(_elements(flat, kinds), line, relation, act, event=event) for flat in dict.fromkeys(flats)]
    may_be_note = line.startswith(NOTE)
    return [replace(one, needed=_needed(one), is_note=may_be_note and one.shape is Shape.CLAUSE) for one in patterns]


NOTE = "[I am] "


_SPELLED_OTHERWISE = frozenset((",", ".", "is", "my", "me", "I"))


def _needed(pattern: Pattern) -> frozenset[str]:
    literals = (*pattern.before, *pattern.rest)
    return frozenset(word for word in literals if isinstance(word, str)) - _SPELLED_OTHERWISE


def verb_forms(pattern: Pattern, *, event: bool) -> dict[str, set[Form]]:
    """Return the forms in which the pattern's verb may be written; empty for what the verb group knows itself (be, will)."""
    return {} if not pattern.verb or pattern.verb in MODALS | {"be"} else conjugate(pattern.verb, event=event)[1]


_PIECE = re.compile(r"\{[^{}]*\}|[\[\]()|]|[^\s\[\]()|{},:]+|[,:]|[{}]")


def _expand(line: str) -> list[tuple[str, ...]]:
    pieces = _PIECE.findall(line)
    flats, at = _choices(pieces, 0)
    if at != len(pieces) or not pieces:
        raise Usage("the pattern has a closing bracket too many, or is empty")
    return flats


def _choices(pieces: list[str], at: int) -> tuple[list[tuple[str, ...]], int]:
    """Read alternatives up to a closing bracket or the end; return each as a flat tuple of pieces."""
    done: list[tuple[str, ...]] = []
    parts: list[list[tuple[str, ...]]] = []
    while at < len(pieces) and pieces[at] not in ")]":
        piece = pieces[at]
        at += 1
        if piece == "|":
            done += _joined(parts)
            parts = []
        elif piece in "([":
            inner, at = _choices(pieces, at)
            if at >= len(pieces) or pieces[at] != {"(": ")", "[": "]"}[piece]:
                raise Usage("the pattern has a bracket that is not closed")
            parts.append([*inner, ()] if piece == "[" else inner)
            at += 1
        elif piece in "{}":
            raise Usage("the pattern has a brace that is not closed")
        else:
            parts.append([(piece,)])
    return done + _joined(parts), at


def _joined(parts: list[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    size = 1
    for part in parts:
        size *= len(part)
    if size > FLAT_MAX:
        raise Usage(f"the pattern has {size} variants, at most {FLAT_MAX} are allowed")
    return [tuple(piece for part in choice for piece in part) for choice in product(*parts)]


_QUOTED = re.compile(r"\{q=([a-z]+)\}")
_SLOT = re.compile(r"\{([xqo_ab])(?::([A-Z]\w*))?(?:-([A-Z]\w*))?(?:\+([A-Z]\w*))?\}")


def _elements(flat: tuple[str, ...], kinds: Collection[str]) -> tuple[Element, ...]:
    elements: list[Element] = []
    for piece in flat:
        if piece == "{when}":
            elements.append(WHEN)
            continue
        if quoted := _QUOTED.fullmatch(piece):
            elements.append(Slot("q", "Words", only=f"={quoted[1]}"))
            continue
        if not piece.startswith("{"):
            elements += _words(piece)
            continue
        match = _SLOT.fullmatch(piece)
        if not match:
            raise Usage("a slot is not of the form {x}, {x:Kind}, {q:Kind} or {_:Kind}")
        slot = Slot(
            match.group(1), match.group(2) or ("Words" if match.group(1) == "_" else "Thing"), match.group(3) or "", match.group(4) or ""
        )
        if any(name and name not in kinds for name in (slot.kind, slot.unless, slot.only)):
            raise Usage("a slot names a kind that is neither built in nor a list under [words]")
        elements.append(slot)
    roles = [element.role for element in elements if isinstance(element, Slot) and element.role not in ("_", "when")]
    if len(roles) != len(set(roles)):
        raise Usage("the pattern has the same slot twice")
    return tuple(elements)


def _words(piece: str) -> Iterator[str]:
    """Yield the words of a literal as the reader sees them: lower case, contractions opened."""
    word = piece.replace("\u2019", "'")
    if word == "I":
        yield "I"
    elif word.lower().endswith("n't"):
        stem = word.lower()[:-3]
        yield from ({"ca": "can", "wo": "will"}.get(stem, stem), "not")
    else:
        yield word.lower()


def _pattern(elements: tuple[Element, ...], line: str, relation: str, act: Act, *, event: bool) -> Pattern:
    head = elements[0] if elements else ""
    if any(isinstance(element, Slot) and element.role in "ab" for element in elements):
        return Pattern(relation, act, Shape.ANYWHERE, line, elements, elements)
    if head == "I":
        return _subject_pattern(elements, line, relation, act, event=event)
    if head == "my" and "is" in elements:
        at = elements.index("is")
        return Pattern(relation, act, Shape.POSSESSIVE, line, elements, elements[at + 1 :], elements[1:at], verb="be")
    if head == "my":
        return Pattern(relation, act, Shape.PHRASE, line, elements, elements[1:])
    if isinstance(head, Slot):
        return _slot_pattern(head, elements, line, relation, act, event=event)
    return Pattern(relation, act, Shape.CLAUSE, line, elements, elements[1:], verb=str(head))


def _slot_pattern(head: Slot, elements: tuple[Element, ...], line: str, relation: str, act: Act, *, event: bool) -> Pattern:
    """Return a pattern that begins with a slot: its kind, or what follows, says what shape it has."""
    if head.kind == "Key":
        return Pattern(relation, act, Shape.LINE, line, elements, elements)
    if head.only:
        return Pattern(relation, act, Shape.CLAUSE, line, elements, elements)
    if head.kind == "Person":
        return Pattern(relation, act, Shape.WHOLE, line, elements, elements)
    if elements[1:3] == ("and", "I") and len(elements) > 4:
        key, is_past = _verb(str(elements[3]), event=event)
        rest = elements[4:]
        return Pattern(relation, act, Shape.SUBJECT, line, elements, rest, subject=head, verb=key, is_past=is_past, is_shared=True)
    if head.role == "o" and elements[1:2] == ("and",) and len(elements) > 4 and isinstance(elements[2], Slot):
        key, is_past = _verb(str(elements[3]), event=event)
        return Pattern(relation, act, Shape.SUBJECT, line, elements, elements[4:], subject=head, verb=key, is_past=is_past, is_pair=True)
    if elements[1:3] == (",", "my") and head.role == "x":
        return Pattern(relation, act, Shape.PHRASE, line, elements, elements[3:], subject=head)
    verb = elements[1] if len(elements) > 2 else None
    if not isinstance(verb, str) or head.role != "x":
        raise Usage("a pattern that begins with a slot goes on with a verb, or has a list of its first words: {x:Kind+List}")
    key, is_past = _verb(verb, event=event)
    return Pattern(relation, act, Shape.SUBJECT, line, elements, elements[2:], subject=head, verb=key, is_past=is_past)


def _subject_pattern(elements: tuple[Element, ...], line: str, relation: str, act: Act, *, event: bool) -> Pattern:
    verb = elements[1] if len(elements) > 1 else None
    if isinstance(verb, Slot) and verb.only[:1] == "=":
        key, is_past = _verb(verb.only[1:], event=event)
        return Pattern(relation, act, Shape.SUBJECT, line, elements, elements[2:], verb=key, is_past=is_past, is_quoting=True)
    if not isinstance(verb, str):
        raise Usage("a pattern that begins with `I` goes on with a verb, or {q=...} with one in it")
    if elements[1:3] == ("do", "not") and len(elements) > 3 and isinstance(elements[3], str):
        return Pattern(relation, act, Shape.SUBJECT, line, elements, elements[4:], verb=elements[3], is_denial=True)
    key, is_past = _verb(verb, event=event)
    return Pattern(relation, act, Shape.SUBJECT, line, elements, elements[2:], verb=key, is_past=is_past)


def _verb(written: str, *, event: bool) -> tuple[str, bool]:
    """Return the key of a verb, and whether it is written in the past."""
    if written in BE_PRESENT | BE_PAST:
        return "be", written in BE_PAST
    if written in ("has", "have"):
        return "have", False
    return written, written not in MODALS and conjugate(written, event=event)[0]
