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
from dataclasses import dataclass, replace
from typing import Any

from refold.errors import KeyMissing
from refold.keys.crypto import KEY_BYTES, derive, label, mac, macs
from refold.keys.records import Records
from refold.model import EventId
from refold.outside import Random

CELL_KEY = label("refold.cell/key/v1")
FACT_KEY = "refold/fact/v1"
REQUEST_KEY = "refold/request/v1"
BYTES = [bytes([value]) for value in range(256)]
CELL_KEYS = [CELL_KEY + suite for suite in BYTES]


def node(epoch: int, path: bytes) -> bytes:
    """Return the record id of a node in the tree of an epoch's batch seed: epoch u32be ‖ depth u8 ‖ path, padded to two bytes."""
    return epoch.to_bytes(4, "big") + BYTES[len(path)] + path.ljust(2, b"\0")


NODE_BYTES = 7
ID_BYTES = 16
KEPT_BYTES_MAX = 1_024
KEPT_MAX = 131_072  # intermediate secrets of one kind: all nodes of two epochs, or the people of as many events


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
    suppressed: Records  # tags of what must not come back, by an import or by being named
    erased: Records  # the ledger: ids of events that were erased, which a restored copy may still hold

    @classmethod
    def fresh(cls, *, random: Random) -> Secrets:
        """Draw the secrets of the first epoch."""
        return cls.begun(1, random=random)

    @classmethod
    def begun(cls, epoch: int, *, suppress_key: bytes | None = None, random: Random) -> Secrets:
        """Draw the secrets of an epoch to which nothing is carried over yet."""
        batch, subject, state, attest, idem = (random(KEY_BYTES) for _ in range(5))
        nodes, secrets, ids = Records(b"", NODE_BYTES), Records(b"", ID_BYTES), Records(b"", ID_BYTES, 0)
        suppress = suppress_key or random(KEY_BYTES)
        return cls(epoch, batch, subject, state, attest, idem, suppress, nodes, secrets, secrets, ids, ids)


class Keyring:
    """Derives keys from the secrets of one epoch and keeps the intermediate ones that repeat."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self.epoch = secrets.epoch
        self.state_key = secrets.state_key
        self.attest_key = secrets.attest_key
        self.idem_key = secrets.idem_key
        self.suppress_key = secrets.suppress_key
        self._nodes = _Derived(self._node)
        self._living = _Derived(self._living_secrets)  # joined, for events of this epoch
        self._carried = _Derived(self._explicit_secrets)  # and for older ones
        self._derived = Records(b"", ID_BYTES)  # those that the next epoch is given

    def event_key(self, epoch: int, event_id: bytes, subjects: tuple[bytes, ...], suite: int = 1) -> bytes:
        """Return the key of a cell. `subjects` are sorted and distinct. Raises KeyMissing if any secret was destroyed."""
        secrets = (self._living if epoch == self.epoch else self._carried)[subjects]
        batch = self._nodes[epoch, event_id[:2]]
        share = self._explicit_share(event_id) if batch is None else mac(batch, event_id)
        return mac(share, CELL_KEYS[suite] + event_id + secrets)

    def forget(self) -> None:
        """Let go of the intermediate secrets that are kept. The keyring goes on working."""
        for kept in (self._nodes, self._living, self._carried):
            kept.clear()
        self._derived = Records(b"", ID_BYTES)

    def request_key(self, request_id: bytes) -> bytes:
        """Return the key of a request for erasure: an explicit secret like a subject's; else one that only the live epoch derives.

        So it dies with the epoch unless it is carried over, and never lies on disk beside the keyring.
        """
        return derive(self._living_secrets((request_id,)), REQUEST_KEY)

    def has_explicit(self, subject: bytes) -> bool:
        """Whether the subject's own secret was carried over from an earlier epoch."""
        return self._secrets.subjects.get(subject) is not None

    @property
    def ledger(self) -> Iterator[EventId]:
        """Yield the ids of the events that were erased."""
        return (EventId(event_id) for event_id, _ in self._secrets.erased.items())

    @property
    def is_suppressing(self) -> bool:
        """Whether anything must not come back."""
        return len(self._secrets.suppressed) > 0

    def suppresses(self, tag: bytes) -> bool:
        """Whether what has this tag must not come back."""
        return self._secrets.suppressed.get(tag) is not None

    def begin(self, *, random: Random) -> Secrets:
        """Return the next epoch as it begins: fresh seeds and keys, the suppress key, and nothing carried over yet."""
        return Secrets.begun(self.epoch + 1, suppress_key=self.suppress_key, random=random)

    def succeed(
        self,
        subjects: Iterable[bytes],
        *,
        dark: Collection[bytes] = (),
        begun: Secrets | None = None,
        gone: Mapping[int, Collection[EventId]] | None = None,
        survivors: Callable[[int, bytes], Iterable[EventId]] | None = None,
        suppressed: Iterable[bytes] = (),
        erased: Iterable[bytes] = (),
        random: Random,
    ) -> Secrets:
        """Return the secrets of the next epoch, in which nobody `dark` has one any more and the events `gone` have no share.

        Everybody else who has an explicit secret keeps it, and `subjects`, those with an entry in this epoch, are given theirs.
        `survivors(epoch, batch)` names the other events of a batch (two bytes of their ids) in which one had to go. `begun` is the
        epoch where it has begun already. `suppressed` and `erased` join what is suppressed and the ledger.
        """
        nodes, shares = dict(self._secrets.batches.items()), dict(self._secrets.shares.items())
        nodes[node(self.epoch, b"")] = self._secrets.batch_seed
        for epoch, events in (gone or {}).items():
            for batch in sorted({event[:2] for event in events}):
                kept = set(survivors(epoch, batch)) - set(events) if survivors else set()
                shares.update({event: share for event in kept if (share := self._share(epoch, event)) is not None})
                _puncture(nodes, epoch, batch)
            for event in events:
                shares.pop(event, None)
        explicit = self._secrets.subjects
        living = explicit.lacking(Records.listing(subjects, ID_BYTES).without(dark))
        return replace(
            begun or self.begin(random=random),
            batches=Records.of(nodes, NODE_BYTES),
            subjects=explicit.without(dark).joined(self._given(living)),
            shares=Records.of(shares, ID_BYTES),
            suppressed=Records.listing([*suppressed, *(tag for tag, _ in self._secrets.suppressed.items())], ID_BYTES),
            erased=Records.listing([*erased, *self.ledger], ID_BYTES),
        )

    def _given(self, subjects: Records) -> Records:
        """Return the secrets that the seed gives, each derived once: while an epoch is made, all of them are asked for again."""
        new = self._derived.lacking(subjects)
        if len(new):
            self._derived = self._derived.joined(new.with_secrets(macs(self._secrets.subject_seed, new.ids())))
        return self._derived if len(self._derived) == len(subjects) else self._derived.among(subjects)

    def _living_secrets(self, subjects: tuple[bytes, ...]) -> bytes:
        seed, explicit = self._secrets.subject_seed, self._secrets.subjects
        return b"".join([explicit.get(subject) or mac(seed, subject) for subject in subjects])

    def _explicit_secrets(self, subjects: tuple[bytes, ...]) -> bytes:
        secrets = [self._secrets.subjects.get(subject) for subject in subjects]
        known = [secret for secret in secrets if secret is not None]
        if len(known) < len(secrets):
            raise KeyMissing("a subject of this event has no key any more")
        return b"".join(known)

    def _share(self, epoch: int, event_id: bytes) -> bytes | None:
        batch = self._nodes[epoch, event_id[:2]]
        return self._secrets.shares.get(event_id) if batch is None else mac(batch, event_id)

    def _explicit_share(self, event_id: bytes) -> bytes:
        share = self._secrets.shares.get(event_id)
        if share is None:
            raise KeyMissing("the key of this event was destroyed", entry_id=event_id.hex())
        return share

    def _node(self, at: tuple[int, bytes]) -> bytes | None:
        """Return a node of the tree under an epoch's batch seed; None where it was punctured, or never was."""
        epoch, path = at
        if epoch == self.epoch and not path:
            return self._secrets.batch_seed
        secret = self._secrets.batches.get(node(epoch, path)) if epoch != self.epoch else None
        if secret is None and path:
            above = self._nodes[epoch, path[:-1]]
            secret = None if above is None else mac(above, path[-1:])
        return secret


class _Derived(dict):
    """Secrets that are derived when they are first asked for, and kept, up to a bound, unless they are those of a crowd."""

    def __init__(self, derive: Callable[[Any], bytes | None]) -> None:
        self._derive = derive

    def __missing__(self, key: Any) -> bytes | None:
        value = self._derive(key)
        if len(self) >= KEPT_MAX:
            self.clear()
        if value is None or len(value) <= KEPT_BYTES_MAX:
            self[key] = value
        return value


def fact_key(event_key: bytes) -> bytes:
    """Return what an event lends to the ids of the facts that rest on it."""
    return derive(event_key, FACT_KEY)


def _puncture(nodes: dict[bytes, bytes], epoch: int, batch: bytes) -> None:
    """Replace the nodes on the path to a batch by their children beside it."""
    for depth in range(2):
        secret = nodes.pop(node(epoch, batch[:depth]), None)
        if secret is not None:
            nodes.update({node(epoch, batch[:depth] + child): mac(secret, child) for child in BYTES})
    nodes.pop(node(epoch, batch), None)
