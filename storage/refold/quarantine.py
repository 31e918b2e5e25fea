"""Quarantine: damaged files are moved to the vault, under their names and the beginning of their digests, by the transaction that heals.

Nothing is cut short and nothing is thrown away: whoever knows more of the disk can look at them there.
"""

from __future__ import annotations

from collections.abc import Iterator

from refold import files, journal
from refold.journal import Place, Step, Target
from refold.store import Places

QUARANTINE = "quarantine"
DIGEST_LETTERS = 16


def folder(places: Places) -> Iterator[Step]:
    """Yield the step that makes the folder, where it is not there."""
    if files.look(places.vault / QUARANTINE) is None:
        yield journal.add_folder(Target(Place.VAULT, QUARANTINE))


def keep(places: Places, path: str, raw: bytes) -> Iterator[Step]:
    """Yield the step that keeps the bytes of a damaged file of the store, where they are not kept already."""
    target = Target(Place.VAULT, f"{QUARANTINE}/{path.rpartition('/')[2]}.{journal.digest(raw).hex()[:DIGEST_LETTERS]}")
    if files.look(places.vault / target.path) is None:
        yield journal.write(target, raw)


def replace(places: Places, path: str, good: bytes) -> Iterator[Step]:
    """Yield the steps that put good bytes in the place of a file of the store, which is kept in quarantine first."""
    target = Target(Place.STORE, path)
    try:
        raw = files.read(places.store / path)
    except FileNotFoundError:
        yield journal.write(target, good)
        return
    yield from keep(places, path, raw)
    yield journal.write(target, good, before=journal.digest(raw))


def remove(places: Places, path: str) -> Iterator[Step]:
    """Yield the steps that move a file of the store to quarantine."""
    raw = files.read(places.store / path)
    yield from keep(places, path, raw)
    yield journal.remove(Target(Place.STORE, path), before=journal.digest(raw))
