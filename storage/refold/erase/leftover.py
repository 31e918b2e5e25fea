"""Leftovers: files of before that an erasure removes once nothing needs them. No copy of them is kept.

Parts that were replaced, and those of earlier compactions; the generations under the dead epoch; its keyring; and parts in quarantine, for
nobody can say what of a damaged part is whose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from refold import files, journal
from refold.erase import dockets as docketed
from refold.erase import requests as asked
from refold.erase.blank import parts_of
from refold.errors import Corrupt
from refold.journal import FOLDER, Place, Step, Target
from refold.keys import epochs
from refold.log import parts
from refold.log.log import Log
from refold.outside import Clock
from refold.quarantine import QUARANTINE
from refold.state.generation import state_folder
from refold.state.manifest import RUNS, Manifest, file_name, is_run, numbers
from refold.store import Store


def steps(
    store: Store, manifest: Manifest | None, epoch: int, *, seqs: Sequence[int], calls: Sequence[int], is_kept: bool
) -> Iterator[Step]:
    """Yield the removals of an erasure that ends epoch `epoch` and publishes `manifest`; with `is_kept` none in the logs."""
    if not is_kept:
        yield from _parts(store, store.log, seqs)
        if store.calls is not None:
            yield from _parts(store, store.calls, calls)
    yield from _state(store, manifest)
    yield from _keyring(store, epoch)
    yield from _quarantine(store)


def dockets(store: Store, *, but: bytes) -> Iterator[Step]:
    """Yield the removals of all that other erasures were to be certified by: it may speak of whoever is erased now."""
    for request_id in docketed.ids(store):
        if request_id != but:
            yield from _removal(store, Place.ROOT, docketed.key_path(store, request_id).name)
            yield from _removal(store, Place.VAULT, f"{docketed.FOLDER}/{request_id.hex()}")


def requests(store: Store, dropped: Collection[bytes], *, but: bytes, now: Clock) -> Iterator[Step]:
    """Yield the changes by which other requests that name whoever goes say that they are dark, and keep nothing that was sealed in them."""
    for request_id in sorted(dropped):
        known = asked.outline(store, request_id)
        if request_id != but and known.stage not in asked.OVER:
            target = Target(Place.VAULT, f"{asked.FOLDER}/{request_id.hex()}")
            before = journal.digest(files.read(store.places.vault / target.path))
            yield journal.write(target, asked.darkened(known, now=now).raw, before=before, keeps_before=False)


def _parts(store: Store, log: Log, seqs: Sequence[int]) -> Iterator[Step]:
    """Yield the removals of parts that will be replaced, and of those that no list names and that nobody can be writing."""
    head, _ = log.refresh()
    gone = {part.path for part in parts_of(head.parts, seqs)}
    for path in log.debris():
        name = f"{path.parent.name}/{path.name}"
        if parts.PATH.fullmatch(name) and int(path.name[:20]) + 1 < head.size and not files.is_folder(path):
            gone.add(name)
    for name in sorted(gone):
        yield from _removal(store, Place.STORE, f"{log.place.folder.name}/{name}")


def sweep_parts(store: Store) -> None:
    """Remove parts of writers that died before their commit, or lost their race to the fence: the log has their numbers by now.

    The transaction leaves those that somebody may have been writing when it was prepared. The caller holds mutate.lock, under which alone
    other parts below the end of a log are written.
    """
    for log in (store.log, store.calls) if store.calls is not None else (store.log,):
        size = log.refresh()[0].size
        for path in log.debris():
            if parts.PATH.fullmatch(f"{path.parent.name}/{path.name}") and int(path.name[:20]) < size and not files.is_folder(path):
                files.remove(path)


def _state(store: Store, manifest: Manifest | None) -> Iterator[Step]:
    folder = state_folder(store)
    for name in sorted(files.names(folder)) if files.is_folder(folder) else ():
        if name.startswith(files.TEMPORARY):  # of whoever died while it published: the lock for that is held
            yield from _removal(store, Place.STORE, f"{folder.name}/{name}")
    living, number = (manifest.runs, manifest.pointer.number) if manifest else (set(), None)
    for name in sorted(files.names(folder / RUNS)) if files.is_folder(folder / RUNS) else ():
        if is_run(name) and name not in living:
            yield from _removal(store, Place.STORE, f"{folder.name}/{RUNS}/{name}")
    for older in numbers(files.names(folder)):
        if older != number:
            yield from _removal(store, Place.STORE, f"{folder.name}/{file_name(older)}")


def _keyring(store: Store, epoch: int) -> Iterator[Step]:
    """Yield the removals of the keyrings up to an epoch: dark already, for their roots are gone."""
    keys = store.vault.keys
    for name in sorted(files.names(keys)):
        found = epochs.FOLDER_NAME.fullmatch(name)
        if found and int(found[1]) <= epoch and files.is_folder(keys / name):
            for file in sorted(files.names(keys / name)):
                yield from _removal(store, Place.VAULT, f"{keys.name}/{name}/{file}")
            yield journal.remove(Target(Place.VAULT, f"{keys.name}/{name}"), before=FOLDER)


def _quarantine(store: Store) -> Iterator[Step]:
    folder = store.places.vault / QUARANTINE
    for name in sorted(files.names(folder)) if files.is_folder(folder) else ():
        if parts.PATH.fullmatch(f"parts/{name.rpartition('.')[0]}"):
            yield from _removal(store, Place.VAULT, f"{QUARANTINE}/{name}")


def _removal(store: Store, place: Place, path: str) -> Iterator[Step]:
    """Yield the removal of a file; none where it went away meanwhile."""
    where: Path = place.of(store.places) / path
    try:
        before = journal.digest(files.read(where))
    except FileNotFoundError:
        return
    except Corrupt:
        return  # a folder, or a link: nothing of ours
    yield journal.remove(Target(place, path), before=before, keeps_before=False)
