"""Text for a terminal: nothing that moves the cursor or turns the reading order, columns that line up, lines that fit."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from refold.units import NANOS

CELL_COLUMNS_MIN = 10  # what is left of a cell however narrow the screen is
GAP = "  "
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


def screen_columns() -> int | None:
    """Return how wide a line may be: what COLUMNS says, else as wide as the terminal; None where no terminal is written to."""
    if "COLUMNS" not in os.environ and not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size((0, 0)).columns or None


def from_here(path: Path | str) -> str:
    """Return a path as a person types it: relative where it lies in the working folder."""
    path, here = Path(path), Path.cwd()
    return visible(str(path.relative_to(here) if path.is_relative_to(here) else path))


def quoted(text: str) -> str:
    """Return the text as a quotation."""
    return f'"{text}"'


def table(rows: Iterable[Sequence[str]], *, head: Sequence[str] = (), columns: int | None = None, indent: str = "") -> list[str]:
    """Return the rows as aligned lines of at most `columns` (the screen's; nothing is cut where it has none).

    What is too wide is taken from the widest columns, so that a short one is never cut for a long one.
    """
    cells = [[visible(cell) for cell in row] for row in ([head, *rows] if head else rows)]
    if not cells:
        return []
    columns = columns or screen_columns()
    widths = [max(width(row[at]) for row in cells if at < len(row)) for at in range(max(map(len, cells)))]
    if columns:
        shown = max((at for at, size in enumerate(widths, 1) if size), default=1)  # no gap stands before columns that are empty to the end
        most = _cell_columns(widths, columns - width(indent) - len(GAP) * (shown - 1))
        cells = [[shorten(cell, most) for cell in row] for row in cells]
        widths = [min(size, most) for size in widths]
    return [indent + GAP.join(map(pad, row, widths)).rstrip() for row in cells]


def _cell_columns(widths: Sequence[int], room: int) -> int:
    """Return how wide a cell may be, so that all columns together fit into the room."""
    left = len(widths)
    for size in sorted(widths):
        if size * left > room:
            return max(CELL_COLUMNS_MIN, room // left)
        room -= size
        left -= 1
    return max(widths)


def pad(text: str, columns: int) -> str:
    """Return the text with spaces up to `columns`."""
    return text + " " * (columns - width(text))


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return `1 event`, `2 events`, `1,000 events`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def money(nanos: int, currency: str) -> str:
    """Return a sum as people write it; less than a hundredth is not rounded away."""
    digits = 2 if nanos % (NANOS // 100) == 0 or nanos >= 100 * NANOS else 6
    return f"{nanos / NANOS:,.{digits}f} {currency}"
