"""Targets on disk: what stands there now, compared with what was recorded. One function, before the disk is touched and after."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from refold import files
from refold.errors import Drifted
from refold.files import Kind
from refold.journal.record import Identity, Journal, RecordedChange, Side
from refold.journal.steps import Nothing, Places, Target

HINT = "refold recover"


class Standing(StrEnum):
    """Where a target stands."""

    BEFORE = "before"
    AFTER = "after"
    DRIFTED = "drifted"


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a target: nothing, a folder, or a file with these bytes."""

    place: Identity
    what: Nothing | None
    data: bytes = b""
    mode: int = 0
    identity: Identity | None = None  # of the folder that it is
    parent: Identity | None = None  # of the folder it is in; None: that is not there


class Unsafe(Drifted):
    """A symbolic link, or something that is neither file nor folder, stands where a plain path should be."""


def path_of(places: Places, target: Target) -> Path:
    """Return where a target lies."""
    return target.place.of(places) / target.path


def find(places: Places, target: Target) -> Found:
    """Return what stands at a target, reached through folders alone. Raises Unsafe, Drifted, VerificationIncomplete, NotAllowed."""
    base = target.place.of(places)
    identity = parent = _folder(base, follow=True)
    if identity is None:
        raise Unsafe(f"the {target.place} is not there", path=base, hint=HINT)
    for name in target.parents:
        parent = _folder(f"{base}/{name}")
        if parent is None:
            return Found(identity, Nothing.ABSENT)
    path = f"{base}/{target.path}"
    seen = files.look(path)
    if seen is None:
        return Found(identity, Nothing.ABSENT, parent=parent)
    if seen.kind is Kind.FOLDER:
        return Found(identity, Nothing.FOLDER, mode=seen.mode, identity=Identity.of(seen), parent=parent)
    if seen.kind is not Kind.FILE:
        raise Unsafe(f"a {seen.kind} stands where a file was", path=path, hint=HINT)
    try:
        data = files.read(path)
    except FileNotFoundError:
        return Found(identity, Nothing.ABSENT, parent=parent)
    return Found(identity, None, data, seen.mode, parent=parent)


def _folder(path: Path | str, *, follow: bool = False) -> Identity | None:
    """Return which folder this is; None where nothing is there. The owner of a place may have it reached through links."""
    seen = files.look(path, follow=follow)
    if seen is None:
        return None
    if seen.kind is not Kind.FOLDER:
        raise Unsafe(f"a {seen.kind} stands where a folder was", path=path, hint=HINT)
    return Identity.of(seen)


def compare(places: Places, journal: Journal, step: RecordedChange) -> tuple[Standing, str]:
    """Say where a target stands, and where it drifted, how. A symlink or a replaced folder on its path is drift."""
    try:
        now = find(places, step.target)
    except Unsafe as error:
        return Standing.DRIFTED, error.message
    anchor = journal.places[step.target.place]
    if anchor is None or now.place != Identity(now.place.device, anchor.inode):
        return Standing.DRIFTED, f"the {step.target.place} is not the folder that it was"
    if step.parent is not None and not _remakes_parent(journal, step) and not _is_same(step.parent, now.parent, anchor, now.place):
        return Standing.DRIFTED, "the folder around it is not the one that was there"
    # Where a step changes nothing that can be seen, it counts as done when going on, and as not done when going back.
    digest = "" if now.what else journal.digest(now.data)
    sides = (Standing.AFTER, step.after), (Standing.BEFORE, step.before)
    for standing, side in reversed(sides) if journal.phase.goes_back else sides:
        if _is(now, side, digest):
            is_removed = side is step.before and step.identity is not None and not journal.phase.goes_back
            if is_removed and not _is_same(step.identity, now.identity, anchor, now.place):
                return Standing.DRIFTED, "it is another folder than the one that was there"
            return standing, ""
    return Standing.DRIFTED, _how(now, step, digest)


def _is_same(recorded: Identity | None, now: Identity | None, anchor: Identity, place: Identity) -> bool:
    """Whether a folder is the one recorded. A start of the system may number devices anew: they are compared by their places'."""
    if recorded is None or now is None:
        return False
    return now.inode == recorded.inode and (now.device == place.device) == (recorded.device == anchor.device)


def _remakes_parent(journal: Journal, step: RecordedChange) -> bool:
    """Whether the folder around a target is one that this very transaction removes: going back makes it anew."""
    return step.target.parent in journal.folders_of_its_own


def _is(now: Found, side: Side, digest: str) -> bool:
    if side.what is not None or now.what is not None:
        return side.what is now.what and (side.what is Nothing.ABSENT or side.mode == now.mode)
    return side.mode == now.mode and side.digest == digest


def _how(now: Found, step: RecordedChange, digest: str) -> str:
    """Say how a target differs from both its sides."""
    if now.what is Nothing.ABSENT:
        return "it is not there"
    alike = [side for side in (step.before, step.after) if side.what is now.what]
    if not alike:
        return "something is there"
    if now.what is Nothing.FOLDER or any(side.digest == digest for side in alike):
        return "its mode was changed"
    return "its bytes are others"
