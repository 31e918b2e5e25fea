"""The filter allows what it says on each machine, and nothing else: its program is run here, instruction by instruction."""

from __future__ import annotations

import struct

import pytest

from refold.closed.seccomp import MACHINES, Machine, program

READS, WRITES = 3, 4
ALLOW, KILL, NOT_PERMITTED = 0x7FFF0000, 0x80000000, 0x00050001
ANONYMOUS, PRIVATE, READ_WRITE, EXECUTE = 0x20, 0x02, 3, 4


def verdict(machine: Machine, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Return what the kernel would do with a system call: the five instructions that the program uses, as its documentation has them."""
    data = struct.pack("<IIQ6Q", number, architecture or machine.architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    instructions = [*struct.iter_unpack("=HBBI", program(machine, reads=READS, writes=WRITES))]
    at, register = 0, 0
    while True:
        code, if_true, if_false, constant = instructions[at]
        at += 1
        if code == 0x06:
            return constant
        if code == 0x20:
            (register,) = struct.unpack_from("<I", data, constant)
            continue
        holds = {0x15: register == constant, 0x45: bool(register & constant)}[code]
        at += if_true if holds else if_false


@pytest.fixture(params=sorted(MACHINES))
def machine(request) -> Machine:
    return MACHINES[request.param]


def test_what_is_neither_harmless_nor_one_of_the_two_pipes_is_ended(machine: Machine):
    allowed = {number for number in range(1000) if verdict(machine, number) == ALLOW}
    refused = {number for number in range(1000) if verdict(machine, number) == NOT_PERMITTED}
    assert allowed == set(machine.harmless)
    assert refused == set(machine.clocks)
    assert verdict(machine, 1 << 20) == KILL


def test_only_the_two_pipes_are_read_and_written(machine: Machine):
    assert [each for each in range(100) if verdict(machine, machine.read, each) == ALLOW] == [READS]
    assert [each for each in range(100) if verdict(machine, machine.write, each) == ALLOW] == [WRITES]


def test_memory_is_mapped_only_if_it_is_of_no_file_and_not_executed(machine: Machine):
    assert verdict(machine, machine.mmap, 0, 4096, READ_WRITE, ANONYMOUS | PRIVATE) == ALLOW
    assert verdict(machine, machine.mmap, 0, 4096, READ_WRITE, PRIVATE) == KILL
    assert verdict(machine, machine.mmap, 0, 4096, READ_WRITE | EXECUTE, ANONYMOUS | PRIVATE) == KILL


def test_another_calling_convention_is_ended(machine: Machine):
    assert verdict(machine, machine.harmless[0], architecture=0x40000003) == KILL
    assert verdict(machine, 0x40000000 + machine.harmless[0]) == KILL  # x32


def test_the_numbers_are_those_of_the_machine():
    x86, arm = MACHINES["x86_64"], MACHINES["aarch64"]
    assert (x86.read, x86.write, x86.mmap, arm.read, arm.write, arm.mmap) == (0, 1, 9, 63, 64, 222)
    assert len({*x86.harmless, x86.read, x86.write, x86.mmap}) == len(x86.harmless) + 3
    assert {2, 41, 56, 57, 59, 62, 101, 318, 425}.isdisjoint(x86.harmless)  # open, socket, clone, fork, execve, kill, ptrace, ...
    assert {56, 198, 220, 221, 129, 117, 278, 425}.isdisjoint(arm.harmless)
