"""JSON as the gateway reads it: a name given twice, NaN or half a character is an error, not a choice."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def parse(raw: bytes) -> Any:
    """Return what the bytes say. Raises ValueError."""
    return json.loads(raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError("not a number of JSON")
