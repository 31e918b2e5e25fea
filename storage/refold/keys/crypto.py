"""Every cryptographic primitive of Refold; the only place that imports `cryptography`.

AES-256-GCM (NIST SP 800-38D), HMAC-SHA256 (RFC 2104), HKDF-SHA256 (RFC 5869), Ed25519 (RFC 8032).
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64

BLOCK_BYTES = 64
INNER = bytes(value ^ 0x36 for value in range(256))
OUTER = bytes(value ^ 0x5C for value in range(256))
INNER_PADS = [bytes([0x36]) * (BLOCK_BYTES - size) for size in range(BLOCK_BYTES + 1)]  # by the size of the key
OUTER_PADS = [bytes([0x5C]) * (BLOCK_BYTES - size) for size in range(BLOCK_BYTES + 1)]


class Unauthentic(Exception):
    """The bytes do not open under this key: they, the key or what they are bound to is another."""


@cache
def label(text: str) -> bytes:
    """Return T(text) = SHA-256 of a label: what separates one use of a key or hash from every other."""
    return sha256(text.encode()).digest()


def mac(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256 under a key of at most 64 bytes: 32 bytes.

    Written out, because the log makes three for every entry: half the time of `hmac.digest`.
    """
    size = len(key)
    assert size <= BLOCK_BYTES
    inner = sha256(key.translate(INNER) + INNER_PADS[size] + message).digest()
    return sha256(key.translate(OUTER) + OUTER_PADS[size] + inner).digest()


def derive(key: bytes, info: str | bytes) -> bytes:
    """HKDF-SHA256 without salt: 32 bytes."""
    info = info.encode() if isinstance(info, str) else info
    return mac(mac(b"", key), info + b"\x01")


def seal(key: bytes, nonce: bytes, plaintext: bytes, bound_to: bytes) -> bytes:
    """AES-256-GCM: ciphertext and tag. A key must never meet the same nonce twice."""
    return AESGCM(key).encrypt(nonce, plaintext, bound_to)


def unseal(key: bytes, nonce: bytes, sealed: bytes, bound_to: bytes) -> bytes:
    """Undo `seal`. Raises Unauthentic."""
    try:
        return AESGCM(key).decrypt(nonce, sealed, bound_to)
    except InvalidTag:
        raise Unauthentic from None


class Signer:
    """An Ed25519 key pair."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of the signature."""
        return self._key.sign(message)


@cache
def _public(key: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(key)


def is_signed(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the holder of the key signed the message."""
    try:
        _public(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
