"""Ranges of the tree, computed apart and joined, give the root of RFC 6962."""

from __future__ import annotations

import hashlib
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from refold.log import ranges, tree


@given(st.integers(0, 80), st.sets(st.integers(0, 80)))
def test_ranges_cut_anywhere_join_to_the_root(size: int, cuts: set[int]):
    hashes = [hashlib.sha256(bytes([at])).digest() for at in range(size)]
    whole = ranges.Range(0, 0)
    for first, end in pairwise(sorted({0, size, *(cut for cut in cuts if cut < size)})):
        whole = ranges.joined(whole, ranges.of(first, b"".join(hashes[first:end])))
        assert ranges.root(whole) == tree.root(hashes[:end])
    assert ranges.root(whole) == tree.root(hashes)
    assert len(whole.subtrees) == size.bit_count()
