"""Commits: small signed files that say, in order, which parts make up the log.

A commit is canonical JSON {"body", "sig"}; Ed25519 over T(format's label) ‖ canonical(body); `previous` is the SHA-256 of the
whole file before it. So the newest signature and a walk back by digest verify every commit on the way. Every 128th
commit, and every one that replaces parts, also carries the full list of live parts and of the erasure entries so far.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refold import canonical
from refold.errors import Corrupt, UnsupportedVersion
from refold.keys import crypto
from refold.log.entry import genesis
from refold.log.parts import PATH, Part

SIGNED = crypto.label("refold.log/commit/v1")
FORMAT = "refold.log/1"
FULL_EVERY = 128
HASH_BYTES = 32
NAME = re.compile(r"([0-9]{20})\.json")
KEY = re.compile(rb',"key":([0-9]{1,6}),"last_hash":"')  # within a text every quote is escaped


@dataclass(frozen=True, slots=True)
class Replacement:
    """Live parts that leave the list, and the parts that hold the same entries from now on."""

    removed: tuple[str, ...]
    added: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """The full list: live parts in order, and the seqs of all erasure entries."""

    parts: tuple[Part, ...]
    erasures: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One step of the log: entries [first_seq, next_seq) in `parts`, or parts replaced."""

    origin: str
    version: int
    txn: str
    epoch: int
    first_seq: int
    next_seq: int
    prev_hash: str
    last_hash: str
    previous: str  # digest of the commit before; of the first one: empty
    parts: tuple[Part, ...]
    writer: str
    time: int  # µs, never before the previous commit's
    replaces: Replacement | None = None
    fence: int | bool = False  # the target epoch while a fence stands
    control: tuple[tuple[int, int], ...] = ()
    live: Live | None = None
    key: int = 1  # the number of the key that signs it
    format: str = FORMAT


def first_commit(origin: str, *, writer: str, txn: str, time: int, format: str = FORMAT, epoch: int = 1, key: int = 1) -> Commit:
    """Return the commit of an empty log; `key` is the number of the key that signs it."""
    start = genesis(origin).hex()
    return Commit(
        origin=origin, version=0, txn=txn, epoch=epoch, first_seq=0, next_seq=0, prev_hash=start, last_hash=start,
        previous="", parts=(), writer=writer, time=time, live=Live((), ()), format=format, key=key,
    )  # fmt: skip


def file_name(version: int) -> str:
    """Return the name of a commit within `commits/`."""
    return f"{version:020d}.json"


def version_of(name: str) -> int | None:
    """Return the version that a file name stands for; None where it is not a commit's name."""
    found = NAME.fullmatch(name)
    return int(found.group(1)) if found else None


def newest_of(names: Iterable[str]) -> int | None:
    """Return the highest version among the names of a folder; None where none is a commit's."""
    return next((version for name in sorted(names, reverse=True) if (version := version_of(name)) is not None), None)


def encode(commit: Commit, signer: crypto.Signer) -> bytes:
    """Return the signed bytes of a commit."""
    body = canonical.encode(_body(commit))
    return b'{"body":' + body + b',"sig":"' + signer.sign(SIGNED + body).hex().encode() + b'"}'


def decode(raw: bytes, path: Path, *, expected: str = FORMAT) -> Commit:
    """Read a commit file and check its form. Signature and place in the log are checked apart. Raises Corrupt."""
    try:
        document = canonical.decode(raw)
        body, _ = document["body"], canonical.unhex(document["sig"], crypto.SIGNATURE_BYTES)
        known = body["format"]
    except (ValueError, TypeError, KeyError):
        raise damage("is not a commit", path) from None
    if known != expected:
        raise UnsupportedVersion(f"a commit has format {str(known)[:40]!r}; this release reads {expected!r}", path=path)
    try:
        commit = _parse(body)
        exact = _body(commit) == body and set(document) == {"body", "sig"}
    except (ValueError, TypeError, KeyError, AttributeError):
        exact = False
    if not exact:
        raise damage("is not a commit", path)
    return commit


def digest(raw: bytes) -> str:
    """Return what the next commit says of this one."""
    return hashlib.sha256(raw).hexdigest()


def check_signature(raw: bytes, public_keys: Sequence[bytes], path: Path) -> None:
    """Raise Corrupt unless the key of the number that it names signed this commit file, which `decode` has accepted."""
    named = KEY.search(raw)
    number = int(named[1]) if named else 1
    if not 1 <= number <= len(public_keys):
        raise damage("names a signing key that the vault does not know", path)
    end = raw.rindex(b',"sig":"')
    body, signature = raw[len(b'{"body":') : end], raw[end + 8 : -2]
    if not crypto.is_signed(public_keys[number - 1], canonical.unhex(signature.decode(), crypto.SIGNATURE_BYTES), SIGNED + body):
        raise damage("is not signed by the key of this log", path)


def _body(commit: Commit) -> dict[str, Any]:
    change, live = commit.replaces, commit.live
    return {
        "format": commit.format,
        "origin": commit.origin,
        "version": commit.version,
        "txn": commit.txn,
        "epoch": commit.epoch,
        "first_seq": commit.first_seq,
        "next_seq": commit.next_seq,
        "prev_hash": commit.prev_hash,
        "last_hash": commit.last_hash,
        "previous": commit.previous,
        "parts": _listed(commit.parts),
        "replaces": {"removed": list(change.removed), "added": _listed(change.added)} if change else None,
        "fence": commit.fence,
        "control": [list(pair) for pair in commit.control],
        "writer": commit.writer,
        "time": commit.time,
        "live": {"parts": _listed(live.parts), "erasures": list(live.erasures)} if live else None,
    } | ({"key": commit.key} if commit.key != 1 else {})


def _listed(parts: tuple[Part, ...]) -> list[list[object]]:
    return [[part.path, part.size, part.sha256, part.first, part.count] for part in parts]


def _parse(body: dict[str, Any]) -> Commit:
    change, live = body["replaces"], body["live"]
    fields = {name: body[name] for name in ("origin", "txn", "prev_hash", "last_hash", "previous", "writer")}
    numbers = {name: canonical.count(body[name]) for name in ("version", "epoch", "first_seq", "next_seq", "time")}
    if not all(isinstance(value, str) for value in fields.values()):
        raise ValueError
    for name in ("prev_hash", "last_hash", *(["previous"] if fields["previous"] else [])):
        canonical.unhex(fields[name], HASH_BYTES)
    return Commit(
        **fields,
        **numbers,
        format=body["format"],
        key=canonical.count(body.get("key", 1)),
        parts=_parts(body["parts"]),
        replaces=change and Replacement(_paths(change["removed"]), _parts(change["added"])),
        fence=body["fence"] is not False and canonical.count(body["fence"]),
        control=tuple((canonical.count(seq), canonical.count(kind)) for seq, kind in body["control"]),
        live=live and Live(_parts(live["parts"]), tuple(canonical.count(seq) for seq in live["erasures"])),
    )


def _parts(listed: list[list[Any]]) -> tuple[Part, ...]:
    matches = PATH.fullmatch
    parts = tuple(Part(*row) for row in listed)
    for part in parts:
        if matches(part.path) is None or not isinstance(part.sha256, str):
            raise ValueError
        canonical.count(part.size), canonical.count(part.first), canonical.count(part.count)
    return parts


def _paths(listed: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(path, str) for path in listed):
        raise ValueError
    return tuple(listed)


def damage(what: str, path: Path) -> Corrupt:
    """Return the error for a commit that is not what it should be."""
    version = version_of(path.name)
    return Corrupt(f"commit {path.name if version is None else version} {what}", path=path, hint="refold help damage")
