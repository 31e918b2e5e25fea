"""The move itself: one transaction that holds all appends, makes its log commits, and takes away what was captured.

Before anything is recorded, the sources are compared with what was captured, the drafts are made anew, and all of them are rehearsed on
the log as it is, so that what is recorded can be completed. A move of ordinary size is one commit: it is there whole, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from refold import canonical, ingest, journal
from refold.errors import Drifted, Usage
from refold.journal import Condition, Direction, Intent, LogCommit, OpenStore, Place, Target
from refold.journal.record import Phase, RecordedChange
from refold.migrate import capture
from refold.migrate.box import Box
from refold.migrate.capture import MIGRATE, Move
from refold.migrate.drafting import Outcome, as_json, from_json
from refold.model import Draft
from refold.outside import Clock, Random
from refold.state.generation import State, reading
from refold.store import Places, Store, open_store

MOVING = journal.Kind("migrate", blocks_appends=True)
INTENT = "migrate"
COMMIT_RECORDS_MAX = 50_000
COMMIT_CHARACTERS_MAX = 64 << 20
PREFIX_LETTERS_MIN = 6
ID_LETTERS = 32


@dataclass(frozen=True, slots=True)
class Preview:
    """What a move would add."""

    move: Move
    outcome: Outcome
    rehearsal: ingest.Rehearsal
    is_stale: bool  # what was canonicalized is not what would be made of the sources now
    drifted: tuple[Path, ...]  # sources that have changed since they were captured


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move did. None: it was completed after an interruption, and only its end is known."""

    id: str
    added: int | None
    already: int | None
    differing: int = 0  # of those that were there already


def preview(store: Store, move_id: str, *, now: Clock, random: Random = os.urandom) -> Preview:
    """Return what a move would add, changing nothing. Raises Usage, SubjectErased where somebody in it was erased."""
    move = capture.find(store, move_id)
    outcome, is_kept = capture.rebuild(store, move)
    rehearsal = _rehearse(store, move, outcome.drafts, now=now, random=random)
    return Preview(move, outcome, rehearsal, not is_kept, tuple(capture.drifted(move)))


def finalize(
    store: Store,
    move_id: str,
    *,
    confirm: str,
    now: Clock,
    random: Random = os.urandom,
    batch: int = COMMIT_RECORDS_MAX,
) -> Moved:
    """Move in, and take away what was captured. One that was interrupted is completed.

    Raises Usage where something is open or not confirmed, Drifted where a source has changed, Blocked, SubjectErased.
    """
    if unfinished := _unfinished(store.places, move_id):
        entry_id, known = unfinished
        _check_confirmed(known, confirm)
        journal.recover(store.places, entry_id, Direction.COMPLETE, open_store=lambda: open_store(store.places), intents=INTENTS)
        return Moved(known, None, None)
    with journal.mutating(store.places, wait_seconds=capture.WAIT_SECONDS_MAX, random=random) as turn:
        move = capture.find(store, move_id)
        _check_confirmed(move.id, confirm)
        drafts = _checked(store, move)
        rehearsal = _rehearse(store, move, drafts, now=now, random=random)
        recorded_at = now()
        box = Box.of(store.keyring, move.id)
        data = [_data(box, move, group, recorded_at) for group in _groups(drafts, batch)]
        commits = [LogCommit(txn=random(16).hex(), intent=INTENT, data=each) for each in data]
        turn.commit(MOVING, [*commits, *capture.removals(store.places, move.id)], store=store, intents=INTENTS)
    return Moved(move.id, rehearsal.events, len(drafts) - rehearsal.events, rehearsal.differing)


def run(store: OpenStore, txn: str, data: bytes) -> None:
    """Make one log commit of a move, under the transaction that holds all other appends."""
    assert isinstance(store, Store)
    move_id = data[:ID_LETTERS].decode()
    said = canonical.decode(Box.of(store.keyring, move_id).open(INTENT, data[ID_LETTERS:], capture.folder(store.places) / move_id))
    with _index(store) as index:
        ingest.move_in(
            store,
            [from_json(each) for each in said["drafts"]],
            txn=txn,
            ingest=bytes.fromhex(move_id),
            index=index,
            recorded_at=said["recorded_at"],
            random=os.urandom,
        )


def _checked(store: Store, move: Move) -> Sequence[Draft]:
    """Return the drafts of a move that may be made. Raises Drifted, Usage."""
    changed = capture.drifted(move)
    if changed:
        more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        raise Drifted(f"a source is not what was captured{more}", path=changed[0], hint="refold migrate prepare")
    outcome, is_kept = capture.rebuild(store, move)
    if not is_kept:
        hint = f"refold migrate canonicalize {move.id}"
        raise Drifted("what was canonicalized is not what the sources become now", hint=hint)
    if outcome.open:
        message = f"{len(outcome.open)} records still need input: answer for them, or leave them out"
        raise Usage(message, hint=f"refold migrate canonicalize {move.id} --decide FILE")
    if not outcome.drafts:
        raise Usage("there is nothing to move in", hint=f"refold migrate drop {move.id}")
    return outcome.drafts


def _rehearse(store: Store, move: Move, drafts: Sequence[Draft], *, now: Clock, random: Random) -> ingest.Rehearsal:
    with _index(store) as index:
        return ingest.rehearse(store, drafts, ingest=bytes.fromhex(move.id), index=index, recorded_at=now(), random=random)


@contextmanager
def _index(store: Store) -> Generator[State]:
    """Give what the state knows of the log, for as long as it takes."""
    with reading(store, State.open(store)) as state:
        yield state
    state.close()


def _unfinished(places: Places, move_id: str) -> tuple[str, str] | None:
    """Return the transaction of a move that was interrupted, be it right before it was forgotten, and the move's whole id."""
    for entry in journal.entries(places):
        if entry.condition not in (Condition.UNFINISHED, Condition.ENDED) or entry.journal is None or entry.journal.kind != MOVING.name:
            continue
        if entry.journal.phase is Phase.ROLLED_BACK:
            continue
        for step in entry.journal.steps:
            if isinstance(step, RecordedChange) and step.target.place is Place.VAULT and step.target.parent == Target(Place.VAULT, MIGRATE):
                known = step.target.name
                if move_id and known.startswith(move_id) and not journal.is_running(places):
                    return entry.id, known
    return None


def _check_confirmed(move_id: str, confirm: str) -> None:
    if len(confirm) < PREFIX_LETTERS_MIN or not move_id.startswith(confirm):
        hint = f"refold migrate finalize {move_id}"
        raise Usage(f"this is not the beginning of the move's id (at least {PREFIX_LETTERS_MIN} letters)", hint=hint)


def _data(box: Box, move: Move, drafts: Sequence[Draft], recorded_at: int) -> bytes:
    said = canonical.encode({"drafts": [as_json(draft) for draft in drafts], "recorded_at": recorded_at})
    return move.id.encode() + box.seal(INTENT, said)


def _groups(drafts: Sequence[Draft], size: int) -> Iterator[Sequence[Draft]]:
    """Yield what becomes one commit each: neither too many drafts nor too many characters."""
    start = characters = 0
    for at, draft in enumerate(drafts):
        if at > start and (at - start >= size or characters + len(draft.text) > COMMIT_CHARACTERS_MAX):
            yield drafts[start:at]
            start, characters = at, 0
        characters += len(draft.text)
    yield drafts[start:]


INTENTS = {INTENT: Intent(run)}
