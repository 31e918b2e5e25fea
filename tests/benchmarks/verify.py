"""What proving the log costs, against the bare hashes that no proof can do without."""

from __future__ import annotations

import hashlib
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from refold import ingest, journal, settings
from refold.copies.mirror import mirror
from refold.heads.kept import CHECKPOINTS, note_name
from refold.log import entry, note
from refold.log.note import TreeHead
from refold.log.tree import Tree
from refold.log.witnessed import HEADS
from refold.model import Draft
from refold.outside import clock
from refold.recover import verify as verification
from refold.recover.audit import Area, audit, options
from refold.recover.history import history
from refold.recover.repair import Sources, repair
from refold.recover.survey import survey
from refold.recover.verify import jobs, verify
from refold.store import Places, create, open_store, places
from refold.verdict import SeenHead, Verdict
from tests.benchmarks import Row, median_ms, peak_kib, ratio, timed
from tests.benchmarks.corpus import big_store

EVENTS = {"small": 50_000, "full": 1_000_000}
MEMORY_MIB_MAX = 500
NIGHTS = 3_650


def rows(size: str) -> Iterator[Row]:
    events = EVENTS[size]
    rounds = 3 if size == "full" else 9
    with TemporaryDirectory() as name:
        with big_store(Path(name), events) as store:
            paths = [store.log.place.folder / part.path for part in store.log.head.parts]
            payloads = [payload for rows in store.log.rows() for payload in rows.payloads() if payload is not None]
        there = where(Path(name))
        cpu = time.process_time
        files = ratio("tier 1 against SHA-256 of the files", lambda: verify(there), lambda: hashed(paths), 2.2, rounds=rounds, clock=cpu)
        yield files
        head = whole(verify(there, deep=True))
        yield ratio(
            "tier 1 with a head to compare", lambda: verify(there, seen=[head]), lambda: hashed(paths), None, rounds=rounds, clock=cpu
        )
        yield ratio(
            "tier 2 against SHA-256 of the payloads",
            lambda: verify(there, deep=True),
            lambda: [hashlib.sha256(payload).digest() for payload in payloads],
            9,
            rounds=rounds,
            clock=cpu,
        )
        payloads.clear()
        yield together(there, events)
        yield memory(there, events)
        yield healing(there, paths[1])
    yield from nights(NIGHTS)


def nights(count: int) -> Iterator[Row]:
    """Yield what the heads that were signed in many nights cost whoever opens the log, and whoever audits it."""
    with TemporaryDirectory() as name:
        there = where(Path(name))
        with create(there, now=clock) as store:
            ingest.add(store, [Draft(f"event {night}") for night in range(count)], now=clock, random=os.urandom)
            grown, signer = Tree(), store.log.signer()
            for each in [each for rows in store.log.rows() for each in rows.hashes()]:
                grown.extend([each])
                head = TreeHead(note.log_name(store.origin), grown.size, grown.root())
                raw = note.sign(str(head), head.name, signer).raw
                for folder in (there.store / CHECKPOINTS, there.vault / HEADS):
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / note_name(grown.size)).write_bytes(raw)
        yield Row(f"opening a log of {count:,} heads", median_ms(lambda: open_store(there).close()), unit="ms")
        yield Row(f"audit of a log of {count:,} heads", median_ms(lambda: audited(there), rounds=3), unit="ms")


def audited(there: Places) -> None:
    assert not audit(there, [Area.LOG], log=options(there, settings.load({}))).findings


def together(there: Places, events: int) -> Row:
    """Recompute a million entries, or the same ones over and over, with one process and with two; starting them counts."""
    place = verification.place_of(there)
    told = history(survey(place), entry.genesis(place.origin), keys=len(place.public_keys))
    todo = list(jobs(told, 0, [], deep=True)) * max(EVENTS["full"] // events, 1)

    def spent(workers: int) -> tuple[float, float]:
        """Return how long it took, and the CPU time of this process or of the other, whichever took more."""
        before = cpu()
        wall = timed(lambda: verification.checked(place.folder, todo, workers, lambda done, total: None), time.perf_counter)
        mine, theirs = (now - then for now, then in zip(cpu(), before, strict=True))
        return wall, max(mine, theirs)

    rounds = [(spent(1), spent(2)) for _ in range(3)]  # interleaved, so that a slow minute slows both
    (one, one_alone), (two, two_alone) = (tuple(map(min, zip(*each, strict=True))) for each in zip(*rounds, strict=True))
    note = f"{two:.2f} s against {one:.2f} s; {one_alone / two_alone:.2f} x by the CPU time that each takes"
    return Row("two processes against one, tier 2", one / two, 1.6, at_least=True, note=note)


def cpu() -> tuple[float, float]:
    """Return the CPU seconds of this process, and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), children.ru_utime + children.ru_stime


def memory(there: Places, events: int) -> Row:
    """Verify in a process of its own, and ask the system how much memory it ever had."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.verify", str(there.store.parent)], capture_output=True, text=True, check=True
    )
    return Row(f"memory of an audit of {events:,} events", int(done.stdout) / 1024, MEMORY_MIB_MAX, "MiB")


def healing(there: Places, path: Path) -> Row:
    """Heal a damaged part from a mirror; return how long nobody else can change the store, of the time that one verification takes."""
    copy, held = there.store.with_name("mirror"), list[float]()
    mirror(there, copy)
    real = journal.mutating

    @contextmanager
    def mutating(*given: Any, **named: Any) -> Generator[journal.Turn]:
        start = time.perf_counter()
        with real(*given, **named) as turn:
            yield turn
        held[-1] += time.perf_counter() - start

    verified = []
    for _ in range(4):
        raw = path.read_bytes()
        path.write_bytes(raw[: len(raw) // 2])
        verified.append(timed(lambda: verify(there, deep=True), time.perf_counter))
        held.append(0.0)
        journal.mutating = mutating
        try:
            done = repair(there, Sources(copies=[copy]), confirm=there.origin, now=clock, random=os.urandom)
        finally:
            journal.mutating = real
        assert done.healed
    taken, one = statistics.median(held[1:]), statistics.median(verified[1:])  # the first repair folds, because nothing was folded yet
    return Row("a healing holds the store, of one verification", taken / one, note=f"{taken:.2f} s against {one:.2f} s")


def whole(verdict: Verdict) -> SeenHead:
    assert verdict.root is not None
    return SeenHead(verdict.size, verdict.root, is_external=False)


def hashed(paths: list[Path]) -> list[bytes]:
    return [hashlib.sha256(path.read_bytes()).digest() for path in paths]


def where(folder: Path) -> Places:
    return places(folder / "store", folder / "vault", folder / "root", env={})


if __name__ == "__main__":
    verify(where(Path(sys.argv[1])), deep=True)
    print(peak_kib())
