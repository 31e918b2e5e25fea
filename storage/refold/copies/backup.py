"""Backups: the store as it is at one moment, in a folder of its own, checked as a whole, under a signed list of its files.

    backup.json   canonical JSON {"body", "sig"}, linked last: until it is there, there is no backup
    body          format, origin, time, epoch, the newest commit (version, size, last_hash, digest), files [path, size, sha256]

Ed25519 over T("refold.backup/v1") ‖ canonical(body), under the key that signs the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refold import canonical, files
from refold.copies import bring, folder
from refold.copies.folder import HINT, Copy
from refold.copies.mirror import LOG, LOGS, copy_store
from refold.errors import Corrupt, UnsupportedVersion, Usage
from refold.keys import crypto
from refold.log.head import Head, Place, has_begun, newest
from refold.outside import Clock, Random
from refold.store import AUTHORITY, Places, own_vault

FORMAT = "refold.backup/1"
MANIFEST = "backup.json"
SIGNED = crypto.label("refold.backup/v1")


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a backup."""

    path: str  # within the folder, POSIX
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds."""

    path: Path
    origin: str
    time: int  # µs
    epoch: int
    version: int  # of its newest commit
    entries: int
    digest: str  # of its newest commit
    files: tuple[Listed, ...]

    @property
    def size(self) -> int:
        """Return its bytes."""
        return sum(file.size for file in self.files)


def backup(places: Places, where: Path, *, now: Clock, random: Random) -> Backup:
    """Make a backup in a new or empty folder; one that was interrupted is gone on with. Raises Usage, Locked, Corrupt, WriteFailed."""
    folder.require_apart(where, places)
    vault = own_vault(places, random=random)
    signer = vault.signer()
    folder.claim(where, Copy.BACKUP, places.origin)
    with files.lock(where, wait_seconds=0):
        if files.look(where / MANIFEST) is not None:
            raise Usage("there is a backup here already: each takes a folder of its own", path=where, hint=HINT)
        head = copy_store(places, where).head
        held = tuple(listed(where, vault.public_keys, places.origin))
        made = Backup(where, places.origin, now(), head.epoch, head.version, head.size, head.digest, held)
        body = canonical.encode(_body(made))
        signed = b'{"body":' + body + b',"sig":"' + signer.sign(SIGNED + body).hex().encode() + b'"}'
        files.link_new(where / MANIFEST, signed)
    return check(where, public_keys=vault.public_keys)


def read(where: Path, *, public_keys: tuple[bytes, ...]) -> Backup:
    """Read the signed list of a backup. Raises Usage where there is none, Corrupt, UnsupportedVersion."""
    path = where / MANIFEST
    try:
        document = canonical.decode(files.read(path))
        body, signature = document["body"], canonical.unhex(document["sig"], crypto.SIGNATURE_BYTES)
        if body["format"] != FORMAT:
            raise UnsupportedVersion("the backup has a format that this release does not know", path=path)
        made = _parse(where, body)
    except FileNotFoundError:
        raise Usage("there is no backup here, or it was interrupted", path=where, hint=HINT) from None
    except (ValueError, TypeError, KeyError):
        raise Corrupt("the list of the backup is damaged", path=path, hint=HINT) from None
    if not crypto.is_signed_by_any(public_keys, signature, SIGNED + canonical.encode(body)):
        raise Corrupt("the list of the backup is not signed by the key of this log", path=path, hint=HINT)
    return made


def check(where: Path, *, public_keys: tuple[bytes, ...]) -> Backup:
    """Read every file of a backup, and follow its log. Raises as `read` does."""
    made = read(where, public_keys=public_keys)
    for file in made.files:
        if seen(where, file.path) != file:
            raise Corrupt("a file of the backup is missing, or not what was listed", path=where / file.path, hint=HINT)
    head = check_log(where, made.origin, public_keys)
    if (head.version, head.digest) != (made.version, made.digest):
        raise Corrupt("the log of the backup does not end where its list says", path=where, hint=HINT)
    return made


def check_log(where: Path, origin: str, public_keys: tuple[bytes, ...]) -> Head:
    """Read the logs of a copy whole; return the head of the first. Raises Corrupt."""
    heads = []
    for name, known in LOGS.items():
        if name == LOG or has_begun(where / name):
            place = Place(where / name, origin, public_keys, known)
            heads.append(newest(place))
            bring.check(place, heads[-1])
    return heads[0]


def contents(where: Path, origin: str, public_keys: tuple[bytes, ...]) -> Iterator[str]:
    """Yield the paths of what a copy holds of a store: what its newest commits vouch for, and what stands beside them."""
    yield AUTHORITY
    for name, known in LOGS.items():
        if name == LOG or has_begun(where / name):
            place = Place(where / name, origin, public_keys, known)
            head = newest(place)
            yield from (f"{name}/{part.path}" for part in head.parts)
            yield from (f"{name}/commits/{place.commit(version).name}" for version in range(head.version + 1))
    yield from bring.aside(where)


def listed(where: Path, public_keys: tuple[bytes, ...], origin: str) -> Iterator[Listed]:
    """Return every file of a copy with its size and digest. Raises Corrupt."""
    for path in sorted(contents(where, origin, public_keys)):
        file = seen(where, path)
        if file is None:
            raise Corrupt("a file of the copy is missing", path=where / path, hint=HINT)
        yield file


def seen(where: Path, path: str) -> Listed | None:
    """Return a file as it lies there; None where it does not."""
    try:
        raw = files.read(where / path)
    except FileNotFoundError:
        return None
    return Listed(path, len(raw), hashlib.sha256(raw).hexdigest())


def _body(made: Backup) -> dict[str, Any]:
    return {
        "digest": made.digest,
        "entries": made.entries,
        "epoch": made.epoch,
        "files": [[file.path, file.size, file.sha256] for file in made.files],
        "format": FORMAT,
        "origin": made.origin,
        "time": made.time,
        "version": made.version,
    }


def _parse(where: Path, body: dict[str, Any]) -> Backup:
    listed = tuple(Listed(*row) for row in body["files"])
    if any(type(file.size) is not int or not isinstance(file.path, str) or ".." in file.path.split("/") for file in listed):
        raise ValueError
    made = Backup(
        where, body["origin"], body["time"], body["epoch"], body["version"], body["entries"], body["digest"], listed
    )  # fmt: skip
    if _body(made) != body or not all(type(each) is int for each in (made.time, made.epoch, made.version, made.entries)):
        raise ValueError
    return made
