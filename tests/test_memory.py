"""The library's edge: what is handed in with the wrong type is named, and nothing is added."""

from __future__ import annotations

from typing import Any

import pytest

from refold.errors import Usage
from refold.memory import Memory

WRONG: list[dict[str, Any]] = [
    {"text": 5},
    {"text": None},
    {"text": b"hello"},
    {"user_id": 5},
    {"key": 5},
    {"author": ["ada"]},
    {"source": 5},
    {"subjects": "ruth"},
    {"subjects": [5]},
    {"audience": "family"},
    {"audience": [""]},
    {"metadata": [1]},
    {"said_at": 1.5},
    {"said_at": True},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_type_is_named_and_adds_nothing(places, wrong):
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        with pytest.raises(Usage, match=next(iter(wrong))):
            memory.add(**({"text": "hello", "user_id": "ada"} | wrong))
        assert memory.status().entries == 0
