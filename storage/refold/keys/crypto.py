"""Every cryptographic primitive of Refold; the only place that imports `cryptography`.

AES-256-GCM (NIST SP 800-38D), HMAC-SHA256 (RFC 2104), HKDF-SHA256 (RFC 5869), Ed25519 (RFC 8032); for a named recipient HPKE (RFC 9180)
in its base mode, with X25519, HKDF-SHA256 and AES-256-GCM.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import sha256

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

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


def macs(key: bytes, messages: Iterable[bytes]) -> list[bytes]:
    """HMAC-SHA256 of many messages under one key of at most 64 bytes: a copy of a hash that has read its pad costs less than a new one."""
    size = len(key)
    assert size <= BLOCK_BYTES
    inner, outer = sha256(key.translate(INNER) + INNER_PADS[size]).copy, sha256(key.translate(OUTER) + OUTER_PADS[size]).copy
    found = []
    for message in messages:
        within, around = inner(), outer()
        within.update(message)
        around.update(within.digest())
        found.append(around.digest())
    return found


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


def is_signed_by_any(public_keys: Iterable[bytes], signature: bytes, message: bytes) -> bool:
    """Whether the holder of one of the keys signed the message."""
    return any(is_signed(key, signature, message) for key in public_keys)


def is_signed(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the holder of the key signed the message."""
    try:
        _public(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def recipient(pem: bytes) -> bytes:
    """Return the 32 bytes of an X25519 public key in PEM. Raises ValueError."""
    key = load_pem_public_key(pem)
    if not isinstance(key, X25519PublicKey):
        raise ValueError("not an X25519 key")
    return key.public_bytes_raw()


def seal_to(recipient: bytes, plaintext: bytes, bound_to: bytes) -> bytes:
    """Return what only the holder of the recipient's private key can open, and only for `bound_to`."""
    return _hpke().encrypt(plaintext, X25519PublicKey.from_public_bytes(recipient), info=bound_to)


class Identity:
    """An X25519 private key: whoever holds it opens what was sealed to its public key."""

    def __init__(self, pem: bytes) -> None:
        """Read a private key in PEM, without a password. Raises ValueError."""
        try:
            key = load_pem_private_key(pem, password=None)
        except TypeError:
            raise ValueError("a key under a password") from None
        if not isinstance(key, X25519PrivateKey):
            raise ValueError("not an X25519 key")
        self._key = key
        self.public_key = key.public_key().public_bytes_raw()

    def unseal(self, sealed: bytes, bound_to: bytes) -> bytes:
        """Undo `seal_to`. Raises Unauthentic."""
        try:
            return _hpke().decrypt(sealed, self._key, info=bound_to)
        except (InvalidTag, ValueError):
            raise Unauthentic from None


def _hpke() -> hpke.Suite:
    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)
