"""journal.json: the bytes of a record.

    {"body": ..., "checksum": SHA-256 of T("refold.journal/checksum/v1") ‖ canonical(body)}

Canonical JSON, every field known and of its type, every phase possible with what is recorded: anything else is no journal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

from refold import canonical
from refold.journal.record import ID, Identity, Journal, Phase, RecordedChange, RecordedCommit, Side, Slice
from refold.journal.steps import Nothing, Place, Target
from refold.keys import crypto

FORMAT = "refold.journal/1"
CHECKSUM = crypto.label("refold.journal/checksum/v1")
T = TypeVar("T")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_WORD = re.compile(r"[a-z][a-z0-9.-]{0,63}")


class Malformed(Exception):
    """The bytes are no journal."""


class Unsupported(Exception):
    """The bytes are a journal of a format version that this release does not know."""


def encode(journal: Journal) -> bytes:
    """Return the bytes of journal.json."""
    body = canonical.encode(_body(journal))
    return b'{"body":' + body + b',"checksum":"' + _checksum(body).encode() + b'"}'


def decode(raw: bytes) -> Journal:
    """Read journal.json. Raises Malformed, Unsupported."""
    try:
        document: Any = canonical.decode(raw)
        body, checksum = document["body"], document["checksum"]
        known = body["format"]
        if known != FORMAT and re.fullmatch(r"refold\.journal/[1-9][0-9]{0,8}", known):
            raise Unsupported(known)
        journal = _parse(body)
        exact = set(document) == {"body", "checksum"} and _body(journal) == body and checksum == _checksum(canonical.encode(body))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        raise Malformed from None
    if not exact or not _is_sound(journal):
        raise Malformed
    return journal


def _checksum(body: bytes) -> str:
    return sha256(CHECKSUM + body).hexdigest()


def _body(journal: Journal) -> dict[str, Any]:
    return {
        "folder": _pair(journal.folder),
        "format": FORMAT,
        "id": journal.id,
        "key": journal.key.hex(),
        "kind": journal.kind,
        "origin": journal.origin,
        "phase": journal.phase.value,
        "places": {place.value: identity and _pair(identity) for place, identity in journal.places.items()},
        "staged": journal.staged,
        "steps": [_change(step) if isinstance(step, RecordedChange) else _commit(step) for step in journal.steps],
        "whole": journal.whole,
    }


def _change(step: RecordedChange) -> dict[str, Any]:
    return {
        "after": _side(step.after),
        "before": _side(step.before),
        "identity": step.identity and _pair(step.identity),
        "parent": step.parent and _pair(step.parent),
        "path": step.target.path,
        "place": step.target.place.value,
        "point_of_no_return": step.point_of_no_return,
    }


def _commit(step: RecordedCommit) -> dict[str, Any]:
    return {
        "after": step.after,
        "copy": _slice(step.copy),
        "digest": step.digest,
        "intent": step.intent,
        "point_of_no_return": step.point_of_no_return,
        "txn": step.txn,
    }


def _side(one: Side) -> list[Any]:
    return [one.what.value if one.what else "file", one.digest, one.mode, one.copy and _slice(one.copy)]


def _slice(copy: Slice) -> list[int]:
    return [copy.file, copy.start, copy.size]


def _pair(identity: Identity) -> list[int]:
    return [identity.device, identity.inode]


def _parse(body: dict[str, Any]) -> Journal:
    places = {Place(name): _or_none(_identity, pair) for name, pair in body["places"].items()}
    return Journal(
        id=_match(ID, body["id"]),
        kind=_match(_WORD, body["kind"]),
        origin=_text(body["origin"]),
        key=canonical.unhex(body["key"], crypto.KEY_BYTES),
        phase=Phase(body["phase"]),
        steps=tuple(_parse_change(step) if "path" in step else _parse_commit(step) for step in body["steps"]),
        staged=canonical.count(body["staged"]),
        whole=_flag(body["whole"]),
        places=places,
        folder=_identity(body["folder"]),
    )


def _parse_change(step: dict[str, Any]) -> RecordedChange:
    return RecordedChange(
        target=Target(Place(step["place"]), _text(step["path"])),
        before=_parse_side(step["before"]),
        after=_parse_side(step["after"]),
        parent=_or_none(_identity, step["parent"]),
        identity=_or_none(_identity, step["identity"]),
        point_of_no_return=_flag(step["point_of_no_return"]),
    )


def _parse_commit(step: dict[str, Any]) -> RecordedCommit:
    return RecordedCommit(
        txn=_match(ID, step["txn"]),
        intent=_match(_WORD, step["intent"]),
        digest=_match(_DIGEST, step["digest"]),
        copy=_parse_slice(step["copy"]),
        after=canonical.count(step["after"]),
        point_of_no_return=_flag(step["point_of_no_return"]),
    )


def _parse_side(raw: list[Any]) -> Side:
    what, keyed, mode, copy = raw
    if what == "file":
        return Side(None, _match(_DIGEST, keyed), canonical.count(mode), _or_none(_parse_slice, copy))
    if keyed != "" or copy is not None or (what == "absent" and mode != 0):
        raise ValueError
    return Side(Nothing(what), mode=canonical.count(mode))


def _parse_slice(raw: list[Any]) -> Slice:
    file, start, size = raw
    return Slice(canonical.count(file), canonical.count(start), canonical.count(size))


def _identity(raw: list[Any]) -> Identity:
    device, inode = raw
    return Identity(canonical.count(device), canonical.count(inode))


def _or_none(parse: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else parse(value)


def _match(pattern: re.Pattern[str], value: Any) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _is_sound(journal: Journal) -> bool:
    """Whether what the fields say goes together: no phase without what must have come before it."""
    steps = len(journal.steps)
    staged = journal.staged <= steps
    ended = journal.phase in (Phase.COMPLETING, Phase.COMMITTED)
    once = len(set(journal.targets)) == len(journal.targets) and set(journal.places) == set(Place)
    return staged and once and (not ended or (journal.whole and journal.staged == steps))
