r"""Signed notes and tree heads, in the text forms that tools for transparency logs read. Pure.

    note         text ending in a newline ‖ an empty line ‖ lines `— <key name> base64(key id[4] ‖ signature)`
    key id       SHA-256(key name ‖ newline ‖ type ‖ public key)[:4]           type 0x01: Ed25519 over the text
    verifier     <key name>+hex(key id)+base64(type ‖ public key)              type 0x04: Ed25519 cosignature of a witness
    tree head    a note whose text is: name of the log, number of entries, base64 of the root, each on a line
    cosignature  u64be(seconds) ‖ Ed25519 over `cosignature/v1\n` ‖ `time <seconds>\n` ‖ the text

Formats: c2sp.org/signed-note, tlog-checkpoint and tlog-cosignature. Lines after the third are legal there; a head of ours has none, and
what has some is refused, because nothing here could vouch for them.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256

from refold.keys import crypto
from refold.log.tree import HASH_BYTES

BYTES_MAX = 1 << 20
SIGNATURES_MAX = 100
KEY_ID_BYTES = 4
TIME_BYTES = 8
DASH = "\u2014 "
NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
NAME = re.compile(r"[^\s+]+")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


class Unsigned(ValueError):
    """No key that is asked for has signed the note, or one of them has not signed this text."""


class KeyType(IntEnum):
    """What a key signs."""

    LOG = 1
    WITNESS = 4


@dataclass(frozen=True, slots=True)
class Verifier:
    """A public key under the name that its signatures carry."""

    name: str
    public_key: bytes
    type: KeyType = KeyType.LOG

    @property
    def key_id(self) -> bytes:
        return sha256(self.name.encode() + b"\n" + bytes([self.type]) + self.public_key).digest()[:KEY_ID_BYTES]

    @classmethod
    def parse(cls, text: str) -> Verifier:
        """Read `name+id+key`. Raises ValueError."""
        name, key_id, encoded = text.split("+", 2)
        raw = unbase64(encoded)
        verifier = cls(name, raw[1:], KeyType(raw[0] if raw else 0))
        if not NAME.fullmatch(name) or verifier.key_id.hex() != key_id or len(verifier.public_key) != crypto.PUBLIC_KEY_BYTES:
            raise ValueError("not a verifier key")
        return verifier

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{base64(bytes([self.type]) + self.public_key)}"

    def has_signed(self, signature: bytes, text: str) -> bool:
        """Whether a signature, without its key id, is this key's over a text."""
        if self.type is KeyType.WITNESS:
            seconds, signature = int.from_bytes(signature[:TIME_BYTES], "big"), signature[TIME_BYTES:]
            text = f"cosignature/v1\ntime {seconds}\n{text}"
        return crypto.is_signed(self.public_key, signature, text.encode())


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature of a note: whose it says to be, and the bytes."""

    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{DASH}{self.name} {base64(self.key_id + self.signature)}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A text with signatures that nobody has checked yet."""

    text: str
    signatures: tuple[Signature, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(map(str, self.signatures))

    @property
    def raw(self) -> bytes:
        return str(self).encode()

    def signed_by(self, known: Collection[Verifier]) -> list[Verifier]:
        """Return which known keys have signed the text. Raises Unsigned where none has, or where a signature under a known key fails."""
        found = []
        for signature in self.signatures:
            for verifier in known:
                if (verifier.name, verifier.key_id) != (signature.name, signature.key_id):
                    continue
                if not verifier.has_signed(signature.signature, self.text):
                    raise Unsigned("a signature does not hold")
                if verifier not in found:
                    found.append(verifier)
        if not found:
            raise Unsigned("no known key has signed")
        return found


@dataclass(frozen=True, slots=True)
class TreeHead:
    """The size and the root of a log at one moment."""

    name: str  # of the log
    size: int  # entries
    root: bytes  # RFC 6962

    def __str__(self) -> str:
        return f"{self.name}\n{self.size}\n{base64(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> TreeHead:
        """Read the text of a note. Raises ValueError."""
        name, size, root, *more = text.split("\n")
        if more != [""] or not name or not NUMBER.fullmatch(size):
            raise ValueError("not a tree head")
        head = cls(name, int(size), unbase64(root))
        if len(head.root) != HASH_BYTES:
            raise ValueError("not a tree head")
        return head


def log_name(origin: str) -> str:
    """Return the name of a log, which is its key's name too: a URL without a scheme, which leads nowhere."""
    return f"refold.log/{origin}"


def sign(text: str, name: str, signer: crypto.Signer) -> Note:
    """Return a note with the one signature of a log."""
    key_id = Verifier(name, signer.public_key).key_id
    return Note(text, (Signature(name, key_id, signer.sign(text.encode())),))


def parse(raw: bytes) -> Note:
    """Read a note. Raises ValueError."""
    if len(raw) > BYTES_MAX:
        raise ValueError("too long for a note")
    whole = raw.decode("utf-8")
    text, blank, lines = whole.rpartition("\n\n")
    if not blank or not text or CONTROL.search(whole):
        raise ValueError("not a note")
    signatures = signature_lines(lines)
    if not 0 < len(signatures) <= SIGNATURES_MAX:
        raise ValueError("not a note")
    return Note(text + "\n", signatures)


def signature_lines(lines: str) -> tuple[Signature, ...]:
    """Read the lines under a note. Raises ValueError."""
    *each, last = lines.split("\n")
    if last:
        raise ValueError("the last line has no end")
    return tuple(map(_signature, each))


def base64(raw: bytes) -> str:
    """Return standard base64."""
    return b64encode(raw).decode()


def unbase64(text: str) -> bytes:
    """Read standard base64, in the one form in which it is written. Raises ValueError."""
    raw = b64decode(text, validate=True)
    if base64(raw) != text:
        raise ValueError("not base64 as it is written")
    return raw


def _signature(line: str) -> Signature:
    if not line.startswith(DASH):
        raise ValueError("not a signature line")
    name, encoded = line.removeprefix(DASH).split(" ")
    raw = unbase64(encoded)
    if not NAME.fullmatch(name) or len(raw) <= KEY_ID_BYTES:
        raise ValueError("not a signature line")
    return Signature(name, raw[:KEY_ID_BYTES], raw[KEY_ID_BYTES:])
