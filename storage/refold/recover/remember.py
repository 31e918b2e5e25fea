"""Remember a verdict: what checkpoint, recovery and the nightly run leave behind for those who append. An audit leaves nothing."""

from __future__ import annotations

from refold import files
from refold.errors import Blocked, NotAllowed, WriteFailed
from refold.log import stored
from refold.log.log import COPY
from refold.log.stored import Stored
from refold.outside import Clock, clock
from refold.recover.audit import options, verified
from refold.settings import Settings
from refold.store import Places
from refold.verdict import Kind, Verdict


def judged(places: Places, settings: Settings, *, deep: bool = False, now: Clock = clock) -> Verdict:
    """Verify the log of a store, held against what was signed and seen of it, and keep the verdict.

    Raises VerificationIncomplete; NotAllowed and WriteFailed, which tell the verdict, where it cannot be kept.
    """
    verdict = verified(places, options(places, settings), deep=deep)
    try:
        remember_verdict(places, verdict, now=now)
    except (NotAllowed, WriteFailed) as error:
        refused = "" if verdict.kind is Kind.INTACT else ", so that nothing refuses additions"
        message = f"the verdict {verdict.kind.value} cannot be kept in the vault{refused}: {error.message}"
        raise type(error)(message, path=error.path, hint="refold audit --log") from None
    return verdict


def remember_verdict(places: Places, verdict: Verdict, *, now: Clock = clock) -> bool:
    """Keep a verdict in the vault; whether it was kept. One that looked at less than what found the damage does not clear it."""
    if files.look(places.store / COPY) is not None:
        return False  # what is wrong with a copy holds nothing back from its store
    try:
        before = stored.read(places.vault)
    except Blocked:
        before = None  # damaged: whatever it was, this one is newer
    if verdict.kind is Kind.INTACT and before is not None and not before.is_intact and not _clears(verdict, before, places):
        return False
    path = places.vault / stored.PATH
    files.make_folder(path.parent)
    files.replace(path, to_store(verdict, at=now()).raw)
    return True


def _clears(verdict: Verdict, before: Stored, places: Places) -> bool:
    """Whether a verdict that finds nothing may take the place of one that did."""
    return verdict.is_whole and (verdict.is_deep or stored.is_mended(before, places.store))


def to_store(verdict: Verdict, *, at: int) -> Stored:
    """Return what is kept of a verdict: no more than an append has to know."""
    damaged = sorted({(each.path, each.sha256) for each in verdict.damage}, key=lambda each: (each[0], each[1] or ""))
    is_intact = verdict.kind is Kind.INTACT
    return Stored(verdict.kind.value, is_intact, verdict.is_deep, verdict.size, verdict.digest.hex(), tuple(damaged), at)
