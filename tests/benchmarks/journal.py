"""What a transaction costs, against the same files written durably without one; and what an audit costs, against listing the store."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from refold import files, ingest, journal, recipes
from refold.folding import Fold
from refold.journal import ABSENT, Kind, Place, Target
from refold.memory import Memory
from refold.recover.audit import audit
from refold.state.generation import State
from refold.store import Places, create, places
from tests.benchmarks import Row, ratio
from tests.benchmarks.corpus import chats

PARTS = {"small": 2_000, "full": 10_000}
FILES = 4
FILE_BYTES = 16_384
SAMPLE = Kind("sample")


def now() -> int:
    return time.time_ns() // 1000


def rows(size: str) -> Iterator[Row]:
    with TemporaryDirectory() as name:
        yield from transactions(Path(name, "transactions"))
        yield audits(Path(name, "audits"), PARTS[size])


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


def audits(folder: Path, parts: int) -> Row:
    """Audit a store of many parts, against listing and statting all of its files."""
    with instant_disk(), Memory.create(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
        where = memory.places
        for draft in chats(parts, people=20, seed=5):
            ingest.add(memory.store, [draft], now=now, random=os.urandom)
        memory.store.log.refresh()
        work = Fold(memory.store, State.open(memory.store), relations=recipes.relations(), recipe=recipes.search())
        for first, end in work.plan.batches:
            work.batch(first, end)
        work.publish(now=now)  # without the compaction of a whole fold, which would leave few parts
    assert audit(where).findings == ()
    return ratio(f"audit of {parts:,} parts", lambda: audit(where), lambda: listed(folder), 2)


@contextmanager
def instant_disk() -> Generator[None]:
    """Let fsync cost nothing while something large is made that need not last."""
    kept, files.os = files.os, Unsynced()  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        files.os = kept


class Unsynced:
    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fsync(self, descriptor: int) -> None:
        return None


def listed(folder: Path) -> int:
    """Stat every file, as plainly as it can be done."""
    return sum(os.lstat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names)  # noqa: PTH118


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
    (folder / "temporary").rename(folder / name)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def fresh(folder: Path) -> Places:
    where = places(folder / "store", folder / "vault", folder / "root", env={})
    create(where, now=now, random=os.urandom).close()
    return where
