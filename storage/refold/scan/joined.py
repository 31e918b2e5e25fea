"""Joined: all stretches of some bytes that are written in one alphabet, one after the other, so that they are decoded in one go.

A regular expression that has to try at every byte reads ten times slower than a disk, and a loop over stretches as slow: text is full of
them. So the bytes are read once for all alphabets: each byte becomes the set of those that it is in, a bit for each, and what stands in
every byte of a window is the AND of its sets, which is taken of two bytes, of four, of eight, and so on. What is kept of where each
stretch came from is enough to say in which one something was found.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass
from mmap import mmap

import numpy as np

Data = bytes | memoryview | mmap
CHUNK_BYTES = 1 << 18  # what stays in the processor's cache while several passes go over it


@dataclass(frozen=True, slots=True)
class Alphabet:
    """Some byte values, and of how many of them in a row there is something to decode."""

    number: int
    letters: bytes
    least: int  # bytes, at most 16

    @property
    def bit(self) -> int:
        return 1 << self.number

    def to(self, gap: bytes) -> bytes:
        """Return a table that leaves the letters and makes every other byte a gap."""
        return bytes(byte if byte in self.letters else gap[0] for byte in range(256))


LETTERS = string.ascii_letters + string.digits
BASE64 = Alphabet(0, (LETTERS + "+/-_=\r\n").encode(), 11)  # of eight bytes
HEX = Alphabet(1, (string.hexdigits + "%\\x: ").encode(), 12)
TEXT = Alphabet(2, bytes(range(32, 127)) + b"\t\r\n" + bytes(range(128, 256)), 8)
DIGITS = Alphabet(3, (string.digits + " ()./+-\t").encode(), 7)
ALPHABETS = (BASE64, HEX, TEXT, DIGITS)
SETS = bytes(sum(each.bit for each in ALPHABETS if byte in each.letters) for byte in range(256))
SLICE_COST = 150  # bytes that are gone over in the time of taking one slice
GATHERED_SHARE = 4  # up to so small a share of all bytes they are taken one by one
LONGEST = max(each.least for each in ALPHABETS)


@dataclass(frozen=True, slots=True)
class Joined:
    """Stretches, each followed by one byte of another alphabet."""

    raw: bytes
    starts: np.ndarray  # where each begins in `raw`
    origins: np.ndarray  # and where it began
    lengths: np.ndarray

    def origin(self, at: int) -> int:
        """Return where the stretch began that holds an offset of `raw`."""
        return int(self.origins[max(int(np.searchsorted(self.starts, at, side="right")) - 1, 0)])


@dataclass(frozen=True, slots=True)
class New:
    """Where bytes stand that stood there in another spelling: begins and ends, in order. The rest was looked into already."""

    begins: np.ndarray
    ends: np.ndarray

    def touches(self, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return which stretches hold something new, or stand beside it."""
        return np.searchsorted(self.ends, begins) < np.searchsorted(self.begins, ends, side="right")


class Stretches:
    """Some bytes, and once somebody asks, every stretch in them of every alphabet; where `new` is given, every one that is new."""

    def __init__(self, data: Data, new: New | None = None) -> None:
        self.data = data
        self._new = new
        self._found: list[tuple[np.ndarray, np.ndarray]] | None = None

    def joined(self, alphabet: Alphabet, *, least: int = 0, holding: np.ndarray | None = None) -> Joined | None:
        """Join the stretches of an alphabet that are long enough, or have at least so many bytes; None where there are none.

        `holding` are places in the bytes, in order: only those stretches count that one of them lies in.
        What stands between two of them is one byte, whatever byte of no letter of theirs comes after the first.
        """
        if self._found is None:
            self._found = [self._only_new(*extents) for extents in _stretches(self.data)]
        origins, lengths = self._found[alphabet.number]
        if least:
            origins, lengths = origins[lengths >= least], lengths[lengths >= least]
        if holding is not None:
            chosen = np.searchsorted(holding, origins) < np.searchsorted(holding, origins + lengths)
            origins, lengths = origins[chosen], lengths[chosen]
        if not len(origins):
            return None
        starts = np.concatenate(([0], np.cumsum(lengths + 1)[:-1]))
        return Joined(_joined(self.data, origins, origins + lengths), starts, origins, lengths)

    def _only_new(self, origins: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._new is None:
            return origins, lengths
        chosen = self._new.touches(origins, origins + lengths)
        return origins[chosen], lengths[chosen]


def pairs_of(pairs: Iterable[bytes]) -> np.ndarray:
    """Return a table of two bytes, the first the lower: which are among some."""
    table = np.zeros(1 << 16, dtype=bool)
    table[[int.from_bytes(pair, "little") for pair in pairs]] = True
    return table


def places_of(data: Data, pairs: np.ndarray) -> np.ndarray:
    """Return where any of some pairs of bytes stands, in order: whatever they begin with is looked for first, all of it at once."""
    view, found = memoryview(data), [np.zeros(0, np.int64)]
    firsts = np.flatnonzero(pairs.reshape(256, 256).any(axis=0)).astype(np.uint8)
    for start in range(0, max(len(data) - 1, 0), CHUNK_BYTES):
        piece = np.frombuffer(view[start : start + CHUNK_BYTES + 1], dtype=np.uint8)
        begins = np.zeros(len(piece) - 1, bool)
        for first in firsts:
            begins |= piece[:-1] == first
        at = np.flatnonzero(begins)
        found.append(start + at[pairs[piece[at] | piece[at + 1].astype(np.uint16) << 8]])
    return np.concatenate(found)


def _joined(data: Data, begins: np.ndarray, ends: np.ndarray) -> bytes:
    """Return the stretches, each with the byte after it; a zero where nothing comes after the last."""
    view, size = memoryview(data), len(data)
    end = bytes(int(ends[-1]) == size)
    if len(begins) * SLICE_COST < size:
        return b"".join(view[begin : past + 1] for begin, past in zip(begins.tolist(), ends.tolist(), strict=True)) + end
    lengths = ends - begins + 1
    past = np.cumsum(lengths)
    if past[-1] * GATHERED_SHARE < size:
        places = np.repeat(begins - (past - lengths), lengths) + np.arange(past[-1])
        return np.frombuffer(view, np.uint8)[places[: len(places) - len(end)]].tobytes() + end
    pieces = []
    for start in range(0, size, CHUNK_BYTES):
        until = min(start + CHUNK_BYTES, size)
        first, last = np.searchsorted(ends, start), np.searchsorted(begins, until)
        change = np.zeros(until - start + 1, dtype=np.int8)
        change[np.maximum(begins[first:last], start) - start] += 1
        change[np.minimum(ends[first:last] + 1, until) - start] -= 1
        change[-1] = 0
        pieces.append(np.frombuffer(view[start:until], dtype=np.uint8)[np.cumsum(change, dtype=np.int8)[:-1].view(bool)].tobytes())
    return b"".join(pieces) + end


def _stretches(data: Data) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return begins and lengths of the stretches of each alphabet that are long enough, also across chunks."""
    view, size = memoryview(data), len(data)
    edges: list[list[np.ndarray]] = [[] for _ in ALPHABETS]
    before = np.zeros(1, np.uint8)
    for start in range(0, size, CHUNK_BYTES):
        sets = np.frombuffer(bytes(view[start : start + CHUNK_BYTES + LONGEST - 1]).translate(SETS), dtype=np.uint8)
        windows = _windows(sets)
        begins = np.zeros(min(CHUNK_BYTES, size - start), np.uint8)  # of which alphabets all of the window is that begins there
        for alphabet in ALPHABETS:
            window = windows[alphabet.least][: len(begins)]
            begins[: len(window)] |= window & alphabet.bit
        changes = begins ^ np.concatenate((before, begins[:-1]))
        at = np.flatnonzero(changes != 0)
        for alphabet in ALPHABETS:
            edges[alphabet.number].append(at[(changes[at] & alphabet.bit) != 0] + start)
        before = begins[-1:]
    return [_extents(each, alphabet) for each, alphabet in zip(edges, ALPHABETS, strict=True)]


def _windows(sets: np.ndarray) -> dict[int, np.ndarray]:
    """Return for the least length of each alphabet which alphabets hold so many bytes from each place on."""
    by_size = {1: sets}
    for size in (1, 2, 4):
        by_size[2 * size] = _both(by_size[size], size)
    found = {}
    for least in {each.least for each in ALPHABETS}:
        size = max(size for size in by_size if size <= least)
        found[least] = _both(by_size[size], least - size) if least > size else by_size[size]
    return found


def _both(windows: np.ndarray, apart: int) -> np.ndarray:
    """Return what holds from each place on and from so many bytes later on."""
    return windows[: max(len(windows) - apart, 0)] & windows[apart:]


def _extents(edges: list[np.ndarray], alphabet: Alphabet) -> tuple[np.ndarray, np.ndarray]:
    bounds = np.concatenate(edges) if edges else np.zeros(0, dtype=np.int64)
    return bounds[::2], bounds[1::2] - bounds[::2] + (alphabet.least - 1)
