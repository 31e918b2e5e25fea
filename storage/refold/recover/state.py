"""Auditing the state: what CURRENT names, all of it there, on this log, under living keys. A damaged state costs a fold, no knowledge.

Whatever else lies there is called debris only where CURRENT and its manifest can be read: nothing is an orphan because of damage.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from refold import files
from refold.errors import Corrupt, KeyMissing, RefoldError, StoreMissing, UnsupportedVersion, Usage
from refold.files import Kind
from refold.recover import findings
from refold.recover.findings import Finding
from refold.state.manifest import CURRENT, RUNS, Manifest, Pointer, RunRef, file_name
from refold.state.runs import Run, is_framed
from refold.state.tables import TABLES
from refold.store import Places, Store, open_store


def look(places: Places, *, deep: bool, opened: Store | None = None) -> Iterator[Finding]:
    """Yield what is wrong with the state, of a store that may be open already. `deep` reads every run whole.

    Raises VerificationIncomplete, NotAllowed.
    """
    folder = places.store / "state"
    unsafe = list(_unsafe(folder))
    yield from unsafe
    pointer = yield from _current(folder, unsafe)
    if pointer is None:
        return
    if opened is not None:
        yield from _judge(opened, folder, pointer, deep=deep)
        return
    try:
        store = open_store(places)
    except (KeyMissing, Usage, StoreMissing):
        yield Finding(findings.NOT_JUDGED, folder)
        return
    except Corrupt as error:
        yield _log_damaged(places, error)
        return
    with store:
        yield from _judge(store, folder, pointer, deep=deep)


def _unsafe(folder: Path) -> Iterator[Finding]:
    """Find what is neither a file nor a folder, and a folder or file where the other should be."""
    for path, name in _listed(folder):
        seen = files.look(path)
        wanted = Kind.FOLDER if name == RUNS else Kind.FILE
        if seen is not None and seen.kind is not wanted:
            yield Finding(findings.STATE_UNSAFE, path, details={"found": seen.kind.value})


def _listed(folder: Path) -> Iterator[tuple[Path, str]]:
    for parent in (folder, folder / RUNS):
        seen = files.look(parent)
        if seen is not None and seen.kind is Kind.FOLDER:
            for name in sorted(files.names(parent)):
                yield parent / name, name


def _current(folder: Path, unsafe: list[Finding]) -> Generator[Finding, None, Pointer | None]:
    """Read CURRENT; the value of this generator is the pointer, or None where there is none to follow."""
    path = folder / CURRENT
    if any(finding.path == path for finding in unsafe):
        return None
    try:
        return Pointer.read(files.read(path), path=path)
    except FileNotFoundError:
        return None  # nothing was folded yet
    except UnsupportedVersion:
        yield Finding(findings.STATE_UNSUPPORTED, path)
    except Corrupt:
        yield Finding(findings.CURRENT_DAMAGED, path)
    return None


def _judge(store: Store, folder: Path, pointer: Pointer, *, deep: bool) -> Iterator[Finding]:
    """Compare the state with the keys and the log, then its files with its manifest."""
    if pointer.epoch != store.keyring.epoch:
        yield Finding(findings.STATE_DARK, folder / CURRENT, details={"state": pointer.epoch, "live": store.keyring.epoch})
        return
    yield from _on_log(store, folder, pointer)
    path = folder / file_name(pointer.number)
    try:
        manifest = Manifest.unseal(files.read(path), store.keyring.state_key, number=pointer.number, path=path)
        if manifest.pointer != pointer:
            raise Corrupt("CURRENT does not say what its manifest says")
    except UnsupportedVersion:
        yield Finding(findings.STATE_UNSUPPORTED, path)
        return
    except (Corrupt, FileNotFoundError):
        yield Finding(findings.MANIFEST_DAMAGED, path)
        return
    for table, run in manifest.listed:
        yield from _run(store, folder / RUNS / run.name, table, run, deep=deep)
    debris = sum(name not in ({CURRENT, RUNS, path.name} | manifest.runs) for _, name in _listed(folder))
    if debris:
        yield Finding(findings.DEBRIS, folder, details={"files": debris})


def _on_log(store: Store, folder: Path, pointer: Pointer) -> Iterator[Finding]:
    """Find a state that knows more than the log has, or something else."""
    head = store.log.head
    if pointer.size > head.size:
        yield Finding(findings.AHEAD, folder / CURRENT, details={"folded": pointer.size, "log": head.size})
        return
    try:
        last = head.last_hash if pointer.size == head.size else _hash_at(store, pointer.size)
    except Corrupt as error:
        yield _log_damaged(store.places, error)
        return
    if pointer.size and pointer.last_hash != last:
        yield Finding(findings.OTHER_HISTORY, folder / CURRENT, details={"folded": pointer.size})


def _hash_at(store: Store, size: int) -> bytes:
    """Return the hash of the last entry below a size."""
    for rows in store.log.rows(size - 1, size) if size else ():
        return rows.batch.column("entry_hash")[-1].as_py()
    return b""


def _run(store: Store, path: Path, table: str, run: RunRef, *, deep: bool) -> Iterator[Finding]:
    seen = files.look(path)
    if seen is None or (seen.kind is Kind.FILE and seen.size != run.size):
        found = "nothing" if seen is None else f"{seen.size} bytes"
        yield Finding(findings.RUN_DAMAGED, path, details={"found": found, "expected": f"{run.size} bytes"})
    elif deep and seen.kind is Kind.FILE:
        try:
            opened = Run(path, state_key=store.keyring.state_key, table=TABLES[table])
            opened.read()
            opened.close()
            is_whole = is_framed(files.read(path))
        except Corrupt:
            is_whole = False
        if not is_whole:
            yield Finding(findings.RUN_DAMAGED, path, details={"found": "other bytes"})


def _log_damaged(places: Places, error: RefoldError) -> Finding:
    return Finding(findings.LOG_DAMAGED, Path(error.path) if error.path else places.store / "log", details={"found": error.message})
