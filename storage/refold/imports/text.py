"""Plain text by paragraphs: what blank lines separate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from refold.imports.documents import Block, Line, Pile, read_blocks
from refold.imports.reader import File, Malformed, Options, Reader
from refold.model import Draft

SUFFIXES = ("", ".txt", ".text")


def recognises(path: Path, head: bytes) -> bool:
    """Whether the file's name says that it is a text; what else it might be was asked before."""
    return path.suffix.lower() in SUFFIXES


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each paragraph."""
    return read_blocks(file, options, blocks=blocks)


def blocks(lines: Iterator[Line]) -> Iterator[Block]:
    """Group lines into paragraphs."""
    pile = Pile()
    for line in lines:
        if line.text.strip():
            pile.add(line)
        else:
            yield from pile.take()
    yield from pile.take()


READER = Reader("text", recognises, read)
