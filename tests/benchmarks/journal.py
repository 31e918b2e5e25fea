"""What a transaction costs, against the same files written durably without one; and what an audit costs, against listing the store."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from refold import files, journal
from refold.journal import ABSENT, Kind, Place, Target
from refold.store import Places, create, places
from tests.benchmarks import Row, ratio

FILES = 4
FILE_BYTES = 16_384
SAMPLE = Kind("sample")


def now() -> int:
    return time.time_ns() // 1000


def rows(size: str) -> Iterator[Row]:
    with TemporaryDirectory() as name:
        yield from transactions(Path(name, "transactions"))


def transactions(folder: Path) -> Iterator[Row]:
    """Write four new files, and replace four, as one transaction and as four durable writes."""
    where = fresh(folder)
    for part in ("ours", "bare"):
        files.make_folder(where.store / "extra" / part)
    numbers = count()
    yield ratio(
        "a transaction of 4 new files",
        lambda: journal.commit(where, SAMPLE, [write(where, "ours", f"{next(numbers)}") for _ in range(FILES)]),
        lambda: [bare(where.store / "extra/bare", f"{next(numbers)}") for _ in range(FILES)],
        3,
        rounds=99,
    )
    yield ratio(
        "a transaction of 4 replaced files",
        lambda: journal.commit(where, SAMPLE, [write(where, "ours", f"r{at}") for at in range(FILES)]),
        lambda: [bare(where.store / "extra/bare", f"r{at}") for at in range(FILES)],
        3,
        rounds=99,
    )


def write(where: Places, part: str, name: str) -> journal.Change:
    """Return the step that gives a file other bytes than it has."""
    path = where.store / "extra" / part / name
    before = journal.digest(path.read_bytes()) if path.exists() else ABSENT
    return journal.write(Target(Place.STORE, f"extra/{part}/{name}"), os.urandom(FILE_BYTES), before=before)


def bare(folder: Path, name: str) -> None:
    """Write a file so that it lasts, whole or not at all: a temporary name, fsync, rename, fsync of the folder."""
    descriptor = os.open(folder / "temporary", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, os.urandom(FILE_BYTES))
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename(folder / "temporary", folder / name)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def fresh(folder: Path) -> Places:
    where = places(folder / "store", folder / "vault", folder / "root", env={})
    create(where, now=now, random=os.urandom).close()
    return where
