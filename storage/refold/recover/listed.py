"""Auditing the log where nobody asked to read it: its files by name and size, and what is kept of the last time it was read.

Reading it costs what the log is large; listing it what its files are many. What a listing cannot see, a flipped bit, it does not deny:
whoever lists says so, and since when there is a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from refold import files
from refold.errors import Blocked, Corrupt, KeyMissing, UnsupportedVersion
from refold.files import Kind
from refold.log import stored, witnessed
from refold.log.head import Head, has_begun, newest
from refold.log.stored import Stored
from refold.recover import logs
from refold.recover.verify import CALLS, calls_of, place_of
from refold.store import Places, vault_of


@dataclass(frozen=True, slots=True)
class Listed:
    """A log that was listed and not read, and the last verdict on it: a hint, which proves nothing of now."""

    files: int  # live parts, of the log and of the recorded calls
    size: int  # entries of the log
    last: Stored | None  # None: it was never judged


def look(places: Places) -> Listed | None:
    """List the log and the recorded calls; None where that is not enough, because something is not as it was signed, or was not.

    Raises VerificationIncomplete, NotAllowed.
    """
    try:
        stored.require_intact(places.vault, places.store)
        vault = vault_of(places)
        log = newest(place_of(places))
        calls = newest(calls_of(places)) if has_begun(places.store / CALLS) else None
    except (Blocked, Corrupt, KeyMissing, UnsupportedVersion, FileNotFoundError):
        return None  # who reads the log says what is wrong with it
    if [*logs.other(places)] or witnessed.beyond(vault, log.size):
        return None
    if not _is_there(places.store / "log", log) or (calls and not _is_there(places.store / CALLS, calls)):
        return None
    return Listed(len(log.parts) + (len(calls.parts) if calls else 0), log.size, stored.read(places.vault))


def _is_there(folder: Path, head: Head) -> bool:
    """Whether a file of the size that was signed lies under the name of every live part."""
    looked = ((files.look(f"{folder}/{part.path}"), part.size) for part in head.parts)
    return all(seen is not None and seen.kind is Kind.FILE and seen.size == size for seen, size in looked)
