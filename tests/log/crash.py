"""Run in a process of its own: append, and be killed at every system call of it; then retry, as a caller would.

Prints one line per attempt: `NUMBER killed|done SEQ`, and `NUMBER retried SEQ NEW` for the retry with the same key.
Forks from a process in which no thread has started yet.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from pathlib import Path
from typing import Any

from refold import files, ingest
from refold.model import Draft, Scope
from refold.store import open_store, places
from tests.conftest import now
from tests.log import CALLS, Disk


class Locks:
    """Counts flock among the calls of a disk."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        real = getattr(fcntl, name)
        return self._disk.counted(name, real) if name == "flock" else real


def kill_at(at: int) -> Any:
    def step(number: int, name: str, call: Any) -> Any:
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return call()

    return step


def attempt(folder: Path, number: int, at: int | None) -> str:
    """Add event `number` in a child, killed at the `at`-th call; return what it said before it went."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with open_store(places(folder / "store", folder / "vault", folder / "root", env={})) as store:
            if at is not None:
                disk = Disk(kill_at(at), calls=CALLS)
                files.os, files.fcntl = disk, Locks(disk)  # ty: ignore[invalid-assignment]
            draft = Draft(f"event {number}", scope=Scope(f"user {number % 4}"), key=f"key {number}")
            (added,) = ingest.add(store, [draft], now=now, random=os.urandom)
            os.write(write, f"{added.seq} {added.new}".encode())
        os._exit(0)
    os.close(write)
    answer = os.read(read, 100).decode()
    os.close(read)
    os.waitpid(child, 0)
    return answer


def main(folder: Path) -> None:
    for number in range(1, 200):
        answer = attempt(folder, number, number)
        print(number, "acknowledged" if answer else "killed", answer, flush=True)
        print(number, "retried", attempt(folder, number, None), flush=True)
        if answer:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
