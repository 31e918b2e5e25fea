"""Targets on disk: what stands there now, compared with what was recorded. One function, before the disk is touched and after."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from refold import files
from refold.errors import Drifted
from refold.files import Kind
from refold.journal.record import Identity, Journal, RecordedChange, Side
from refold.journal.steps import Nothing, Place, Places, Target, digest

HINT = "refold recover"


class Standing(StrEnum):
    """Where a target stands."""

    BEFORE = "before"
    AFTER = "after"
    DRIFTED = "drifted"


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a target: nothing, a folder, or a file with this content."""

    place: Identity
    what: Nothing | None
    content: bytes = b""  # SHA-256
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
    place = place_of(places, target.place)
    parent = _parent(places, target, place)
    path = path_of(places, target)
    seen = files.look(path) if parent else None
    if seen is None:
        return Found(place, Nothing.ABSENT, parent=parent)
    if seen.kind is Kind.FOLDER:
        return Found(place, Nothing.FOLDER, mode=seen.mode, identity=Identity.of(seen), parent=parent)
    if seen.kind is not Kind.FILE:
        raise Unsafe(f"a {seen.kind} stands where a file was", path=path, hint=HINT)
    try:
        content = digest(files.read(path))
    except FileNotFoundError:
        return Found(place, Nothing.ABSENT, parent=parent)
    return Found(place, None, content, seen.mode, parent=parent)


def place_of(places: Places, place: Place) -> Identity:
    """Return which folder a place is; its owner may have it reached through links. Raises Drifted where it is not there."""
    seen = files.look(place.of(places), follow=True)
    if seen is None or seen.kind is not Kind.FOLDER:
        raise Unsafe(f"the {place} is not there", path=place.of(places), hint=HINT)
    return Identity.of(seen)


def _parent(places: Places, target: Target, place: Identity) -> Identity | None:
    identity = place
    for parent in target.parents:
        path = target.place.of(places) / parent
        seen = files.look(path)
        if seen is None:
            return None
        if seen.kind is not Kind.FOLDER:
            raise Unsafe(f"a {seen.kind} stands where a folder was", path=path, hint=HINT)
        identity = Identity.of(seen)
    return identity


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
    sides = (Standing.AFTER, step.after), (Standing.BEFORE, step.before)
    for standing, side in reversed(sides) if journal.phase.goes_back else sides:
        if _is(now, side, journal):
            is_removed = side is step.before and step.identity is not None and not journal.phase.goes_back
            if is_removed and not _is_same(step.identity, now.identity, anchor, now.place):
                return Standing.DRIFTED, "it is another folder than the one that was there"
            return standing, ""
    return Standing.DRIFTED, _how(now, step, journal)


def _is_same(recorded: Identity | None, now: Identity | None, anchor: Identity, place: Identity) -> bool:
    """Whether a folder is the one recorded. A start of the system may number devices anew: they are compared by their places'."""
    if recorded is None or now is None:
        return False
    return now.inode == recorded.inode and (now.device == place.device) == (recorded.device == anchor.device)


def _remakes_parent(journal: Journal, step: RecordedChange) -> bool:
    """Whether the folder around a target is one that this very transaction removes: going back makes it anew."""
    return step.target.parent in journal.folders_of_its_own


def _is(now: Found, side: Side, journal: Journal) -> bool:
    if side.what is not None or now.what is not None:
        return side.what is now.what and (side.what is Nothing.ABSENT or side.mode == now.mode)
    return side.mode == now.mode and side.digest == journal.keyed(now.content)


def _how(now: Found, step: RecordedChange, journal: Journal) -> str:
    """Say how a target differs from both its sides."""
    if now.what is Nothing.ABSENT:
        return "it is not there"
    alike = [side for side in (step.before, step.after) if side.what is now.what]
    if not alike:
        return "something is there"
    if now.what is Nothing.FOLDER or any(side.digest == journal.keyed(now.content) for side in alike):
        return "its mode was changed"
    return "its bytes are others"
