"""Importing 100,000 messages: the peak memory of the process that does it, and how fast it goes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import Row

MESSAGES = {"small": 20_000, "full": 100_000}
PEAK_MIB_MAX = 1_024
WORDS = "the boat goes out at nine and comes back before the rain, so bring your coat and something to eat"

# In a process of its own, because the peak of a process never falls.
CODE = """
import json, os, resource, sys, time
from pathlib import Path
from refold import store as stores
from refold.imports.driver import import_files
from refold.imports.reader import Options
now = lambda: time.time_ns() // 1000
file, folder = map(Path, sys.argv[1:])
places = stores.places(folder / "store", folder / "vault", folder / "root", env={})
with stores.create(places, now=now, random=os.urandom) as store:
    start = time.perf_counter()
    report = import_files(store, [file], options=Options(user="ada"), now=now)
    seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"added": report.added, "seconds": seconds, "peak": peak}))
"""


def rows(size: str) -> Iterator[Row]:
    """Yield peak memory and speed for each format."""
    count = MESSAGES[size]
    for name, write in (("messages.jsonl", _messages), ("conversations.json", _export), ("notes.md", _notes)):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / name
            write(file, count)
            done = _measure(file, Path(folder))
        assert done["added"] == count
        yield Row(f"peak of importing {count:,} events from {name}", done["peak"], PEAK_MIB_MAX, "MiB")
        yield Row(f"importing {count:,} events from {name}", count / done["seconds"], None, "events/s")


def _measure(file: Path, folder: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", CODE, str(file), str(folder)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def _text(number: int) -> str:
    return f"message {number}: {WORDS}"


def _role(number: int) -> str:
    return "assistant" if number % 2 else "user"


def _messages(file: Path, count: int) -> None:
    with file.open("w", encoding="utf-8") as handle:
        for number in range(count):
            message = {"role": _role(number), "content": _text(number), "created_at": 1_700_000_000 + number}
            handle.write(json.dumps(message) + "\n")


def _export(file: Path, count: int) -> None:
    """Write conversations of 500 messages each, with about as much around a message as a real export has."""
    with file.open("w", encoding="utf-8") as handle:
        for first in range(0, count, 500):
            handle.write("[" if first == 0 else ",")
            numbers = range(first, min(first + 500, count))
            mapping = {f"n{number}": _node(number, first) for number in numbers}
            handle.write(json.dumps({"title": "Talk", "id": f"c{first}", "mapping": mapping, "current_node": f"n{numbers[-1]}"}, indent=1))
        handle.write("]")


def _node(number: int, first: int) -> dict[str, object]:
    around: dict[str, object] = {f"key_{each}": ["value", {"of": each}] for each in range(30)}
    message = {
        "author": {"role": _role(number), "name": None, "metadata": {}},
        "create_time": 1_700_000_000.5 + number,
        "content": {"content_type": "text", "parts": [_text(number)]},
        "metadata": around,
    }
    parent = f"n{number - 1}" if number > first else None
    return {"id": f"n{number}", "parent": parent, "children": [f"n{number + 1}"], "message": message}


def _notes(file: Path, count: int) -> None:
    with file.open("w", encoding="utf-8") as handle:
        for number in range(count):
            handle.write(f"## Section {number}\n\n" if number % 5 == 0 else "")
            handle.write(_text(number) + "\n\n")
