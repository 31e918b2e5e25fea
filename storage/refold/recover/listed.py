"""Auditing the log where nobody asked to read it: its files by name and size, and what is kept of the last time it was read.

Reading it costs what the log is large; listing it what its files are many. What a listing cannot see, a flipped bit, it does not deny:
whoever lists says so, and since when there is a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from refold import files
from refold.errors import Blocked, Corrupt, UnsupportedVersion
from refold.files import Kind
from refold.log import stored
from refold.log.head import Head
from refold.log.stored import Stored
from refold.store import Store


@dataclass(frozen=True, slots=True)
class Listed:
    """A log that was listed and not read, and the last verdict on it: a hint, which proves nothing of now."""

    files: int  # live parts, of the log and of the recorded calls
    size: int  # entries of the log
    last: Stored | None  # None: it was never judged


def look(store: Store) -> Listed | None:
    """List the log and the recorded calls; None where that is not enough, because something is not as it was signed, or was not.

    Raises VerificationIncomplete, NotAllowed.
    """
    if store.log.is_copy:
        return None  # the verdict that is kept is on the store
    try:
        stored.require_intact(store.vault.path, store.places.store)
        logs = [store.log, store.calls] if store.calls else [store.log]
    except (Blocked, Corrupt, UnsupportedVersion):
        return None  # who reads the log says what is wrong with it
    if store.log.lost or not all(_is_there(log.place.folder, log.head) for log in logs):
        return None
    return Listed(sum(len(log.head.parts) for log in logs), store.log.head.size, stored.read(store.vault.path))


def _is_there(folder: Path, head: Head) -> bool:
    """Whether a file of the size that was signed lies under the name of every live part."""
    looked = ((files.look(f"{folder}/{part.path}"), part.size) for part in head.parts)
    return all(seen is not None and seen.kind is Kind.FILE and seen.size == size for seen, size in looked)
