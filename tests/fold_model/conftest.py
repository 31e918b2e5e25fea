"""A server that answers as the scripted model does, while a test runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fold_model.scripted import reads
from tests.openai_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(reads) as running:
        yield running
