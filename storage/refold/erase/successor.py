"""The successor: the log as the keyring of the next epoch will open it, before that epoch is live.

What an erasure takes is dark to that keyring already. So the next state is folded through it, and holds nothing that it could not read.
"""

from __future__ import annotations

from refold.keys.keyring import Keyring
from refold.log.head import Head
from refold.log.log import Log
from refold.outside import Random
from refold.store import Store


class SuccessorLog(Log):
    """The same log, read under keys that the vault has not sealed."""

    def __init__(self, log: Log, keyring: Keyring, *, random: Random) -> None:
        self._next = keyring
        super().__init__(log.place, log.vault, random=random)

    def recheck_keys(self) -> Keyring:
        """Return the keyring of the next epoch, whatever epoch is live."""
        return self.keyring

    def _live_keyring(self, head: Head) -> Keyring:
        return self._next


class Successor(Store):
    """The same store, read under keys that the vault has not sealed. It is not written through."""

    def __init__(self, store: Store, keyring: Keyring, *, random: Random) -> None:
        self.places, self.origin = store.places, store.origin
        self.log = SuccessorLog(store.log, keyring, random=random)
        self._calls, self._random = None, random
