"""Again: what was erased is erased from a copy of before too, before there is a store of it. The keyring's ledger says what that is.

The copy is brought to the live epoch. What the ledger names, and the recordings that rest on it, leave it under erasure entries, as they
left the log then. It is dark anyway: no key that lives opens it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from refold import canonical, files, journal
from refold.erase.blank import blank, parts_of
from refold.erase.reach import inputs_meet
from refold.journal import Intent, Intents, LogCommit, OpenStore, Place, Step, Target
from refold.log import succession
from refold.log.log import Log
from refold.model import EntryKind
from refold.outside import Clock, Random
from refold.store import Store

INTENT = "erase-again"
ID_AT = slice(15, 31)  # the id in a header


@dataclass(frozen=True, slots=True)
class Returned:
    """What a copy holds of what was erased since: entries of both logs, by their sequence numbers."""

    seqs: tuple[int, ...]
    calls: tuple[int, ...]


def returned(store: Store) -> Returned:
    """Find what the ledger names in a copy."""
    ledger = frozenset(store.keyring.ledger)
    seqs = [
        seq
        for rows in store.log.rows()
        for seq, (header, payload) in enumerate(zip(rows.headers(), rows.payloads(), strict=True), rows.first)
        if header[ID_AT] in ledger and payload is not None and header[1] in (EntryKind.EVENT, EntryKind.SUBJECT)
    ]
    calls: list[int] = []
    if store.calls is not None and ledger:
        calls = [rows.first + row for rows in store.calls.rows() for row in inputs_meet(rows, ledger).nonzero()[0].tolist()]
    return Returned(tuple(seqs), tuple(calls))


def commit(found: Returned, *, now: Clock, random: Random) -> LogCommit:
    """Return the step that brings a copy to the live epoch, without what was erased."""
    said = {"blank": random(16).hex(), "blank_calls": random(16).hex(), "calls": list(found.calls), "seqs": list(found.seqs), "time": now()}
    return LogCommit(txn=random(16).hex(), intent=INTENT, data=canonical.encode(said))


def removals(store: Store, found: Returned) -> Iterator[Step]:
    """Yield the removals of the parts that held it."""
    logs = [(store.log, found.seqs)] if store.calls is None else [(store.log, found.seqs), (store.calls, found.calls)]
    for log, seqs in logs:
        for part in parts_of(log.head.parts, seqs):
            path = f"{log.place.folder.name}/{part.path}"
            before = journal.digest(files.read(store.places.store / path))
            yield journal.remove(Target(Place.STORE, path), before=before, keeps_before=False)


def run(store: OpenStore, txn: str, data: bytes) -> None:
    """Bring the logs to the live epoch; in the last fence, take out what was erased."""
    assert isinstance(store, Store)
    said: Any = canonical.decode(data)
    if store.calls is not None:
        _bring(store.calls, said["calls"], said["blank_calls"], said["time"], None)
    _bring(store.log, said["seqs"], said["blank"], said["time"], txn)


def _bring(log: Log, seqs: list[int], blanking: str, time: int, txn: str | None) -> None:
    epoch, clock = log.recheck_keys().epoch, partial(int, time)
    if log.refresh()[0].epoch < epoch or log.head.fence is not False:
        succession.follow(log, epoch - 1, now=clock, random=os.urandom)
        succession.fence(log, epoch, now=clock, random=os.urandom)
        blank(log, seqs, txn=blanking, now=clock, is_kept=False)
        succession.lift(log, now=clock, random=os.urandom, txn=txn)


INTENTS: Intents = {INTENT: Intent(run)}
