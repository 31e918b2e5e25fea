"""The form of a request on disk: an outline in clear, and all that is personal sealed under the request's own key.

    {"format": "refold.request/1", "id", "received", "due", "stage", "history": [[stage, µs], ...], "sealed", "sha256"}

`sealed` is the hex of nonce[12] ‖ AES-256-GCM(u32be length ‖ canonical JSON ‖ zeros to Padmé), bound to origin and outline. The outline
holds no name, no count and no id but the request's: it stays when the key is gone, and then says how the request ended. `sha256` is of
all the rest as it lies there, ciphertext and no plain word: by it a request that is damaged is told from one that is dark. Earlier
releases wrote none: such a request is read as it is, and gets one when it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from refold import canonical
from refold.erase.model import Candidate, Decision, Found, Mode, Redaction, Request, Selector, Stage, Target
from refold.keys import crypto
from refold.log.entry import padded
from refold.model import AliasKind, EventId, Source, SubjectId

FORMAT = "refold.request/1"
LABEL = crypto.label("refold.request/v1")
FIELDS = frozenset(("format", "id", "received", "due", "stage", "history", "sealed"))
DIGEST = "sha256"


@dataclass(frozen=True, slots=True)
class Outline:
    """What anybody who may open the vault sees of a request."""

    request_id: bytes
    received: int
    due: int
    stage: Stage
    history: tuple[tuple[Stage, int], ...]
    sealed: bytes

    @property
    def raw(self) -> bytes:
        whole = self._said | {"sealed": self.sealed.hex()}
        return canonical.encode(whole | {DIGEST: _digest(whole)})

    @property
    def bound(self) -> bytes:
        """Return what the sealed part is bound to, beside the origin."""
        return canonical.encode(self._said)

    @property
    def _said(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "id": self.request_id.hex(),
            "received": self.received,
            "due": self.due,
            "stage": str(self.stage),
            "history": [[str(stage), at] for stage, at in self.history],
        }

    @classmethod
    def read(cls, raw: bytes) -> Outline:
        """Read an outline. Raises ValueError, KeyError, TypeError."""
        said: Any = canonical.decode(raw)
        if said["format"] != FORMAT:
            raise ValueError("a format of another release")
        if said.keys() - {DIGEST} != FIELDS:  # else a changed letter in the digest's name would make of it an earlier release's
            raise ValueError("a field is missing, or one too many")
        if DIGEST in said and _digest({name: said[name] for name in FIELDS}) != said[DIGEST]:
            raise ValueError("something in it was changed")
        history = tuple((Stage(stage), canonical.count(at)) for stage, at in said["history"])
        sealed = bytes.fromhex(said["sealed"])
        return cls(canonical.unhex(said["id"], 16), int(said["received"]), int(said["due"]), Stage(said["stage"]), history, sealed)


def _digest(said: dict[str, Any]) -> str:
    return sha256(canonical.encode(said)).hexdigest()


def sealed(request: Request, key: bytes, *, origin: str, nonce: bytes) -> Outline:
    """Return a request as it lies on disk."""
    outline = Outline(request.request_id, request.received, request.due, request.stage, request.history, b"")
    body = crypto.seal(key, nonce, padded(canonical.encode(encoded(request))), _bound(outline, origin))
    return replace(outline, sealed=nonce + body)


def opened(outline: Outline, key: bytes, *, origin: str) -> Request:
    """Return the request of an outline. Raises crypto.Unauthentic under any key but its own."""
    nonce, body = outline.sealed[: crypto.NONCE_BYTES], outline.sealed[crypto.NONCE_BYTES :]
    whole = crypto.unseal(key, nonce, body, _bound(outline, origin))
    return decoded(outline, canonical.decode(whole[4 : 4 + int.from_bytes(whole[:4], "big")]))


def _bound(outline: Outline, origin: str) -> bytes:
    return LABEL + len(origin).to_bytes(4, "big") + origin.encode() + outline.bound


def encoded(request: Request) -> dict[str, Any]:
    """Return what is sealed of a request."""
    return {
        "selector": _selector(request.selector),
        "reason": request.reason,
        "asked_by": request.asked_by,
        "approved_by": list(request.approved_by),
        "mode": str(request.mode),
        "suppresses": request.suppresses,
        "suppresses_aliases": request.suppresses_aliases,
        "found": request.found and _found(request.found),
        "target": request.target and _target(request.target),
        "kept": _kept(request.kept),
    }


def decoded(outline: Outline, said: Any) -> Request:
    """Undo `encoded`. Raises ValueError, TypeError, KeyError."""
    return Request(
        outline.request_id,
        _selector_of(said["selector"]),
        outline.received,
        outline.due,
        outline.stage,
        outline.history,
        said["reason"],
        said["asked_by"],
        tuple(said["approved_by"]),
        Mode(said["mode"]),
        said["suppresses"],
        said["suppresses_aliases"],
        said["found"] and _found_of(said["found"]),
        said["target"] and _target_of(outline.request_id, Mode(said["mode"]), said["target"]),
        _kept_of(said),
    )


def _selector(selector: Selector) -> dict[str, Any]:
    return {
        "subjects": _hexes(selector.subjects),
        "aliases": [[str(kind), alias] for kind, alias in selector.aliases],
        "sources": [[source.kind, source.ref, source.part] for source in selector.sources],
        "events": _hexes(selector.events),
        "ingests": _hexes(selector.ingests),
        "before": selector.before,
        "before_kind": selector.before_kind,
    }


def _selector_of(said: Any) -> Selector:
    return Selector(
        tuple(map(SubjectId, _ids(said["subjects"]))),
        tuple((AliasKind(kind), alias) for kind, alias in said["aliases"]),
        tuple(Source(*source) for source in said["sources"]),
        tuple(map(EventId, _ids(said["events"]))),
        tuple(_ids(said["ingests"])),
        said["before"],
        said["before_kind"],
    )


def _found(found: Found) -> dict[str, Any]:
    return {
        "subjects": _hexes(sorted(found.subjects)),
        "events": _hexes(sorted(found.events)),
        "declared": found.declared,
        "candidates": [[one.event_id.hex(), one.seq, *one.span, one.variant, str(one.decision)] for one in found.candidates],
        "alike": _hexes(sorted(found.alike)),
        "unread": found.unread,
        "size": found.size,
        "last_hash": found.last_hash.hex(),
    }


def _found_of(said: Any) -> Found:
    candidates = (
        Candidate(EventId(bytes.fromhex(event_id)), seq, (start, end), variant, Decision(decision))
        for event_id, seq, start, end, variant, decision in said["candidates"]
    )
    return Found(
        frozenset(map(SubjectId, _ids(said["subjects"]))),
        frozenset(map(EventId, _ids(said["events"]))),
        said["declared"],
        tuple(candidates),
        frozenset(map(SubjectId, _ids(said["alike"]))),
        said["unread"],
        said["size"],
        bytes.fromhex(said["last_hash"]),
    )


def _target(target: Target) -> dict[str, Any]:
    return {
        "subjects": _hexes(sorted(target.subjects)),
        "events": _hexes(sorted(target.events)),
        "suppressed": _hexes(sorted(target.suppressed)),
        "size": target.size,
        "last_hash": target.last_hash.hex(),
        "kept": _kept(target.kept),
    }


def _target_of(request_id: bytes, mode: Mode, said: Any) -> Target:
    return Target(
        request_id,
        frozenset(map(SubjectId, _ids(said["subjects"]))),
        frozenset(map(EventId, _ids(said["events"]))),
        frozenset(_ids(said["suppressed"])),
        said["size"],
        bytes.fromhex(said["last_hash"]),
        mode,
        _kept_of(said),
    )


def _kept(redactions: Sequence[Redaction]) -> list[list[str]]:
    return [[one.event_id.hex(), one.text] for one in redactions]


def _kept_of(said: Any) -> tuple[Redaction, ...]:
    return tuple(Redaction(EventId(bytes.fromhex(event_id)), text) for event_id, text in said.get("kept", ()))


def _hexes(ids: Any) -> list[str]:
    return [one.hex() for one in ids]


def _ids(hexes: Any) -> list[bytes]:
    return [bytes.fromhex(one) for one in hexes]
