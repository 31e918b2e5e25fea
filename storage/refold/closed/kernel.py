"""What the kernel can hold a process to, asked of it by ctypes. Each function takes one measure and says whether it holds."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct
import sys
from collections.abc import Callable, Iterator

from refold.closed.closure import Measure
from refold.closed.seccomp import MACHINES, program

LINUX = sys.platform.startswith("linux")
_NO_LINUX = "not Linux"

_SET_DUMPABLE, _SET_SECCOMP, _SET_NO_NEW_PRIVILEGES = 4, 22, 38  # prctl
_SECCOMP_FILTER = 2
_NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_NETWORK = 0x04000000, 0x08000000, 0x10000000, 0x40000000

# Landlock has the same numbers on every machine; which rights there are depends on the version of its interface.
_CREATE_RULESET, _RESTRICT_SELF, _ASK_VERSION = 444, 446, 1
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}  # from this version on, so many bits
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6


class Refused(OSError):
    """The kernel does not do what it was asked."""


def separate() -> Iterator[Measure]:
    """Leave networks, files, users and privileges behind."""
    libc = _libc()
    yield _taken("namespaces", lambda: _unshare(libc))
    yield _taken("no-new-privileges", lambda: _prctl(libc, _SET_NO_NEW_PRIVILEGES, 1))
    yield _taken("not-dumpable", lambda: _prctl(libc, _SET_DUMPABLE, 0))
    yield _taken("landlock", lambda: _landlock(libc))


def limit(memory_max: int) -> Iterator[Measure]:
    """Allow no descriptor more, no process, no core and no byte of a file; and memory up to a bound, where the system counts it."""
    none = ("RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_CORE", "RLIMIT_FSIZE")
    yield _limited("limits", [(name, 0) for name in none])
    yield _limited("memory-limit", [("RLIMIT_AS", memory_max)])


def filter_calls(*, reads: int, writes: int) -> Measure:
    """Allow the system calls that a computation needs and no other, for good. Comes last: it ends what the other measures call."""
    libc = _libc()
    return _taken("seccomp", lambda: _filter(libc, reads, writes))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _taken(name: str, measure: Callable[[], object]) -> Measure:
    if not LINUX:
        return Measure(name, holds=False, why=_NO_LINUX)
    try:
        measure()
    except OSError as error:
        return Measure(name, holds=False, why=error.strerror or "refused")
    return Measure(name, holds=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise Refused(number, errno.errorcode.get(number, str(number)))
    return result


def _prctl(libc: ctypes.CDLL, option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _checked(libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def _unshare(libc: ctypes.CDLL) -> None:
    """Go where there is no network, no shared memory of others, and no user but oneself."""
    _checked(libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC | _NEW_UTS))


def _landlock(libc: ctypes.CDLL) -> None:
    """Give up every right to files, ports and other processes' sockets and signals that this kernel knows."""
    version = _checked(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_ASK_VERSION)))
    files = (1 << max(bits for since, bits in _FILE_RIGHTS.items() if since <= version)) - 1
    rules = struct.pack("=QQQ", files, 3 if version >= _NETWORK_SINCE else 0, 3 if version >= _SCOPES_SINCE else 0)
    size = 24 if version >= _SCOPES_SINCE else 16 if version >= _NETWORK_SINCE else 8
    ruleset = _checked(libc.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(size), ctypes.c_uint(0)))
    try:
        _checked(libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0)))
    finally:
        os.close(ruleset)


def _limited(name: str, limits: list[tuple[str, int]]) -> Measure:
    for limit, most in limits:
        try:
            resource.setrlimit(getattr(resource, limit), (most, most))
        except (AttributeError, ValueError, OSError):
            return Measure(name, holds=False, why=limit)
    return Measure(name, holds=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _filter(libc: ctypes.CDLL, reads: int, writes: int) -> None:
    machine = MACHINES.get(os.uname().machine)
    if machine is None or sys.maxsize < 1 << 32:
        raise Refused(errno.ENOSYS, "no table of this machine's system calls")
    raw = program(machine, reads=reads, writes=writes)
    wanted = _Program(len(raw) // 8, raw)
    zero = ctypes.c_ulong(0)
    _checked(libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_FILTER), ctypes.byref(wanted), zero, zero))
