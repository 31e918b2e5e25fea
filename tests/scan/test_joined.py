"""The stretches of an alphabet are those that a regular expression finds, wherever the chunks are cut and however many there are."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refold.scan import joined
from refold.scan.contained import BEGINNINGS
from refold.scan.joined import ALPHABETS, Alphabet, Stretches, places_of
from refold.scan.look import Looker
from refold.scan.needles import Needles

PIECES = st.sampled_from(
    [b"a", b"abcdefab", b"0123456789", b"+49 170", b"-", b" ", b"\n", b"\x00", b"\xff\xfe", b"zzzzzzzzzzzz", b"%41", b"PK\x03\x04"]
)


@given(
    st.lists(PIECES, max_size=30).map(b"".join),
    st.sampled_from(ALPHABETS),
    st.sampled_from([16, 33, 1 << 20]),
    st.sampled_from([0, 1 << 20]),
)
@example(b"abcdefabcdefab" * 2, ALPHABETS[0], 16, 0)
def test_stretches_are_those_that_a_regular_expression_finds(data: bytes, alphabet: Alphabet, chunk: int, slice_cost: int):
    wanted = list(re.finditer(rb"[%s]{%d,}" % (re.escape(alphabet.letters), alphabet.least), data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined, "CHUNK_BYTES", chunk)
        patch.setattr(joined, "SLICE_COST", slice_cost)
        found = Stretches(data).joined(alphabet)
    if not wanted:
        assert found is None
        return
    assert found is not None
    assert found.origins.tolist() == [each.start() for each in wanted]
    assert found.raw == b"".join(each[0] + (data[each.end() : each.end() + 1] or b"\0") for each in wanted)
    assert [found.origin(at) for at in found.starts.tolist()] == found.origins.tolist()


@given(st.lists(PIECES, max_size=30).map(b"".join), st.sampled_from([16, 33, 1 << 20]))
def test_pairs_of_bytes_are_found_wherever_they_stand(data: bytes, chunk: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined, "CHUNK_BYTES", chunk)
        found = places_of(data, BEGINNINGS).tolist()
    assert found == [at for at in range(len(data) - 1) if BEGINNINGS[int.from_bytes(data[at : at + 2], "little")]]


@pytest.mark.parametrize("ahead", range(4))
@pytest.mark.parametrize("spelled", [base64.b64encode, base64.urlsafe_b64encode, lambda raw: base64.b64encode(raw).rstrip(b"="), bytes.hex])
@pytest.mark.parametrize("between", [".", "', '"])
def test_a_short_name_at_the_edge_of_a_stretch_is_found_between_others(ahead: int, spelled, between: str):
    """A name of few letters counts only where no letter stands beside it: what is joined must put none there."""
    words = [spelled(text) for text in (b"-" * ahead + b"12345678 Ruth", b"Ruth 12345678", b"zzzzzzzzzzz" + b"z" * ahead)]
    for first, second in ((0, 2), (2, 1), (2, 0), (1, 2)):
        data = between.join(each if isinstance(each, str) else each.decode() for each in (words[first], words[second])).encode()
        assert Looker(Needles.of(["Ruth"])).look(data).seen, (first, second)
