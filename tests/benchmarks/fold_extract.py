"""What it costs to read an event: extraction and the gate, against merely splitting the same texts into words."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from refold.fold.ground import fold_batch
from refold.model import Event
from tests.benchmarks import Row, ratio
from tests.fold.said import event, shipped

# A third of these state something, as in a chat with an assistant.
TURNS = (
    "I live in Munich and work at Acme as a data engineer.",
    "My sister Ruth moved to Hamburg last month, she works at Otto now.",
    "Actually, I don't like coffee any more.",
    "Remind me to call the dentist tomorrow.",
    "How do I sort a list of tuples by the second element?",
    "Thanks, that works!",
    "Can you explain the difference between a process and a thread?",
    "The build fails with a strange error on line 42, see the log below.",
    "It rained all day so we stayed inside and watched the fire.",
    "What should I cook tonight with leeks and potatoes?",
    "Write a haiku about autumn leaves.",
    "The report is due on Friday and nobody has started yet.",
)
WORDS = re.compile(r"\w+|\S")


def _batch(size: int) -> list[tuple[Event, bytes]]:
    return [(event(TURNS[seq % len(TURNS)], seq=seq), bytes(32)) for seq in range(size)]


def rows(size: str) -> Iterator[Row]:
    """Yield the time per event, how many a second that is, and the ratio to splitting into words."""
    batch = _batch(60_000 if size == "full" else 1_200)
    shipped().grammar  # noqa: B018  # compiled on first use, which is not what is measured
    yield ratio(
        "read events / split them into words",
        lambda: fold_batch(batch, shipped()),
        lambda: [WORDS.findall(said.text.lower()) for said, _ in batch],
        160,
        rounds=5,
        clock=time.process_time,
    )
    begin = time.process_time()
    fold_batch(batch, shipped())
    taken = (time.process_time() - begin) / len(batch)
    yield Row("processor time to read one short event", taken * 1e6, None, "µs")
    yield Row("events read a second by one core", 1 / taken, None, "events/s")
