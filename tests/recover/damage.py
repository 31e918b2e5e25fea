"""Ways in which a disk hurts a log."""

from __future__ import annotations

import os
from pathlib import Path

from refold.keys.vault import open_vault
from refold.log.head import Head, newest
from refold.log.head import Place as LogPlace
from refold.log.parts import Part
from refold.store import Places


def place_of(places: Places) -> LogPlace:
    vault = open_vault(places.vault, places.root, random=os.urandom)
    return LogPlace(places.store / "log", places.origin, vault.public_keys)


def head_of(places: Places) -> Head:
    return newest(place_of(places))


def part_with(places: Places, seq: int) -> Part:
    return head_of(places).parts_over(seq, seq + 1)[0]


def path_with(places: Places, seq: int) -> Path:
    return places.store / "log" / part_with(places, seq).path


def flip(path: Path, at: int) -> None:
    """Flip one bit of a file."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def flip_payload(places: Places, seq: int) -> None:
    """Flip a bit of one entry's ciphertext."""
    from refold.log import parts

    part = part_with(places, seq)
    payload = parts.read(places.store / "log", part).cut(seq, seq + 1).payloads()[0]
    assert payload is not None
    path = places.store / "log" / part.path
    flip(path, path.read_bytes().index(payload) + len(payload) - 1)


def flip_header(places: Places, seq: int) -> None:
    """Flip a bit of one entry's time."""
    from refold.log import parts

    part = part_with(places, seq)
    header = parts.read(places.store / "log", part).cut(seq, seq + 1).headers()[0]
    path = places.store / "log" / part.path
    flip(path, path.read_bytes().index(header) + 14)
