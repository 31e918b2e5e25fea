"""A stopwatch, so that what must not take long cannot."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest


@pytest.fixture
def elapsed():
    """Return a context that fails if its block takes more processor time than allowed."""

    @contextmanager
    def stopwatch(*, seconds_max: float) -> Generator[None]:
        begin = time.process_time()
        yield
        taken = time.process_time() - begin
        assert taken <= seconds_max, f"{taken:.1f} s of at most {seconds_max}"

    return stopwatch
