"""Hex that lies on disk is read as it was written: a letter in upper case is another file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from refold import canonical
from refold.errors import RefoldError
from refold.store import Places, Store, open_store
from tests.log import say


@pytest.mark.parametrize("text", ["AB", "aB", " ab", "a b", "ab ", "abcd", "", "ax"])
def test_hex_is_lower_case_and_of_one_length(text: str):
    with pytest.raises(ValueError, match="hex"):
        canonical.unhex(text, 1)


def test_hex_is_read_as_it_was_written():
    assert canonical.unhex("ab00", 2) == b"\xab\x00"


def _letters(raw: bytes) -> list[int]:
    """Return where hex of at least 16 bytes has letters; of what is signed, only the signature's."""
    start = max(raw.find(b'"sig":'), 0)
    return [at for run in re.compile(rb"[0-9a-f]{32,}").finditer(raw, start) for at in range(*run.span()) if raw[at : at + 1].isalpha()]


def _head(places: Places) -> Path:
    return max((places.store / "log" / "commits").iterdir())


def _seal(places: Places) -> Path:
    return places.vault / "keys" / "epoch-000001" / "SEALED"


def _pin(places: Places) -> Path:
    return places.vault / "witness" / "log.json"


def _origin(places: Places) -> Path:
    return places.store / "store.json"


@pytest.mark.parametrize("file_of", [_head, _seal, _pin, _origin])
def test_no_letter_may_change_its_case(store: Store, file_of):
    say(store, "hello")
    store.close()
    path = file_of(store.places)
    raw = path.read_bytes()
    letters = _letters(raw)
    assert letters
    for at in letters:
        path.chmod(0o600)
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0x20]) + raw[at + 1 :])
        with pytest.raises(RefoldError), open_store(store.places):
            pass
    path.write_bytes(raw)
    with open_store(store.places) as opened:
        assert opened.log.head.size == 2
