"""The keyring of one epoch: how every key of the log and the state follows from a few secrets.

    batch_secret   = HMAC(HMAC(batch_seed of the event's epoch, byte 0 of the event id), byte 1)
    event_share    = HMAC(batch_secret, event id), or an explicit share
    subject_secret = an explicit one; else, for events of this epoch, HMAC(subject_seed, subject id)
    event_key      = HMAC(event_share, T("refold.cell/key/v1") ‖ suite ‖ event id ‖ subject secrets in the order of their ids)

Every subject of an event has a part in its key: with any one of their secrets destroyed the event is dark.
Where single events had to go, a seed is replaced by the nodes of its tree beside their paths ("punctured").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from refold.errors import KeyMissing
from refold.keys.crypto import KEY_BYTES, derive, label, mac
from refold.model import EventId, SubjectId

CELL_KEY = label("refold.cell/key/v1")
FACT_KEY = "refold/fact/v1"
BYTES = [bytes([value]) for value in range(256)]


class Records:
    """Secrets by id, as they lie on disk: fixed-width records `id ‖ secret`, sorted by id."""

    def __init__(self, raw: bytes, id_bytes: int) -> None:
        self.raw = raw
        self._id_bytes = id_bytes
        self._width = id_bytes + KEY_BYTES

    @classmethod
    def of(cls, secrets: Mapping[bytes, bytes], id_bytes: int) -> Records:
        return cls(b"".join(key + secrets[key] for key in sorted(secrets)), id_bytes)

    def __len__(self) -> int:
        return len(self.raw) // self._width

    def get(self, key: bytes) -> bytes | None:
        """Return the secret of an id by binary search."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            at = middle * self._width
            found = self.raw[at : at + self._id_bytes]
            if found == key:
                return self.raw[at + self._id_bytes : at + self._width]
            low, high = (middle + 1, high) if found < key else (low, middle)
        return None

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        for at in range(0, len(self.raw), self._width):
            yield self.raw[at : at + self._id_bytes], self.raw[at + self._id_bytes : at + self._width]


def node(epoch: int, path: bytes) -> bytes:
    """Return the record id of a node in the tree of an epoch's batch seed: epoch u32be ‖ depth u8 ‖ path, padded to two bytes."""
    return epoch.to_bytes(4, "big") + BYTES[len(path)] + path.ljust(2, b"\0")


NODE_BYTES = 7
ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Secrets:
    """All that the keyring of an epoch holds."""

    epoch: int
    batch_seed: bytes
    subject_seed: bytes
    state_key: bytes
    attest_key: bytes
    idem_key: bytes
    suppress_key: bytes
    batches: Records  # nodes of older epochs' batch seeds
    subjects: Records  # explicit secrets
    shares: Records  # explicit shares of the survivors of a punctured batch

    @classmethod
    def fresh(cls, *, random: Callable[[int], bytes]) -> Secrets:
        """Draw the secrets of the first epoch."""
        empty = Records(b"", NODE_BYTES), Records(b"", ID_BYTES), Records(b"", ID_BYTES)
        seeds = [random(KEY_BYTES) for _ in range(6)]
        return cls(1, *seeds, *empty)


class Keyring:
    """Derives keys from the secrets of one epoch and keeps the intermediate ones that repeat."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self.epoch = secrets.epoch
        self.state_key = secrets.state_key
        self.attest_key = secrets.attest_key
        self.idem_key = secrets.idem_key
        self.suppress_key = secrets.suppress_key
        self._batches: dict[tuple[int, bytes], bytes | None] = {}
        self._subjects: dict[bytes, bytes] = {}  # explicit secrets met
        self._seeded: dict[bytes, bytes] = {}  # secrets that this epoch's seed gave

    def event_key(self, epoch: int, event_id: bytes, subjects: Iterable[bytes], *, suite: int = 1) -> bytes:
        """Return the key of a cell. `subjects` are sorted and distinct. Raises KeyMissing if any secret was destroyed."""
        secrets = [self._subjects.get(subject) or self._subject_secret(epoch, subject) for subject in subjects]
        return mac(self._share(epoch, event_id), b"".join((CELL_KEY, BYTES[suite], event_id, *secrets)))

    def has_explicit(self, subject: bytes) -> bool:
        """Whether the subject's own secret was carried over from an earlier epoch."""
        return self._secrets.subjects.get(subject) is not None

    def succeed(
        self,
        subjects: Iterable[SubjectId],
        *,
        gone: Mapping[int, Collection[EventId]] | None = None,
        survivors: Callable[[int, bytes], Iterable[EventId]] | None = None,
        random: Callable[[int], bytes],
    ) -> Secrets:
        """Return the secrets of the next epoch, in which only `subjects` keep theirs and the events `gone` have no share.

        `subjects` are those with an explicit secret or an entry in this epoch. `survivors(epoch, batch)` names the
        other events of a batch (two bytes of their ids) in which one had to go.
        """
        nodes, shares = dict(self._secrets.batches.items()), dict(self._secrets.shares.items())
        nodes[node(self.epoch, b"")] = self._secrets.batch_seed
        for epoch, events in (gone or {}).items():
            for batch in sorted({event[:2] for event in events}):
                kept = set(survivors(epoch, batch)) - set(events) if survivors else set()
                shares.update({event: self._share(epoch, event) for event in kept})
                _puncture(nodes, epoch, batch)
            for event in events:
                shares.pop(event, None)
        carried: dict[bytes, bytes] = {subject: self._subject_secret(self.epoch, subject) for subject in subjects}
        return Secrets(
            self.epoch + 1,
            *(random(KEY_BYTES) for _ in range(5)),
            self.suppress_key,
            Records.of(nodes, NODE_BYTES),
            Records.of(carried, ID_BYTES),
            Records.of(shares, ID_BYTES),
        )

    def _subject_secret(self, epoch: int, subject: bytes) -> bytes:
        """Return an explicit secret; else, for this epoch's events only, the one that its seed gives."""
        if epoch == self.epoch and subject in self._seeded:
            return self._seeded[subject]
        secret = self._secrets.subjects.get(subject)
        if secret is not None:
            self._subjects[subject] = secret
        elif epoch == self.epoch:
            secret = self._seeded[subject] = mac(self._secrets.subject_seed, subject)
        else:
            raise KeyMissing("a subject of this event has no key any more")
        return secret

    def _share(self, epoch: int, event_id: bytes) -> bytes:
        batch = event_id[:2]
        try:
            secret = self._batches[epoch, batch]
        except KeyError:
            secret = self._batches[epoch, batch] = self._batch_secret(epoch, batch)
        share = self._secrets.shares.get(event_id) if secret is None else mac(secret, event_id)
        if share is None:
            raise KeyMissing("the key of this event was destroyed", entry_id=event_id.hex())
        return share

    def _batch_secret(self, epoch: int, batch: bytes) -> bytes | None:
        """Return the secret of a batch from the node nearest to it; None where only explicit shares are left."""
        if epoch == self.epoch:
            return _descend(self._secrets.batch_seed, batch)
        for depth in range(3):
            secret = self._secrets.batches.get(node(epoch, batch[:depth]))
            if secret is not None:
                return _descend(secret, batch[depth:])
        return None


def fact_key(event_key: bytes) -> bytes:
    """Return what an event lends to the ids of the facts that rest on it."""
    return derive(event_key, FACT_KEY)


def _descend(secret: bytes, path: bytes) -> bytes:
    for value in path:
        secret = mac(secret, BYTES[value])
    return secret


def _puncture(nodes: dict[bytes, bytes], epoch: int, batch: bytes) -> None:
    """Replace the nodes on the path to a batch by their children beside it."""
    for depth in range(2):
        secret = nodes.pop(node(epoch, batch[:depth]), None)
        if secret is not None:
            nodes.update({node(epoch, batch[:depth] + child): mac(secret, child) for child in BYTES})
    nodes.pop(node(epoch, batch), None)
