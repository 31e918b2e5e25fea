"""A signed note is the public form: what others published is read and written byte for byte, and nothing that is spoiled passes."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.keys.crypto import Signer
from refold.log import note
from refold.log.note import KeyType, Note, Signature, TreeHead, Unsigned, Verifier

# The example of c2sp.org/signed-note, and the keys and notes of the tests of Go's golang.org/x/mod/sumdb/note.
SPEC_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
SPEC_NOTE = (
    "This is an example message.\n\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_SECRET = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_SIGNED = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
GO_NOTE = GO_TEXT + "\n" + GO_SIGNED
OTHER_KEY = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"

LOG = Signer(b"l" * 32)
WITNESS = Signer(b"w" * 32)
HEAD = TreeHead("refold.log/00ff", 7, sha256(b"root").digest())
KNOWN = Verifier(HEAD.name, LOG.public_key)
SIGNED = note.sign(str(HEAD), HEAD.name, LOG)


def cosigned(text: str, *, time: int = 1_679_315_147) -> Signature:
    """Return a witness's signature line, made as the specification says."""
    verifier = Verifier("witness.example/w1", WITNESS.public_key, KeyType.WITNESS)
    signature = WITNESS.sign(f"cosignature/v1\ntime {time}\n{text}".encode())
    return Signature(verifier.name, verifier.key_id, time.to_bytes(8, "big") + signature)


@pytest.mark.parametrize(("key", "raw"), [(SPEC_KEY, SPEC_NOTE), (GO_KEY, GO_NOTE)])
def test_a_published_note_opens_under_its_published_key(key, raw):
    opened = note.parse(raw.encode())
    assert opened.signed_by([Verifier.parse(key)]) == [Verifier.parse(key)]
    assert (str(opened), str(Verifier.parse(key))) == (raw, key)


def test_our_signature_is_the_one_that_go_makes():
    signer = Signer(note.unbase64(GO_SECRET)[1:])
    assert str(note.sign(GO_TEXT, "PeterNeumann", signer)) == GO_NOTE


def test_a_signature_under_an_unknown_key_is_passed_over_and_a_failing_one_under_a_known_key_is_not():
    both = note.parse((GO_NOTE + SPEC_NOTE.rpartition("\n\n")[2]).encode())
    assert both.signed_by([Verifier.parse(GO_KEY)]) == [Verifier.parse(GO_KEY)]
    with pytest.raises(Unsigned, match="does not hold"):
        both.signed_by([Verifier.parse(GO_KEY), Verifier.parse(SPEC_KEY)])
    with pytest.raises(Unsigned, match="no known key"):
        both.signed_by([Verifier.parse(OTHER_KEY)])


def test_a_name_or_an_id_alone_makes_no_known_key():
    known = Verifier.parse(GO_KEY)
    for name, key_id in (("PeterNeumanm", known.key_id), (known.name, b"\0\0\0\0")):
        stranger = Note(GO_TEXT, (Signature(name, key_id, b"x" * 64),))
        with pytest.raises(Unsigned, match="no known key"):
            stranger.signed_by([known])


@given(st.data())
def test_no_piece_of_a_key_is_a_key(data):
    first = data.draw(st.integers(0, len(GO_KEY)))
    piece = GO_KEY[first : data.draw(st.integers(first, len(GO_KEY)))]
    if piece != GO_KEY:
        with pytest.raises(ValueError, match=r"."):
            Verifier.parse(piece)


@given(st.data())
def test_a_note_with_another_byte_is_no_note_or_not_signed(data):
    raw = bytearray(SIGNED.raw)
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ValueError, match=r"."):
        note.parse(bytes(raw)).signed_by([KNOWN])


@given(st.integers(0, len(SIGNED.raw) - 1))
def test_a_note_cut_anywhere_is_no_note_or_not_signed(end):
    with pytest.raises(ValueError, match=r"."):
        note.parse(SIGNED.raw[:end]).signed_by([KNOWN])


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "\n\n" + GO_SIGNED,
        GO_TEXT,
        GO_TEXT + "\n",
        GO_TEXT + "\n" + GO_SIGNED.rstrip("\n"),
        GO_TEXT + "\n" + GO_SIGNED.replace("—", "-"),
        GO_TEXT + "\n" + GO_SIGNED.replace("PeterNeumann", "Peter+Neumann"),
        GO_TEXT + "\n" + GO_SIGNED.replace("PeterNeumann ", "Peter Neumann "),
        GO_TEXT + "\n" + GO_SIGNED.replace("PeterNeumann ", " "),
        GO_TEXT + "\n" + GO_SIGNED.replace("=", ""),
        GO_TEXT + "\n" + GO_SIGNED.replace("AM=", "AN="),
        GO_TEXT + "\n— PeterNeumann x08gow==\n",
        GO_TEXT.replace(",", "\t") + "\n" + GO_SIGNED,
        GO_TEXT + "\n" + GO_SIGNED * 101,
        "x" * (1 << 20) + "\n\n" + GO_SIGNED,
    ],
)
def test_what_is_written_otherwise_is_no_note(raw):
    with pytest.raises(ValueError, match=r"."):
        note.parse(raw.encode())


def test_a_tree_head_is_three_lines():
    assert str(HEAD) == f"refold.log/00ff\n7\n{note.base64(HEAD.root)}\n"
    assert TreeHead.parse(str(HEAD)) == HEAD


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}more\n",
        f"{HEAD}"[:-1],
        f"{HEAD}".replace("\n7\n", "\n07\n"),
        f"{HEAD}".replace("\n7\n", "\n-7\n"),
        f"{HEAD}".replace("\n7\n", "\n٧\n"),
        f"{HEAD}".replace("refold.log/00ff", ""),
        f"a\n7\n{note.base64(HEAD.root[:31])}\n",
    ],
)
def test_what_is_not_exactly_a_tree_head_is_none(text):
    with pytest.raises(ValueError, match=r"."):
        TreeHead.parse(text)


def test_a_witness_signs_the_head_and_the_time():
    known = Verifier("witness.example/w1", WITNESS.public_key, KeyType.WITNESS)
    signature = cosigned(str(HEAD))
    assert Note(str(HEAD), (*SIGNED.signatures, signature)).signed_by([known]) == [known]
    later = Signature(known.name, known.key_id, (1).to_bytes(8, "big") + signature.signature[8:])
    with pytest.raises(Unsigned, match="does not hold"):
        Note(str(HEAD), (later,)).signed_by([known])


def test_one_key_has_another_id_for_each_thing_that_it_signs():
    assert Verifier("a", b"k" * 32).key_id != Verifier("a", b"k" * 32, KeyType.WITNESS).key_id != Verifier("b", b"k" * 32).key_id
