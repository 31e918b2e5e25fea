"""Survey: every commit file of a log, read once, each judged by itself. What they say together is `history`'s to judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from refold import canonical, files
from refold.errors import Corrupt, NotAllowed, UnsupportedVersion, Usage, VerificationIncomplete
from refold.keys import crypto
from refold.log import commit as commits
from refold.log.commit import Commit
from refold.log.head import Place
from refold.log.parts import Part
from refold.verdict import DamageKind


@dataclass(frozen=True, slots=True)
class Slot:
    """What stands under the number of a commit. A run of missing ones is one slot, under the number of its first."""

    version: int
    name: str  # of the file
    sha256: str | None = None  # None: there is no file
    commit: Commit | None = None  # None: there is none to be read
    fault: DamageKind | None = None


def survey(place: Place) -> list[Slot]:
    """Read all commits of a log, in order; signatures only as far as digests do not speak for them.

    Raises VerificationIncomplete where one cannot be read, or is of a later format.
    """
    shared: dict[Part, Part] = {}
    slots = [_shared(slot, shared) for slot in _slots(place)]
    if not slots or not _follow(slots):
        return [_signed(place, slot) for slot in slots]
    slots[-1] = _signed(place, slots[-1])
    return slots if slots[-1].fault is None else [_signed(place, slot) for slot in slots]


def read_file(path: Path) -> bytes | None:
    """Return what a file holds; None where no file itself stands under its name. Raises VerificationIncomplete."""
    try:
        return files.read(path)
    except (FileNotFoundError, Corrupt, Usage):
        return None
    except NotAllowed as error:
        raise VerificationIncomplete(error.message, path=path, hint="refold audit --log") from None


def _slots(place: Place) -> Iterator[Slot]:
    expected = 0
    for version in sorted(version for name in _names(place.commits) if (version := commits.version_of(name)) is not None):
        if version > expected:
            yield Slot(expected, commits.file_name(expected), fault=DamageKind.MISSING)
        yield _slot(place, version)
        expected = version + 1
    if not expected:  # every log has a first commit
        yield Slot(0, commits.file_name(0), fault=DamageKind.MISSING)


def _names(folder: Path) -> list[str]:
    try:
        return files.names(folder)
    except (FileNotFoundError, Corrupt, Usage):
        return []
    except NotAllowed as error:
        raise VerificationIncomplete(error.message, path=folder, hint="refold audit --log") from None


def _slot(place: Place, version: int) -> Slot:
    path = place.commit(version)
    raw = read_file(path)
    if raw is None:
        return Slot(version, path.name, fault=DamageKind.MISSING)
    sha256 = hashlib.sha256(raw).hexdigest()
    try:
        commit = commits.decode(raw, path, expected=place.format)
    except UnsupportedVersion as error:
        if _is_signed_at_all(raw, place.public_keys):
            raise VerificationIncomplete(error.message, path=path, hint="refold --version") from None
        return Slot(version, path.name, sha256, fault=DamageKind.COMMIT)
    except Corrupt:
        return Slot(version, path.name, sha256, fault=DamageKind.COMMIT)
    return Slot(version, path.name, sha256, commit, None if is_in_place(commit, place.origin, version) else DamageKind.COMMIT)


def is_in_place(commit: Commit, origin: str, version: int) -> bool:
    """Whether a commit is this log's, and under its own number."""
    return (commit.origin, commit.version) == (origin, version)


def _follow(slots: list[Slot]) -> bool:
    """Whether each commit names the digest of the one before it, and all can be read."""
    before = ""
    for slot in slots:
        if slot.fault is not None or slot.commit is None or slot.commit.previous != before:
            return False
        before = slot.sha256 or ""
    return True


def _signed(place: Place, slot: Slot) -> Slot:
    """Return a slot with the fault that its signature has."""
    if slot.fault is not None:
        return slot
    raw = read_file(place.commit(slot.version))
    if raw is None or hashlib.sha256(raw).hexdigest() != slot.sha256:
        raise VerificationIncomplete("a commit changed while it was verified", path=place.commit(slot.version), hint="refold audit --log")
    return slot if is_signed(raw, place, slot.version) else replace(slot, fault=DamageKind.SIGNATURE)


def is_signed(raw: bytes, place: Place, version: int) -> bool:
    """Whether the pinned key signed a commit that can be read."""
    try:
        commits.check_signature(raw, place.public_keys, place.commit(version))
    except Corrupt:
        return False
    return True


def _is_signed_at_all(raw: bytes, public_keys: tuple[bytes, ...]) -> bool:
    """Whether a commit of an unknown format is the log's own all the same."""
    try:
        document = canonical.decode(raw)
        signature = canonical.unhex(document["sig"], crypto.SIGNATURE_BYTES)
        return crypto.is_signed_by_any(public_keys, signature, commits.SIGNED + canonical.encode(document["body"]))
    except (ValueError, TypeError, KeyError):
        return False


def _shared(slot: Slot, shared: dict[Part, Part]) -> Slot:
    """Return a slot whose full list shares its parts with those of the others: there are many lists of nearly the same parts."""
    live = slot.commit and slot.commit.live
    if not slot.commit or not live:
        return slot
    parts = tuple(shared.setdefault(part, part) for part in live.parts)
    return replace(slot, commit=replace(slot.commit, live=replace(live, parts=parts)))
