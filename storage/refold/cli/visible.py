"""Text for a terminal: nothing that moves the cursor or turns the reading order, columns that line up, lines that fit."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence

COLUMNS = 100  # where nobody says how wide the terminal is
COLUMNS_MAX = 160
CELL_COLUMNS = (32, 24, 18, 14, 10)  # how wide a cell may be, until a line fits
LAST_COLUMNS_MIN = 24  # of the last cell
JOINERS = "\u200c\u200d"  # zero-width joiners spell words and emoji; they hide nothing


def visible(text: str) -> str:
    """Return the text with control, bidi and other unseen characters, and lone surrogates, written as escapes."""
    return text if text.isascii() and text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    code = ord(character)
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{{{code:x}}}")


def width(text: str) -> int:
    """Return how many columns a terminal gives the text."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if character in JOINERS or unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(text: str, columns: int) -> str:
    """Return the text, cut with an ellipsis where it is wider than `columns`."""
    if width(text) <= columns:
        return text
    kept, room = [], columns - 1
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def screen_columns() -> int:
    """Return how wide a line may be: as wide as the terminal, within reason."""
    if not sys.stdout.isatty():
        return COLUMNS
    return max(80, min(os.get_terminal_size(sys.stdout.fileno()).columns, COLUMNS_MAX))


def quoted(text: str) -> str:
    """Return the text as a quotation."""
    return f'"{text}"'


def table(rows: Iterable[Sequence[str]], *, head: Sequence[str] = (), columns: int | None = None, indent: str = "") -> list[str]:
    """Return the rows as aligned lines of at most `columns` (the terminal's): the last cell is cut to fit, others where there are many."""
    cells = [[visible(cell) for cell in row] for row in ([head, *rows] if head else rows)]
    if not cells:
        return []
    columns = columns or screen_columns()
    last = max(map(len, cells)) - 1
    for most in CELL_COLUMNS:
        fitted = [[shorten(cell, most) if at < last else cell for at, cell in enumerate(row)] for row in cells]
        widths = [max((width(row[at]) for row in fitted if at < len(row)), default=0) for at in range(last)]
        if sum(widths) + 2 * last + LAST_COLUMNS_MIN <= columns:
            break
    lines = []
    for row in fitted:
        start = indent + "".join(pad(cell, size) + "  " for cell, size in zip(row[:last], widths, strict=False))
        end = row[last] if len(row) > last else ""
        lines.append((start + shorten(end, max(16, columns - width(start)))).rstrip())
    return lines


def pad(text: str, columns: int) -> str:
    """Return the text with spaces up to `columns`."""
    return text + " " * (columns - width(text))


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return `1 event`, `2 events`, `1,000 events`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"
