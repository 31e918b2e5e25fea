"""Mirrors: copies of a store at other places that follow it. A mirror is read and verified like the store itself, by digest.

Each is create-only: parts that a compaction replaced stay in it, and no run removes or replaces anything. A log that does not continue
what its mirror holds is refused: so a mirror also remembers how far the log once came.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from refold import files
from refold.copies import bring, folder
from refold.copies.folder import Copy
from refold.errors import Usage
from refold.log import witnessed
from refold.log.commit import FORMAT
from refold.log.head import Place, has_begun, newest
from refold.store import AUTHORITY, CALLS, Places, own_vault

LOG = "log"  # each store has it; that of the calls begins with the first of them
LOGS = {LOG: FORMAT, "calls": CALLS}


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What one run brought to a mirror."""

    path: Path
    version: int  # the newest commit that the mirror holds
    entries: int
    files: int  # new ones
    size: int  # bytes of them


def mirror(places: Places, where: Path, *, deep: bool = False, must_exist: bool = False) -> Mirrored:
    """Bring to a mirror what is new. `deep` also reads what it holds already.

    With `must_exist` a folder that is no mirror yet is refused: its disk may not be there. Raises Usage, Locked, Corrupt, WriteFailed.
    """
    folder.require_apart(where, places)
    if must_exist and folder.kind_of(where, places.origin) is None:
        raise Usage("there is no mirror of this store here, or its disk is not there", path=where, hint="refold mirror DIR")
    folder.claim(where, Copy.MIRROR, places.origin)
    with files.lock(where, wait_seconds=0):
        done = copy_store(places, where, deep=deep)
    return Mirrored(where, done.head.version, done.head.size, done.files, done.size)


def copy_store(places: Places, where: Path, *, deep: bool = False) -> bring.Brought:
    """Bring the logs and what stands beside them to a folder that was claimed, and is held by a lock.

    Raises Corrupt where the log has lost its end: it would be told apart from a whole one no more.
    """
    vault = own_vault(places, random=_no_random)
    witnessed.require_reached(vault, newest(Place(places.store / LOG, places.origin, vault.public_keys)).size)
    bring.bring_file(places.store / AUTHORITY, where / AUTHORITY)
    listed = bring.aside(places.store)  # before the head is read: so the log that is brought has whatever they speak of
    done = [
        bring.bring_log(
            Place(places.store / name, places.origin, vault.public_keys, known),
            Place(where / name, places.origin, vault.public_keys, known),
            deep=deep,
        )
        for name, known in LOGS.items()
        if name == LOG or has_begun(places.store / name)
    ]
    whole = done[0]
    for more in done[1:]:
        whole += (more.files, more.size)
    return whole + bring.bring_aside(places.store, where, listed)


def _no_random(size: int) -> bytes:
    raise AssertionError("a copy draws nothing")
