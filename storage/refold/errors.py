"""The one error tree. Every failure a person can meet is one of these; the command line turns it into an envelope.

    RefoldError                 1   internal        a fault of ours, or a disk that refuses
    ├── WriteFailed             1   internal        the disk is full or refuses to write; nothing was acknowledged
    ├── WorkerFailed            1   internal        the closed worker gave no answer
    ├── Usage                   2   usage           the call, a file handed in, or the place named is not usable as it is
    │   ├── StoreMissing        2   usage           there is no store here
    │   └── UnsupportedVersion  2   usage           a format version this release does not know
    ├── Blocked                10   blocker         something unfinished forbids changes until it is completed or rolled back
    ├── Locked                 11   locked          another process holds what this call needs
    ├── KeyMissing             12   key             a vault, root or key is lost or destroyed
    ├── Corrupt                13   corrupt         bytes that are not what was signed or sealed
    ├── Drifted                14   drifted         a target is neither in its recorded before nor in its after
    ├── ModelFailed            15   model           a language model did not answer, or not usably
    │   ├── Undeclared         15   model           something was about to reach a model that the run does not declare
    │   └── NotRecorded        15   model           a replay needs an answer that was never recorded, or is dark
    ├── NotAllowed             16   not-allowed     the principal, or the operating system, forbids it
    │   ├── SubjectErased      16   not-allowed     whom this names was erased, and was not readmitted
    │   └── ClosureBroken      16   not-allowed     what should read its input alone reached for something else
    └── VerificationIncomplete 17   incomplete      something could not be read, so nothing is claimed of it

A message says what was found and what was expected: lower case, no full stop, and never content, names or keys. Each error has a code
of its own, which no finding of an audit has.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import ClassVar


class RefoldError(Exception):
    """A failure with an exit code, the place it concerns, and what to run next."""

    exit_code: ClassVar[int] = 1
    exit_class: ClassVar[str] = "internal"
    code: ClassVar[str] = "RF-INTERNAL-001"

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        entry_id: str | None = None,
        hint: str | None = None,
        details: dict[str, int | str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = None if path is None else str(path)
        self.entry_id = entry_id
        self.hint = hint
        self.details = details or {}


class WriteFailed(RefoldError):
    """The disk is full or refuses to write. What was acknowledged before stays."""

    code = "RF-WRITE-001"


class WorkerFailed(RefoldError):
    """The closed worker gave no answer: it raised, ran out of time or memory, or ended."""

    code = "RF-WORKER-001"


class Usage(RefoldError):
    """The call, or a file handed in, is not usable as it is."""

    exit_code = 2
    exit_class = "usage"
    code = "RF-USAGE-001"


class StoreMissing(Usage):
    """There is no store at the place named."""

    code = "RF-USAGE-002"


class UnsupportedVersion(Usage):
    """The store, or a file in it, has a format version that this release does not know."""

    code = "RF-USAGE-003"


class Blocked(RefoldError):
    """Something unfinished forbids changes until a person completes it or rolls it back."""

    exit_code = 10
    exit_class = "blocker"
    code = "RF-BLOCKED-001"


class Locked(RefoldError):
    """Another process holds what this call needs: a lock, or an open fence."""

    exit_code = 11
    exit_class = "locked"
    code = "RF-LOCKED-001"


class KeyMissing(RefoldError):
    """The vault, the root or a key that this needs is lost or was destroyed."""

    exit_code = 12
    exit_class = "key"
    code = "RF-MISSING-001"


class Corrupt(RefoldError):
    """Bytes that are not what was signed or sealed."""

    exit_code = 13
    exit_class = "corrupt"
    code = "RF-CORRUPT-001"


class Drifted(RefoldError):
    """A target is neither in its recorded before nor in its recorded after."""

    exit_code = 14
    exit_class = "drifted"
    code = "RF-DRIFT-001"


class ModelFailed(RefoldError):
    """A language model did not answer, or not usably."""

    exit_code = 15
    exit_class = "model"
    code = "RF-MODEL-001"


class Undeclared(ModelFailed):
    """Something was about to reach a language model that the run does not declare. It was not sent."""

    code = "RF-MODEL-002"


class NotRecorded(ModelFailed):
    """A replay needs the answer to a request that was never recorded, or whose recording is dark."""

    code = "RF-MODEL-003"


class NotAllowed(RefoldError):
    """The principal or the operating system forbids it."""

    exit_code = 16
    exit_class = "not-allowed"
    code = "RF-ACCESS-001"


class SubjectErased(NotAllowed):
    """Whom this names was erased, and nobody has readmitted them: nothing new can be about them."""

    code = "RF-ERASED-001"


class ClosureBroken(NotAllowed):
    """The closed worker reached for what it may not have. Its answer is not taken."""

    code = "RF-CLOSURE-001"


class VerificationIncomplete(RefoldError):
    """Something could not be read, so nothing is claimed of it. Not corruption."""

    exit_code = 17
    exit_class = "incomplete"
    code = "RF-INCOMPLETE-001"


def fault(error: BaseException) -> str:
    """Describe an error that is not ours to raise by its type and the place in our code: never by its words, which may quote content."""
    where, trace = "", error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.split(".")[0] in ("refold", "flows"):
            where = f" in {module}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return type(error).__name__ + where


def worded(error: Exception) -> RefoldError:
    """Return an error as one of the tree: itself, or where no room has put it into words, the system's or a fault of our own."""
    if isinstance(error, RefoldError):
        return error
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return NotAllowed("the system forbids it", path=error.filename)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return WriteFailed("the disk is full or refuses", path=error.filename)
    if isinstance(error, FileNotFoundError) and error.filename and not Path(os.fsdecode(error.filename)).parent.exists():
        return gone(os.fsdecode(error.filename))
    return RefoldError(f"a fault of refold's own: {fault(error)}")


def gone(path: Path | str) -> StoreMissing:
    """Return what is said where a folder that was there when the memory was opened is not there any more."""
    message = "a folder of the memory is not there any more: somebody moved or deleted it while it was in use"
    return StoreMissing(message, path=Path(path).parent, hint="refold audit")
