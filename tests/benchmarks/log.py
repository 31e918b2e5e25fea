"""What the log costs, against the bare writes, hashes and ciphers that it cannot do without."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from refold import ingest
from refold.log import entry
from refold.log.entry import Header
from refold.log.log import Log
from refold.log.parts import Rows
from refold.log.read import KINDS, open_rows
from refold.model import Draft
from refold.store import Places, Store, create, open_store, places
from tests.benchmarks import Row, median_ms, ratio
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
        yield from many_writers(Path(name, "writers"))
        yield opening(Path(name, "opening"))
        yield from reading(Path(name, "reading"), EVENTS[size])


def appends(folder: Path) -> Iterator[Row]:
    """Append one event, and a thousand, against the same bytes written, synced and linked bare."""
    with fresh(folder) as store:
        one, thousand = batches(100, size=1), batches(54, size=1_000)
        bare_one, bare_thousand = bare(folder, store, next(one)), bare(folder, store, next(thousand))
        yield ratio("one durable append", lambda: add(store, next(one)), bare_one, 2, rounds=98)
        yield ratio("a batch of 1,000", lambda: add(store, next(thousand)), bare_thousand, 6, rounds=25)
        raw = payloads(store.log)[-1_000:]
        cpu = time.process_time
        yield ratio("a batch of 1,000, CPU", lambda: add(store, next(thousand)), lambda: primitives(raw), 20, rounds=25, clock=cpu)


def many_writers(folder: Path) -> Iterator[Row]:
    """Let 8 processes append 200 commits each; every one must be there, without a gap, and nobody starved."""
    fresh(folder).close()
    context = multiprocessing.get_context("spawn")
    together, taken = context.Barrier(PROCESSES), context.Queue()
    workers = [context.Process(target=write_many, args=(folder, number, together, taken)) for number in range(PROCESSES)]
    for worker in workers:
        worker.start()
    seconds = [taken.get() for _ in workers]
    for worker in workers:
        worker.join()
    with open_store(where(folder)) as store:
        seqs = [event.seq for events in store.log.events() for event in events]
        dense = store.log.head.size == len(seqs) + sum(1 for _ in store.log.subjects())
    kept, all_of_them = len(set(seqs)) * dense, PROCESSES * COMMITS
    note = f"{max(seconds):.1f} s"
    yield Row("8 processes x 200 commits, events kept", kept, all_of_them, "count", at_least=True, note=note)
    yield Row("the slowest of 8 writers against the fastest", max(seconds) / min(seconds), 3)


def write_many(folder: Path, number: int, together: Barrier, taken: Queue) -> None:
    with open_store(where(folder)) as store:
        together.wait()
        start = time.perf_counter()
        for draft in chats(COMMITS, people=3, seed=number):
            ingest.add(store, [draft], now=now, random=os.urandom)
        taken.put(time.perf_counter() - start)


def opening(folder: Path) -> Row:
    """Open a log of 5,000 single commits: its head, its live parts and the keyring."""
    with fresh(folder) as store:
        draw = Random(3)
        for draft in chats(SINGLE_COMMITS, people=20, seed=3):
            ingest.add(store, [draft], now=now, random=draw.randbytes)
    return Row("opening 5,000 single commits", median_ms(lambda: open_store(where(folder)).close()), 50, "ms")


def reading(folder: Path, events: int) -> Iterator[Row]:
    """Read all parts, and open all cells, against hashing the same files and deciphering the same cells bare."""
    with big_store(folder, events) as store:
        log = store.log
        paths = [log.place.folder / part.path for part in log.head.parts]
        yield ratio("tier-1 read", lambda: exhaust(log.rows()), lambda: [hashlib.sha256(p.read_bytes()).digest() for p in paths], 2.2)
        held = list(log.rows())
        rounds, clock = (3 if events > 100_000 else 9), time.process_time
        sealed = [cell for rows in held for cell in cells_of(store, rows)]
        yield ratio("opening all payloads", lambda: open_all(store, held), lambda: decipher(sealed), 5, rounds=rounds, clock=clock)
        yield ratio("reading all events", lambda: exhaust(log.events()), lambda: decipher(sealed), None, rounds=rounds, clock=clock)


def cells_of(store: Store, rows: Rows) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    """Yield key, nonce, ciphertext and associated data of each entry."""
    bound_to = entry.aad_prefix(store.origin)
    for header, payload in zip(rows.headers(), rows.payloads(), strict=True):
        assert payload is not None
        ids, end = entry.ids_of(payload)
        key = store.keyring.event_key(1, Header.of(header).event_id, ids)
        yield key, payload[end : end + 12], payload[end + 12 :], bound_to + header + payload[:end]


def open_all(store: Store, held: list[Rows]) -> None:
    bound_to = entry.aad_prefix(store.origin)
    for rows in held:
        open_rows(rows, store.keyring.event_key, bound_to, kinds=KINDS)


def fresh(folder: Path) -> Store:
    return create(where(folder), now=now)


def where(folder: Path) -> Places:
    return places(folder / "store", folder / "vault", folder / "root", env={})


def add(store: Store, drafts: list[Draft]) -> None:
    ingest.add(store, drafts, now=now, random=os.urandom)


def batches(number: int, *, size: int) -> Iterator[list[Draft]]:
    """Return ever new batches, made beforehand."""
    return iter([list(chats(size, people=20, seed=size, first=size * at)) for at in range(number)])


def bare(folder: Path, store: Store, drafts: list[Draft]) -> Callable[[], None]:
    """Return the writes, fsyncs and link that one append makes, of as many bytes, and nothing else."""
    add(store, drafts)
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


def decipher(sealed: list[tuple[bytes, bytes, bytes, bytes]]) -> None:
    """Decipher each cell with a new key object, as its own key asks for."""
    for key, nonce, ciphertext, bound_to in sealed:
        AESGCM(key).decrypt(nonce, ciphertext, bound_to)


def exhaust(iterator: Iterator[object]) -> None:
    for _ in iterator:
        pass
