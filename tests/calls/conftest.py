"""A server that answers, while a test runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.openai_server import Server, answer


@pytest.fixture
def server() -> Iterator[Server]:
    """Give a server that quotes what it was told; a test may set another script."""
    with Server(lambda asked: answer(f"read: {asked.text}")) as running:
        yield running
