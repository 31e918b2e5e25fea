"""Fixtures that every room shares: real places in a temporary folder, and a store in them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from refold.store import Places, Store, create
from refold.store import places as find_places

os.environ.pop("COLUMNS", None)  # what commands print is as wide as the tests say


# How long an example takes says more of the machine, and of what else runs on it, than of the code.
settings.register_profile("refold", deadline=None, max_examples=300 if os.environ.get("REFOLD_EXHAUSTIVE") else 40)
settings.load_profile("refold")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Call a function, a class or a code in the id of a test by its name: an address differs from process to process."""
    name = getattr(val, "__name__", getattr(val, "code", None))
    return name if isinstance(name, str) else None


def now() -> int:
    """Return the time in µs since 1970."""
    return time.time_ns() // 1000


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return find_places(tmp_path / "store", tmp_path / "vault", tmp_path / "root", env={})


@pytest.fixture
def store(places: Places) -> Iterator[Store]:
    with create(places, now=now, random=os.urandom) as made:
        yield made
