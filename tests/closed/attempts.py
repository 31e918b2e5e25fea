# ruff: noqa: PTH109, PTH115, PTH116, PTH123, PTH208, SIM115
"""Attempts to get out of a closed worker. Each returns what it got hold of, or nothing; it runs inside, and swallows what it can.

The modules are imported, and libc is bound, before the worker closes: no attempt is stopped merely by the import of what it uses.
"""

from __future__ import annotations

import _random
import contextlib
import ctypes
import datetime
import gc
import mmap
import os
import random
import resource
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from multiprocessing import shared_memory
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
# Bound here, because looking a function up later is seen.
C_OPEN, C_SOCKET, C_TIME, C_RANDOM, C_CLOCK = LIBC.open, LIBC.socket, LIBC.time, LIBC.getrandom, LIBC.clock_gettime
C_PTRACE, C_KILL, C_SYSCALL, C_GETPID, C_WRITE, C_STAT = LIBC.ptrace, LIBC.kill, LIBC.syscall, LIBC.getpid, LIBC.write, LIBC.access
C_GETENV, C_MMAP, C_FORK, C_FCNTL, C_PARENT = LIBC.getenv, LIBC.mmap, LIBC.fork, LIBC.fcntl, LIBC.getppid
C_GETENV.restype = ctypes.c_char_p
C_MMAP.restype = ctypes.c_void_p
_PARAMETERS = ctypes.create_string_buffer(120)
_TIME = ctypes.create_string_buffer(16)
_KEPT: list[int] = []
_ANSWERS = 4

Attempt = Callable[[], object]
ATTEMPTS: dict[str, Attempt] = {}


def attempt(what: str) -> Callable[[Attempt], Attempt]:
    """Enter an attempt under the words that the table has for it."""

    def enter(function: Attempt) -> Attempt:
        ATTEMPTS[what] = function
        return function

    return enter


def answer(job: bytes) -> bytes:
    """Make one attempt; return what it got as text, and nothing where it got nothing."""
    try:
        got = ATTEMPTS[job.decode()]()
    except (NameError, TypeError):  # a fault of the attempt itself, which would look like a closed door
        raise
    except Exception:
        return b""
    return got if isinstance(got, bytes) else b"" if got is None or got is False else repr(got).encode()


ATTEMPTS.update(
    {
        # Files
        "open a file to read": lambda: open("/etc/passwd").read(),
        "open a file to write": lambda: open("/tmp/refold-closed-escape", "w").write("x"),
        "open /proc/self/mem": lambda: os.open("/proc/self/mem", os.O_RDWR),
        "os.stat": lambda: os.stat("/etc/passwd"),
        "os.access": lambda: os.access("/", os.R_OK),
        "os.listdir": lambda: os.listdir("/"),
        "os.readlink": lambda: os.readlink("/proc/self/exe"),
        "pathlib's exists": lambda: Path("/").exists(),
        "the working directory": lambda: os.getcwd(),
        "a descriptor that was inherited": lambda: os.fstat(5) or os.fstat(2),
        "memfd_create": lambda: os.memfd_create("x"),
        "a pipe": lambda: os.pipe(),
        # The network
        "connect a socket": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
        "bind a socket": lambda: socket.socket().bind(("127.0.0.1", 0)),
        "a unix socket": lambda: socket.socket(socket.AF_UNIX),
        "a socket pair": lambda: socket.socketpair(),
        "resolve a name": lambda: socket.getaddrinfo("localhost", 80),
        "the name of the host": lambda: socket.gethostname(),
        # Processes
        "subprocess": lambda: subprocess.run(["true"]),
        "os.system": lambda: os.system("true"),
        "os.fork": lambda: os.fork(),
        "os.execv": lambda: os.execv("/bin/true", ["true"]),
        "os.posix_spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "send a signal to another process": lambda: os.kill(1, 0),
        "send a signal to oneself": lambda: signal.raise_signal(signal.SIGUSR1),
        "handle a signal": lambda: signal.signal(signal.SIGUSR1, lambda *_: None),
        "set a timer": lambda: signal.setitimer(signal.ITIMER_REAL, 1),
        "the process id": lambda: os.getpid(),
        "start a thread": lambda: threading.Thread(target=print).start() or "started",
        "shared memory": lambda: shared_memory.SharedMemory(create=True, size=16),
        "map a shared page": lambda: mmap.mmap(-1, 4096)[:1],
        # The environment
        "os.environ": lambda: dict(os.environ) or None,
        "the command line": lambda: sys.argv or sys.path or None,
        "getenv of libc": lambda: C_GETENV(b"PATH") or C_GETENV(b"HOME"),
        "the machine": lambda: os.uname(),
        "the user": lambda: os.getuid() or "root",
        "which Python this is, and where": lambda: sys.version + sys.executable,
        # The clock
        "time.time": lambda: time.time(),
        "time.monotonic": lambda: time.monotonic(),
        "time.perf_counter": lambda: time.perf_counter(),
        "time.sleep": lambda: time.sleep(0.001) or "slept",
        "datetime.now": lambda: datetime.datetime.now(),
        "date.today": lambda: datetime.date.today(),
        "os.times": lambda: os.times(),
        "resource usage": lambda: resource.getrusage(resource.RUSAGE_SELF),
        # Chance
        "os.urandom": lambda: os.urandom(8),
        "random.random": lambda: random.random(),
        "random.Random() made anew": lambda: random.Random().random(),
        "the generator under random, made anew": lambda: _random.Random().random(),
        "random.SystemRandom": lambda: random.SystemRandom().random(),
        "uuid.uuid1": lambda: uuid.uuid1(),
        "uuid.uuid4": lambda: uuid.uuid4(),
        "secrets": lambda: secrets.token_bytes(8),
        "the hash of a string": lambda: hash("a string"),
        "the order of a set of strings": lambda: list({"a", "b", "c", "d"}),
        "id()": lambda: id(object()),
        "the address in a repr": lambda: repr(object()),
        # The interpreter
        "import a module that is not loaded yet": lambda: __import__("colorsys"),
        "sys.settrace": lambda: sys.settrace(lambda *_: None) or "set",
        "sys._getframe": lambda: sys._getframe(1),
        "walk to the audit hook by gc": lambda: gc.get_objects(),
        "add an audit hook": lambda: sys.addaudithook(lambda *_: None) or "added",
        "load a library": lambda: ctypes.CDLL("libm.so.6"),
        "look up a function of libc": lambda: LIBC.getuid,
        "compile code": lambda: eval("1 + 1"),
        "print": lambda: print("x", flush=True) or (sys.stdout and "printed"),
        # libc, below everything that Python sees
        "libc: open": lambda: C_OPEN(b"/etc/passwd", 0) >= 0,
        "libc: access": lambda: C_STAT(b"/", 0) == 0,
        "libc: socket": lambda: C_SOCKET(2, 1, 0) >= 0,
        "libc: time": lambda: C_TIME(None),
        "libc: getrandom": lambda: C_RANDOM(_TIME, 8, 0) == 8 and _TIME.raw,
        "libc: getpid": lambda: C_GETPID(),
        "libc: kill": lambda: C_KILL(C_PARENT(), 0) == 0,
        "libc: ptrace": lambda: C_PTRACE(0, 0, 0, 0) == 0,
        "libc: a descriptor beside the two": lambda: any(C_FCNTL(each, 1) >= 0 for each in (0, 1, 2, 5, 6, 7)),
        "libc: io_uring_setup": lambda: C_SYSCALL(425, 1, _PARAMETERS) >= 0,
        "libc: memory that can be executed": lambda: C_MMAP(None, 4096, 7, 0x22, -1, 0) not in (None, 2**64 - 1),
        # Too much
        "an answer of 16 MiB where 1 MiB is taken": lambda: bytes(16 << 20),
        "memory without end": lambda: bytearray(1 << 40),
        "end the process": lambda: os._exit(0),
    }
)


@attempt("libc: clock_gettime")
def clock_of_libc() -> object:
    return C_CLOCK(0, _TIME) == 0 and _TIME.raw


@attempt("libc: fork")
def fork_of_libc() -> object:
    child = C_FORK()
    if child == 0:
        os._exit(0)
    return child > 0


@attempt("a clock kept in a default argument")
def kept_clock(clock: Callable[[], float] = time.time) -> object:
    return clock()


@attempt("swallow the refusal and go on")
def swallow() -> object:
    with contextlib.suppress(BaseException):
        open("/etc/passwd")
    return "went on"


@attempt("walk to the loop outside by a traceback")
def frames() -> object:
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame if error.__traceback__ else None
    while frame is not None and "pipes" not in frame.f_locals:
        frame = frame.f_back
    return frame is not None and "found the loop"


@attempt("take back the record by way of the loop's frame")
def take_back() -> object:
    with contextlib.suppress(BaseException):
        open("/etc/passwd")
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame if error.__traceback__ else None
    while frame is not None and "pipes" not in frame.f_locals:
        frame = frame.f_back
    if frame is not None:
        frame.f_locals["pipes"].send = lambda *_: None
    return "took it back"


@attempt("write an answer of one's own to the pipe")
def forge() -> object:
    C_WRITE(_ANSWERS, b"\x04\x00\x00\x00\x01\x00\x00\x00\x06forged", 15)
    return b"in time"


@attempt("write to standard output by its descriptor")
def write_out() -> object:
    return C_WRITE(1, b"x", 1) == 1


@attempt("a loop without end")
def loop() -> object:
    while True:
        pass


@attempt("recursion without end")
def recursion() -> object:
    return recursion()


@attempt("leave something in memory for the next job")
def keep() -> object:
    _KEPT.append(1)
    return len(_KEPT) > 1 and "found what an earlier job left"
