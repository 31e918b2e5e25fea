"""Sweep: remove generations that are no longer current and runs that nothing refers to, once nobody can be reading them.

What stands there under such a name and is a folder is nobody's of ours: it stays, and an audit says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from refold import files
from refold.errors import Corrupt, Locked, UnsupportedVersion
from refold.state.manifest import RUNS, Manifest, file_name, is_run, numbers

if TYPE_CHECKING:
    from refold.store import Store


def sweep(store: Store, current: Manifest, *, before: int) -> int:
    """Remove what `current` has replaced; return how many files went. The caller holds `mutate.lock`.

    A run of an older generation goes at once if no query is running, else at a later publish. A run that no manifest
    names may belong to a builder at work: it goes when it was written before `before` (µs).
    """
    folder = store.places.store / "state"
    try:
        with files.lock(store.vault.readers_lock, wait_seconds=0):
            return _remove_older(folder, current, store.keyring.state_key) + _remove_debris(folder, current, before)
    except Locked:
        return 0


def _remove_older(folder: Path, current: Manifest, state_key: bytes) -> int:
    """Remove the runs of other generations, then their manifests: in this order, so that a crash leaves nothing without a name."""
    removed = 0
    for number in numbers(files.names(folder)):
        path = folder / file_name(number)
        if number != current.pointer.number and not files.is_folder(path):
            removed += remove_runs(folder, _runs_of(path, state_key, number) - current.runs)
            files.remove(path)
            removed += 1
    return removed


def _remove_debris(folder: Path, current: Manifest, before: int) -> int:
    names = {name for name in files.names(folder / RUNS) if is_run(name) or name.startswith(files.TEMPORARY)}
    return remove_runs(folder, {name for name in names - current.runs if _written_at(folder / RUNS / name) < before})


def remove_runs(folder: Path, names: Iterable[str]) -> int:
    """Remove runs by their names; return how many."""
    gone = sorted(name for name in names if not files.is_folder(folder / RUNS / name))
    for name in gone:
        files.remove(folder / RUNS / name, sync=False)
    if gone:
        files.sync_folder(folder / RUNS)
    return len(gone)


def _runs_of(path: Path, state_key: bytes, number: int) -> set[str]:
    """Return what an older manifest names; nothing if it does not open: then its runs count as debris."""
    try:
        return Manifest.unseal(files.read(path), state_key, number=number, path=path).runs
    except (Corrupt, UnsupportedVersion, FileNotFoundError):
        return set()


def _written_at(path: Path) -> int:
    try:
        return files.written_at(path)
    except FileNotFoundError:
        return 0
