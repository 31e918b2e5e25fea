"""What the log costs, against the bare writes, hashes and ciphers that it cannot do without."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from refold import ingest
from refold.log.log import Log
from refold.model import Draft
from refold.store import Store, create, open_store, places
from tests.benchmarks import Row, ratio
from tests.benchmarks.corpus import big_store, chats

EVENTS = {"small": 50_000, "full": 1_000_000}
SINGLE_COMMITS = 5_000
PROCESSES, COMMITS = 8, 200
KEY, NONCE = bytes(32), bytes(12)


def now() -> int:
    return time.time_ns() // 1000


def rows(size: str) -> Iterator[Row]:
    with TemporaryDirectory() as name:
        yield from appends(Path(name, "appends"))
        yield many_writers(Path(name, "writers"))
        yield opening(Path(name, "opening"))
        yield from reading(Path(name, "reading"), EVENTS[size])


def appends(folder: Path) -> Iterator[Row]:
    """Append one event, and a thousand, against the same bytes written, synced and linked bare."""
    with fresh(folder) as store:
        one, thousand = cycle(1, seed=1), cycle(1_000, seed=2)
        bare_one, bare_thousand = bare(folder, store, one), bare(folder, store, thousand)
        yield ratio("one durable append", lambda: add(store, one()), bare_one, 2, rounds=99)
        yield ratio("a batch of 1,000", lambda: add(store, thousand()), bare_thousand, 6, rounds=25)
        raw = payloads(store.log)[-1_000:]
        yield ratio(
            "a batch of 1,000, CPU", lambda: add(store, thousand()), lambda: primitives(raw), 20, rounds=25, clock=time.process_time
        )


def many_writers(folder: Path) -> Row:
    """Let 8 processes append 200 commits each; every one must be there, without a gap."""
    fresh(folder).close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_many, args=(folder, number)) for number in range(PROCESSES)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    taken = time.perf_counter() - start
    with open_store(where(folder)) as store:
        seqs = [event.seq for events in store.log.events() for event in events]
        dense = store.log.head.size == len(seqs) + sum(1 for _ in store.log.subjects())
    return Row(
        "8 processes x 200 commits, events kept", len(set(seqs)) * dense, PROCESSES * COMMITS, "count", at_least=True, note=f"{taken:.1f} s"
    )


def write_many(folder: Path, number: int) -> None:
    with open_store(where(folder)) as store:
        for draft in chats(COMMITS, people=3, seed=number):
            ingest.add(store, [draft], now=now, random=os.urandom)


def opening(folder: Path) -> Row:
    """Open a log of 5,000 single commits: its head, its live parts and the keyring."""
    with fresh(folder) as store:
        draw = Random(3)
        for draft in chats(SINGLE_COMMITS, people=20, seed=3):
            ingest.add(store, [draft], now=now, random=draw.randbytes)
    return median_row("opening 5,000 single commits", lambda: open_store(where(folder)).close(), 50)


def reading(folder: Path, events: int) -> Iterator[Row]:
    """Read and open all entries, against hashing the files and deciphering the payloads."""
    with big_store(folder, events) as store:
        log = store.log
        paths = [log.place.folder / part.path for part in log.head.parts]
        yield ratio("tier-1 read", lambda: exhaust(log.rows()), lambda: [hashlib.sha256(p.read_bytes()).digest() for p in paths], 2.2)
        sealed = [AESGCM(KEY).encrypt(NONCE, bytes(len(one) - 60), b"") for one in payloads(log)]
        rounds = 3 if events > 100_000 else 5
        yield ratio("opening all payloads", lambda: exhaust(log.opened()), lambda: decipher(sealed), 5, rounds=rounds)
        yield ratio("reading all events", lambda: exhaust(log.events()), lambda: decipher(sealed), None, rounds=rounds)


def fresh(folder: Path) -> Store:
    return create(where(folder), now=now)


def where(folder: Path):
    return places(folder / "store", folder / "vault", folder / "root", env={})


def add(store: Store, drafts: list[Draft]) -> None:
    ingest.add(store, drafts, now=now, random=os.urandom)


def cycle(size: int, *, seed: int) -> Callable[[], list[Draft]]:
    """Return a source of ever new batches."""
    numbers = count()
    return lambda: list(chats(size, people=20, seed=seed, first=size * next(numbers)))


def bare(folder: Path, store: Store, drafts: Callable[[], list[Draft]]) -> Callable[[], None]:
    """Return the writes, fsyncs and link that one append makes, of as many bytes, and nothing else."""
    add(store, drafts())
    add(store, drafts())
    part = (store.log.place.folder / store.log.head.parts[-1].path).read_bytes()
    commit = store.log.place.commit(store.log.head.version).read_bytes()
    target = folder / f"bare-{len(part)}"
    target.mkdir()
    numbers = count()

    def write() -> None:
        number = next(numbers)
        write_synced(target / f"part-{number}", part)
        sync(target)
        write_synced(target / f"temporary-{number}", commit)
        os.link(target / f"temporary-{number}", target / f"commit-{number}")
        (target / f"temporary-{number}").unlink()
        sync(target)

    return write


def write_synced(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)


def sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def payloads(log: Log) -> list[bytes]:
    return [one for batch in log.rows() for one in batch.payloads() if one is not None]


def primitives(raw: list[bytes]) -> None:
    """Hash and encrypt payloads, each under its own key, as no log can avoid."""
    for one in raw:
        hashlib.sha256(one).digest()
        AESGCM(KEY).encrypt(NONCE, one, None)


def decipher(sealed: list[bytes]) -> None:
    for one in sealed:
        AESGCM(KEY).decrypt(NONCE, one, b"")


def exhaust(iterator: Iterator[object]) -> None:
    for _ in iterator:
        pass


def median_row(name: str, call: Callable[[], object], limit: float) -> Row:
    from tests.benchmarks import median_ms

    return Row(name, median_ms(call), limit, "ms")
