"""Markdown by headings and blocks: paragraphs, lists, tables, listings, front matter, each with its line and headings.

A heading is not an event of its own, unless no block follows it; it is in the metadata of those that do. A heading that is nothing but
a day (`## 2024-05-20`) dates what stands under it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from refold.imports.documents import Block, Line, Pile, is_day, legible, read_blocks
from refold.imports.reader import File, Malformed, Options, Reader
from refold.model import Draft

SUFFIXES = (".md", ".markdown", ".mdown")
FRONT_MATTER_LINES_MAX = 200

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-{3,})[ \t]*")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(?!.*`)")


def recognises(path: Path, head: bytes) -> bool:
    """Whether the file is called Markdown, or is a text with a heading in it."""
    suffix = path.suffix.lower()
    return suffix in SUFFIXES or (suffix in ("", ".txt", ".text") and bool(re.search(rb"^#{1,6} \S", head, re.MULTILINE)))


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each block."""
    return read_blocks(file, options, blocks=blocks)


def blocks(lines: Iterator[Line]) -> Iterator[Block]:
    """Group lines into blocks."""
    outline = _Outline()
    pile = Pile()
    fence = ""
    for line in _after_front_matter(lines):
        if isinstance(line, Block):
            yield line
            continue
        if fence:
            pile.add(line)
            if _closes(line.text, fence):
                fence = ""
                yield from outline.over(pile)
        elif opening := _FENCE.match(line.text):
            yield from outline.over(pile)
            pile.add(line)
            fence = opening.group(1)
        elif heading := _HEADING.fullmatch(line.text):
            yield from outline.over(pile)
            yield from outline.enter(len(heading.group(1)), heading.group(2) or "", line.number)
        elif len(pile.lines) == 1 and _underlines(line.text, pile.lines[0]):
            level, text = 1 if "=" in line.text else 2, pile.lines[0].strip()
            pile.drop()
            yield from outline.enter(level, text, line.number - 1)
        elif not line.text.strip() or _RULE.fullmatch(line.text):
            yield from outline.over(pile)
        else:
            pile.add(line)
    yield from outline.over(pile)
    yield from outline.enter(1, "", 0)


class _Outline:
    """The headings that hold where we are."""

    def __init__(self) -> None:
        self._title: str | None = None
        self._open: list[tuple[int, str]] = []
        self._bare: Block | None = None  # a heading under which nothing stands yet
        self._bare_level = 0

    def enter(self, level: int, text: str, number: int) -> Iterator[Block]:
        """Note a heading; yield the one before as a block if nothing but headings stands under it, unless all below cite it as title."""
        if self._bare and (level <= self._bare_level or legible(self._bare.text) != self._title):
            yield self._bare
        self._open = [above for above in self._open if above[0] < level]
        self._bare = self._placed(Block(number, text)) if text else None
        text = legible(text)
        self._bare_level = level
        if text:
            self._open.append((level, text))
        if level == 1 and self._title is None:
            self._title = text or None

    def over(self, pile: Pile) -> Iterator[Block]:
        """Yield the block on the pile, with its headings."""
        for block in pile.take():
            self._bare = None
            yield self._placed(block)

    def _placed(self, block: Block) -> Block:
        day = next((text for _, text in reversed(self._open) if is_day(text)), None)
        return block._replace(heading=self._open[-1][1] if self._open else None, title=self._title, day=day)


def _after_front_matter(lines: Iterator[Line]) -> Iterator[Line | Block]:
    """Yield the front matter as a block if the file starts with it, then the other lines."""
    held: list[Line] = []
    for line in lines:
        held.append(line)
        if held[0].text.rstrip() != "---" or len(held) > FRONT_MATTER_LINES_MAX:
            break
        if len(held) > 1 and line.text.rstrip() in ("---", "..."):
            yield Block(2, "\n".join(each.text for each in held[1:-1]), is_front_matter=True)
            held = []
            break
    yield from held
    yield from lines


def _underlines(line: str, above: str) -> bool:
    """Whether a line makes a heading of the single line above it: not of an item, a quotation or a table."""
    return bool(_UNDERLINE.fullmatch(line)) and not re.match(r"\s*([-*+>|]|\d+[.)])", above)


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


READER = Reader("markdown", recognises, read)
