"""Progress: a line on standard error that is rewritten, after two seconds, and only where a person looks at it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TextIO

QUIET_SECONDS = 2.0
REDRAW_SECONDS = 0.2

Show = Callable[[str], None]


@contextmanager
def progress(*, err: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> Generator[Show]:
    """Give a function that shows how far something is; what it showed is gone when the block ends."""
    stream = err or sys.stderr
    next_draw = clock() + QUIET_SECONDS
    drawn = 0

    def show(text: str) -> None:
        nonlocal next_draw, drawn
        if stream.isatty() and clock() >= next_draw:
            print(f"\r{text:<{drawn}}", end="", file=stream, flush=True)
            next_draw, drawn = clock() + REDRAW_SECONDS, len(text)

    try:
        yield show
    finally:
        if drawn:
            print(f"\r{' ' * drawn}\r", end="", file=stream, flush=True)
