"""What Markdown and plain text have in common: blocks with their lines become drafts; a letter's head says who wrote it and when.

The source is `doc:NAME#PART` (`letter:` where the head has a From or a To), PART the block's number in the file: `p4`. Inserting a
paragraph moves the numbers of all that follow, so a block is known again by its words and not by its number: the second of two equal
blocks is `p9~2`, and what follows the tilde is all of the part that identity rests on (`model.identity_part`). A paragraph that was not
changed is therefore never added twice, wherever it moves within its document; a changed one is new; one that came back is old.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from email.utils import parseaddr
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple, TextIO

from refold import times
from refold.errors import Usage
from refold.imports.reader import File, Malformed, Options, Said
from refold.imports.stamps import written
from refold.model import Draft, Role, Source

BLOCK_CHARACTERS_MAX = 64 << 20
AUTHOR_KEYS = ("author", "from", "by")
DATE_KEYS = ("date", "sent", "created")
LETTER_KEYS = ("from", "to")
HEAD_KEYS = {*AUTHOR_KEYS, *DATE_KEYS, *LETTER_KEYS, "cc", "subject", "title", "re"}

_PROPERTY = re.compile(r"([A-Za-z][A-Za-z -]{0,30}):[ \t]*(.*)")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(,? \w+day)?")


class Line(NamedTuple):
    """A line of a file, without its end; a line that is too long comes in pieces of one number."""

    number: int
    text: str


class Block(NamedTuple):
    """A paragraph, list, table, listing or front matter, and the headings it stands under."""

    line: int
    text: str
    heading: str | None = None  # the nearest
    title: str | None = None  # the document's
    day: str | None = None  # the nearest heading that is nothing but a date
    is_front_matter: bool = False
    is_cut: bool = False  # it was longer than a block may be


class Head(NamedTuple):
    """What a document says of itself."""

    author: str | None = None
    said_at: int | None = None
    title: str | None = None
    to: str | None = None
    kind: str = "doc"


class Pile:
    """The lines of the block that is being read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._size = 0  # characters, with those that were not kept
        self._number = 0

    def add(self, line: Line) -> None:
        """Put a line on the pile, unless it has become longer than a block may be."""
        self._number = line.number if not self.lines else self._number
        self._size += len(line.text)
        if self._size <= BLOCK_CHARACTERS_MAX:
            self.lines.append(line.text)

    def take(self) -> Iterator[Block]:
        """Yield the block, if there is one, and start anew."""
        if self.lines or self._size:
            yield Block(self._number, "\n".join(self.lines), is_cut=self._size > BLOCK_CHARACTERS_MAX)
        self.drop()

    def drop(self) -> None:
        """Forget the block: its line was a heading."""
        self.lines, self._size = [], 0


Blocks = Callable[[Iterator[Line]], Iterator[Block]]


def read_blocks(file: File, options: Options, *, blocks: Blocks) -> Iterator[Draft | Malformed]:
    """Yield a draft for each block that has words.

    A head with a date that cannot be read, or that is still to come, refuses the whole file: a backdated letter that speaks as of
    today would win over everything that was said since.
    """
    with file.path.open(encoding="utf-8-sig", errors="surrogateescape", newline=None) as handle:
        found = blocks(_lines(handle))
        first = next(found, None)
        if first is None:
            return
        try:
            head, is_consumed = _head(first, file, latest=options.latest)
        except Usage as error:
            yield Malformed(f"line {first.line}", error.message)
            return
        yield from _drafts(found if is_consumed else chain((first,), found), head, file=file, options=options)


def _drafts(blocks: Iterator[Block], head: Head, *, file: File, options: Options) -> Iterator[Draft | Malformed]:
    equal: Counter[bytes] = Counter()
    for position, block in enumerate(blocks, 1):
        place = f"line {block.line}"
        try:
            raw = block.text.encode("utf-8")
        except UnicodeEncodeError:
            yield Malformed(place, "not valid UTF-8")
            continue
        if block.is_cut:
            yield Malformed(place, f"a paragraph longer than {BLOCK_CHARACTERS_MAX >> 20} million characters")
            continue
        digest = blake2b(raw, digest_size=16).digest()
        equal[digest] += 1
        source = Source(head.kind, file.ref, _part(position, equal[digest]))
        said_at = _moment(block.day, options.latest)
        yield options.draft(
            Said(
                block.text,
                source,
                Role.DOCUMENT,
                head.said_at if said_at is None else said_at,
                head.author,
                _metadata(block, head),
            )
        )


def _part(position: int, occurrence: int) -> str:
    return f"p{position}" if occurrence == 1 else f"p{position}~{occurrence}"


def _metadata(block: Block, head: Head) -> dict[str, object]:
    about = {"heading": block.heading, "title": head.title or block.title, "to": head.to, "line": block.line}
    return {key: value for key, value in about.items() if value is not None}


def _head(first: Block, file: File, *, latest: int | None) -> tuple[Head, bool]:
    """Return what the first block says of the document, and whether that is all it says. Raises Usage."""
    fields = _fields(first)
    is_all = bool(fields) and fields.keys() <= HEAD_KEYS
    author = next((name for key in AUTHOR_KEYS if (name := _name(fields.get(key, "")))), None)
    date = next((date for key in DATE_KEYS if (date := fields.get(key))), None)
    if not (author or date) or not (is_all or first.is_front_matter):
        return Head(said_at=_moment(file.path.stem, latest)), False
    said_at = written(date, latest) if date else _moment(file.path.stem, latest)
    kind = "letter" if any(key in fields for key in LETTER_KEYS) else "doc"
    title = fields.get("title") or fields.get("subject") or fields.get("re")
    return Head(author, said_at, title, fields.get("to"), kind), is_all


def _fields(block: Block) -> dict[str, str]:
    """Return the `Key: value` lines of a block that is made of nothing else, or of front matter."""
    lines = [line for line in block.text.split("\n") if line.strip()]
    pairs = [match.groups() for line in lines if (match := _PROPERTY.fullmatch(line.strip()))]
    if len(pairs) < len(lines) and not block.is_front_matter:
        return {}
    return {key.casefold(): value.strip().strip("\"'") for key, value in pairs}


def _name(text: str) -> str | None:
    """Return the name in `Ruth Brandt <ruth@example.org>`, or the address alone; a list of authors names nobody."""
    if text.startswith("["):
        return None
    name, address = parseaddr(text)
    return name or (address if "@" in address else text) or None


def legible(text: str) -> str:
    """Return a heading with what is not UTF-8 marked as such: the blocks under it need not go with it."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def is_day(text: str) -> bool:
    """Whether a heading or a name is nothing but a day: `2024-05-20`, `2024-05-20, Monday`."""
    return bool(_DAY.fullmatch(text.strip()))


def _moment(text: str | None, latest: int | None = None) -> int | None:
    """Return the time of a text that is nothing but a day, unless it is no day of the calendar or still to come."""
    day = _DAY.fullmatch(text.strip()) if text else None
    try:
        moment = times.parse(day.group(1)) if day else None
    except Usage:
        return None
    return moment if moment is None or latest is None or moment <= latest else None


def _lines(handle: TextIO) -> Iterator[Line]:
    number = 1
    while text := handle.readline(BLOCK_CHARACTERS_MAX):
        yield Line(number, text.rstrip("\n"))
        number += text.endswith("\n")
