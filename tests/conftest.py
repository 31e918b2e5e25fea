"""Fixtures that every room shares: real places in a temporary folder, and a store in them."""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Generator, Iterator
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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect hundreds of thousands of objects that stay, without the collector, which need not look at them in any test either."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the files with slow tests start first, so that none of them is what everybody waits for at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def points(count: int, *, every: int) -> list[int]:
    """Return at which of so many changes of a disk a test interrupts: one of each `every`, drawn by a fixed seed, or all if exhaustive."""
    if os.environ.get("REFOLD_EXHAUSTIVE"):
        return list(range(1, count + 1))
    chance = random.Random(count)
    return [chance.randrange(first, min(first + every, count + 1)) for first in range(1, count + 1, every)]


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
