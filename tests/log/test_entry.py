"""The format of an entry, computed again from its definition with nothing but hashlib, hmac and AES-GCM."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from random import Random

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from refold.errors import Corrupt, UnsupportedVersion
from refold.keys.keyring import Keyring, Secrets
from refold.log import entry
from refold.log.append import Sealable, seal
from refold.log.entry import Header
from refold.log.parts import Rows
from refold.log.read import open_rows
from refold.model import EntryKind, EventId, SubjectId

ORIGIN = "0123456789abcdef0123456789abcdef"
DRAW = Random(5)
EVENT, INGEST = EventId(DRAW.randbytes(16)), DRAW.randbytes(16)
SUBJECTS = tuple(sorted(SubjectId(DRAW.randbytes(16)) for _ in range(2)))
SEALABLE = Sealable(EntryKind.EVENT, EVENT, SUBJECTS, b'{"text":"I live in Berlin"}', 1_700_000_000_000_000, INGEST)


def sha(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def label(text: str) -> bytes:
    return sha(text.encode())


def sealed() -> tuple[Keyring, bytes, bytes]:
    keyring = Keyring(Secrets.fresh(random=Random(1).randbytes))
    ((header, payload),) = seal([SEALABLE], keyring, entry.aad_prefix(ORIGIN), random=lambda size: bytes(range(size)))
    return keyring, header, payload


def test_a_header_has_47_clear_bytes_in_this_order():
    _, header, _ = sealed()
    expected = b"\x01\x01\x01" + (1).to_bytes(4, "big") + (1_700_000_000_000_000).to_bytes(8, "big") + EVENT + INGEST
    assert header == expected
    assert len(header) == 47


def test_a_payload_is_version_suite_ids_nonce_and_cell():
    keyring, header, payload = sealed()
    front = b"\x01\x01\x00\x02" + SUBJECTS[0] + SUBJECTS[1]
    assert payload.startswith(front + bytes(range(12)))
    aad = label("refold.log/cell/v1") + len(ORIGIN).to_bytes(4, "big") + ORIGIN.encode() + header + front
    key = keyring.event_key(1, EVENT, SUBJECTS)
    opened = AESGCM(key).decrypt(bytes(range(12)), payload[len(front) + 12 :], aad)
    plaintext = SEALABLE.plaintext
    assert opened == len(plaintext).to_bytes(4, "big") + plaintext + bytes(len(opened) - 4 - len(plaintext))
    assert len(opened) == entry.padme(4 + len(plaintext))


def test_the_chain_covers_seq_previous_ciphertext_and_header():
    _, header, payload = sealed()
    commit = sha(label("refold.log/payload/v1"), payload)
    assert entry.payload_commit(payload) == commit
    previous = sha(b"refold.log/genesis/v1\x00", ORIGIN.encode())
    assert entry.genesis(ORIGIN) == previous
    first = sha(label("refold.log/entry/v1"), (0).to_bytes(8, "big"), previous, commit, header)
    second = sha(label("refold.log/entry/v1"), (1).to_bytes(8, "big"), first, commit, header)
    assert entry.chain(0, previous, [header, header], [commit, commit]) == [first, second]
    assert entry.entry_hash(1, first, commit, header) == second


def test_the_bytes_of_an_entry_never_change():
    """A frozen vector: a release that writes another is another format version."""
    _, header, payload = sealed()
    commit = entry.payload_commit(payload)
    assert header.hex() == FROZEN_HEADER
    assert hashlib.sha256(payload).hexdigest() == FROZEN_PAYLOAD
    assert entry.entry_hash(0, entry.genesis(ORIGIN), commit, header).hex() == FROZEN_HASH


FROZEN_HEADER = "0101010000000100060a24181e4000457c769f39d8644199c0e5bdbcfbc85b37ce91cbde1fc1b0ea6b44f130436dd7"
FROZEN_PAYLOAD = "9b874dd4fdd0ae9c06acc8792194a23a6ee84975a77e6ce2278e29d6f0f175d4"
FROZEN_HASH = "cab940ed100b6852eadd55a14cdb379a0da3a2eb24f5f02051564a10a21479ff"


def opened(keyring: Keyring, header: bytes, payload: bytes, *, origin: str = ORIGIN) -> list[bytes]:
    rows = Rows.of(0, [header], [payload], [bytes(32)], [bytes(32)])
    return [cell[3] for cell in open_rows(rows, keyring.event_key, entry.aad_prefix(origin), kinds=[EntryKind.EVENT])]


def test_an_entry_opens_to_what_was_sealed():
    assert opened(*sealed()) == [SEALABLE.plaintext]


@pytest.mark.parametrize("column", ["header", "payload"])
def test_no_entry_opens_with_any_byte_changed(column: str):
    keyring, header, payload = sealed()
    for at in range(len(header if column == "header" else payload)):
        raw = {"header": bytearray(header), "payload": bytearray(payload)}
        raw[column][at] ^= 1
        with suppress(Corrupt, UnsupportedVersion):
            assert opened(keyring, bytes(raw["header"]), bytes(raw["payload"])) == []


def test_an_entry_of_another_log_does_not_open():
    with pytest.raises(Corrupt):
        opened(*sealed(), origin="ff" * 16)


@pytest.mark.parametrize("length", [0, 3, 20, 40, 60])
def test_a_cut_payload_is_damage(length: int):
    keyring, header, payload = sealed()
    with pytest.raises(Corrupt):
        opened(keyring, header, payload[:length])


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, 1), (2, 2), (8, 8), (9, 10), (15, 16), (16, 16), (17, 18), (100, 104), (1000, 1024), (1025, 1088), (10_000, 10_240)],
)
def test_padme_sizes(size: int, expected: int):
    assert entry.padme(size) == expected


@given(st.integers(1, 1 << 26))
def test_padme_never_shrinks_and_adds_at_most_an_eighth(size: int):
    assert size <= entry.padme(size) <= size * 1.125
    assert entry.padme(entry.padme(size)) == entry.padme(size)


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=5), st.binary(max_size=40))
def test_ids_are_read_back(ids: list[bytes], rest: bytes):
    found, end = entry.ids_of(entry.ids_prefix(ids) + rest)
    assert (list(found), end) == (ids, 4 + 16 * len(ids))


def test_a_control_entry_is_clear_canonical_json():
    payload = entry.control_payload({"seqs": [3, 1], "a": 1})
    assert payload == b'\x01\x00{"a":1,"seqs":[3,1]}'
    assert entry.control_body(payload, 0) == {"seqs": [3, 1], "a": 1}


@pytest.mark.parametrize("payload", [b"\x01\x01{}", b"\x01\x00{ }", b"\x01\x00[]", b"\x01\x00", b""])
def test_a_control_entry_in_another_form_is_damage(payload: bytes):
    with pytest.raises(Corrupt):
        entry.control_body(payload, 7)


def test_a_later_format_is_refused_by_name():
    with pytest.raises(UnsupportedVersion):
        entry.check_known(Header(2, 1, 1, 1, 0, EVENT, INGEST), 0)
    with pytest.raises(UnsupportedVersion):
        entry.check_known(Header(1, 99, 1, 1, 0, EVENT, INGEST), 0)
    with pytest.raises(UnsupportedVersion):
        entry.check_known(Header(1, 1, 7, 1, 0, EVENT, INGEST), 0)


def test_a_suite_that_does_not_belong_to_its_kind_is_damage():
    with pytest.raises(Corrupt):
        entry.check_known(Header(1, EntryKind.EVENT, 0, 1, 0, EVENT, INGEST), 0)
    with pytest.raises(Corrupt):
        entry.check_known(Header(1, EntryKind.FENCE, 1, 1, 0, EVENT, INGEST), 0)
