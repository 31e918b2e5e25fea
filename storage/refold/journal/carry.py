"""Carrying out: each step moves its target from one recorded side to the other, and is looked at right before and right after.

Steps that are done already are only made durable again, so that going over them twice ends where going once does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from refold import files
from refold.errors import Drifted, VerificationIncomplete
from refold.files import Kind
from refold.journal import form, record
from refold.journal.record import Journal, Phase, Recorded, RecordedChange, RecordedCommit, Side, Slice
from refold.journal.steps import AUTHORITIES, CommitLog, Intents, Nothing, OpenStore, Places
from refold.journal.targets import HINT, Standing, compare, path_of


@dataclass(slots=True)
class Work:
    """A transaction under way: its record, the folder that holds it, and an open store where it commits to a log."""

    places: Places
    folder: Path
    journal: Journal
    store: OpenStore | None = None
    intents: Intents = field(default_factory=dict)
    kept: dict[int, bytes] = field(default_factory=dict)  # files of artifacts that this process itself wrote
    read: dict[int, bytes] = field(default_factory=dict)  # files of artifacts as they are on disk

    def enter(self, phase: Phase) -> None:
        """Record durably how far it is."""
        self.save(self.journal.at(phase))

    def save(self, journal: Journal) -> None:
        """Make a record the transaction's own, durably."""
        files.replace(self.folder / record.NAME, form.encode(journal))
        self.journal = journal

    def artifact(self, copy: Slice, digest: str) -> bytes:
        """Return kept bytes. Raises Drifted where they are not those that were kept."""
        if copy.file in self.kept:
            return self.kept[copy.file][copy.start : copy.start + copy.size]
        path = self.folder / record.artifacts(copy.file)
        if copy.file not in self.read:
            seen = files.look(path)
            self.read[copy.file] = files.read(path) if seen is not None and seen.kind is Kind.FILE else b""
        data = self.read[copy.file][copy.start : copy.start + copy.size]
        if len(data) != copy.size or self.journal.digest(data) != digest:
            raise Drifted("the bytes kept for a step are not there, or not those that were kept", path=path, hint=HINT)
        return data


def forward(work: Work, first: int = 0) -> None:
    """Carry out the staged steps from `first` on. Raises Drifted and whatever a disk or a log refuses with."""
    unsynced: set[Path] = set()
    for at, step in enumerate(work.journal.steps[first : work.journal.staged], first):
        if _needs_what_is_before_it(step):
            _sync(unsynced)
        if isinstance(step, RecordedCommit):
            _commit(work, step)
        else:
            _move(work, at, step, Standing.AFTER, unsynced)
        if step.point_of_no_return:
            _sync(unsynced)
    _sync(unsynced)


def backward(work: Work) -> None:
    """Take the staged steps back, the last first. Raises as `forward` does."""
    unsynced: set[Path] = set()
    for at, step in reversed(list(enumerate(work.journal.steps[: work.journal.staged]))):
        if _needs_what_is_before_it(step):
            _sync(unsynced)
        if isinstance(step, RecordedCommit):
            _take_back(work, step)
        else:
            _move(work, at, step, Standing.BEFORE, unsynced)
    _sync(unsynced)


def is_committed(work: Work, step: RecordedCommit) -> bool:
    """Whether the log has the commit of a step."""
    return _log(work).committed(step.txn, after=step.after)


def is_undone(work: Work, step: RecordedCommit) -> bool:
    """Whether the log has the commit that answers the commit of a step."""
    return _log(work).committed(work.journal.undoing(step.txn), after=step.after)


def finish(work: Work, unseen: int | None = None) -> None:
    """Take away the record of a transaction that has ended, if every target is as it was left. Raises Drifted.

    Who has just looked at the steps from `unseen` on looks at those before it alone.
    """
    goal = Standing.BEFORE if work.journal.phase.goes_back else Standing.AFTER
    for step in work.journal.steps[:unseen]:
        if isinstance(step, RecordedChange):
            standing, how = compare(work.places, work.journal, step)
            if standing is not goal:
                raise Drifted(_differs(how), path=path_of(work.places, step.target), hint=HINT)
    _check_contents(work.folder)
    unnamed_folder = unnamed(work.folder)
    files.rename_folder(work.folder, unnamed_folder)
    clear(unnamed_folder)


def unnamed(folder: Path) -> Path:
    """Return where a transaction's folder lies before it has begun and after it has ended: under a name that stands for nothing."""
    return folder.with_name(files.TEMPORARY + folder.name)


def clear(folder: Path) -> None:
    """Remove a folder that is no transaction's any more, if nothing is in it that does not belong there. Raises Drifted."""
    for name in _check_contents(folder):
        files.remove(folder / name, sync=False)
    if not files.remove_folder(folder, sync=False):
        raise Drifted("something came into the folder of a transaction", path=folder, hint=HINT)


def _check_contents(folder: Path) -> list[str]:
    """Return the names in the folder of a transaction. Raises Drifted where one does not belong there."""
    names = sorted(files.names(folder))
    for name in names:
        if not belongs(name) or (seen := files.look(folder / name)) is None or seen.kind is not Kind.FILE:
            raise Drifted("something is in the folder of a transaction that does not belong there", path=folder / name, hint=HINT)
    return names


def belongs(name: str) -> bool:
    """Whether a name may stand in the folder of a transaction."""
    return name in (record.NAME, record.HOLD) or name.startswith(files.TEMPORARY) or record.ARTIFACTS.fullmatch(name) is not None


def _needs_what_is_before_it(step: Recorded) -> bool:
    """Whether a step must not last unless all before it do: a log commit, the authority, a point of no return."""
    return isinstance(step, RecordedCommit) or step.point_of_no_return or step.target in AUTHORITIES


def _move(work: Work, at: int, step: RecordedChange, goal: Standing, unsynced: set[Path]) -> None:
    """Give a target its recorded side."""
    path = path_of(work.places, step.target)
    temporary = path.with_name(work.journal.temporary(at))
    side, other = (step.after, step.before) if goal is Standing.AFTER else (step.before, step.after)
    standing, how = compare(work.places, work.journal, step)
    if standing is Standing.DRIFTED:
        raise Drifted(_differs(how), path=path, hint=HINT)
    if files.look(temporary) is not None:
        files.remove(temporary, sync=False)
    if standing is not goal:
        _make(work, path, side, temporary, new=other.is_absent, was_folder=other.what is Nothing.FOLDER)
        standing, how = compare(work.places, work.journal, step)
        if standing is not goal:
            raise Drifted(_differs(how or "it did not become what it should"), path=path, hint=HINT)
    unsynced.add(path.parent)
    unsynced.discard(path)


def _make(work: Work, path: Path, side: Side, temporary: Path, *, new: bool, was_folder: bool) -> None:
    if side.what is Nothing.FOLDER:
        files.add_folder(path, mode=side.mode)
    elif side.what is None:
        assert side.copy is not None  # the assessment saw to that
        files.put(path, work.artifact(side.copy, side.digest), mode=side.mode, temporary=temporary, new=new)
    elif not was_folder:
        files.remove(path, sync=False)
    elif not files.remove_folder(path, sync=False):
        raise Drifted("the folder has gained something that was not there", path=path, hint=HINT)


def _commit(work: Work, step: RecordedCommit) -> None:
    if not is_committed(work, step):
        work.intents[step.intent].run(_open(work), step.txn, work.artifact(step.copy, step.digest))
        if not is_committed(work, step):
            raise VerificationIncomplete("the log does not have the commit that was just made", hint="refold help damage")


def _take_back(work: Work, step: RecordedCommit) -> None:
    if is_committed(work, step) and not is_undone(work, step):
        undo = work.intents[step.intent].undo
        assert undo is not None  # the assessment saw to that
        undo(_open(work), work.journal.undoing(step.txn), work.artifact(step.copy, step.digest))


def _open(work: Work) -> OpenStore:
    assert work.store is not None, "a transaction with a log commit needs an open store"
    return work.store


def _log(work: Work) -> CommitLog:
    return _open(work).log


def _sync(folders: set[Path]) -> None:
    for folder in sorted(folders):
        if files.look(folder) is not None:  # a folder that a later step removed is synced by its parent
            files.sync_folder(folder)
    folders.clear()


def _differs(how: str) -> str:
    return f"a target is neither what was recorded before nor after: {how}"
