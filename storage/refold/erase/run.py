"""Run: carry out an erasure. Before SEALED it can be rolled back, after it only completed; killed anywhere, `refold recover` ends it right.

    without a lock      begin the next epoch; fold the log without what is erased, under its state key
    under mutate.lock   catch up; fence: nothing is added from here; read what came meanwhile
                        give the epoch its secrets and SEAL it; CURRENT; destroy the older root
                        take the payloads out of both logs; add what others keep of it, redacted; lift; drain readers
                        remove what is left of before
    afterwards          look at what stands on disk, and sign the head

Removing an event and folding again is the whole of it: state = fold(log without X). What the fold need not read again it carries
(`rebuild`), and what it reads it reads through the next keyring, to which everything that is erased is dark already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from refold import canonical, extractors, journal
from refold.asking import Model
from refold.calls.keys import QUERY
from refold.erase import check, epoch, intents, leftover, redaction, requests
from refold.erase.blank import parts_of
from refold.erase.epoch import Begun
from refold.erase.model import Mode, Reached, Target
from refold.erase.reach import Census, inputs_meet
from refold.erase.rebuild import Rebuild, Report, Watch, require_same
from refold.erase.successor import Successor
from refold.errors import Drifted
from refold.extractors import Choice
from refold.journal import LogCommit, Place, Step
from refold.keys.keyring import Keyring, Secrets
from refold.log import succession
from refold.log.append import Cell
from refold.log.entry import Header
from refold.log.log import Log
from refold.model import Event
from refold.outside import Clock, Random
from refold.state.generation import State, read_current, state_folder
from refold.state.manifest import CURRENT, Manifest
from refold.store import Store

PLAN = "refold erase plan"
ERASE = journal.Kind("erase")  # appends are held by its fence alone
Note = Callable[[Reached], None]  # told what will have been reached, while it can still be taken back
Others = Callable[[], tuple[Collection[bytes], Collection[bytes]]]  # ids of requests whose keys go along, and of those that go dark
Review = Callable[[Sequence[Event]], bool]  # whether events that came after the plan hold a mention that nobody decided about


class Undecided(Drifted):
    """Something came after the plan that may be about the person: it has to be reviewed first."""

    code = "RF-DRIFT-003"


def silent(done: int, of: int) -> None:
    """Tell nobody how far it is."""


def unnoted(reached: Reached) -> None:
    """Write nothing down."""


def none_other() -> tuple[Collection[bytes], Collection[bytes]]:
    """Know of no other request."""
    return (), ()


def unwatched(events: Sequence[Event]) -> None:
    """Look at nothing."""


def run(
    store: Store,
    target: Target,
    *,
    choice: Choice | None = None,
    review: Review = lambda events: False,
    others: Others = none_other,
    docket: Note = unnoted,
    watch: Watch = unwatched,
    now: Clock,
    random: Random = os.urandom,
    progress: Report = silent,
) -> Reached:
    """Carry out an erasure and return what it reached.

    `choice` is by what the state was folded; `review` is asked about the events that came after the plan; `others` says whose secrets
    go along beside those of subjects, and whose do not any more: it is asked last when no request can be made or changed. `watch` is shown
    the events that stay, as they are read through the next keyring; then `docket` is told what will be reached, right before there is no
    way back: it can refuse. Raises Undecided, Drifted where the plan is not of this log, ModelFailed, KeyMissing, Locked, Blocked, Usage,
    WriteFailed.
    """
    journal.require_clear(store.places)
    store.log.require_reached()
    store.log.signer()  # without it nothing can be fenced: then nothing is begun either
    work = Work(store, target, choice or Choice.of(), review, others, docket, watch, now, random, progress)
    with epoch.alone(store.vault), extractors.modelled(store, work.choice, require=None, now=now, random=random) as (model, _):
        return _carried_out(work, model)


@dataclass(slots=True)
class Work:
    """An erasure under way."""

    store: Store
    target: Target
    choice: Choice
    review: Review
    others: Others
    docket: Note
    watch: Watch
    now: Clock
    random: Random
    progress: Report
    census: Census = field(init=False)
    reviewed: int = field(init=False)
    shown: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.census = Census(self.target.subjects, self.target.events, self.store.keyring.epoch, self.store.log.erased)
        self.reviewed = self.target.size

    def read_on(self) -> None:
        """Read what came since, and let it be reviewed. Raises Undecided."""
        log = self.store.log
        head, _ = log.refresh()
        self.census.take(log.rows(self.census.end, head.size))
        met = frozenset(self.census.reach.seqs)
        new = [event for events in log.events(self.reviewed, head.size) for event in events if event.seq not in met]
        if new and self.review(new):
            hint = f"refold erase find {self.target.request_id.hex()[:8]}"
            raise Undecided("something came after the plan that nobody has decided about", hint=hint)
        self.reviewed = head.size

    def show(self, successor: Store, rebuild: Rebuild) -> None:
        """Show what the state was not made of: all of it where nothing was folded yet, else what waits for a model."""
        end = successor.log.head.size
        for events in successor.log.events(max(self.shown, rebuild.end), end):
            self.watch(events)
        self.shown = end

    def secrets(self, begun: Begun) -> Secrets:
        """Return the secrets of the next epoch, by what was read of the log so far."""
        carried, dropped = self.others()
        return epoch.secrets(self.store.keyring, begun, self.target, self.census, carried=carried, dropped=dropped, random=self.random)

    def successor(self, full: Secrets) -> Successor:
        """Return the store as the next epoch will open it."""
        return Successor(self.store, Keyring(full), random=self.random)


def _carried_out(work: Work, model: Model | None) -> Reached:
    store = work.store
    _require_planned_here(store, work.target)
    require_same(State.open(store), work.choice.recipe)
    work.read_on()
    before = store.keyring.epoch
    begun = epoch.begin(store, random=work.random)
    rebuild = _rebuild(work, begun)
    try:
        _build(work, rebuild, begun, model)
        with journal.mutating(store.places, random=work.random) as turn:
            if read_current(state_folder(store)) != rebuild.base.current or store.log.recheck_keys().epoch != before:
                rebuild.discard()
                rebuild = _rebuild(work, begun)
                _build(work, rebuild, begun, model)
            with requests.changing(store):
                done = _transact(work, turn, rebuild, begun)
    except BaseException:
        if store.vault.live_epoch() == before:  # else it is sealed, and only to be completed
            _give_up(work, rebuild, begun)
        raise
    check.require_done(store, done, work.census.reach.seqs, is_kept=work.target.mode is Mode.KEEP_CIPHERTEXT)
    return done


def _rebuild(work: Work, begun: Begun) -> Rebuild:
    return Rebuild(work.successor(work.secrets(begun)), work.store, work.choice.recipe, watch=work.watch, random=work.random)


def _build(work: Work, rebuild: Rebuild, begun: Begun, model: Model | None) -> None:
    """Fold the log without what is erased."""
    work.read_on()
    successor = work.successor(work.secrets(begun))
    if rebuild.is_needed:
        rebuild.carry(successor, frozenset(work.census.reach.seqs), ask=model, progress=work.progress)
        rebuild.extend(successor, successor.log.head.size, progress=work.progress)
    work.show(successor, rebuild)
    successor.log.close()
    rebuild.base.close()


def _give_up(work: Work, rebuild: Rebuild, begun: Begun) -> None:
    """Take away what was made, unless a transaction is left that needs it."""
    if not any(entry.forbids_changes for entry in journal.entries(work.store.places)):
        rebuild.discard()
        epoch.abandon(work.store.vault, begun.epoch)


def _transact(work: Work, turn: journal.Turn, rebuild: Rebuild, begun: Begun) -> Reached:
    """Fence, and carry out the rest as one transaction; where something must be reviewed first, lift the fence again."""
    store, drained = work.store, list[bool]()
    if store.calls is not None:
        succession.follow(store.calls, store.log.head.epoch, now=work.now, random=work.random)
    transaction = turn.begin(ERASE, store=store, intents=intents.intents(drained, now=work.now))
    transaction.carry_out([_commit(work, intents.FENCE, {})], last=False)
    try:
        work.read_on()
        full = work.secrets(begun)
        manifest = _delta(work, rebuild, full)
        calls = _calls(store, work.census.reach.ids)
        steps = [*_steps(work, begun, full, manifest, calls, _kept(work, full))]
        coming = _coming(work, rebuild, begun, manifest, calls)
        work.docket(coming)
    except BaseException:
        transaction.roll_back()
        raise
    transaction.carry_out(steps, last=True)
    store.log.refresh()
    return replace(coming, erasure_seqs=tuple(erasures_of(store.log, begun.epoch)), readers_drained=all(drained))


def erasures_of(log: Log, epoch: int) -> dict[int, Header]:
    """Return the erasure entries by which an epoch began, by their sequence numbers. Raises Corrupt."""
    return {seq: header for seq, header in log.erasures() if header.epoch == epoch}


def _coming(work: Work, rebuild: Rebuild, begun: Begun, manifest: Manifest | None, calls: Sequence[int]) -> Reached:
    """Return what will have been reached, but for what is in the log then, and whether readers were waited for in vain."""
    reach, is_kept = work.census.reach, work.target.mode is Mode.KEEP_CIPHERTEXT
    return Reached(
        epoch_before=begun.epoch - 1,
        epoch_after=begun.epoch,
        erasure_seqs=(),
        events=reach.events,
        shared_events=reach.shared,
        calls=len(calls),
        calls_replayed=rebuild.inputs[False],
        calls_made=rebuild.inputs[True],
        parts_replaced=0 if is_kept else len(parts_of(work.store.log.head.parts, reach.seqs)),
        generation=manifest.pointer.number if manifest else 0,
        kept=len(work.target.kept),
    )


def _delta(work: Work, rebuild: Rebuild, full: Secrets) -> Manifest | None:
    """Fold what came until the fence, and write the manifest."""
    successor, manifest = work.successor(full), None
    if rebuild.is_needed:
        rebuild.extend(successor, successor.log.head.size, progress=silent)
        manifest = rebuild.finish(successor)
    work.show(successor, rebuild)
    successor.log.close()
    return manifest


def _calls(store: Store, ids: Sequence[bytes]) -> list[int]:
    """Return the recordings that rest on one of these events, and all that hold a query: it may name whoever goes."""
    if store.calls is None:
        return []
    store.calls.refresh()
    events = frozenset((*ids, QUERY))
    return [rows.first + row for rows in store.calls.rows() for row in inputs_meet(rows, events).nonzero()[0].tolist()]


def _kept(work: Work, full: Secrets) -> list[Cell]:
    """Return the redacted versions that others keep, sealed as they will be added. Raises Drifted where an event is not there any more."""
    store, target = work.store, work.target
    found = redaction.originals(store, target) if target.kept else []
    if len(found) < len(target.kept):
        raise Drifted("an event that a redacted version is kept of is not there any more", path=store.log.place.folder, hint=PLAN)
    return redaction.cells(found, target, Keyring(full), origin=store.origin, at=work.now(), random=work.random)


def _steps(
    work: Work, begun: Begun, full: Secrets, manifest: Manifest | None, calls: Sequence[int], kept: Sequence[Cell]
) -> Iterator[Step]:
    """Yield what is to be done behind the fence, in the order in which it must last."""
    store, seqs, is_kept = work.store, work.census.reach.seqs, work.target.mode is Mode.KEEP_CIPHERTEXT
    yield from epoch.steps(store, begun, full, random=work.random)
    yield from leftover.requests(store, work.others()[1], but=work.target.request_id, now=work.now)
    folder = state_folder(store)
    current = read_current(folder)
    at = journal.Target(Place.STORE, f"{folder.name}/{CURRENT}")
    if manifest is not None:
        before = journal.ABSENT if current is None else journal.digest(current)
        yield journal.write(at, manifest.pointer.raw, before=before, keeps_before=False)
    said = {
        "calls": list(calls),
        "calls_txn": work.random(16).hex(),
        "epoch": begun.epoch - 1,
        "is_kept": is_kept,
        "seqs": list(seqs),
    }
    yield _commit(work, intents.ERASE, said)
    if kept:
        yield _commit(work, intents.KEEP, {"cells": [[half.hex() for half in cell] for cell in kept]})
    yield _commit(work, intents.LIFT, {})
    yield from leftover.steps(store, manifest, begun.epoch - 1, seqs=seqs, calls=calls, is_kept=is_kept)
    yield from leftover.dockets(store, but=work.target.request_id)


def _commit(work: Work, intent: str, said: Mapping[str, object]) -> LogCommit:
    return LogCommit(txn=work.random(16).hex(), intent=intent, data=canonical.encode(dict(said)))


def _require_planned_here(store: Store, target: Target) -> None:
    """Refuse a target that was planned on another log than this. Raises Drifted."""
    head, _ = store.log.refresh()
    if target.size > head.size or (target.size and store.log.row(target.size - 1).hashes()[0] != target.last_hash):
        raise Drifted(
            "the erasure was planned on another log, or on one that was longer", path=store.log.place.folder, hint="refold erase plan"
        )


__all__ = ["ERASE", "Undecided", "erasures_of", "run"]
