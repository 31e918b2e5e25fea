"""Functions for a worker to compute, written for the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from refold.closed.frames import Kind, frame

print("printed while it was imported", flush=True)  # must not stand among the answers
print("and so to standard error", file=sys.stderr, flush=True)


def echo(job: bytes) -> bytes:
    return job


def with_suffix(suffix: bytes) -> Callable[[bytes], bytes]:
    return lambda job: job + suffix


def always(answer: bytes) -> Callable[[bytes], bytes]:
    return lambda _: answer


def failing(job: bytes) -> bytes:
    if job == b"fail":
        raise ValueError("what Ruth said")
    return job


def descriptors(job: bytes) -> bytes:
    return os.read(int(job), 1)


def forging(job: bytes, write: Callable[[int, bytes], int] = os.write) -> bytes:
    """Answer this job, and the next one before it is asked."""
    write(4, frame(Kind.ANSWER, 1, b"this one") + frame(Kind.ANSWER, 2, b"the next one"))
    return job


def hungry(job: bytes) -> bytes:
    return bytes(int(job))


def stuck(job: bytes) -> bytes:
    while job != b"":
        pass
    return b""


def growing(job: bytes) -> bytes:
    """Add up one large list: what a computation needs of memory and of the collector."""
    made: list[object] = [[number] for number in range(int(job))]
    made.append(made)
    del made
    return b"done"
