"""What a report says, as values: counts, ids and dates of a store, and where things lie only if that is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refold import journal, register, status
from refold.calls.costs import Cost, by_run
from refold.calls.recordings import Recordings
from refold.erase import requests
from refold.erase.form import Outline
from refold.heads import kept
from refold.heads.checkpoint import CHECKPOINTS, known_keys
from refold.heads.kept import Attestation
from refold.journal import Entry
from refold.log import stored
from refold.log.log import Log
from refold.log.stored import Stored
from refold.outside import Clock
from refold.register import Copy
from refold.state.generation import State
from refold.status import Status
from refold.store import Store
from refold.times import DAY

PERIODS_MAX = 60  # bars of the picture of growth
RECENT = 10  # of what there may be very much of, so many are listed


@dataclass(frozen=True, slots=True)
class Period:
    """What came to the log in a time: entries, and how many of them are dark by now."""

    start: int  # µs, the first moment of a day
    days: int
    entries: int
    dark: int


@dataclass(frozen=True, slots=True)
class Run:
    """A fold that asked a model."""

    run: str
    at: int  # µs, when its first call that can be opened began
    cost: Cost


@dataclass(frozen=True, slots=True)
class Figures:
    """All that the page of a report says."""

    made_at: int
    status: Status
    verdict: Stored | None
    heads: tuple[int, ...]  # the sizes of which a head was signed
    attested: tuple[Attestation, ...]  # the newest
    growth: tuple[Period, ...]
    runs: tuple[Run, ...]  # the newest
    requests: tuple[Outline, ...]  # the first due first
    copies: tuple[Copy, ...]
    unfinished: tuple[Entry, ...]


def read(store: Store, state: State, *, now: Clock) -> Figures:
    """Return the figures of an open store. It reads the header of every entry. Raises Corrupt, VerificationIncomplete."""
    folder, keys = store.places.store / CHECKPOINTS, known_keys(store)
    return Figures(
        made_at=now(),
        status=status.read(store, state),
        verdict=stored.read(store.vault.path),
        heads=tuple(kept.sizes(folder)),
        attested=tuple(attestation for attestation, _ in kept.attestations(folder, keys))[-RECENT:],
        growth=tuple(growth(store.log)),
        runs=tuple(_runs(store, now)),
        requests=tuple(sorted(requests.outlines(store), key=lambda one: (one.due, one.request_id))),
        copies=tuple(register.copies(store)),
        unfinished=() if journal.is_running(store.places) else tuple(one for one in journal.entries(store.places) if one.forbids_changes),
    )


def growth(log: Log) -> list[Period]:
    """Return what came when: by days, or as many days at once as make no more than 60 periods; none of an empty log."""
    rows = log.columns().select(["recorded_at", "erased"])
    if not rows.num_rows:
        return []
    days = rows["recorded_at"].cast(pa.int64()).to_numpy() // DAY
    first, length = int(days.min()), -(-int(days.max() - days.min() + 1) // PERIODS_MAX)
    places = (days - first) // length
    entries, dark = (np.bincount(each, minlength=int(places.max()) + 1) for each in (places, places[rows["erased"].to_numpy()]))
    return [Period((first + at * length) * DAY, length, int(entries[at]), int(dark[at])) for at in range(len(entries))]


def _runs(store: Store, now: Clock) -> Sequence[Run]:
    if store.calls is None:
        return []
    found = list(Recordings(store, now=now, random=os.urandom).every())  # the newest first
    began = {one.run.hex(): one.recording.started_at for one in found}
    newest: Callable[[str], int] = lambda run: -began[run]  # noqa: E731
    costs = by_run(found)
    return [Run(run, began[run], costs[run]) for run in sorted(costs, key=newest)[:RECENT]]
