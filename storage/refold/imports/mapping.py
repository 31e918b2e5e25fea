"""JSON lines of any form, with a declared mapping: a TOML file that says under which keys the words, the time and the speaker stand.

text = "body.plain"         # needed; keys within keys are joined by dots
said_at = "sent"            # a time as other formats write it
author = "from.name"
role = "kind"               # user where it is missing
ref = "thread"              # the session; the file's name where it is missing
part = "number"             # the place in it; the number of the line where it is missing
title = "subject"
source = "chat"             # the kind of source: chat, mail, doc, ...
[roles]                     # what the role's values mean here, where they are not our own words
customer = "user"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from refold.errors import Usage
from refold.imports import records
from refold.imports.openai_messages import role_of
from refold.imports.reader import File, Malformed, Options, Reader, Said, clean_ref
from refold.imports.stamps import stamp
from refold.model import Draft, Role, Source

KEYS = ("text", "said_at", "author", "role", "ref", "part", "title")


@dataclass(frozen=True, slots=True)
class Mapped:
    """Under which keys a record says what."""

    keys: Mapping[str, tuple[str, ...]]
    source: str = "chat"
    roles: Mapping[str, Role] = field(default_factory=dict)

    def find(self, record: Mapping[str, object], what: str) -> object:
        """Return what stands in a record under the declared keys; None where nothing does."""
        found: object = record if what in self.keys else None
        for key in self.keys.get(what, ()):
            found = found.get(key) if isinstance(found, dict) else None
        return found


def load(path: Path) -> Mapped:
    """Read a mapping. Raises Usage."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Usage(f"the mapping cannot be read: {error.strerror}", path=path, hint="refold help mapping") from None
    except (ValueError, RecursionError):
        raise Usage("the mapping is not valid TOML", path=path, hint="refold help mapping") from None
    roles, source = read.pop("roles", {}), read.pop("source", "chat")
    if "text" not in read or not read.keys() <= set(KEYS) or not all(isinstance(value, str) and value for value in read.values()):
        known = ", ".join((*KEYS, "source", "[roles]"))
        raise Usage(f"a mapping needs `text`, knows {known}, and names keys as texts", path=path, hint="refold help mapping")
    if not isinstance(roles, dict) or not all(role in list(Role) for role in roles.values()):
        raise Usage(f"[roles] of a mapping gives each value one of {', '.join(Role)}", path=path, hint="refold help mapping")
    Source.parse(f"{source}:x")
    return Mapped({key: tuple(value.split(".")) for key, value in read.items()}, source, {key: Role(value) for key, value in roles.items()})


def reader(path: Path) -> Reader:
    """Return the reader of a mapping. Raises Usage."""
    mapped = load(path)

    def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
        with file.path.open("rb") as handle:
            for record in records.lines(handle):
                if isinstance(record, Malformed):
                    yield record
                    continue
                try:
                    line = records.as_object(records.parse(record.raw), "the line")
                    yield options.draft(_said(line, mapped, file, number=record.number, latest=options.latest))
                except Usage as error:
                    yield Malformed(f"line {record.number}", error.message)

    return Reader("mapping", lambda path, head: True, read)


def _said(line: Mapping[str, object], mapped: Mapped, file: File, *, number: int, latest: int | None) -> Said:
    text = mapped.find(line, "text")
    if not isinstance(text, str):
        raise Usage("no text stands under the key that the mapping names")
    author, title, role = (_text(mapped.find(line, what)) for what in ("author", "title", "role"))
    ref, part = _text(mapped.find(line, "ref")) or file.ref_of_stem, _text(mapped.find(line, "part")) or str(number)
    known = mapped.roles.get(role) if role in mapped.roles else Role(role) if role in list(Role) else role_of(role or "user")
    metadata: dict[str, object] = {"title": title} if title else {}
    source = Source(mapped.source, clean_ref(ref), clean_ref(part))
    return Said(text, source, known or Role.USER, stamp(mapped.find(line, "said_at"), latest), author or None, metadata)


def _text(value: object) -> str:
    """Return a text or a whole number as text; nothing for anything else."""
    return value if isinstance(value, str) else str(value) if type(value) is int else ""
