"""Transactions: a list of steps is recorded, prepared and carried out, and an interruption leaves a record to go on from.

    planned      steps, and every byte that is needed to go on or to go back, are gathered in a folder without a name
    prepared     all of that is durable
    committing   the folder has its name: from here targets may have changed
    committed    every target is as it should be; the record is cleared away

One process at a time: whoever changes more than one commit or one pointer holds `mutate.lock` from before the first look to the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from refold import files
from refold.errors import Drifted, RefoldError
from refold.journal import carry, form, record, recovery, scan, steps, targets
from refold.journal.carry import Work
from refold.journal.record import Identity, Journal, Phase, Recorded, RecordedChange, RecordedCommit, Slice, artifacts, side
from refold.journal.steps import ABSENT, FOLDER, NO_INTENTS, Change, Intents, Kind, LogCommit, Nothing, OpenStore, Place, Places, Step
from refold.journal.targets import HINT, Found
from refold.outside import Random

ID_BYTES = 16
KEY_BYTES = 32


def commit(
    places: Places,
    kind: Kind,
    changes: Sequence[Step],
    *,
    store: OpenStore | None = None,
    intents: Intents = NO_INTENTS,
    random: Random = os.urandom,
) -> None:
    """Carry out steps as one change that survives its own interruption.

    `store` is the open store, where steps commit to its log, and `intents` says how. Raises Blocked where something is unfinished,
    Drifted where a target is not what the verb took it for, and what a disk refuses with; once targets may have changed, the hint names
    the transaction.
    """
    with mutating(places, random=random) as turn:
        turn.commit(kind, changes, store=store, intents=intents)


@contextmanager
def mutating(places: Places, *, wait_seconds: float | None = None, random: Random = os.urandom) -> Generator[Turn, None, None]:
    """Hold the right to change the store: no other process does, and nothing is unfinished. Raises Locked, Blocked."""
    with files.lock(places.vault / steps.LOCK, wait_seconds=wait_seconds):
        scan.settle(places)
        yield Turn(places, random)


class Turn:
    """The right to change the store, as long as it is held."""

    def __init__(self, places: Places, random: Random) -> None:
        self._places = places
        self._random = random
        self._has_begun = False

    def commit(self, kind: Kind, changes: Sequence[Step], *, store: OpenStore | None = None, intents: Intents = NO_INTENTS) -> None:
        """Carry out steps as one transaction. See `commit`."""
        self.begin(kind, store=store, intents=intents).carry_out(changes, last=True)

    def begin(self, kind: Kind, *, store: OpenStore | None = None, intents: Intents = NO_INTENTS) -> Transaction:
        """Return a transaction whose steps come in several lists, because the later ones depend on what the earlier ones did.

        Raises Blocked where an earlier one of this turn has not ended.
        """
        if self._has_begun:
            scan.settle(self._places)  # the one before must have ended
        self._has_begun = True
        return Transaction(self._places, kind, store=store, intents=intents, random=self._random)


class Transaction:
    """One transaction under way, within a turn."""

    def __init__(self, places: Places, kind: Kind, *, store: OpenStore | None, intents: Intents, random: Random) -> None:
        self._places = places
        self._kind = kind
        self._store = store
        self._intents = intents
        self._random = random
        self._work: Work | None = None

    def carry_out(self, changes: Sequence[Step], *, last: bool) -> None:
        """Record, prepare and carry out steps. Until the `last` ones are recorded, the transaction can only be rolled back."""
        steps.check(changes, self._work.journal.targets if self._work else ())
        journal = self._work.journal if self._work else self._new_journal()
        first, number = len(journal.steps), 1 + _last_file(journal) if self._work else 0
        recorded, kept = plan(self._places, journal, changes, number=number, version=self._version(), intents=self._intents)
        extends = self._work is not None
        work = self._work = self._work or self._begin(journal, recorded, kept, last=last)
        try:
            if extends:
                self._extend(work, recorded, kept, number=number, last=last)
            carry.forward(work, first)
            if last:
                work.enter(Phase.COMMITTED)
                carry.finish(work, first)
        except RefoldError as error:
            error.hint = f"{HINT} --transaction-id {work.journal.id}"
            raise

    def roll_back(self) -> None:
        """Take back what was carried out, where the verb itself finds that it must not go on."""
        if self._work is not None:
            recovery.turn_back(self._work)

    def _new_journal(self) -> Journal:
        return Journal(
            id=self._random(ID_BYTES).hex(),
            kind=self._kind.name,
            origin=self._places.origin,
            key=self._random(KEY_BYTES),
            phase=Phase.COMMITTING,
            steps=(),
            staged=0,
            whole=False,
            places={place: _identity(place, self._places) for place in Place},
            folder=Identity(0, 0),
        )

    def _begin(self, journal: Journal, recorded: Sequence[Recorded], kept: bytes, *, last: bool) -> Work:
        """Make the record and what it needs durable, then give them their name. An error up to here changes nothing."""
        folder = scan.folder_of(self._places) / journal.id
        unnamed = carry.unnamed(folder)
        files.make_folder(folder.parent)
        files.add_folder(unnamed, mode=steps.FOLDER_MODE)
        try:
            seen = files.look(unnamed)
            assert seen is not None
            journal = replace(journal, folder=Identity.of(seen), steps=tuple(recorded), staged=len(recorded), whole=last)
            hold = [(unnamed / record.HOLD, b"")] if self._kind.blocks_appends else []
            contents = [*hold, (unnamed / artifacts(0), kept), (unnamed / record.NAME, form.encode(journal))]
            files.create_all(unnamed, contents)
            files.rename_folder(unnamed, folder)
        except RefoldError:
            with suppress(RefoldError, OSError):  # the first error is the one to tell
                if files.look(folder) is not None:
                    files.rename_folder(folder, unnamed)
                carry.clear(unnamed)
            raise
        return Work(self._places, folder, journal, self._store, self._intents, {0: kept})

    def _extend(self, work: Work, recorded: Sequence[Recorded], kept: bytes, *, number: int, last: bool) -> None:
        work.save(replace(work.journal, steps=(*work.journal.steps, *recorded), whole=last))
        files.create(work.folder / artifacts(number), kept)
        work.kept[number] = kept
        work.save(replace(work.journal, staged=len(work.journal.steps)))

    def _version(self) -> int:
        return self._store.log.head.version if self._store is not None else 0


def plan(
    places: Places, journal: Journal, changes: Sequence[Step], *, number: int, version: int, intents: Intents
) -> tuple[list[Recorded], bytes]:
    """Look at every target; return the steps as they are recorded, and the bytes to keep for them. Raises Drifted."""
    kept: list[bytes] = []
    size = 0

    def keep(data: bytes) -> Slice:
        nonlocal size
        kept.append(data)
        size += len(data)
        return Slice(number, size - len(data), len(data))

    made = {step.target for step in changes if isinstance(step, Change) and step.after is FOLDER} | journal.folders_of_its_own
    recorded: list[Recorded] = []
    for step in changes:
        if isinstance(step, LogCommit):
            if step.intent not in intents:
                raise ValueError(f"nothing was handed in for the intent {step.intent}")
            recorded.append(_recorded_commit(step, journal, keep, version))
        else:
            recorded.append(_recorded_change(step, places, journal, keep, parent_is_made=step.target.parent in made))
    return recorded, b"".join(kept)


def _recorded_commit(step: LogCommit, journal: Journal, keep: Callable[[bytes], Slice], version: int) -> RecordedCommit:
    return RecordedCommit(step.txn, step.intent, journal.digest(step.data), keep(step.data), version, step.point_of_no_return)


def _recorded_change(
    step: Change, places: Places, journal: Journal, keep: Callable[[bytes], Slice], *, parent_is_made: bool
) -> RecordedChange:
    found = targets.find(places, step.target)
    if not _is(found, step.before) or (found.parent is None and not parent_is_made):
        path = targets.path_of(places, step.target)
        raise Drifted("a target is not what the change was planned for", path=path, hint="refold status")
    copy = keep(found.data) if found.what is None and step.keeps_before else None
    after = side(step.after, step.mode, journal, keep(step.data) if isinstance(step.after, bytes) else None)
    return RecordedChange(
        target=step.target,
        before=side(step.before, found.mode, journal, copy),
        after=after,
        parent=None if parent_is_made and found.parent is None else found.parent,
        identity=found.identity if step.after is ABSENT else None,
        point_of_no_return=step.point_of_no_return,
    )


def _is(found: Found, content: bytes | Nothing) -> bool:
    return found.what is content if isinstance(content, Nothing) else found.what is None and steps.digest(found.data) == content


def _identity(place: Place, places: Places) -> Identity | None:
    seen = files.look(place.of(places), follow=True)
    return Identity.of(seen) if seen else None


def _last_file(journal: Journal) -> int:
    return max((copy.file for step in journal.steps for copy, _ in step.copies), default=0)
