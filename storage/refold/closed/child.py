"""The process inside: import what is needed, close, say so, and answer until the pipe ends.

It is started by `refold.closed.worker`, never imported by anything else: what it does to its process is final.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module

from refold import canonical
from refold.closed import kernel, tripwire
from refold.closed.closure import Closure, Level, Measure
from refold.closed.frames import HEAD_BYTES, Kind, frame, head
from refold.errors import fault

Answer = Callable[[bytes], bytes]
JOBS, ANSWERS = 3, 4  # descriptors: the only two that are left
_DESCRIPTORS_MAX = 1 << 16


def main() -> None:
    """Serve one target for the life of this process."""
    os.dup2(0, JOBS)
    os.dup2(1, ANSWERS)
    os.dup2(2, 1)  # nothing: whatever an import prints must not stand among the answers
    pipes = _Pipes()
    try:
        serve(pipes, *start(pipes))
    except EOFError:
        pipes.end(0)
    except Exception as error:
        pipes.send(Kind.FAILED, fault(error).encode())
    pipes.end(1)


class _Pipes:
    """The two pipes, with functions that are held here before they are taken from everybody else."""

    def __init__(self) -> None:
        self._read, self._write, self.end = os.read, os.write, os._exit
        self.job = 0

    def receive(self) -> bytes:
        _, self.job, length = head(self._exactly(HEAD_BYTES))
        return self._exactly(length)

    def send(self, kind: Kind, body: bytes) -> None:
        rest = memoryview(frame(kind, self.job, body))
        while rest:
            rest = rest[self._write(ANSWERS, rest) :]

    def reached(self, what: str) -> None:
        self.send(Kind.REACHED, what.encode("utf-8", "replace"))

    def _exactly(self, size: int) -> bytes:
        read = bytearray()
        while len(read) < size:
            more = self._read(JOBS, min(size - len(read), 1 << 20))
            if not more:
                raise EOFError
            read += more
        return bytes(read)


def start(pipes: _Pipes) -> tuple[Answer, Callable[[], object]]:
    """Load the target and close this process; return the target, and what sets chance back before each job."""
    wanted = canonical.decode(pipes.receive())
    answer = _load(wanted["target"], wanted["given"])
    seeded = sys.modules.get("random")
    reseed: Callable[[], object] = (lambda seed=seeded.seed: seed(0)) if seeded else (lambda: None)
    measures = [*_close(pipes, Level(wanted["up_to"]), wanted["memory_max"])]
    pipes.send(Kind.READY, canonical.encode(Closure(tuple(measures)).rows()))
    return answer, reseed


def _load(target: str, given: str | None) -> Answer:
    module, _, name = target.partition(":")
    found = getattr(import_module(module), name)
    return found if given is None else found(bytes.fromhex(given))


def _close(pipes: _Pipes, up_to: Level, memory_max: int) -> Iterator[Measure]:
    """Close this process. What comes later is needed by nothing that came before, and the hook is armed while `import` still works."""
    os.environ.clear()
    sys.argv[:], sys.path[:] = [], []
    yield Measure("process", holds=True)
    yield Measure("environment", holds=True)
    os.closerange(0, JOBS)
    os.closerange(ANSWERS + 1, _DESCRIPTORS_MAX)
    sys.stdin = sys.stdout = sys.stderr = None
    yield Measure("descriptors", holds=True)
    if up_to is Level.KERNEL:
        yield from kernel.separate()
    yield from kernel.limit(memory_max)
    if up_to is Level.KERNEL:
        yield kernel.filter_calls(reads=JOBS, writes=ANSWERS)
    yield from tripwire.disarm(pipes.reached)
    for name in [name for name in sys.modules if name.split(".")[0] in ("ctypes", "_ctypes", "gc", "resource")]:
        del sys.modules[name]
    tripwire.arm(pipes.reached)
    yield Measure("hook", holds=True)


def serve(pipes: _Pipes, answer: Answer, reseed: Callable[[], object]) -> None:
    """Answer jobs until there are no more. Raises EOFError."""
    while True:
        job = pipes.receive()
        reseed()
        try:
            answered = answer(job)
        except Exception as error:
            pipes.send(Kind.FAILED, fault(error).encode())
        else:
            pipes.send(Kind.ANSWER, answered)
