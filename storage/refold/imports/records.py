"""JSON records out of files of any size: lines, or the elements of one long list, each parsed by itself.

A record that cannot be parsed costs that record alone, and memory holds one record at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, NoReturn

from refold.errors import Usage
from refold.imports.reader import Malformed

RECORD_BYTES_MAX = 64 << 20
CHUNK_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"
TOO_LONG = f"longer than {RECORD_BYTES_MAX >> 20} MiB"


def _stretch(depth: int) -> re.Pattern[bytes]:
    """Return what matches text without brackets outside of strings, or with closed brackets down to a depth.

    It ends at a bracket or at a string that goes on after the buffer. Possessive throughout: it never backtracks.
    """
    plain = rb'[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"'
    stretch = rb"(?:%b)*+" % plain
    for _ in range(depth):
        stretch = rb"(?:%b|[\[{]%b[\]}])*+" % (plain, stretch)
    return re.compile(stretch, re.DOTALL)


_BETWEEN_RECORDS = _stretch(0)
_WITHIN_A_RECORD = _stretch(3)  # deeper would be tried in vain more often than it saves
_HALF_OF_A_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


class Record(NamedTuple):
    """One record: its number from 1 (the line, or the place in the list) and its bytes."""

    number: int
    raw: bytes


def parse(raw: bytes) -> object:
    """Parse one record. Raises Usage with a reason that shows nothing of it."""
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
        if _HALF_OF_A_PAIR.search(raw):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise Usage(f"not valid UTF-8 at its byte {error.start + 1}") from None
    except UnicodeEncodeError:
        raise Usage("half of a surrogate pair stands alone") from None
    except RecursionError:
        raise Usage("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Usage(f"not valid JSON at its character {error.pos + 1}") from None
    except ValueError:
        raise Usage("a number that JSON does not know") from None
    return value


def as_object(value: object, what: str) -> dict[str, object]:
    """Return the value if it is a JSON object. Raises Usage."""
    if not isinstance(value, dict):
        raise Usage(f"{what} is not a JSON object")
    return value


def lines(handle: BinaryIO) -> Iterator[Record | Malformed]:
    """Yield each line that is not blank; what is longer than a record may be is left out."""
    number = 0
    while raw := handle.readline(RECORD_BYTES_MAX + 1):
        number += 1
        if len(raw) > RECORD_BYTES_MAX:
            while raw and not raw.endswith(b"\n"):
                raw = handle.readline(CHUNK_BYTES)
            yield Malformed(f"line {number}", TOO_LONG)
            continue
        raw = raw.removeprefix(BOM) if number == 1 else raw
        if raw.strip():
            yield Record(number, raw)


def elements(handle: BinaryIO, what: str) -> Iterator[Record | Malformed]:
    """Yield each object of a list, or the one object that stands there instead, told apart by brackets alone."""
    window = _Window(handle)
    depth = number = floor = 0  # an object that opens at depth `floor` is a record: 1 within a list
    for bracket in window.brackets():
        if window.stray:
            yield Malformed(f"after {what} {number}", "something that is no object stands in the list")
            window.stray = False
        if bracket in b"[{":
            if bracket == ord("[") and depth == floor == 0:
                floor = 1
            elif depth == floor:
                window.mark = window.at - 1
            depth += 1
            continue
        depth = max(depth - 1, 0)
        if depth <= floor and window.mark is not None:
            number += 1
            yield Record(number, window.take())
        floor = min(floor, depth)
    if window.is_full:
        yield Malformed(f"{what} {number + 1}", f"{TOO_LONG}; nothing after it was read")
    elif depth or window.rest.strip():
        yield Malformed(f"after {what} {number}", "the file ends before its list does")


class _Window:
    """The stretch of a file that is in memory: from the start of the record we are in, if any, to where was read."""

    def __init__(self, handle: BinaryIO) -> None:
        self.mark: int | None = None  # where the record starts that `take` will hand out
        self.at = 0  # where the next bracket is sought
        self.stray = False  # whether something else than space and commas stood between two records
        self._handle = handle
        self._buffer = handle.read(len(BOM)).removeprefix(BOM)

    @property
    def rest(self) -> bytes:
        return self._buffer[self.at :]

    @property
    def is_full(self) -> bool:
        return len(self._buffer) > RECORD_BYTES_MAX + CHUNK_BYTES

    def take(self) -> bytes:
        """Return the record that ends here, and forget where it started."""
        record, self.mark = self._buffer[self.mark : self.at], None
        return record

    def brackets(self) -> Iterator[int]:
        """Yield every bracket that stands in no string, but for pairs within a record that need no look."""
        while True:
            stretch = (_BETWEEN_RECORDS if self.mark is None else _WITHIN_A_RECORD).match(self._buffer, self.at)
            end = stretch.end() if stretch else self.at
            if self.mark is None and self._buffer[self.at : end].strip(b" \t\r\n,"):
                self.stray = True
            self.at = end
            if end < len(self._buffer) and self._buffer[end] != ord('"'):
                self.at += 1
                yield self._buffer[end]
            elif self.is_full or not self._read_on():
                return

    def _read_on(self) -> bool:
        """Drop what is done with and read as much again as is kept, so that a long record is scanned about twice."""
        keep = self.at if self.mark is None else self.mark
        more = self._handle.read(max(CHUNK_BYTES, len(self._buffer) - keep))
        self._buffer = self._buffer[keep:] + more
        self.at -= keep
        self.mark = None if self.mark is None else 0
        return bool(more)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
