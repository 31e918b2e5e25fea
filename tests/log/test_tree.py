"""The Merkle tree is RFC 6962's, a proof says what it says and nothing else, and a tree grows in any batches."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.log import tree
from refold.log.tree import Tree

# The vectors of the Certificate Transparency reference implementation, which others test against too.
INPUTS = [
    bytes.fromhex(each)
    for each in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]  # fmt: skip
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSIONS = [
    (0, 1, []),
    (
        0,
        8,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        5,
        8,
        [
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
]
CONSISTENCIES = [
    (1, 1, []),
    (
        1,
        8,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        6,
        8,
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (
        2,
        5,
        [
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
]

sizes = st.integers(0, 70)


def made(size: int) -> list[bytes]:
    return [sha256(b"entry %d" % each).digest() for each in range(size)]


def plainly(entries: list[bytes]) -> bytes:
    """Return the root as RFC 6962 defines it, word for word."""
    if not entries:
        return sha256(b"").digest()
    if len(entries) == 1:
        return sha256(b"\0" + entries[0]).digest()
    middle = max(1 << power for power in range(len(entries).bit_length()) if 1 << power < len(entries))
    return sha256(b"\1" + plainly(entries[:middle]) + plainly(entries[middle:])).digest()


@pytest.mark.parametrize("size", range(9))
def test_the_roots_are_those_that_were_published(size):
    assert tree.root(INPUTS[:size]).hex() == ROOTS[size]


@pytest.mark.parametrize(("index", "size", "proof"), INCLUSIONS)
def test_the_inclusion_proofs_are_those_that_were_published(index, size, proof):
    assert [each.hex() for each in tree.inclusion(INPUTS[:size], index)] == proof
    assert tree.is_included(INPUTS[index], index, size, [bytes.fromhex(each) for each in proof], bytes.fromhex(ROOTS[size]))


@pytest.mark.parametrize(("size", "later", "proof"), CONSISTENCIES)
def test_the_consistency_proofs_are_those_that_were_published(size, later, proof):
    assert [each.hex() for each in tree.consistency(INPUTS[:later], size)] == proof
    roots = bytes.fromhex(ROOTS[size]), bytes.fromhex(ROOTS[later])
    assert tree.is_consistent(size, roots[0], later, roots[1], [bytes.fromhex(each) for each in proof])


@given(sizes, st.lists(st.integers(0, 20), max_size=8))
def test_a_tree_grows_in_any_batches(size, cuts):
    entries, grown = made(size), Tree()
    for cut in [*cuts, size]:
        grown.extend(entries[grown.size : grown.size + cut])
        grown = Tree.resume(grown.size, grown.frontier)
    assert (grown.size, grown.root()) == (size, plainly(entries))


@given(st.data(), st.integers(1, 70))
def test_every_entry_is_proven_at_its_place_and_at_no_other(data, size):
    entries = made(size)
    index, other = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size + 1))
    proof, root = tree.inclusion(entries, index), plainly(entries)
    assert tree.is_included(entries[index], index, size, proof, root)
    assert tree.is_included(entries[index], other, size, proof, root) == (other == index)
    assert not tree.is_included(entries[index - 1] if size > 1 else b"", index, size, proof, root)


@given(st.data(), sizes)
def test_a_tree_is_proven_to_begin_with_every_smaller_one(data, later):
    entries, size = made(later), data.draw(st.integers(0, later))
    proof, roots = tree.consistency(entries, size), (plainly(entries[:size]), plainly(entries))
    assert tree.is_consistent(size, roots[0], later, roots[1], proof)
    assert not tree.is_consistent(size, sha256(roots[0]).digest(), later, roots[1], proof)
    assert not tree.is_consistent(size, roots[0], later, sha256(roots[1]).digest(), proof) or size == 0


@given(st.data(), st.integers(2, 70))
def test_a_history_that_was_rewritten_has_no_consistency_proof(data, later):
    size, changed = data.draw(st.integers(1, later - 1)), data.draw(st.integers(0, later - 2))
    entries = made(later)
    rewritten = [*entries[: min(changed, size - 1)], b"x" * 32, *entries[min(changed, size - 1) + 1 :]]
    for proof in (tree.consistency(entries, size), tree.consistency(rewritten, size)):
        assert not tree.is_consistent(size, plainly(entries[:size]), later, plainly(rewritten), proof)


@given(st.data(), st.integers(2, 70), st.sampled_from(["drop", "double", "cut", "flip", "swap"]))
def test_a_spoiled_proof_proves_nothing(data, size, how):
    entries, index, smaller = made(size), data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size - 1))
    root = plainly(entries)
    for proof, holds in (
        (tree.inclusion(entries, index), lambda proof: tree.is_included(entries[index], index, size, proof, root)),
        (tree.consistency(entries, smaller), lambda proof: tree.is_consistent(smaller, plainly(entries[:smaller]), size, root, proof)),
    ):
        at = data.draw(st.integers(0, len(proof) - 1))
        spoiled = {
            "drop": proof[:at] + proof[at + 1 :],
            "double": proof[: at + 1] + proof[at:],
            "cut": [*proof[:at], proof[at][:-1], *proof[at + 1 :]],
            "flip": [*proof[:at], bytes([proof[at][0] ^ 1]) + proof[at][1:], *proof[at + 1 :]],
            "swap": [*proof[:at], *proof[at:][::-1]],
        }[how]
        assert spoiled == proof or not holds(spoiled)


def test_a_proof_reaches_exactly_as_far_as_the_sizes_say():
    entries, more = made(4), b"m" * 32
    leaf, above = sha256(b"\0" + entries[0]).digest(), lambda root: sha256(b"\1" + more + root).digest()
    two, three, four = (plainly(entries[:size]) for size in (2, 3, 4))
    assert not tree.is_included(entries[0], 0, 2, [], leaf), "too short for a tree of two"
    assert not tree.is_included(entries[0], 0, 1, [more], above(leaf)), "too long for a tree of one"
    assert not tree.is_consistent(1, leaf, 4, two, tree.consistency(entries[:2], 1)), "too short for a tree of four"
    assert not tree.is_consistent(3, above(three), 4, above(four), [*tree.consistency(entries, 3), more]), "too long for a tree of four"
    assert not tree.is_consistent(3, three, 4, four, []), "nothing at all"
    six = made(6)
    assert not tree.is_consistent(6, plainly(six), 5, plainly(six), [plainly(six[4:]), plainly(six[:4])]), "backwards"


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 1), (-1, 4)])
def test_nothing_is_in_a_tree_outside_its_size(index, size):
    assert not tree.is_included(b"", index, size, [], plainly(made(size)))


def test_a_frontier_of_another_size_is_refused():
    grown = Tree()
    grown.extend(made(6))
    for size, frontier in ((7, grown.frontier), (6, grown.frontier[:1]), (6, [each[:31] for each in grown.frontier])):
        with pytest.raises(ValueError, match="frontier"):
            Tree.resume(size, frontier)
