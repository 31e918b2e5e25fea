"""The vocabulary: which relations there are, how they are stated, and the policy by which statements of each combine.

All of it is read from configs/relations.toml, in which a new relation is two lines. `load` takes the text of the file; nothing here
touches a disk.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Any

from refold import canonical
from refold.errors import Usage
from refold.fold.grammar import Grammar, build
from refold.fold.patterns import EXAMPLES, Pattern, Shape, compile_line
from refold.model import Act, Modality

Lines = tuple[tuple[str, int, str], ...]  # say, deny or end; the line's number under it; the line
RELATIONS_MAX = 200  # a relation's number is one byte in the state, and 255 is kept free


class Cardinality(StrEnum):
    """How many values may hold at once."""

    ONE = "one"
    MANY = "many"


class Conflict(StrEnum):
    """Which statement wins where several speak."""

    LATEST = "latest"
    CONTESTED = "contested"
    SOURCE = "source"


class About(StrEnum):
    """Of whom the relation may be stated."""

    SPEAKER = "speaker"
    ANYONE = "anyone"


class Kind(StrEnum):
    """Whether it holds until it ends, or happened once."""

    STATE = "state"
    EVENT = "event"


class Value(StrEnum):
    """What the value is: words, or a person, who may be known by other names too."""

    TEXT = "text"
    PERSON = "person"


class SaidBy(StrEnum):
    """Whose events may state it."""

    ANYONE = "anyone"
    USER = "user"  # never a document: what a document says is not an instruction
    DOCUMENT = "document"  # of the heading or the document itself, never of its author


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation: its policy and the lines that state it."""

    name: str
    cardinality: Cardinality
    conflict: Conflict
    about: About
    kind: Kind
    special: bool  # a sensitive class of personal data
    said_by: SaidBy
    modality: Modality  # of what is stated plainly: a plan is planned
    value: Value
    alias: bool  # its value is another name of the entity
    is_qualified: bool  # a statement of it names a qualifier
    lines: Lines


@dataclass(frozen=True, eq=False)
class Relations:
    """All relations in file order, and what is needed to read them in a text.

    The policies are read at once, the patterns when something is first read with them: who only asks needs no grammar.
    """

    by_name: Mapping[str, Relation]
    aliases: Lines
    word_lists: Mapping[str, frozenset[str]] = field(repr=False)
    digest: bytes  # SHA-256 of the canonical content, order included; comments and spacing do not count
    text: str = field(repr=False)  # as it was loaded

    @property
    def names(self) -> tuple[str, ...]:
        """Return the relations' names in file order; a name's place is its number in the state."""
        return tuple(self.by_name)

    def policy(self, name: str) -> Relation:
        """Return a relation by name. Raises Usage."""
        if name not in self.by_name:
            raise Usage("there is no relation of this name", hint="refold help relations")
        return self.by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    @cached_property
    def patterns(self) -> Mapping[str, tuple[Pattern, ...]]:
        """The flat patterns of each relation. Raises Usage, naming the relation, the line and what is wrong."""
        kinds = {*EXAMPLES, *self.word_lists}
        return {name: tuple(_patterns(relation, kinds)) for name, relation in self.by_name.items()}

    @cached_property
    def grammar(self) -> Grammar:
        """The patterns of all relations and aliases, arranged for reading. Raises Usage as `patterns` does."""
        stated = [(pattern, self.by_name[name].kind is Kind.EVENT) for name, patterns in self.patterns.items() for pattern in patterns]
        return build(stated, _alias_patterns(self.aliases, {*EXAMPLES, *self.word_lists}), self.word_lists)

    @classmethod
    def load(cls, text: str) -> Relations:
        """Read the text of configs/relations.toml. Raises Usage, naming the relation and what is wrong."""
        try:
            tables = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise Usage(f"relations: not valid TOML: {error}", path="configs/relations.toml") from None
        digest = sha256(canonical.encode([list(tables), tables])).digest()
        word_lists = _word_lists(tables.pop("words", {}))
        defaults = _defaults(tables.pop("defaults", {}))
        aliases = _lines("aliases", _table("aliases", tables.pop("aliases", {})), ("say", "deny"))
        relations = {name: _relation(name, defaults | _table(name, table)) for name, table in tables.items()}
        if not 1 <= len(relations) <= RELATIONS_MAX:
            raise Usage(f"relations: {len(relations)} relations, expected 1 to {RELATIONS_MAX}", path="configs/relations.toml")
        return cls(relations, aliases, word_lists, digest, text)


_POLICY: dict[str, type[StrEnum]] = {
    "cardinality": Cardinality,
    "conflict": Conflict,
    "about": About,
    "kind": Kind,
    "said_by": SaidBy,
    "value": Value,
}
_FLAGS = ("special", "alias")
_ACTS = {"say": Act.SAY, "deny": Act.DENY, "end": Act.END}
_MODALITIES = {"asserted": Modality.ASSERTED, "planned": Modality.PLANNED}
_BUILT_IN: dict[str, object] = {
    "cardinality": "many",
    "conflict": "latest",
    "about": "speaker",
    "kind": "state",
    "said_by": "anyone",
    "value": "text",
    "special": False,
    "alias": False,
    "modality": "asserted",
}


def _fault(relation: str, what: str) -> Usage:
    return Usage(f"relations: {relation}: {what}", path="configs/relations.toml")


def _table(name: str, table: object) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise _fault(name, "expected a table with `say`")
    return table


def _defaults(table: object) -> dict[str, Any]:
    given = _table("defaults", table)
    if unknown := sorted(set(given) - set(_BUILT_IN)):
        raise _fault("defaults", f"unknown key {unknown[0]!r}, expected {', '.join(_BUILT_IN)}")
    return _BUILT_IN | given


def _relation(name: str, table: dict[str, Any]) -> Relation:
    if unknown := sorted(set(table) - {*_BUILT_IN, *_ACTS}):
        raise _fault(name, f"unknown key {unknown[0]!r}, expected {', '.join([*_BUILT_IN, *_ACTS])}")
    if not name.isidentifier() or name != name.lower():
        raise _fault(name, "a name is of lower-case letters, digits and underscores")
    for key, choices in [*_POLICY.items(), ("modality", _MODALITIES)]:
        if table[key] not in list(choices):
            raise _fault(name, f"{key} is none of {', '.join(choices)}")
    for key in _FLAGS:
        if not isinstance(table[key], bool):
            raise _fault(name, f"{key} is neither true nor false")
    lines = _lines(name, {key: value for key, value in table.items() if key in _ACTS}, tuple(_ACTS))
    if not any(key == "say" for key, _, _ in lines):
        raise _fault(name, "has no `say` line, so nothing could state it")
    return Relation(
        name=name,
        cardinality=Cardinality(table["cardinality"]),
        conflict=Conflict(table["conflict"]),
        about=About(table["about"]),
        kind=Kind(table["kind"]),
        special=table["special"],
        said_by=SaidBy(table["said_by"]),
        modality=_MODALITIES[table["modality"]],
        value=Value(table["value"]),
        alias=table["alias"],
        is_qualified=any("{q" in line for _, _, line in lines),
        lines=lines,
    )


def _lines(name: str, table: dict[str, Any], keys: tuple[str, ...]) -> Lines:
    """Return the lines of a table with the key and the number under which each stands there."""
    if unknown := sorted(set(table) - set(keys)):
        raise _fault(name, f"unknown key {unknown[0]!r}, expected {', '.join(keys)}")
    return tuple((key, number, line) for key in keys for number, line in enumerate(_strings(name, key, table.get(key, [])), 1))


def _strings(name: str, key: str, lines: object) -> list[str]:
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise _fault(name, f"{key} is not a list of strings")
    return lines


def _word_lists(table: object) -> dict[str, frozenset[str]]:
    lists = {name: frozenset(_strings("words", name, entries)) for name, entries in _table("words", table).items()}
    for name, entries in lists.items():
        if name in EXAMPLES or not name.isidentifier() or not name[0].isupper():
            raise _fault("words", f"{name!r} is the name of a built-in kind, or does not begin with a capital")
        if not entries or any(entry != entry.lower().strip() or not entry.strip("*") for entry in entries):
            raise _fault("words", f"{name!r} is empty, or has an entry that is empty or not in lower case")
    return lists


def _patterns(relation: Relation, kinds: set[str]) -> Iterator[Pattern]:
    for key, number, line in relation.lines:
        act = _ACTS[key]
        patterns = _compiled(relation.name, key, number, line, kinds, event=act is Act.END or relation.kind is Kind.EVENT)
        where = f"{key} {number}"
        if act is Act.SAY and not all(any(slot.role == "x" for slot in pattern.slots) for pattern in patterns):
            raise _fault(relation.name, f"{where}: a pattern without {{x}} states no value")
        if any(pattern.shape is Shape.ANYWHERE for pattern in patterns):
            raise _fault(relation.name, f"{where}: {{a}} and {{b}} belong to [aliases]")
        if relation.said_by is SaidBy.DOCUMENT and any(pattern.shape is not Shape.LINE for pattern in patterns):
            raise _fault(relation.name, f"{where}: what only documents say has the form `{{q:Key}}: {{x}}`")
        yield from patterns


def _alias_patterns(lines: Lines, kinds: set[str]) -> tuple[Pattern, ...]:
    patterns = [pattern for key, number, line in lines for pattern in _compiled("aliases", key, number, line, kinds, event=False)]
    if any({"a", "b"} - {slot.role for slot in pattern.slots} for pattern in patterns):
        raise _fault("aliases", "a pattern has not both {a} and {b}")
    return tuple(patterns)


def _compiled(name: str, key: str, number: int, line: str, kinds: set[str], *, event: bool) -> list[Pattern]:
    """Compile a line; a fault names the relation and the line's number."""
    try:
        return compile_line(line, relation=name, act=_ACTS[key], kinds=kinds, event=event)
    except Usage as error:
        raise _fault(name, f"{key} {number}: {error.message}") from None
