"""What lies in <vault>/journal, without changing it: the transactions that are not over, and what is no transaction at all.

Anything there is in the way of a change. Reading goes on; appends go on unless the transaction holds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from refold import files
from refold.errors import Blocked, Drifted
from refold.files import Kind
from refold.journal import carry, form, record
from refold.journal.form import Malformed, Unsupported
from refold.journal.record import Identity, Journal
from refold.journal.steps import JOURNAL, LOCK, Places


class Condition(StrEnum):
    """What a name in the journal's folder stands for."""

    UNFINISHED = "unfinished"
    ENDED = "ended, not cleared away"
    UNNAMED = "not begun, or over"  # a folder under a temporary name: it stands for nothing
    MALFORMED = "malformed"
    UNSUPPORTED = "of a format version that this release does not know"
    ORPHANED = "without its journal"
    UNSAFE = "a symbolic link, or no folder, where a transaction should be"
    FOREIGN = "made for another store, under another name, or in another folder"


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in the journal's folder."""

    id: str
    path: Path
    condition: Condition
    journal: Journal | None = None  # where it could be read
    strange: tuple[str, ...] = ()  # names beside it that do not belong there

    @property
    def forbids_changes(self) -> bool:
        """Whether a person must act first: what has ended, and what never began, the next change clears away by itself."""
        return self.condition not in (Condition.ENDED, Condition.UNNAMED)


def folder_of(places: Places) -> Path:
    """Return where the transactions of a store lie."""
    return places.vault / JOURNAL


def entries(places: Places) -> list[Entry]:
    """Return everything that lies in the journal's folder, by name. Raises VerificationIncomplete, NotAllowed."""
    folder = folder_of(places)
    seen = files.look(folder)
    if seen is None:
        return []
    if seen.kind is not Kind.FOLDER:
        return [Entry(JOURNAL, folder, Condition.UNSAFE)]
    found = [_entry(places, folder / name) for name in sorted(files.names(folder))]
    return [entry for entry in found if entry is not None]


def is_running(places: Places) -> bool:
    """Whether a process is changing the store right now."""
    with files.unlocked(places.vault / LOCK) as free:
        return not free


def require_clear(places: Places) -> None:
    """Refuse, before any work is done, a change that an unfinished transaction would refuse in the end. Raises Blocked.

    Where a process is at work right now, nothing is said: whoever goes on waits for it, and is told then.
    """
    with files.unlocked(places.vault / LOCK) as free:
        for entry in entries(places) if free else ():
            if entry.forbids_changes:
                raise blocked(entry)


def settle(places: Places) -> None:
    """Clear away what has ended, and refuse a change while anything else is left. The caller holds the lock. Raises Blocked."""
    found = entries(places)
    if found:
        _sweep(places, found)
        found = entries(places)
    for entry in found:
        raise blocked(entry)


def require_appendable(places: Places) -> None:
    """Refuse an append while a transaction that holds them is unfinished. Raises Blocked."""
    folder = folder_of(places)
    try:
        names = files.names(folder)
    except FileNotFoundError:
        return
    for name in names:
        if files.look(folder / name / record.HOLD) is not None:
            entry = _entry(places, folder / name)
            if entry is not None and entry.forbids_changes:
                raise blocked(entry)


def _sweep(places: Places, found: list[Entry]) -> None:
    """Clear away transactions that have ended and folders of those that never began; what the rules do not let go stays."""
    for entry in found:
        try:
            if entry.condition is Condition.ENDED and entry.journal:
                carry.finish(carry.Work(places, entry.path, entry.journal))
            elif entry.condition is Condition.UNNAMED:
                carry.clear(entry.path)
        except Drifted:
            continue


def blocked(entry: Entry) -> Blocked:
    """Return the error that tells what is in the way."""
    kind = f" ({entry.journal.kind})" if entry.journal else ""
    return Blocked(
        f"a transaction{kind} is {entry.condition}; nothing is changed until it is completed or rolled back",
        path=entry.path,
        details={"transaction_id": entry.id},
        hint="refold recover",
    )


def read(path: Path) -> Journal:
    """Read the journal of a transaction's folder. Raises FileNotFoundError, Malformed, Unsupported."""
    return form.decode(files.read(path / record.NAME))


def _entry(places: Places, path: Path) -> Entry | None:
    """Judge one name. None where it went away meanwhile: its transaction has ended."""
    seen = files.look(path)
    if seen is None:
        return None
    if seen.kind is not Kind.FOLDER:
        return Entry(path.name, path, Condition.UNSAFE)
    is_unnamed = record.ID.fullmatch(path.name.removeprefix(files.TEMPORARY)) is not None and path.name.startswith(files.TEMPORARY)
    if not is_unnamed and not record.ID.fullmatch(path.name):
        return Entry(path.name, path, Condition.FOREIGN)
    try:
        names = files.names(path)
    except FileNotFoundError:
        return None
    strange = tuple(sorted(name for name in names if not carry.belongs(name) or _kind(path / name) is not Kind.FILE))
    try:
        condition, journal = (Condition.UNNAMED, None) if is_unnamed else _judge(places, path, names, Identity.of(seen))
    except FileNotFoundError:
        return None
    return Entry(path.name, path, condition, journal, strange)


def _judge(places: Places, path: Path, names: list[str], folder: Identity) -> tuple[Condition, Journal | None]:
    if any(_kind(path / name) not in (Kind.FILE, None) for name in names if carry.belongs(name)):
        return Condition.UNSAFE, None
    if record.NAME not in names:
        return Condition.ORPHANED, None
    try:
        journal = read(path)
    except Malformed:
        return Condition.MALFORMED, None
    except Unsupported:
        return Condition.UNSUPPORTED, None
    if (journal.id, journal.origin) != (path.name, places.origin) or journal.folder.inode != folder.inode:
        return Condition.FOREIGN, journal
    return Condition.ENDED if journal.phase.is_final else Condition.UNFINISHED, journal


def _kind(path: Path) -> Kind | None:
    seen = files.look(path)
    return seen.kind if seen else None
