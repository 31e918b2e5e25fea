"""The primitives are the standard ones, by published vectors or by the library that wrote them."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from refold.keys import crypto

KEY = bytes(range(32))


def test_hmac_of_rfc_4231():
    assert crypto.mac(b"Jefe", b"what do ya want for nothing?").hex() == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"


@given(key=st.binary(max_size=64), message=st.binary(max_size=300))
def test_mac_is_hmac(key: bytes, message: bytes):
    assert crypto.mac(key, message) == hmac.digest(key, message, "sha256")
    assert crypto.macs(key, [message, b""]) == [crypto.mac(key, message), crypto.mac(key, b"")]


def test_a_key_longer_than_a_block_is_refused():
    with pytest.raises(AssertionError):
        crypto.mac(bytes(65), b"")


@given(key=st.binary(min_size=1, max_size=64), info=st.binary(max_size=80))
def test_derive_is_hkdf(key: bytes, info: bytes):
    assert crypto.derive(key, info) == HKDF(SHA256(), 32, salt=None, info=info).derive(key)


def test_a_label_is_its_digest():
    assert crypto.label("refold.log/cell/v1") == hashlib.sha256(b"refold.log/cell/v1").digest()


@pytest.mark.parametrize("change", ["key", "nonce", "sealed", "bound_to"])
def test_what_was_changed_does_not_open(change: str):
    sealed = crypto.seal(KEY, bytes(12), b"words", b"place")
    opened = {"key": KEY, "nonce": bytes(12), "sealed": sealed, "bound_to": b"place"}
    assert crypto.unseal(**opened) == b"words"
    opened[change] = bytes([opened[change][0] ^ 1]) + opened[change][1:]
    with pytest.raises(crypto.Unauthentic):
        crypto.unseal(**opened)


def test_a_signature_holds_for_one_key_and_one_message():
    signer, other = crypto.Signer(KEY), crypto.Signer(bytes(32))
    signature = signer.sign(b"words")
    assert crypto.is_signed(signer.public_key, signature, b"words")
    assert not crypto.is_signed(signer.public_key, signature, b"other words")
    assert not crypto.is_signed(other.public_key, signature, b"words")
    assert not crypto.is_signed(signer.public_key, signature[:-1], b"words")
