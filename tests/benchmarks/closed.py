"""What closing costs: starting a worker, and asking it against calling the same function in process."""

from __future__ import annotations

from collections.abc import Iterator

from refold.closed import fold as closed
from refold.closed.closure import Level
from refold.closed.worker import Worker
from refold.fold.ground import fold_batch
from tests.benchmarks import Row, median_ms, ratio
from tests.benchmarks.fold_extract import TURNS
from tests.fold.said import event, shipped

JOB_LIMIT_MS = 1.0


def rows(size: str) -> Iterator[Row]:
    """Yield the time to start, the overhead of a small job, and the ratio for a batch of events."""
    batch = [(event(TURNS[seq % len(TURNS)], seq=seq), bytes(32)) for seq in range(8_192 if size == "full" else 1_024)]

    def started() -> None:
        with Worker("base64:b64encode"):
            pass

    yield Row("start a closed worker", median_ms(started, rounds=5), None, "ms", note="once for a fold")
    with Worker("base64:b64encode") as worker:
        hundred = median_ms(lambda: [worker.ask(b"job") for _ in range(100)])
    yield Row("ask for a job of three bytes", hundred / 100, JOB_LIMIT_MS, "ms")
    with closed.folding(shipped(), require=Level.TRIPWIRE) as (fold_events, level):
        yield ratio(
            f"read {len(batch):,} events in a closed worker / in process",
            lambda: fold_events(batch),
            lambda: fold_batch(batch, shipped()),
            2.0,
            rounds=5,
            note=f"closure level {level}",
        )
