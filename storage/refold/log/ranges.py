"""Ranges of the tree: what a run of entries adds to an RFC 6962 root, computed apart from the others and joined afterwards.

`tree` says what leaves and nodes are. A range is the list of its largest whole subtrees: at most two for each level.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refold.log.tree import EMPTY, HASH_BYTES, LEAF, NODE


@dataclass(frozen=True, slots=True)
class Range:
    """Entries [first, end): whole subtrees from left to right, each with the seq at which it starts, its level and its hash."""

    first: int
    end: int
    subtrees: tuple[tuple[int, int, bytes], ...] = ()


def of(first: int, hashes: bytes) -> Range:
    """Return the range of entries whose hashes stand one after the other, from seq `first`."""
    count = len(hashes) // HASH_BYTES
    left: list[tuple[int, int, bytes]] = []
    right: list[tuple[int, int, bytes]] = []
    nodes, at, level = _digests(LEAF, hashes, HASH_BYTES), first, 0
    while nodes:
        if at & 1:
            left.append((at << level, level, nodes[0]))
            nodes, at = nodes[1:], at + 1
        if len(nodes) & 1:
            right.append(((at + len(nodes) - 1) << level, level, nodes[-1]))
            nodes = nodes[:-1]
        nodes, at, level = _digests(NODE, b"".join(nodes), 2 * HASH_BYTES), at >> 1, level + 1
    return Range(first, first + count, (*left, *reversed(right)))


def joined(left: Range, right: Range) -> Range:
    """Return two neighbouring ranges as one."""
    assert left.end == right.first
    trees = list(left.subtrees)
    for start, level, value in right.subtrees:
        while trees and trees[-1][1] == level and not (trees[-1][0] >> level) & 1:
            start, _, before = trees.pop()
            value, level = hashlib.sha256(NODE + before + value).digest(), level + 1
        trees.append((start, level, value))
    return Range(left.first, right.end, tuple(trees))


def root(whole: Range) -> bytes:
    """Return the root over a range that begins at the first entry."""
    assert whole.first == 0
    values: Sequence[bytes] = [value for _, _, value in whole.subtrees]
    if not values:
        return EMPTY
    found = values[-1]
    for value in reversed(values[:-1]):
        found = hashlib.sha256(NODE + value + found).digest()
    return found


def _digests(prefix: bytes, raw: bytes, width: int) -> list[bytes]:
    """Return the digest of each `width` bytes, behind a prefix of one byte."""
    table = np.empty((len(raw) // width, width + 1), np.uint8)
    table[:, 0] = prefix[0]
    table[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, width)
    prefixed, sha256 = table.tobytes(), hashlib.sha256
    return [sha256(prefixed[at : at + width + 1]).digest() for at in range(0, len(prefixed), width + 1)]
