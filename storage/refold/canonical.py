"""Canonical JSON: one value, one byte string. Signatures and digests cover these bytes.

UTF-8, keys sorted, no spaces, no NaN. What is read must be exactly what would be written, so that nothing
hides in spacing, order, escapes or duplicate keys.
"""

from __future__ import annotations

import json
from typing import Any

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False)


def encode(value: object) -> bytes:
    """Return the canonical bytes of `value`. Raises ValueError for NaN and lone surrogates, TypeError for what JSON has not."""
    return _encoder.encode(value).encode("utf-8")


def decode(raw: bytes) -> Any:
    """Read canonical bytes. Raises ValueError if they are not JSON or not canonical."""
    try:
        value = json.loads(raw)
        exact = encode(value) == raw
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not exact:
        raise ValueError("not canonical")
    return value


def unhex(text: str, size: int) -> bytes:
    """Read the hex of exactly `size` bytes as it is written: lower case, no spaces. Raises ValueError, TypeError."""
    value = bytes.fromhex(text)
    if len(value) != size or value.hex() != text:
        raise ValueError("not the hex of these bytes")
    return value


def count(value: object) -> int:
    """Return a number that was read, if it is a whole one and not negative. Raises ValueError."""
    if type(value) is not int or value < 0:
        raise ValueError("not a count")
    return value
