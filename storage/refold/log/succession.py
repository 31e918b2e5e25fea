"""Succession: bringing a log to an epoch that is live elsewhere already, by a fence and a lift for each epoch between."""

from __future__ import annotations

from refold.errors import Locked
from refold.keys.keyring import Keyring
from refold.log import append
from refold.log.append import Proposal, Propose
from refold.log.head import Head
from refold.log.log import Log
from refold.model import EntryKind
from refold.outside import Clock, Random


def follow(log: Log, epoch: int, *, now: Clock, random: Random) -> None:
    """Bring a log to an epoch."""
    log.recheck_keys()
    while log.refresh()[0].epoch < epoch:
        fence(log, epoch, now=now, random=random)
        lift(log, now=now, random=random)


def fence(log: Log, target: int, *, now: Clock, random: Random) -> None:
    """Fence a log towards the epoch after its own, unless it is fenced, or at the target."""
    append.run(log, _fence(target, now=now, random=random), now=now, random=random)


def lift(log: Log, *, now: Clock, random: Random, txn: str | None = None) -> None:
    """End the fence of a log under the epoch that it leads to. Raises Locked where another process ended it."""
    if append.run(log, _lift(now=now, random=random), now=now, random=random, txn=txn) is None and txn is not None:
        raise Locked("the fence was ended by somebody else", path=log.place.folder, hint="refold status")


def _fence(target: int, *, now: Clock, random: Random) -> Propose:
    def propose(head: Head, keyring: Keyring) -> Proposal | None:
        if head.fence is not False or head.epoch >= target:
            return None
        after = head.epoch + 1
        opened = append.controlling(EntryKind.FENCE, {}, fence=lambda *_: after, epoch=head.epoch, now=now, random=random)
        return opened(head, keyring)

    return propose


def _lift(*, now: Clock, random: Random) -> Propose:
    def propose(head: Head, keyring: Keyring) -> Proposal | None:
        if head.fence is False:
            return None
        return append.controlling(EntryKind.LIFT, {}, fence=lambda *_: False, epoch=int(head.fence), now=now, random=random)(head, keyring)

    return propose
