"""A memory to talk to."""

from __future__ import annotations

import pytest

from refold.store import Store
from tests.facts.world import World


@pytest.fixture
def world(store: Store) -> World:
    return World.empty(store)
