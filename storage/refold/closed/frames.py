"""What goes over the two pipes: `kind u8 ‖ job u32be ‖ length u32be ‖ body`, the same in both directions."""

from __future__ import annotations

import struct
from enum import IntEnum

_HEAD = struct.Struct(">BII")
HEAD_BYTES = _HEAD.size


class Kind(IntEnum):
    """What a frame carries. A worker is sent START and JOB, and answers with the others."""

    START = 1  # canonical JSON: the target, what it is given, and the limits
    JOB = 2
    READY = 3  # canonical JSON: the measures that hold
    ANSWER = 4
    FAILED = 5  # the target raised: the type of the error and the place in our code, never its words
    REACHED = 6  # the target reached for what it may not have: the name of the event or function


def frame(kind: Kind, job: int, body: bytes) -> bytes:
    """Return one frame."""
    return _HEAD.pack(kind, job, len(body)) + body


def head(raw: bytes) -> tuple[Kind, int, int]:
    """Read the head of a frame: kind, job, length of the body. Raises ValueError."""
    kind, job, length = _HEAD.unpack(raw)
    return Kind(kind), job, length
