"""A full fold with everything in it, extraction too: the peak memory of the process that does it, and how fast it goes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import Row
from tests.benchmarks.corpus import big_store
from tests.benchmarks.journal import instant_disk

SIZES = {"small": 20_000, "full": 1_000_000}
EVENTS_EACH = 200  # of one person
PEAK_MIB_MAX = 4_096

# In a process of its own, because the peak of a process never falls.
CODE = """
import json, resource, sys, time
from pathlib import Path
from refold.memory import Memory
from tests.benchmarks.journal import instant_disk
folder = Path(sys.argv[1])
with instant_disk(), Memory.open(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
    start = time.perf_counter()
    report = memory.fold(full=True)
    seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"events": report.events, "assertions": report.assertions, "seconds": seconds, "peak": peak}))
"""


def rows(size: str) -> Iterator[Row]:
    """Yield the peak memory of a full fold, and its speed."""
    events = SIZES[size]
    with tempfile.TemporaryDirectory() as name:
        with instant_disk():
            big_store(Path(name), events, people=events // EVENTS_EACH).close()
        done = json.loads(subprocess.run([sys.executable, "-c", CODE, name], check=True, capture_output=True, text=True).stdout)
    assert done["events"] == events
    yield Row(f"peak of a full fold of {events:,} events", done["peak"], PEAK_MIB_MAX, "MiB", note=f"{done['assertions']:,} assertions")
    yield Row(f"a full fold of {events:,} events", events / done["seconds"], None, "events/s")
