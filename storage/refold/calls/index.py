"""The index of recordings: where in the log of the calls those lie that rest on the same events. Sixteen bytes for each, however many."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from refold.log import entry
from refold.log.log import Log

LOOSE_MAX = 65_536


class Index:
    """Follows the log of the calls. A hit may be another's by chance: whoever opens it compares the ids."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)  # sorted
        self._seqs = np.empty(0, np.uint64)
        self._loose: dict[int, list[int]] = {}
        self._loose_count = 0
        self._end = 0

    def follow(self, log: Log) -> None:
        """Read what came since."""
        head, _ = log.refresh()
        if self._end < head.size:
            for rows in log.rows(self._end, head.size):
                for seq, payload in enumerate(rows.payloads(), rows.first):
                    if payload is not None and payload[:2] == entry.SEALED_PREFIX and (ids := entry.ids_of(payload)[0]):
                        self._put(_key(ids), seq)
            self._end = head.size

    def learn(self, first: int, ids: Sequence[tuple[bytes, ...]]) -> None:
        """Take over what a commit of ours holds, so that it need not be read back; what has no ids is no recording."""
        if self._end == first:
            for seq, one in enumerate(ids, first):
                if one:
                    self._put(_key(one), seq)
            self._end += len(ids)

    def find(self, ids: tuple[bytes, ...]) -> list[int]:
        """Return the seqs of the recordings over these sorted ids, oldest first."""
        key = _key(ids)
        low, high = np.searchsorted(self._keys, np.uint64(key), "left"), np.searchsorted(self._keys, np.uint64(key), "right")
        return [*sorted(self._seqs[low:high].tolist()), *self._loose.get(key, ())]

    def _put(self, key: int, seq: int) -> None:
        self._loose.setdefault(key, []).append(seq)
        self._loose_count += 1
        if self._loose_count >= LOOSE_MAX:
            self._settle()

    def _settle(self) -> None:
        pairs = [(key, seq) for key, seqs in self._loose.items() for seq in seqs]
        keys = np.concatenate([self._keys, np.array([key for key, _ in pairs], np.uint64)])
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._seqs = np.concatenate([self._seqs, np.array([seq for _, seq in pairs], np.uint64)])[order]
        self._loose, self._loose_count = {}, 0


def _key(ids: tuple[bytes, ...]) -> int:
    """Return eight bytes of a digest of ids, which are random: it tells nothing."""
    return int.from_bytes(sha256(b"".join(ids)).digest()[:8], "big")
