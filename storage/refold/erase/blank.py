"""Blanking: payloads leave a log under an erasure entry that names them. One commit replaces the parts that held them.

Everything else of the entries stays: headers, the digests of what was there and the chain, so that the log still proves itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from refold import files
from refold.errors import Corrupt, Drifted
from refold.keys.keyring import Keyring
from refold.log import append, entry, parts
from refold.log.append import Proposal
from refold.log.commit import Replacement
from refold.log.entry import CLEAR, VERSION, Header
from refold.log.head import Head
from refold.log.log import Log
from refold.log.parts import Part, Rows
from refold.model import EntryKind
from refold.outside import Clock


def parts_of(live: Sequence[Part], seqs: Sequence[int]) -> list[Part]:
    """Return the live parts that hold some of the entries, in order."""
    sought = np.array(seqs, np.int64)
    return [part for part in live if np.searchsorted(sought, part.first) < np.searchsorted(sought, part.end)]


def blank(log: Log, seqs: Sequence[int], *, txn: str, now: Clock, is_kept: bool) -> None:
    """Commit the erasure entry of some entries, sorted, and parts without their payloads. With `is_kept` the parts stay as they are.

    A commit of this transaction id that is there already is all there is to it. Raises WriteFailed, Corrupt.
    """
    log.recheck_keys()
    if log.committed(txn):
        return
    head, _ = log.refresh()
    removed = [] if is_kept else parts_of(head.parts, seqs)
    change = Replacement(tuple(part.path for part in removed), _written(log, removed, seqs)) if removed else None

    def propose(head: Head, keyring: Keyring) -> Proposal:
        if change is not None and not {part.path for part in head.parts}.issuperset(change.removed):
            raise Drifted("a part that holds what is erased is not live any more", path=log.place.folder, hint="refold recover")
        header = Header(VERSION, EntryKind.ERASURE, CLEAR, keyring.epoch, now(), os.urandom(entry.ID_BYTES), os.urandom(entry.ID_BYTES))
        payload = entry.control_payload({"seqs": list(seqs)})
        return Proposal([header.raw], [payload], keyring.epoch, head.fence, ((0, EntryKind.ERASURE),), change)

    append.run(log, propose, now=now, random=os.urandom, txn=txn)


def _written(log: Log, removed: Sequence[Part], seqs: Sequence[int]) -> tuple[Part, ...]:
    """Write the parts anew, without the payloads, and see that they hold what they should."""
    gone = frozenset(seqs)
    added: list[Part] = []

    def contents() -> Iterator[tuple[Path, bytes]]:
        for part in removed:
            rows = _without(next(log.rows(part.first, part.end)), gone)
            raw = parts.encode(rows)
            added.append(parts.describe(parts.name(rows.first, os.urandom(8)), raw, rows))
            yield log.place.folder / added[-1].path, raw

    files.create_all(log.place.parts, contents())
    for old, new in zip(removed, added, strict=True):
        if not parts.read(log.place.folder, new).batch.equals(_without(next(log.rows(old.first, old.end)), gone).batch):
            raise Corrupt("a part that was written does not hold the entries it was made of", path=log.place.folder / new.path)
    return tuple(added)


def _without(rows: Rows, gone: frozenset[int]) -> Rows:
    """Return entries without some payloads: made of values, for a mask over the same buffer would keep the bytes."""
    payloads = [None if seq in gone else payload for seq, payload in enumerate(rows.payloads(), rows.first)]
    return Rows.of(rows.first, rows.headers(), payloads, rows.commits(), rows.hashes())
