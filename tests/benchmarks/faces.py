"""What people look at: how long the notebook takes as a script, and how large the report of a lively store is."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import Row
from tests.pages import lively

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "explore.py"
SECONDS_MAX = 30
PAGE_MB_MAX = 2.0
MIB = 1 << 20


def rows(size: str) -> Iterator[Row]:
    """Yield the wall time of the notebook, all its cells, and the size of the page."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([sys.executable, str(NOTEBOOK), folder], check=True, capture_output=True)
        taken = time.perf_counter() - start
        pictures = len(list(Path(folder).glob("*.png")))
        page = lively(Path(folder, "memory")).encode()
    yield Row("the notebook as a script", taken * 1e3, SECONDS_MAX * 1e3, unit="ms", note=f"{pictures} pictures")
    yield Row("the page of a report", len(page) / MIB, PAGE_MB_MAX * 1e6 / MIB, unit="MiB", note=f"{len(page):,} bytes, at most 2 MB")
