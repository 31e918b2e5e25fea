"""What chance writes is not taken for what somebody wrote, and what somebody wrote is found beside it, however short."""

from __future__ import annotations

import os
import sqlite3
from base64 import b64encode, urlsafe_b64encode
from contextlib import closing
from random import Random
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.log import parts
from refold.scan.chance import are_drawn, is_drawn, written
from refold.scan.needles import Needles
from refold.scan.walk import scan
from refold.store import Store
from tests.erase.small import draft, say

SHORT = ("ada", "deb", "bob")
VALUE = st.one_of(st.binary(max_size=32), st.text("a\xe9\u20ac\U0001f600", max_size=16).map(str.encode))
BY_CHANCE = b" Ada; 7DEB9 !bob? " * 3  # what random bytes of some size hold


def drawn(size: int) -> bytes:
    """Return random bytes in which short names stand, none of them in a stretch that can be read."""
    return b"".join(os.urandom(8) + b"\0" + BY_CHANCE[at % 14 :][:7] + b"\0" for at in range(0, size, 16))


@pytest.fixture
def place(tmp_path):
    """Return the marks of a store and a vault, beside which files are Refold's by where they lie."""
    for mark in ("store.json", "witness/log.json"):
        (tmp_path / mark).parent.mkdir(exist_ok=True)
        (tmp_path / mark).write_text("{}")
    return tmp_path


def put(path, raw: bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "keys/epoch-000001/subjects",
        "dockets/00112233445566778899aabbccddeeff",
        "copies/register",
        "state/000000000001",
        "signing/000001.key",
    ],
)
def test_a_short_name_is_not_found_in_ciphertext_and_found_where_it_was_written_into_it(place, name):
    put(place / name, drawn(800))
    assert not scan([place], Needles.of(SHORT)).hits
    put(place / name, drawn(800) + b"a note about Ada, in the clear" + drawn(80))
    assert {hit.needle for hit in scan([place], Needles.of(SHORT)).hits} == {0}


def test_a_short_name_is_not_found_in_digests_ids_and_signatures(place):
    hexes = os.urandom(3).hex() + "7ada3" + "9deb1" + os.urandom(24).hex() + "0"
    put(place / "log" / "commits" / f"{0:020d}.json", b'{"body":{"txn":"%s"},"sig":"%s"}' % (hexes.encode(), hexes[::-1].encode()))
    put(place / "checkpoints" / f"{9:020d}.note", b"refold.log/x\n9\nqk3A/ada+7deb/x1\xc3\xa4".replace(b"\xc3\xa4", b"Pz/" * 12) + b"=\n")
    put(place / "requests" / uuid4().hex, b'{"sealed":"%s"}' % hexes.encode())
    put(place / "log" / "parts" / f"{0:020d}-9deb1a7ada3c44f1.parquet", b"")
    assert not scan([place], Needles.of(SHORT)).hits


@given(st.sampled_from([16, 32, 20]).flatmap(lambda size: st.lists(VALUE.map(lambda raw: raw.ljust(size, b"x")[:size]), min_size=1)))
def test_a_column_of_ids_is_told_from_one_of_text_as_each_value_is(values):
    rows = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), -1)
    assert are_drawn(rows).tolist() == [is_drawn(value) for value in values]


BESIDE = ("log/commits/00.json", "receipts/a.json", "requests/a", "journal/a/journal.json", "witness/a", "tokens/ada.json")


@pytest.mark.parametrize("name", BESIDE)
def test_a_short_name_beside_digests_is_found(place, name):
    put(place / name, b'{"id":"%s","name":"ada"}' % os.urandom(32).hex().encode())
    assert {hit.needle for hit in scan([place], Needles.of(SHORT)).hits} == {0}


def test_a_short_name_that_is_spelled_in_hexadecimal_digits_is_found(place):
    put(place / "receipts" / "a.json", b'{"id":"%s"}' % b"a note about Ada, spelled".hex().encode())
    assert {hit.needle for hit in scan([place], Needles.of(SHORT)).hits} == {0}


def test_a_short_name_is_not_found_within_the_ids_of_other_programs_and_found_beside_them(tmp_path):
    ids = ["3f2a71c0-1ada-4deb-9ada-0123456789ab", "00c17f9ada3e5b2d9deb1f60a4b8c2d7"]
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("create table t (a text)")
        database.executemany("insert into t values (?)", [[each] for each in ids])
        database.commit()
        assert not scan([tmp_path], Needles.of(["ada", "deb"])).hits
        database.execute("insert into t values (?)", [f"{ids[0]} of ada"])
        database.commit()
    assert {hit.needle for hit in scan([tmp_path], Needles.of(["ada", "deb"])).hits} == {0}


RANDOM = Random(5)


def around(name: bytes, before: int, after: int) -> bytes:
    """Return random bytes with a name in them, as chance writes it."""
    return RANDOM.randbytes(before) + b"\0" + name + b"\0" + RANDOM.randbytes(after)


BASE64_DRAWN = b64encode(RANDOM.randbytes(45)).decode()
DRAWN = {
    "uuid": [str(UUID(bytes=around(b"Ada", 10, 1))), str(UUID(bytes=around(b"deb", 4, 7)))],
    "hex": [around(b"Ada", 5, 6).hex(), around(b"deb", 20, 7).hex()],
    "short hex": ["93f2a71c0ada4de7"],
    "base64": [b64encode(around(b"Ada", at, 40 - at)).decode() for at in range(20, 23)],
    "url-safe base64": [urlsafe_b64encode(around(b"deb", at, 40 - at)).decode() for at in range(20, 23)],
    "letters of base64": [BASE64_DRAWN[:20] + "/Ada+" + BASE64_DRAWN[20:], BASE64_DRAWN[:30] + "0DEB7" + BASE64_DRAWN[30:]],
}
SAID = {
    "a cell": "Ada",
    "a word": "the run of ada failed",
    "a path": "/home/ada/projects/memories/of/everybody/notes",
    "base64 of a sentence": b64encode(b"what somebody wrote of Ada, with more behind it").decode(),
    "base64 of a name": b64encode(b"Ada Brandt").decode(),
    "base64 of a form of others": b64encode(b"\x0a\x03Ada\x12\x0bAda, Berlin\x1a\x05likes\x22\x08rye bread" * 2).decode(),
    "base64 of latin-1": b64encode("Ada aß Brötchen am Fluß, später übrigens auch Äpfel".encode("latin-1")).decode(),
    "digits of a sentence": b"what somebody wrote of Ada".hex(),
    "digits of a name": b"for Ada".hex(),
}


def database(path, cells) -> None:
    with closing(sqlite3.connect(path / "a.db")) as made:
        made.execute("create table t (a text)")
        made.executemany("insert into t values (?)", [[each] for each in cells])
        made.commit()


@pytest.mark.parametrize("form", DRAWN)
def test_a_short_name_is_not_found_in_what_ids_and_tokens_of_other_programs_spell(tmp_path, form):
    database(tmp_path, DRAWN[form])
    assert [hit.encoding for hit in scan([tmp_path], Needles.of(["ada", "deb"])).hits] == []


@pytest.mark.parametrize("said", SAID)
def test_a_short_name_that_somebody_wrote_is_found_among_what_was_drawn(tmp_path, said):
    drawn = [each for cells in DRAWN.values() for each in cells]
    database(tmp_path, [*drawn, SAID[said], *drawn])
    assert {hit.needle for hit in scan([tmp_path], Needles.of(["ada", "deb"])).hits} == {0}


def test_of_a_part_what_its_format_says_around_the_cells_is_what_was_written(store: Store):
    say(store, draft("ruth", "1", "I live in Oslo."))
    (path,) = (store.places.store / "log" / "parts").iterdir()
    plain = written(path.read_bytes())
    assert all(name.encode() in plain for name in parts.SCHEMA.names)
    assert sum(byte != 0 for byte in plain) < len(plain) / 2


def test_how_many_were_too_short_for_ciphertext_is_told(place):
    put(place / "keys" / "epoch-000001" / "subjects", drawn(100) + b"\0Ruth Brandt\0")
    found = scan([place], Needles.of(["Ada", "Ruth Brandt", "Ruth"], control="deb"))
    assert (found.short, {hit.needle for hit in found.hits}) == (2, {1})
