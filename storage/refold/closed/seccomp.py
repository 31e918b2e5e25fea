"""The system calls that a computation needs, as a filter of the kernel (seccomp-bpf). Whatever else it calls ends the process.

Numbers from the kernel's tables for each machine; the form of the program from Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _NOT_PERMITTED = 0x7FFF0000, 0x80000000, 0x00050001
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_PROT_EXEC, _MAP_ANONYMOUS = 4, 0x20

_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


@dataclass(frozen=True, slots=True)
class Machine:
    """The numbers of one machine."""

    architecture: int  # AUDIT_ARCH_*, so that no other calling convention passes
    read: int
    write: int
    mmap: int
    harmless: tuple[int, ...]  # memory, locks, the end: none of them reaches out of the process
    clocks: tuple[int, ...]  # refused, but not fatal: taking a lock asks for the time, and does without it


MACHINES = {
    "x86_64": Machine(
        0xC000003E,
        read=0,
        write=1,
        mmap=9,
        # clock_gettime, gettimeofday, time
        clocks=(228, 96, 201),
        # munmap, brk, rt_sigreturn, mremap, madvise, exit, futex, restart_syscall, exit_group
        harmless=(11, 12, 15, 25, 28, 60, 202, 219, 231),
    ),
    "aarch64": Machine(
        0xC00000B7,
        read=63,
        write=64,
        mmap=222,
        # clock_gettime, gettimeofday
        clocks=(113, 169),
        # exit, exit_group, futex, restart_syscall, rt_sigreturn, brk, munmap, mremap, madvise
        harmless=(93, 94, 98, 128, 139, 214, 215, 216, 233),
    ),
}


def program(machine: Machine, *, reads: int, writes: int) -> bytes:
    """Return the filter as an array of `struct sock_filter`: it reads from one descriptor, writes to one, and maps plain memory."""
    instructions: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in machine.harmless:
        instructions += _where(number, [(_RETURN, 0, 0, _ALLOW)])
    for number in machine.clocks:
        instructions += _where(number, [(_RETURN, 0, 0, _NOT_PERMITTED)])
    for number, descriptor in ((machine.read, reads), (machine.write, writes)):
        instructions += _where(number, [_argument(0), (_EQUAL, 0, 1, descriptor), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _KILL_PROCESS)])
    instructions += _where(
        machine.mmap,
        [
            _argument(2),
            (_ANY_BIT, 2, 0, _PROT_EXEC),
            _argument(3),
            (_ANY_BIT, 1, 0, _MAP_ANONYMOUS),
            (_RETURN, 0, 0, _KILL_PROCESS),
            (_RETURN, 0, 0, _ALLOW),
        ],
    )
    instructions.append((_RETURN, 0, 0, _KILL_PROCESS))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _where(number: int, block: list[_Instruction]) -> Iterable[_Instruction]:
    """Return a block that is entered for one system call; each path of it ends."""
    return [(_EQUAL, 0, len(block), number), *block]


def _argument(index: int) -> _Instruction:
    """Load the low half of an argument: descriptors and flags have no more, on a little-endian machine."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)
