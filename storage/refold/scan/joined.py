"""Joined: all stretches of some bytes that are written in one alphabet, one after the other, so that they are decoded in one go.

A regular expression that has to try at every byte reads ten times slower than a disk, and a loop over stretches as slow: text is full of
them. What is kept of where each came from is enough to say in which stretch something was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from mmap import mmap

import numpy as np

Data = bytes | memoryview | mmap
CHUNK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Joined:
    """Stretches, each followed by a gap."""

    raw: bytes
    starts: np.ndarray  # where each begins in `raw`
    origins: np.ndarray  # and where it began
    lengths: np.ndarray

    def origin(self, at: int) -> int:
        """Return where the stretch began that holds an offset of `raw`."""
        return int(self.origins[max(int(np.searchsorted(self.starts, at, side="right")) - 1, 0)])


def alphabet(letters: str, *, from_byte: int = 256) -> bytes:
    """Return of each byte whether it is in an alphabet, 1 or 0; also all bytes from a value on."""
    return bytes(byte >= from_byte or byte in letters.encode() for byte in range(256))


def joined(data: Data, table: bytes, *, least: int, gap: bytes) -> Joined | None:
    """Join the stretches of an alphabet that have at least so many bytes; None where there are none."""
    origins, lengths = _stretches(data, table, least)
    if not len(origins):
        return None
    starts = np.concatenate(([0], np.cumsum(lengths + len(gap))[:-1]))
    raw = np.tile(np.frombuffer(gap, dtype=np.uint8), 1 + (int(starts[-1] + lengths[-1]) + len(gap)) // len(gap))
    size = int(starts[-1] + lengths[-1]) + len(gap)
    raw = raw[:size]
    whole = np.frombuffer(data, dtype=np.uint8)
    if len(origins) < 64:
        for start, origin, length in zip(starts.tolist(), origins.tolist(), lengths.tolist(), strict=True):
            raw[start : start + length] = whole[origin : origin + length]
    else:
        shift = np.repeat(origins - starts, lengths)
        into = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths) + np.arange(int(lengths.sum()))
        raw[into] = whole[into + shift]
    return Joined(raw.tobytes(), starts, origins, lengths)


def _stretches(data: Data, table: bytes, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Return begin and length of every stretch of an alphabet that is long enough, also across chunks."""
    view, size = memoryview(data), len(data)
    edges = []
    inside = False
    for start in range(0, size, CHUNK_BYTES):
        mask = np.frombuffer(bytes(view[start : start + CHUNK_BYTES]).translate(table), dtype=bool)
        if bool(mask[0]) != inside:
            edges.append(np.array([start]))
        edges.append(np.flatnonzero(mask[1:] != mask[:-1]) + (start + 1))
        inside = bool(mask[-1])
    if inside:
        edges.append(np.array([size]))
    bounds = np.concatenate(edges) if edges else np.zeros(0, dtype=np.int64)
    begins, lengths = bounds[::2], bounds[1::2] - bounds[::2]
    wanted = lengths >= least
    return begins[wanted], lengths[wanted]
