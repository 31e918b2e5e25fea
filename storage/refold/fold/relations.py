"""The vocabulary: which relations there are, how they are stated, and the policy by which statements of each combine.

All of it is read from configs/relations.toml, in which a new relation is two lines. `load` takes the text of the file; nothing here
touches a disk.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any

from refold import canonical
from refold.errors import Usage
from refold.fold.grammar import Grammar, build
from refold.fold.patterns import EXAMPLES, Pattern, Shape, compile_line
from refold.model import Act, Modality

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


class SaidBy(StrEnum):
    """Whose events may state it."""

    ANYONE = "anyone"
    USER = "user"  # never a document: what a document says is not an instruction
    DOCUMENT = "document"  # of the heading or the document itself, never of its author


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation: its policy and the patterns that state it."""

    name: str
    cardinality: Cardinality
    conflict: Conflict
    about: About
    kind: Kind
    special: bool  # a sensitive class of personal data
    said_by: SaidBy
    modality: Modality  # of what is stated plainly: a plan is planned
    alias: bool  # its value is another name of the entity
    is_qualified: bool  # a statement of it names a qualifier
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Relations:
    """All relations in file order, and what is needed to read them in a text."""

    by_name: Mapping[str, Relation]
    aliases: tuple[Pattern, ...]
    digest: bytes  # SHA-256 of the canonical content, order included; comments and spacing do not count
    grammar: Grammar = field(repr=False)
    word_lists: Mapping[str, frozenset[str]] = field(repr=False)

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

    @classmethod
    def load(cls, text: str) -> Relations:
        """Read the text of configs/relations.toml. Raises Usage, naming the relation and what is wrong."""
        try:
            tables = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise Usage(f"relations: not valid TOML: {error}", path="configs/relations.toml") from None
        word_lists = _word_lists(tables.pop("words", {}))
        kinds = {*EXAMPLES, *word_lists}
        defaults = _defaults(tables.pop("defaults", {}))
        aliases = _alias_patterns(tables.pop("aliases", {}), kinds)
        relations = {name: _relation(name, defaults | _table(name, table), kinds) for name, table in tables.items()}
        if not 1 <= len(relations) <= RELATIONS_MAX:
            raise Usage(f"relations: {len(relations)} relations, expected 1 to {RELATIONS_MAX}", path="configs/relations.toml")
        content = [list(relations), tomllib.loads(text)]
        stated = [(pattern, relation.kind is Kind.EVENT) for relation in relations.values() for pattern in relation.patterns]
        grammar = build(stated, aliases, word_lists)
        return cls(relations, aliases, sha256(canonical.encode(content)).digest(), grammar, word_lists)


_POLICY: dict[str, type[StrEnum]] = {
    "cardinality": Cardinality,
    "conflict": Conflict,
    "about": About,
    "kind": Kind,
    "said_by": SaidBy,
}
_FLAGS = ("special", "alias")
_LINES = {"say": Act.SAY, "deny": Act.DENY, "end": Act.END}
_MODALITIES = {"asserted": Modality.ASSERTED, "planned": Modality.PLANNED}
_BUILT_IN: dict[str, object] = {
    "cardinality": "many",
    "conflict": "latest",
    "about": "speaker",
    "kind": "state",
    "said_by": "anyone",
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


def _relation(name: str, table: dict[str, Any], kinds: set[str]) -> Relation:
    if unknown := sorted(set(table) - {*_BUILT_IN, *_LINES}):
        raise _fault(name, f"unknown key {unknown[0]!r}, expected {', '.join([*_BUILT_IN, *_LINES])}")
    if not name.isidentifier() or name != name.lower():
        raise _fault(name, "a name is of lower-case letters, digits and underscores")
    for key, choices in [*_POLICY.items(), ("modality", _MODALITIES)]:
        if table[key] not in list(choices):
            raise _fault(name, f"{key} is none of {', '.join(choices)}")
    for key in _FLAGS:
        if not isinstance(table[key], bool):
            raise _fault(name, f"{key} is neither true nor false")
    if not table.get("say"):
        raise _fault(name, "has no `say` line, so nothing could state it")
    patterns = tuple(_patterns(name, table, kinds))
    return Relation(
        name=name,
        cardinality=Cardinality(table["cardinality"]),
        conflict=Conflict(table["conflict"]),
        about=About(table["about"]),
        kind=Kind(table["kind"]),
        special=table["special"],
        said_by=SaidBy(table["said_by"]),
        modality=_MODALITIES[table["modality"]],
        alias=table["alias"],
        is_qualified=any(slot.role == "q" for pattern in patterns for slot in pattern.slots),
        patterns=patterns,
    )


def _patterns(name: str, table: dict[str, Any], kinds: set[str]) -> Iterator[Pattern]:
    for key, act in _LINES.items():
        for number, line in enumerate(_strings(name, key, table.get(key, [])), 1):
            patterns = _compiled(name, f"{key} {number}", line, act, kinds, event=act is Act.END or table["kind"] == Kind.EVENT)
            if act is Act.SAY and not all(any(slot.role == "x" for slot in pattern.slots) for pattern in patterns):
                raise _fault(name, f"{key} {number}: a pattern without {{x}} states no value")
            if any(pattern.shape is Shape.ANYWHERE for pattern in patterns):
                raise _fault(name, f"{key} {number}: {{a}} and {{b}} belong to [aliases]")
            if table["said_by"] == SaidBy.DOCUMENT and any(pattern.shape is not Shape.LINE for pattern in patterns):
                raise _fault(name, f"{key} {number}: what only documents say has the form `{{q:Key}}: {{x}}`")
            yield from patterns


def _compiled(name: str, where: str, line: str, act: Act, kinds: set[str], *, event: bool) -> list[Pattern]:
    """Compile a line; a fault names the relation and the line's number."""
    try:
        return compile_line(line, relation=name, act=act, kinds=kinds, event=event)
    except Usage as error:
        raise _fault(name, f"{where}: {error.message}") from None


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


def _alias_patterns(table: object, kinds: set[str]) -> tuple[Pattern, ...]:
    patterns: list[Pattern] = []
    for key, lines in _table("aliases", table).items():
        if key not in ("say", "deny"):
            raise _fault("aliases", f"unknown key {key!r}, expected say, deny")
        for number, line in enumerate(_strings("aliases", key, lines), 1):
            patterns += _compiled("aliases", f"{key} {number}", line, _LINES[key], kinds, event=False)
    if any({"a", "b"} - {slot.role for slot in pattern.slots} for pattern in patterns):
        raise _fault("aliases", "a pattern has not both {a} and {b}")
    return tuple(patterns)
