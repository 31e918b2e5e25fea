"""One entry of the log, byte by byte. Pure: bytes in, bytes out.

    header         = version u8 ‖ kind u8 ‖ suite u8 ‖ epoch u32be ‖ recorded_at u64be ‖ event id[16] ‖ ingest[16]        47 bytes
    payload        = 0x01 ‖ suite ‖ u16be n ‖ n ids ‖ nonce[12] ‖ AES-256-GCM(u32be length ‖ plaintext ‖ zeros to Padmé) ‖ tag
    AAD            = T("refold.log/cell/v1") ‖ u32be(len origin) ‖ origin ‖ header ‖ payload up to the nonce
    payload_commit = SHA-256(T("refold.log/payload/v1") ‖ payload)
    entry_hash     = SHA-256(T("refold.log/entry/v1") ‖ u64be(seq) ‖ prev ‖ payload_commit ‖ header)
    prev of seq 0  = SHA-256("refold.log/genesis/v1" ‖ 0x00 ‖ origin)

A control entry has suite 0 and the clear payload 0x01 ‖ 0x00 ‖ canonical JSON of ids and integers.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from refold import canonical
from refold.errors import Corrupt, UnsupportedVersion
from refold.keys import crypto
from refold.model import EntryKind

VERSION = 1
CLEAR, AES_GCM = 0, 1  # suites
HEADER = struct.Struct(">BBBIQ16s16s")
ID_BYTES = 16
HASH_BYTES = 32
IDS_MAX = 0xFFFF

CELL = crypto.label("refold.log/cell/v1")
PAYLOAD = crypto.label("refold.log/payload/v1")
ENTRY = crypto.label("refold.log/entry/v1")
GENESIS = b"refold.log/genesis/v1\x00"
CONTROL_PREFIX = bytes([VERSION, CLEAR])
SEALED_PREFIX = bytes([VERSION, AES_GCM])


class Header(NamedTuple):
    """The clear 47 bytes: ids, enums and integers only."""

    version: int
    kind: int
    suite: int
    epoch: int
    recorded_at: int  # µs, the sealing time; not monotone
    event_id: bytes
    ingest: bytes

    @property
    def raw(self) -> bytes:
        return HEADER.pack(*self)

    @classmethod
    def of(cls, raw: bytes) -> Header:
        return cls(*HEADER.unpack(raw))


# An entry whose cell was opened: seq, header as written, ids in front of the payload, plaintext. A plain tuple: a million of them are made.
Opened = tuple[int, bytes, tuple[Any, ...], bytes]


def genesis(origin: str) -> bytes:
    """Return what the first entry of a log follows."""
    return hashlib.sha256(GENESIS + origin.encode()).digest()


def aad_prefix(origin: str) -> bytes:
    """Return the part of the AAD that is the same for all cells of a log."""
    return CELL + len(origin).to_bytes(4, "big") + origin.encode()


def ids_prefix(ids: Sequence[bytes]) -> bytes:
    """Return a payload up to its nonce."""
    return SEALED_PREFIX + len(ids).to_bytes(2, "big") + b"".join(ids)


def ids_of(payload: bytes) -> tuple[tuple[bytes, ...], int]:
    """Return the subject ids (of a call: the input event ids) in front of a sealed payload, and where its nonce begins."""
    end = 4 + ID_BYTES * (payload[2] << 8 | payload[3])
    if end == 4 + ID_BYTES:
        return (payload[4:end],), end
    return tuple([payload[at : at + ID_BYTES] for at in range(4, end, ID_BYTES)]), end


def seal(key: bytes, nonce: bytes, plaintext: bytes, *, ids: bytes, bound_to: bytes) -> bytes:
    """Return a payload. `ids` is `ids_prefix`, `bound_to` is the AAD: `aad_prefix`, the header and the ids."""
    return ids + nonce + crypto.seal(key, nonce, padded(plaintext), bound_to)


def padded(plaintext: bytes) -> bytes:
    """Return u32be length ‖ plaintext ‖ zeros, up to the next Padmé size: sizes are permanent, so they say little."""
    size = len(plaintext)
    return size.to_bytes(4, "big") + plaintext.ljust(padme(4 + size) - 4, b"\0")


def padme(size: int) -> int:
    """Return the padded size: at most 12 % more, O(log log size) bits told (PURBs, Nikitin et al. 2019)."""
    exponent = size.bit_length() - 1
    free = (1 << max(exponent - exponent.bit_length(), 0)) - 1
    return (size + free) & ~free


def payload_commit(payload: bytes) -> bytes:
    """Return the digest of a ciphertext that outlives it."""
    return hashlib.sha256(PAYLOAD + payload).digest()


def entry_hash(seq: int, previous: bytes, commit: bytes, header: bytes) -> bytes:
    """Return the hash that chains an entry to the one before it."""
    return hashlib.sha256(ENTRY + seq.to_bytes(8, "big") + previous + commit + header).digest()


def chain(first: int, previous: bytes, headers: Sequence[bytes], commits: Sequence[bytes]) -> list[bytes]:
    """Return the entry hashes of rows that follow `previous`."""
    hashes = []
    for seq, (header, commit) in enumerate(zip(headers, commits, strict=True), first):
        previous = hashlib.sha256(ENTRY + seq.to_bytes(8, "big") + previous + commit + header).digest()
        hashes.append(previous)
    return hashes


def control_payload(body: dict[str, object]) -> bytes:
    """Return the clear payload of a control entry."""
    return CONTROL_PREFIX + canonical.encode(body)


def control_body(payload: bytes, seq: int) -> dict[str, Any]:
    """Read the clear payload of a control entry. Raises Corrupt."""
    try:
        body = canonical.decode(payload[2:])
    except ValueError:
        body = None
    if payload[:2] != CONTROL_PREFIX or not isinstance(body, dict):
        raise Corrupt(f"entry {seq} is a control entry without a closed, clear payload", entry_id=str(seq))
    return body


def given_up(payload: bytes, seq: int) -> tuple[int, bytes]:
    """Return size and root of the head that the `restored` entry of that number names as given up. Raises Corrupt."""
    body = control_body(payload, seq)
    try:
        return canonical.count(body["abandoned_size"]), canonical.unhex(body["abandoned_root"], HASH_BYTES)
    except (KeyError, TypeError, ValueError):
        raise Corrupt(f"entry {seq} does not say which head was given up", entry_id=str(seq)) from None


def check_known(header: Header, seq: int) -> None:
    """Refuse an entry of a later format by name; a suite that does not fit the kind is damage."""
    kinds = EntryKind.__members__.values()
    if header.version != VERSION or header.kind not in kinds:
        raise UnsupportedVersion(f"entry {seq} has version {header.version} and kind {header.kind}, unknown to this release")
    if (header.suite == CLEAR) != EntryKind(header.kind).is_control:
        raise Corrupt(f"entry {seq} has a suite that does not belong to its kind", entry_id=str(seq))
    if header.suite not in (CLEAR, AES_GCM):
        raise UnsupportedVersion(f"entry {seq} is sealed with suite {header.suite}, unknown to this release")
