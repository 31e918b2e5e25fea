"""Replay: fold what verifies onto the newest state that can be relied on, up to a boundary, and say what that proves.

The state of a checkpoint is what it was signed as, or it is not built upon. What lies before it is not read: a replay costs what follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from refold import extractors, folding, journal, recipes
from refold.asking import Model
from refold.calls.mode import Mode
from refold.errors import Corrupt, ModelFailed, Usage
from refold.extractors import Choice
from refold.folding import Fold, FoldReport, Reason, recipe_digest
from refold.journal import Place, Target
from refold.outside import Clock, Random
from refold.state.builder import can_extend
from refold.state.digest import attested
from refold.state.generation import STATE, State, read_current
from refold.state.manifest import CURRENT, Pointer
from refold.store import Places, Store, open_store
from refold.vectors import Vectoring, vectoring
from refold.verdict import Checkpoint, Kind, Verdict


class Proof(StrEnum):
    """What is known of the state that a replay began with, or ended in."""

    PROVEN = "the state is the one that a checkpoint attests"
    UNATTESTED = "no checkpoint attests this state"
    DIFFERS = "the state is not the one that a checkpoint attests"


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay did."""

    began: int  # entries that the state knew before
    ended: int
    generation: int
    proof: Proof  # of what it began with
    result: Proof  # of what it ended in


@dataclass(frozen=True, slots=True)
class Point:
    """Where a part of the log ends."""

    size: int
    last_hash: bytes


def prove(state: State, checkpoints: Sequence[Checkpoint]) -> Proof:
    """Compare a state with what was attested of its generation and size. Reads all of the state."""
    said = [each.attested for each in checkpoints if (each.size, each.epoch) == (state.size, state.epoch)]
    if not said or not state.size:
        return Proof.UNATTESTED
    return Proof.PROVEN if attested(state) in said else Proof.DIFFERS


def recorded() -> Choice:
    """Return what the settings say reads the events, with every answer of a model taken from its recording. Raises Usage."""
    by = Choice.of()
    return replace(by, mode=Mode.REPLAY) if by.recipe else by


def is_of(state: State, choice: Choice) -> bool:
    """Whether a state was made by what a choice reads events with, so that it can be gone on with."""
    return can_extend(state, relations=recipe_digest(recipes.relations(), choice.recipe), recipe=recipes.search())


def replay(
    store: Store,
    state: State,
    until: int,
    *,
    model: Model | None = None,
    vectors: Vectoring | None = None,
    now: Clock,
    random: Random,
) -> FoldReport:
    """Fold the entries from where a state ends up to `until`, and publish. Raises Corrupt, Moved, Locked, WriteFailed."""
    relations, recipe = recipes.relations(), recipes.search()
    until_point = point(store, until)
    work = Fold(store, state, relations=relations, recipe=recipe, until=until_point, random=random, model=model, vectors=vectors)
    if work.plan.first != state.size or work.plan.reason not in (Reason.NEW, Reason.NOTHING, Reason.FIRST):
        raise Corrupt(f"the entries below {until} would all have to be read again: {work.plan.reason.value}", hint="refold audit --log")
    for first, end in work.plan.batches:
        work.batch(first, end)
    return work.report(work.publish(now=now), compacted_parts=0)


def unfolded(places: Places, size: int) -> Iterator[journal.Step]:
    """Yield the step that takes away which state is current, where it was folded from entries beyond a size: it is folded anew without."""
    path = places.store / STATE / CURRENT
    current = read_current(path.parent)
    if current is None:
        return
    try:
        folded = Pointer.read(current, path=path).size
    except Corrupt:
        return  # a state that is not readable is not current either
    if folded > size:
        yield journal.remove(Target(Place.STORE, f"{STATE}/{CURRENT}"), before=journal.digest(current))


def point(store: Store, size: int) -> Point:
    """Return where a part of the log ends. Raises Corrupt."""
    head = store.log.head
    if size == head.size:
        return Point(size, head.last_hash)
    hashes = [rows.hashes()[-1] for rows in store.log.rows(size - 1, size)] if size else [b""]
    return Point(size, hashes[-1])


def go_on(
    places: Places, verdict: Verdict, checkpoints: Sequence[Checkpoint], *, was_whole: bool, now: Clock, random: Random
) -> tuple[Replay | None, str | None]:
    """Fold what verifies, by a verdict, onto the newest state that can be relied on; or say why not. Raises Moved, Locked, WriteFailed."""
    until = _boundary(verdict)
    if until is None:
        return None, verdict.reason
    try:
        with open_store(places, random=random) as store:
            if was_whole and _has_state(store):
                return None, "nothing is damaged"
            return _gone_on(store, until, checkpoints, is_intact=verdict.kind is Kind.INTACT, now=now, random=random)
    except (Corrupt, ModelFailed, Usage) as error:  # no state can be had, what it would be folded from is damaged, or not recorded
        return None, error.message


def _has_state(store: Store) -> bool:
    """Whether there is a state: a recovery that was interrupted may have taken it away, and is then gone on with."""
    state = State.open(store)
    state.close()
    return state.absent is None


def _boundary(verdict: Verdict) -> int | None:
    """Return up to where may be replayed; None where the policy, or the damage, forbids all of it."""
    if verdict.kind is Kind.INTACT:
        return verdict.size
    if verdict.kind is Kind.RECOVERABLE:
        return verdict.replay_until
    return verdict.replay_until if verdict.kind is Kind.BOUNDARY and verdict.policy.allow_partial_replay else None


def _gone_on(
    store: Store, until: int, checkpoints: Sequence[Checkpoint], *, is_intact: bool, now: Clock, random: Random
) -> tuple[Replay | None, str | None]:
    state = State.open(store)
    proof = prove(state, checkpoints)
    began = state.size
    if proof is Proof.DIFFERS:
        return None, f"{proof.value}: refold fold --full makes another one"
    choice = recorded()
    if state.absent is None and not is_of(state, choice):
        return None, "the state was made by another recipe than the settings name, and is left as it is: refold fold makes one by theirs"
    with (
        extractors.modelled(store, choice, require=None, now=now, random=random) as (model, _),
        vectoring(store, Mode.REPLAY, now=now, random=random) as vectors,
    ):
        if is_intact:
            relations, recipe = recipes.relations(), recipes.search()
            folding.fold(store, state, relations=relations, recipe=recipe, now=now, random=random, model=model, vectors=vectors)
        elif began < until or state.absent is not None:
            replay(store, state, until, model=model, vectors=vectors, now=now, random=random)
    state.close()
    after = State.open(store)
    done = Replay(began, after.size, after.number, proof, prove(after, checkpoints))
    after.close()
    return done, None
