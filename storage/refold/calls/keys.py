"""Keys of a recording: all of them follow from the keys of the events behind the request, so it goes dark with any one of them.

    K          = the event keys of all inputs, sorted, each once, each as u32be length ‖ key
    call_key   = HKDF(K, "refold/call/v1" ‖ call id)
    replay_tag = HMAC(HKDF(K, "refold/replay/v1"), u32be length ‖ canonical request ‖ u32be length ‖ rendered bytes ‖ u64be draw)

An event keeps its key when the epoch changes, and so do these. What somebody asks memory is no event, and may name anybody: a recording
that holds a query has QUERY among its ids, and call_key = HKDF(K ‖ u32be length ‖ query key of its epoch, ...). That key is destroyed with
the epoch, so every erasure, whosoever, darkens the recording, and every old copy of it.

    query key  = HKDF(state_key, "refold/query/v1")
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from refold.errors import KeyMissing, Usage
from refold.keys.crypto import derive, mac
from refold.keys.keyring import Keyring
from refold.model import Event, EventId

CALL = b"refold/call/v1"
REPLAY = b"refold/replay/v1"
QUERY = EventId(bytes(16))  # no event has this id: they are drawn
QUERY_KEY = b"refold/query/v1"


@dataclass(frozen=True, slots=True)
class Input:
    """An event behind a request, with what its key is derived from."""

    event_id: EventId
    epoch: int
    subjects: tuple[bytes, ...]

    @classmethod
    def of(cls, event: Event) -> Input:
        return cls(event.event_id, event.epoch, event.subjects)


def material(keyring: Keyring, inputs: Iterable[Input]) -> bytes:
    """Return K. Raises KeyMissing where a key was destroyed, Usage where there is no event at all."""
    keys = {keyring.event_key(one.epoch, one.event_id, one.subjects) for one in inputs}
    if not keys:
        raise Usage("a request with no event behind it is not sent: nothing could make its recording go dark")
    return b"".join(_prefixed(key) for key in sorted(keys))


def query_key(keyring: Keyring, epoch: int) -> bytes:
    """Return what is added to K where a recording of this epoch holds a query. Raises KeyMissing where the epoch has ended."""
    if epoch != keyring.epoch:
        raise KeyMissing("this call holds a query, and went dark with an erasure", hint="refold help rerank")
    return _prefixed(derive(keyring.state_key, QUERY_KEY))


def call_key(joined: bytes, call_id: bytes) -> bytes:
    """Return the key that seals a recording; `joined` is K."""
    return derive(joined, CALL + call_id)


def replay_tag(joined: bytes, canonical_form: bytes, body: bytes, draw: int) -> bytes:
    """Return what a recording is found by again: 32 bytes; `joined` is K."""
    return mac(derive(joined, REPLAY), _prefixed(canonical_form) + _prefixed(body) + draw.to_bytes(8, "big"))


def _prefixed(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big") + value
