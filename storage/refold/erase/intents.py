"""The log commits of an erasure: the fence, the erasure entries, the lift. Each can be made again, and ends where making it once does."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from refold import canonical, files
from refold.erase.blank import blank
from refold.errors import Locked
from refold.journal import Intent, Intents, OpenStore
from refold.keys.keyring import Keyring
from refold.log import append
from refold.log.append import Proposal
from refold.log.head import Head
from refold.outside import Clock, clock
from refold.store import Store

FENCE, ERASE, KEEP, LIFT = "erase-fence", "erase", "erase-keep", "erase-lift"
DRAIN_SECONDS_MAX = 10.0  # for queries that opened the older state: they take fractions of one


def fence(store: OpenStore, txn: str, data: bytes, *, now: Clock) -> None:
    """Let nothing be added any more: to the log first, for it is its fence that is taken back."""
    assert isinstance(store, Store)
    store.log.fence(now=now, random=os.urandom, txn=txn)
    if store.calls is not None:
        store.calls.fence(now=now, random=os.urandom)


def erase(store: OpenStore, txn: str, data: bytes, *, now: Clock) -> None:
    """Destroy the root of the epoch before, then take the payloads out of both logs, under erasure entries that name them."""
    assert isinstance(store, Store)
    said: Any = canonical.decode(data)
    store.vault.roots.destroy(said["epoch"])
    if store.calls is not None and said["calls"]:
        blank(store.calls, said["calls"], txn=said["calls_txn"], now=now, is_kept=said["is_kept"])
    blank(store.log, said["seqs"], txn=txn, now=now, is_kept=said["is_kept"])


def keep(store: OpenStore, txn: str, data: bytes, *, now: Clock) -> None:
    """Add the redacted versions, as they were sealed under the keys that live by now, behind the fence that stands."""
    assert isinstance(store, Store)
    store.log.recheck_keys()
    headers, payloads = zip(*([bytes.fromhex(half) for half in cell] for cell in canonical.decode(data)["cells"]), strict=True)

    def propose(head: Head, keyring: Keyring) -> Proposal:
        return Proposal(headers, payloads, keyring.epoch, head.fence)

    append.run(store.log, propose, now=now, random=os.urandom, txn=txn)


def lift(store: OpenStore, txn: str, data: bytes, *, now: Clock, drained: list[bool]) -> None:
    """Let things be added again, and wait until nobody reads the older state any more."""
    assert isinstance(store, Store)
    _lift(store, txn, data, now=now)
    drained.append(is_drained(store))


def is_drained(store: Store) -> bool:
    """Wait for whoever reads an older state, and return whether they have ended: who has not keeps what it has open."""
    try:
        with files.lock(store.vault.readers_lock, wait_seconds=DRAIN_SECONDS_MAX):
            return True
    except Locked:
        return False


def _lift(store: OpenStore, txn: str, data: bytes, *, now: Clock) -> None:
    """End the fences, under the epoch that is live by now."""
    assert isinstance(store, Store)
    if store.calls is not None and store.calls.refresh()[0].fence is not False:
        store.calls.lift(now=now, random=os.urandom)
    store.log.lift(now=now, random=os.urandom, txn=txn)


def intents(drained: list[bool], *, now: Clock) -> Intents:
    """Return the intents of a run, which notes in `drained` whether a reader was still there."""
    return {
        FENCE: Intent(partial(fence, now=now), undo=partial(_lift, now=now)),
        ERASE: Intent(partial(erase, now=now)),
        KEEP: Intent(partial(keep, now=now)),
        LIFT: Intent(partial(lift, now=now, drained=drained)),
    }


INTENTS: Intents = intents([], now=clock)
