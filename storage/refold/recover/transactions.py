"""Auditing transactions: everything in the journal's folder, and what each unfinished one can still become."""

from __future__ import annotations

from collections.abc import Iterator

from refold import files, journal
from refold.journal import Cause, Condition, Direction, Entry, Inspection
from refold.recover import findings, shorter
from refold.recover.findings import Code, Finding
from refold.recover.intents import KNOWN
from refold.store import Places

CONDITIONS = {
    Condition.UNFINISHED: findings.UNFINISHED,
    Condition.ENDED: findings.ENDED,
    Condition.UNNAMED: findings.UNNAMED,
    Condition.MALFORMED: findings.MALFORMED,
    Condition.UNSUPPORTED: findings.UNSUPPORTED,
    Condition.ORPHANED: findings.ORPHANED,
    Condition.UNSAFE: findings.UNSAFE,
    Condition.FOREIGN: findings.FOREIGN,
}
CAUSES = {Cause.KEPT: findings.KEPT, Cause.DRIFT: findings.DRIFTED}


def look(places: Places) -> Iterator[Finding]:
    """Yield what lies in the journal's folder. Raises VerificationIncomplete, NotAllowed."""
    with files.unlocked(places.vault / journal.LOCK) as free:
        for entry in journal.entries(places):
            if not free and entry.condition in (Condition.UNFINISHED, Condition.UNNAMED):
                yield _finding(findings.RUNNING, entry)
                continue
            opening = shorter.opening(places, entry.journal.kind if entry.journal else None)
            inspection = journal.inspect(places, entry.id, open_store=opening, intents=KNOWN)
            yield _condition(inspection)
            yield from (Finding(findings.STRANGE, entry.path / name, entry.id) for name in entry.strange)
            if entry.condition is Condition.UNFINISHED:
                yield from _obstacles(inspection)


def _condition(inspection: Inspection) -> Finding:
    entry = inspection.entry
    is_outlived = entry.condition is Condition.ENDED and not any(map(inspection.is_safe, Direction))
    code = findings.OUTLIVED if is_outlived else CONDITIONS[entry.condition]
    if entry.condition is not Condition.UNFINISHED:
        return _finding(code, entry)
    safe = {direction.value: "safe" if inspection.is_safe(direction) else "not safe" for direction in Direction}
    return _finding(code, entry, safe)


def _obstacles(inspection: Inspection) -> Iterator[Finding]:
    """Yield once what stands against either direction, and is damage or drift rather than the rules of the transaction."""
    met = dict.fromkeys(obstacle for direction in Direction for obstacle in inspection.against[direction])
    for obstacle in met:
        if obstacle.cause in CAUSES:
            yield Finding(CAUSES[obstacle.cause], obstacle.path, inspection.entry.id, {"found": obstacle.message})


def _finding(code: Code, entry: Entry, safe: dict[str, str] | None = None) -> Finding:
    kind = {"kind": entry.journal.kind, "phase": entry.journal.phase.value} if entry.journal else {}
    return Finding(code, entry.path, entry.id, kind | (safe or {}))
