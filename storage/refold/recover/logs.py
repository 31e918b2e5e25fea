"""Auditing the log: the verdict, and each range that is damaged as a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from refold import canonical, files
from refold.errors import Blocked, Corrupt, KeyMissing, UnsupportedVersion
from refold.log import stored, witnessed
from refold.log.log import COPY
from refold.recover import findings, heads
from refold.recover.findings import Code, Finding
from refold.store import Places, is_log_of, vault_of
from refold.verdict import Damage, DamageKind, Directive, Kind, Verdict

CODES: dict[DamageKind, Code] = {
    DamageKind.PAYLOAD: findings.LOG_PAYLOAD,
    DamageKind.HEADER: findings.LOG_HEADER,
    DamageKind.LINK: findings.LOG_LINK,
    DamageKind.GAP: findings.LOG_GAP,
    DamageKind.DUPLICATE: findings.LOG_DUPLICATE,
    DamageKind.ORDER: findings.LOG_ORDER,
    DamageKind.PART: findings.LOG_PART,
    DamageKind.MISSING: findings.LOG_MISSING,
    DamageKind.COMMIT: findings.LOG_COMMIT,
    DamageKind.SIGNATURE: findings.LOG_SIGNATURE,
    DamageKind.CUT: findings.LOG_CUT,
    DamageKind.FORK: findings.LOG_FORK,
}


def look(places: Places, check: Callable[[], Verdict]) -> tuple[Verdict | None, list[Finding]]:
    """Return the verdict on the log, and what is wrong with it. Raises VerificationIncomplete, NotAllowed."""
    without = _without_key(places)
    if without is not None:
        return None, [Finding(findings.LOG_NOT_JUDGED, places.store / "log", details={"found": without})]
    verdict = check()
    damage = (_finding(places, each) for each in verdict.damage)
    return verdict, [
        *other(places),
        *damage,
        *_policy(places, verdict),
        *_refused(places, verdict),
        *_kept(places),
        *_behind(places, verdict),
    ]


def _without_key(places: Places) -> str | None:
    """Return why there is no pinned key by which signatures can be judged; what is wrong with it is the audit of the keys'."""
    try:
        vault = vault_of(places)
    except (KeyMissing, Corrupt, UnsupportedVersion) as error:
        return error.message
    if vault.origin != places.origin and not is_log_of(places, vault):
        return "the vault belongs to another store"
    return None


def other(places: Places) -> Iterator[Finding]:
    """Find that store.json names another log than the pinned key is for."""
    pinned = vault_of(places)
    path = places.store / "store.json"
    named = canonical.decode(files.read(path)).get("origin")
    if named != pinned.origin:
        yield Finding(findings.LOG_OTHER, path)


def _finding(places: Places, damage: Damage) -> Finding:
    details: dict[str, int | str] = {"first": damage.first, "end": damage.end}
    if damage.version is not None:
        details["commit"] = damage.version
    return Finding(CODES[damage.kind], places.store / Path(damage.path), details=details)


def look_at_calls(places: Places, verdict: Verdict | None) -> Iterator[Finding]:
    """Find what is damaged of the recorded calls, which are a log too. What they gave the state does not depend on them."""
    yield from (_finding(places, each) for each in verdict.damage) if verdict else ()


def _policy(places: Places, verdict: Verdict) -> Iterator[Finding]:
    """Find that a log is whole, and the policy is not content with that."""
    if verdict.kind is Kind.INTACT and verdict.directive is Directive.HALT:
        yield Finding(findings.LOG_POLICY, places.store / "log", details={"found": verdict.reason})


def _refused(places: Places, verdict: Verdict) -> Iterator[Finding]:
    """Find that nothing is added to a log that is whole, because of what is kept of the last verdict on it."""
    try:
        if verdict.kind is Kind.INTACT:
            stored.require_intact(places.vault, places.store)
    except Blocked as error:
        yield Finding(findings.LOG_REFUSED, places.vault / stored.PATH, details={"found": error.message})


def _behind(places: Places, verdict: Verdict) -> Iterator[Finding]:
    """Find that this is a copy of a store which has more."""
    longer = witnessed.beyond(vault_of(places), verdict.size)
    if longer is not None and files.look(places.store / COPY) is not None:
        yield Finding(findings.LOG_BEHIND, places.store, details={"first": verdict.size, "end": longer.size})


def left_out(verdict: Verdict, *, has_calls: bool) -> Iterator[str]:
    """Yield what a verification of the log did not look at."""
    if not verdict.is_deep:
        yield "each entry by itself (--deep recomputes it)"
    if verdict.verified_from:
        yield f"the entries below {verdict.verified_from:,}, and whether the roots are those that were signed"
    if has_calls:
        yield "whether the recorded calls were more once: no head of them is signed"


def _kept(places: Places) -> Iterator[Finding]:
    """Find what lies beside the log as signed and is not: it counts for nothing, so nobody is misled, but a checkpoint is lost."""
    yield from (Finding(findings.LOG_HEAD, path) for path in heads.damaged(places))
