"""Reset: take a store away, with its vault and its roots. Only what Refold made goes, each file by its name; anything else stops it.

One transaction removes the files: roots and keys first, so that a reset that was interrupted leaves nothing to read, and no copy is kept.
Then roots in a token are destroyed, the empty places go, and store.json at the very end: as long as it is there, the places can be found
and the reset be run again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from refold import files, journal
from refold.errors import Drifted, StoreMissing, Usage
from refold.files import Kind
from refold.journal import FOLDER, JOURNAL, Place, Step, Target
from refold.keys import custody, epochs, roots, tokens
from refold.keys.vault import READERS_LOCK
from refold.outside import Random
from refold.store import Places

RESET = journal.Kind("reset", blocks_appends=True)
PREFIX_LETTERS_MIN = 6
LOCK_SECONDS_MAX = 5.0
AUTHORITY = "store.json"
LOCKS = (journal.LOCK, READERS_LOCK)

_TEMPORARY = r"\.tmp-[0-9a-f]{16}"
_LOG = rf"commits(/[0-9]{{20}}\.json|/{_TEMPORARY})?|parts(/[0-9]{{20}}-[0-9a-f]{{16}}\.parquet|/{_TEMPORARY})?"
OURS = {
    Place.STORE: re.compile(
        rf"\.gitignore|\.init|(log|calls)(/({_LOG}|turn))?|{_TEMPORARY}"
        rf"|state(/CURRENT|/[0-9]{{12}}|/{_TEMPORARY}|/runs(/[0-9a-f]{{32}}|/{_TEMPORARY})?)?"
        r"|(checkpoints|receipts)(/[a-z0-9._-]+)?|prefect(/.*)?",
        re.DOTALL,
    ),
    Place.VAULT: re.compile(
        rf"keys(/{epochs.FOLDER_NAME.pattern}(/key|/seeds|/batches|/subjects|/shares|/suppressed|/erased|/SEALED|/{_TEMPORARY})?)?"
        rf"|signing(/[0-9]{{6}}\.key|/{_TEMPORARY})?|witness(/log\.json|/keys(/[0-9]{{6}}\.json|/{_TEMPORARY})?|/{_TEMPORARY}|/(heads(-[0-9]{{20}}-[0-9a-f]{{16}})?|command-[a-z0-9-]+)(/[0-9]{{20}}\.note|/{_TEMPORARY})?)?"
        rf"|witness/abandoned(/[0-9a-z.-]+|/{_TEMPORARY})?"
        rf"|cache(/verdict|/{_TEMPORARY})?"
        r"|quarantine(/[0-9a-z.-]+)?"
        rf"|copies(/register|/{_TEMPORARY})?"
        rf"|requests(/[0-9a-f]{{32}}|/{_TEMPORARY})?"
        rf"|dockets(/[0-9a-f]{{32}}|/{_TEMPORARY})?"
        rf"|tokens(/{tokens.NAME.pattern}\.json|/{_TEMPORARY})?"
        rf"|migrate(/(\.tmp-)?[0-9a-f]{{32}}(/move|/records|/source\.[0-9]+|/{_TEMPORARY})?)?"
    ),
    Place.ROOT: re.compile(rf"{roots.FILE_NAME.pattern}|docket\.[0-9a-f]{{32}}|{_TEMPORARY}"),
}


@dataclass(frozen=True, slots=True)
class Survey:
    """What a reset would take away, and what is in its way."""

    files: tuple[Target, ...]
    folders: tuple[Target, ...]
    size: int  # bytes
    unexpected: tuple[Path, ...]

    def count(self, place: Place) -> int:
        """Return how many files go at a place."""
        return sum(target.place is place for target in self.files)


def survey(places: Places) -> Survey:
    """Return what a reset would take away. Changes nothing. Raises StoreMissing, VerificationIncomplete, NotAllowed."""
    if files.look(places.store / AUTHORITY) is None:
        raise StoreMissing("there is no store here", path=places.store, hint="refold init")
    gone: list[Target] = []
    folders: list[Target] = []
    unexpected: list[Path] = []
    size = 0
    for place in (Place.ROOT, Place.VAULT, Place.STORE):
        for path, name, kind, bytes_ in _walk(place.of(places), "", without=_kept(place)):
            target = _target(place, name)
            if target is None or kind not in (Kind.FILE, Kind.FOLDER):
                unexpected.append(path)
            elif kind is Kind.FILE:
                gone.append(target)
                size += bytes_
            else:
                folders.append(target)
    return Survey(tuple(gone), tuple(folders), size, tuple(unexpected))


def reset(places: Places, *, confirm: str, random: Random = os.urandom) -> Survey:
    """Take a store away; return what went. `confirm` is the beginning of its origin.

    Roots in a token have to be reached before anything goes. Raises KeyMissing where they are not,
    Usage, Drifted where anything is there that Refold did not make, Locked while somebody reads, Blocked.
    """
    survey(places)  # before the vault is made: there must be a store
    if len(confirm) < PREFIX_LETTERS_MIN or not places.origin.startswith(confirm.lower()):
        raise Usage(f"this is not the beginning of the store's origin (at least {PREFIX_LETTERS_MIN} letters)", hint="refold reset")
    custody.roots_of(places.vault, places.root, origin=places.origin, random=random).epochs()
    files.make_folder(places.vault)  # where the vault is lost, the transaction still needs its place
    with (
        journal.mutating(places, wait_seconds=LOCK_SECONDS_MAX, random=random) as turn,
        files.lock(places.vault / READERS_LOCK, wait_seconds=LOCK_SECONDS_MAX),
    ):
        found = survey(places)
        if found.unexpected:
            raise _in_the_way(found.unexpected)
        if steps := list(_steps(places, found)):
            turn.commit(RESET, steps)
        _leave(places, random)
    return found


def _walk(folder: Path, inside: str, *, without: Collection[str] = ()) -> Iterator[tuple[Path, str, Kind, int]]:
    """Yield everything under a place, folders after what is in them, without following links."""
    try:
        names = sorted(files.names(folder))
    except FileNotFoundError:
        return
    for name in names:
        path, relative = folder / name, f"{inside}{name}"
        seen = files.look(path)
        if seen is None or relative in without:
            continue
        if seen.kind is Kind.FOLDER:
            yield from _walk(path, f"{relative}/")
        yield path, relative, seen.kind, seen.size


def _target(place: Place, name: str) -> Target | None:
    """Return the target of a name that Refold gives; None for any other."""
    try:
        return Target(place, name) if OURS[place].fullmatch(name) else None
    except ValueError:
        return None


def _kept(place: Place) -> tuple[str, ...]:
    """Return the names that outlive the transaction: what finds and what guards it."""
    return {Place.STORE: (AUTHORITY,), Place.VAULT: (JOURNAL, *LOCKS, custody.NAME), Place.ROOT: ()}[place]


def _steps(places: Places, found: Survey) -> Iterator[Step]:
    """Yield the removals: of each place its files, then its folders, the inner ones first."""
    for place in (Place.ROOT, Place.VAULT, Place.STORE):
        for target in found.files:
            if target.place is place:
                before = journal.digest(files.read(place.of(places) / target.path))
                yield journal.remove(target, before=before, keeps_before=False)
        for target in found.folders:
            if target.place is place:
                yield journal.remove(target, before=FOLDER)


def _leave(places: Places, random: Random) -> None:
    """Remove roots in a token, and the empty places. One that is not empty stays, and so does the store.json by which it is found."""
    kept = custody.roots_of(places.vault, places.root, origin=places.origin, random=random)
    for epoch in sorted(kept.epochs()):
        kept.destroy(epoch)
    files.remove(places.vault / custody.NAME)
    for path in (places.root, places.vault / JOURNAL):
        _remove_empty(path)
    for name in LOCKS:
        files.remove(places.vault / name, sync=False)
    _remove_empty(places.vault)
    files.remove(places.store / AUTHORITY)
    _remove_empty(places.store)


def _remove_empty(path: Path) -> None:
    seen = files.look(path)
    if seen is not None and seen.kind is Kind.FOLDER and not files.remove_folder(path):
        raise Drifted("the folder has gained something that Refold did not make", path=path, hint="refold reset")


def _in_the_way(unexpected: tuple[Path, ...]) -> Drifted:
    more = f" (and {len(unexpected) - 1} more)" if len(unexpected) > 1 else ""
    return Drifted(f"something is there that Refold did not make, so nothing is removed{more}", path=unexpected[0], hint="refold reset")
