"""The Merkle tree over a log: one root for all entries, and short proofs against it. Pure, RFC 6962 section 2.1.

    leaf = SHA-256(0x00 ‖ entry_hash)       node = SHA-256(0x01 ‖ left ‖ right)       root of nothing = SHA-256("")

A proof is a list of roots of ranges of entries, from the leaf towards the root. The ranges are known before any entry is read, so a
log is read once, in order, with O(log n) of memory. The two checks are those of RFC 9162, 2.1.3.2 and 2.1.4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

HASH_BYTES = 32
LEAF, NODE = b"\x00", b"\x01"
EMPTY = sha256(b"").digest()

Range = tuple[int, int]  # half-open, of sequence numbers


class Tree:
    """The tree over the entries added so far. It keeps the roots of its whole subtrees: at most one for each bit of the size."""

    __slots__ = ("_roots", "size")

    def __init__(self) -> None:
        self.size = 0
        self._roots: list[bytes | None] = []  # by height

    @classmethod
    def resume(cls, size: int, frontier: Sequence[bytes]) -> Tree:
        """Return the tree of that size and frontier. Whoever took it from a disk compares its root with a signed one. Raises ValueError."""
        tree = cls()
        heights = [height for height in range(size.bit_length()) if size >> height & 1]
        if len(frontier) != len(heights) or any(len(each) != HASH_BYTES for each in frontier):
            raise ValueError("a frontier has one hash for each bit of the size")
        tree.size = size
        tree._roots = [None] * size.bit_length()
        for height, root in zip(reversed(heights), frontier, strict=True):
            tree._roots[height] = root
        return tree

    @property
    def frontier(self) -> tuple[bytes, ...]:
        """The roots of the whole subtrees, the largest first: all that is needed to go on."""
        return tuple(root for root in reversed(self._roots) if root is not None)

    def add(self, entry_hash: bytes) -> None:
        """Append one entry."""
        self.extend((entry_hash,))

    def extend(self, entry_hashes: Iterable[bytes]) -> None:
        """Append entries, level by level: two hashes for each."""
        level = [sha256(LEAF + each).digest() for each in entry_hashes]
        self.size += len(level)
        height = 0
        while level:
            if height == len(self._roots):
                self._roots.append(None)
            waiting = self._roots[height]
            if waiting is not None:
                level.insert(0, waiting)
            self._roots[height] = level.pop() if len(level) % 2 else None
            pairs = iter(level)
            level = [sha256(NODE + left + right).digest() for left, right in zip(pairs, pairs, strict=True)]
            height += 1

    def root(self) -> bytes:
        """Return the root over all entries so far."""
        whole = [each for each in self._roots if each is not None]
        if not whole:
            return EMPTY
        root, *larger = whole
        for left in larger:
            root = _node(left, root)
        return root


def root(entry_hashes: Iterable[bytes]) -> bytes:
    """Return the root over entries."""
    tree = Tree()
    tree.extend(entry_hashes)
    return tree.root()


def inclusion(entry_hashes: Sequence[bytes], index: int) -> list[bytes]:
    """Return the proof that the entry at `index` is in the tree over `entry_hashes`."""
    return _roots_of(entry_hashes, inclusion_ranges(index, len(entry_hashes)))


def consistency(entry_hashes: Sequence[bytes], size: int) -> list[bytes]:
    """Return the proof that the tree over `entry_hashes` begins with its first `size` entries."""
    return _roots_of(entry_hashes, consistency_ranges(size, len(entry_hashes)))


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """Return the ranges whose roots prove that the entry at `index` is in the tree of that size: its neighbour's first."""
    assert 0 <= index < size, "only an entry of the tree is in it"
    ranges, first, end = [], 0, size
    while end - first > 1:
        middle = _split(first, end)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((first, middle))
            first = middle
    return ranges[::-1]


def consistency_ranges(size: int, later: int) -> list[Range]:
    """Return the ranges whose roots prove that the tree of size `later` begins with the tree of `size`. Nothing proves it for none."""
    assert 0 <= size <= later, "a tree begins with smaller ones"
    ranges, first, end = [], 0, later
    while size not in (0, end):
        middle = _split(first, end)
        if size <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((first, middle))
            first = middle
    if first:  # else what is left is the smaller tree itself, whose root the reader has
        ranges.append((first, end))
    return ranges[::-1]


def is_included(entry_hash: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether a proof shows that the tree of that size and root has this entry at `index`."""
    if not 0 <= index < size:
        return False
    here, last, found = index, size - 1, sha256(LEAF + entry_hash).digest()
    for beside in proof:
        if not last:
            return False
        if here % 2 or here == last:
            found = _node(beside, found)
            while here and not here % 2:
                here, last = here >> 1, last >> 1
        else:
            found = _node(found, beside)
        here, last = here >> 1, last >> 1
    return not last and found == root


def is_consistent(size: int, root: bytes, later: int, later_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that the tree of size `later` begins with the tree of `size`."""
    if not 0 <= size <= later:
        return False
    if size in (0, later):
        return not proof and root == (later_root if size == later else EMPTY)
    if not proof:
        return False
    here, last = size - 1, later - 1
    while here % 2:
        here, last = here >> 1, last >> 1
    start, *rest = proof if here else (root, *proof)
    before, after = start, start
    for beside in rest:
        if not last:
            return False
        if here % 2 or here == last:
            before, after = _node(beside, before), _node(beside, after)
            while here and not here % 2:
                here, last = here >> 1, last >> 1
        else:
            after = _node(after, beside)
        here, last = here >> 1, last >> 1
    return not last and before == root and after == later_root


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(NODE + left + right).digest()


def _split(first: int, end: int) -> int:
    """Return where a tree over a range divides: after the largest power of two below its length."""
    return first + (1 << (end - first - 1).bit_length() - 1)


def _roots_of(entry_hashes: Sequence[bytes], ranges: Iterable[Range]) -> list[bytes]:
    return [root(entry_hashes[first:end]) for first, end in ranges]
