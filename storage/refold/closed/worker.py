"""The closed worker as its parent sees it: start it, ask it, and believe nothing that it writes beside the protocol.

    with Worker("refold.fold.worker:answering", given=relations, require=Level.KERNEL) as worker:
        answer = worker.ask(job)

The process is executed anew, never forked to run on, so it inherits no lock, no descriptor, no environment and no memory.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from refold import canonical
from refold.closed.closure import DECLARED, Closure, Level
from refold.closed.frames import HEAD_BYTES, Kind, frame, head
from refold.errors import ClosureBroken, NotAllowed, WorkerFailed

SECONDS_MAX = 120.0  # for one job
START_SECONDS_MAX = 60.0  # of a machine that is busy: three tenths of one otherwise
BYTES_MAX = 256 << 20  # of one job or answer
MEMORY_MAX = 4 << 30  # of address space, where the system counts it
_CHUNK = 1 << 16
_START = "import sys; sys.path.append(sys.argv[1]); from refold.closed.child import main; main()"
# Strings hash alike in every process, or the order of a set would be chance. `-I` would ignore it.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


class Worker:
    """A closed process that computes one function, bytes in and bytes out. For one thread at a time.

    `target` is `module:function` of bytes that returns bytes. With `given`, the target is called with that once, before the process
    closes, and returns the function that answers. `require` refuses a process that is closed less; `up_to` takes fewer measures.
    """

    def __init__(
        self,
        target: str,
        *,
        require: Level | None = None,
        given: bytes | None = None,
        up_to: Level = Level.KERNEL,
        seconds_max: float = SECONDS_MAX,
        bytes_max: int = BYTES_MAX,
        memory_max: int = MEMORY_MAX,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start = {"target": target, "given": None if given is None else given.hex(), "up_to": str(up_to), "memory_max": memory_max}
        self._require, self._seconds_max, self._bytes_max, self._clock = require, seconds_max, bytes_max, clock
        self._process: subprocess.Popen[bytes] | None = None
        self._job = 0
        self.closure: Closure = DECLARED

    def __enter__(self) -> Worker:
        """Start the process, and wait until it has closed itself. Raises NotAllowed where less than `require` holds, WorkerFailed."""
        folder = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-c", _START, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        try:
            ready = self._exchange(Kind.START, canonical.encode(self._start), Kind.READY, START_SECONDS_MAX)
            self.closure = Closure.read(canonical.decode(ready))
            self._check_level()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the process."""
        self.close()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()

    def ask(self, job: bytes) -> bytes:
        """Return what the target answers to a job. Raises ClosureBroken if it reached outside, WorkerFailed if it gave no answer.

        A target that merely raised may be asked again; after anything else the process is ended.
        """
        if self._process is None:
            raise WorkerFailed("the closed worker has ended")
        if len(job) > self._bytes_max:
            raise WorkerFailed(f"a job of {len(job):,} bytes, and at most {self._bytes_max:,} are taken")
        self._job += 1
        return self._exchange(Kind.JOB, job, Kind.ANSWER, self._seconds_max)

    # The pipes

    def _exchange(self, kind: Kind, body: bytes, expected: Kind, seconds_max: float) -> bytes:
        """Send one frame and return the body of the one that answers it."""
        deadline = self._clock() + seconds_max
        try:
            self._refuse_unasked()
            self._send(frame(kind, self._job, body), deadline)
            found, job, answer = self._receive(deadline)
            if found is Kind.REACHED:
                raise ClosureBroken(f"the closed worker reached for {_name(answer)}", hint="refold help closure")
            if job != self._job or found not in (expected, Kind.FAILED):
                raise WorkerFailed("the closed worker wrote beside the protocol")
        except BaseException:
            self.close()
            raise
        if found is Kind.FAILED:
            raise WorkerFailed(f"the closed worker failed: {_name(answer)}")
        return answer

    def _refuse_unasked(self) -> None:
        """Refuse a process that writes what it was not asked for: it could be taken for the next answer."""
        if self._is_ready(self._stdout, selectors.EVENT_READ, 0.0):
            if os.read(self._stdout, 1):
                raise WorkerFailed("the closed worker wrote beside the protocol")
            raise self._ended()

    def _send(self, raw: bytes, deadline: float) -> None:
        os.set_blocking(self._stdin, False)
        rest = memoryview(raw)
        while rest:
            self._await(self._stdin, selectors.EVENT_WRITE, deadline)
            try:
                rest = rest[os.write(self._stdin, rest[:_CHUNK]) :]
            except BrokenPipeError:
                return  # it ended: what it wrote before says why

    def _receive(self, deadline: float) -> tuple[Kind, int, bytes]:
        raw = self._exactly(HEAD_BYTES, deadline)
        try:
            kind, job, length = head(raw)
        except ValueError:
            raise WorkerFailed("the closed worker wrote beside the protocol") from None
        if length > self._bytes_max:
            raise WorkerFailed(f"an answer of {length:,} bytes, and at most {self._bytes_max:,} are taken")
        return kind, job, self._exactly(length, deadline)

    def _exactly(self, size: int, deadline: float) -> bytes:
        read = bytearray()
        while len(read) < size:
            self._await(self._stdout, selectors.EVENT_READ, deadline)
            more = os.read(self._stdout, min(size - len(read), 1 << 20))
            if not more:
                raise self._ended()
            read += more
        return bytes(read)

    def _await(self, descriptor: int, event: int, deadline: float) -> None:
        left = deadline - self._clock()
        if left <= 0 or not self._is_ready(descriptor, event, left):
            raise WorkerFailed("the closed worker did not answer in time")

    def _is_ready(self, descriptor: int, event: int, seconds: float) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            return bool(selector.select(seconds))

    @property
    def _stdin(self) -> int:
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    @property
    def _stdout(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _ended(self) -> ClosureBroken | WorkerFailed:
        """Return what its end says: the kernel's filter ends a process by SIGSYS."""
        assert self._process is not None
        code = self._process.wait()
        if code == -signal.SIGSYS:
            return ClosureBroken("the closed worker made a system call that it may not make, and was stopped", hint="refold help closure")
        how = f"was stopped by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return WorkerFailed(f"the closed worker {how}")

    def _check_level(self) -> None:
        if self._require is None or self.closure.level.rank >= self._require.rank:
            return
        missing = ", ".join(measure.name + (f" ({measure.why})" if measure.why else "") for measure in self.closure.missing(self._require))
        raise NotAllowed(
            f"the closure that this system allows is {self.closure.level}, expected {self._require}: missing {missing}",
            hint="refold help closure",
        )


def _name(raw: bytes) -> str:
    """Return a name that the worker sent: names of ours only, so nothing of what it read can pass this way."""
    text = raw.decode("ascii", "replace")
    allowed = text.isascii() and len(text) <= 200 and all(character.isalnum() or character in "._ ,-" for character in text)
    return text if allowed else "something without a proper name"
