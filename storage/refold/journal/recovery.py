"""Recovery: what an interrupted transaction can still become, and carrying it there.

Nothing is touched before every target has been compared with what was recorded, and before the direction is durable. The direction is
final: what began to complete is completed, what began to go back goes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from refold import files
from refold.errors import Blocked, Drifted, RefoldError, Usage
from refold.files import Kind
from refold.journal import carry, record, scan, steps, targets
from refold.journal.carry import Work
from refold.journal.record import Phase, Recorded, RecordedChange, RecordedCommit
from refold.journal.scan import Condition, Entry
from refold.journal.steps import NO_INTENTS, Intents, OpenStore, Places
from refold.journal.targets import Standing

Opening = Callable[[], OpenStore]
DIRECTED = {
    Phase.COMPLETING: "is being completed",
    Phase.COMMITTED: "was completed",
    Phase.ROLLING_BACK: "is being rolled back",
    Phase.ROLLED_BACK: "was rolled back",
}


class Direction(StrEnum):
    """Where a recovery goes."""

    COMPLETE = "complete"
    ROLL_BACK = "rollback"


class Cause(StrEnum):
    """What kind of reason stands against a direction."""

    RULE = "rule"  # of how far it came, which way it took, and what is kept
    KEPT = "kept"  # what was kept is missing or damaged
    DRIFT = "drift"  # a target, or a folder of its own, is not what was recorded
    STRANGE = "strange"  # something is in the transaction's folder
    UNREADABLE = "unreadable"  # there is no journal that could be followed


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a transaction cannot go in a direction."""

    cause: Cause
    message: str
    path: Path | None = None
    step: int | None = None


@dataclass(frozen=True, slots=True)
class StepSeen:
    """Where one step stands."""

    step: Recorded
    standing: Standing
    how: str  # of a drift


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a transaction is, and what stands against either direction; nothing does where it is safe."""

    entry: Entry
    steps: tuple[StepSeen, ...]
    against: dict[Direction, tuple[Obstacle, ...]]

    def is_safe(self, direction: Direction) -> bool:
        return not self.against[direction]


def inspect(places: Places, transaction_id: str, *, open_store: Opening | None = None, intents: Intents = NO_INTENTS) -> Inspection:
    """Say what a transaction can still become. Changes nothing. Raises Usage where there is none of this id.

    `intents` are those that this release knows: where one is missing, its transaction cannot be completed.
    """
    entry = _entry(places, transaction_id)
    if entry.condition is Condition.UNNAMED:
        never = (Obstacle(Cause.RULE, "it has no name yet, or none any more: there is nothing to complete"),)
        return Inspection(entry, (), {Direction.COMPLETE: never, Direction.ROLL_BACK: _strange(entry)})
    if entry.journal is None or entry.condition is Condition.FOREIGN:
        against = (Obstacle(Cause.UNREADABLE, f"the transaction is {entry.condition}", entry.path),)
        return Inspection(entry, (), dict.fromkeys(Direction, against))
    work = Work(places, entry.path, entry.journal, intents=intents)
    try:
        seen, broken = _look(work, open_store)
    finally:
        _close(work)
    return Inspection(entry, seen, {direction: (*_against(work, seen, direction), *broken, *_strange(entry)) for direction in Direction})


def recover(
    places: Places,
    transaction_id: str,
    direction: Direction,
    *,
    open_store: Opening | None = None,
    intents: Intents = NO_INTENTS,
) -> Inspection:
    """Complete a transaction or roll it back; return how it stood before. Raises Drifted, and then nothing was changed.

    Raises Usage, Locked while a process is at work, and what a disk refuses with: then the same direction can be taken again.
    """
    with files.lock(places.vault / steps.LOCK, wait_seconds=0):
        inspection = inspect(places, transaction_id, open_store=open_store, intents=intents)
        obstacles = inspection.against[direction]
        if obstacles:
            raise _refusal(inspection, obstacles)
        if inspection.entry.journal is None:  # it stands for nothing
            carry.clear(inspection.entry.path)
            return inspection
        work = Work(places, inspection.entry.path, inspection.entry.journal, intents=intents)
        if any(isinstance(step, RecordedCommit) for step in work.journal.steps):
            work.store = open_store() if open_store else None
        try:
            (carry_on if direction is Direction.COMPLETE else carry_back)(work)
        except RefoldError as error:
            error.hint = f"refold recover --transaction-id {transaction_id}"
            raise
        finally:
            _close(work)
        return inspection


def turn_back(work: Work) -> None:
    """Roll back a transaction from inside the verb that began it. Raises Drifted."""
    seen, broken = _look(work, None)
    obstacles = (*_against(work, seen, Direction.ROLL_BACK), *broken)
    if obstacles:
        raise _drifted(obstacles)
    carry_back(work)


def carry_on(work: Work) -> None:
    """Complete a transaction that was found safe to complete."""
    if work.journal.phase is not Phase.COMMITTED:
        if work.journal.phase is not Phase.COMPLETING:
            work.enter(Phase.COMPLETING)
        carry.forward(work)
        work.enter(Phase.COMMITTED)
    carry.finish(work)


def carry_back(work: Work) -> None:
    """Roll back a transaction that was found safe to roll back."""
    if work.journal.phase is not Phase.ROLLED_BACK:
        if work.journal.phase is not Phase.ROLLING_BACK:
            work.enter(Phase.ROLLING_BACK)
        carry.backward(work)
        work.enter(Phase.ROLLED_BACK)
    carry.finish(work)


def _close(work: Work) -> None:
    if work.store is not None:
        work.store.close()
        work.store = None


def _entry(places: Places, transaction_id: str) -> Entry:
    for entry in scan.entries(places):
        if entry.id == transaction_id:
            return entry
    raise Usage("there is no transaction of this id", hint="refold recover")


def _look(work: Work, open_store: Opening | None) -> tuple[tuple[StepSeen, ...], tuple[Obstacle, ...]]:
    """Compare every target, and look whether all that was kept is whole."""
    broken = [*_artifacts(work), *_folders(work)]
    if any(isinstance(step, RecordedCommit) for step in work.journal.steps) and work.store is None:
        try:
            work.store = open_store() if open_store else None
        except RefoldError as error:
            broken.append(Obstacle(Cause.RULE, f"the log cannot be opened: {error.message}", Path(error.path) if error.path else None))
    seen = []
    for at, step in enumerate(work.journal.steps):
        if isinstance(step, RecordedChange):
            seen.append(StepSeen(step, *targets.compare(work.places, work.journal, step)))
            broken += _temporary(work, at, step)
        else:
            seen.append(StepSeen(step, _commit_standing(work, step), ""))
    return tuple(seen), tuple(broken)


def _commit_standing(work: Work, step: RecordedCommit) -> Standing:
    if work.store is None or not carry.is_committed(work, step):
        return Standing.BEFORE
    return Standing.BEFORE if carry.is_undone(work, step) else Standing.AFTER


def _artifacts(work: Work) -> list[Obstacle]:
    """Find what of the kept bytes is missing, too long, or not what was kept."""
    staged = work.journal.steps[: work.journal.staged]
    if work.journal.phase.is_final:
        return []
    found: list[Obstacle] = []
    for number, size in record.size_of_artifacts(staged).items():
        path = work.folder / record.artifacts(number)
        seen = files.look(path)
        if seen is None or seen.kind is not Kind.FILE or seen.size != size:
            found.append(Obstacle(Cause.KEPT, "the bytes kept for its steps are not there, or not as many as were kept", path))
    for at, step in enumerate(staged if not found else ()):
        for copy, digest in step.copies:
            try:
                work.artifact(copy, digest)
            except Drifted as error:
                found.append(Obstacle(Cause.KEPT, error.message, work.folder / record.artifacts(copy.file), at))
    return found


def _folders(work: Work) -> list[Obstacle]:
    """Find what came into a folder that the transaction makes or removes."""
    found = []
    for target, known in work.journal.children.items():
        path = targets.path_of(work.places, target)
        seen = files.look(path)
        strange = set(files.names(path)) - known if seen is not None and seen.kind is Kind.FOLDER else ()
        if strange:
            count = len(strange)
            found.append(Obstacle(Cause.DRIFT, f"the folder has gained {count} name{'s' if count > 1 else ''} that no step knows", path))
    return found


def _temporary(work: Work, at: int, step: RecordedChange) -> list[Obstacle]:
    path = targets.path_of(work.places, step.target).with_name(work.journal.temporary(at))
    seen = files.look(path)
    if seen is None or seen.kind is Kind.FILE:
        return []
    return [Obstacle(Cause.DRIFT, f"a {seen.kind} stands where a step writes first", path, at)]


def _strange(entry: Entry) -> tuple[Obstacle, ...]:
    return tuple(
        Obstacle(Cause.STRANGE, "something is in its folder that does not belong there", entry.path / name) for name in entry.strange
    )


def _against(work: Work, seen: tuple[StepSeen, ...], direction: Direction) -> list[Obstacle]:
    """Say what, of the steps and the phase, stands against a direction."""
    journal, goes_back = work.journal, direction is Direction.ROLL_BACK
    if journal.phase.goes_back is not goes_back and journal.phase.has_direction:
        return [Obstacle(Cause.RULE, f"it {DIRECTED[journal.phase]}, and a direction is final")]
    found = [
        Obstacle(Cause.DRIFT, f"a target is neither what was recorded before nor after: {one.how}", _path(work, one.step), at)
        for at, one in enumerate(seen)
        if one.standing is Standing.DRIFTED
    ]
    found += [
        Obstacle(Cause.DRIFT, "a step that had not begun is done already", _path(work, one.step), at)
        for at, one in enumerate(seen[journal.staged :], journal.staged)
        if one.standing is Standing.AFTER
    ]
    if journal.phase.is_final:
        return found
    return found + (_against_back(work, seen) if goes_back else _against_on(work, seen))


def _against_on(work: Work, seen: tuple[StepSeen, ...]) -> list[Obstacle]:
    journal = work.journal
    found = []
    if not journal.whole or journal.staged < len(journal.steps):
        found.append(Obstacle(Cause.RULE, "it stopped before all that it needs was recorded and kept"))
    for at, one in enumerate(seen):
        if isinstance(one.step, RecordedCommit) and one.step.intent not in work.intents:
            found.append(Obstacle(Cause.RULE, "this release does not know how to make its log commit", None, at))
    return found


def _against_back(work: Work, seen: tuple[StepSeen, ...]) -> list[Obstacle]:
    found = []
    for at, one in enumerate(seen):
        if one.standing is Standing.AFTER:
            path = _path(work, one.step)
            if one.step.point_of_no_return:
                found.append(Obstacle(Cause.RULE, "it is past its point of no return", path, at))
            elif isinstance(one.step, RecordedCommit):
                intent = work.intents.get(one.step.intent)
                if intent is None or intent.undo is None:
                    found.append(Obstacle(Cause.RULE, "a commit that the log has cannot be taken back", None, at))
            elif not one.step.before.can_be_made:
                found.append(Obstacle(Cause.RULE, "no copy was kept of what a step removed", path, at))
    return found


def _path(work: Work, step: Recorded) -> Path | None:
    return targets.path_of(work.places, step.target) if isinstance(step, RecordedChange) else None


def _refusal(inspection: Inspection, obstacles: tuple[Obstacle, ...]) -> RefoldError:
    if inspection.entry.journal is None or inspection.entry.condition is Condition.FOREIGN:
        return Blocked(obstacles[0].message, path=inspection.entry.path, entry_id=inspection.entry.id, hint="refold help damage")
    return _drifted(obstacles, inspection.entry.id)


def _drifted(obstacles: tuple[Obstacle, ...], transaction_id: str | None = None) -> Drifted:
    first, more = obstacles[0], len(obstacles) - 1
    return Drifted(
        first.message + (f" (and {more} more)" if more else ""),
        path=first.path,
        details={"transaction_id": transaction_id} if transaction_id else None,
        hint=f"refold recover --transaction-id {transaction_id}" if transaction_id else None,
    )
