"""Audit: look at a store, area by area, and say what was found. It writes nothing, not even the time of a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from refold.errors import NotAllowed, VerificationIncomplete
from refold.recover import findings, keys, state, transactions
from refold.recover.findings import Finding, Severity
from refold.store import Places

AUDIT_SCHEMA_VERSION = 1


class Area(StrEnum):
    """What an audit looks at, in this order."""

    TRANSACTIONS = "transactions"
    KEYS = "keys"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit looked at, and what it found."""

    areas: tuple[Area, ...]
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Return how many findings have a severity."""
        return sum(finding.code.severity is severity for finding in self.findings)


def audit(places: Places, areas: Collection[Area] = (), *, deep: bool = False) -> Audit:
    """Look at some areas, or at all. `deep` also reads what is only listed otherwise. What cannot be read is a finding."""
    wanted = tuple(area for area in Area if area in areas or not areas)
    looks: dict[Area, Callable[[], Iterator[Finding]]] = {
        Area.TRANSACTIONS: lambda: transactions.look(places),
        Area.KEYS: lambda: keys.look(places),
        Area.STATE: lambda: state.look(places, deep=deep),
    }
    return Audit(wanted, tuple(finding for area in wanted for finding in _readable(looks[area])))


def _readable(look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what a look finds; where it meets what it cannot read, that is what it found last."""
    try:
        yield from look()
    except (VerificationIncomplete, NotAllowed) as error:
        path = Path(error.path) if error.path else None
        yield Finding(findings.UNREADABLE, path, details={"found": error.message})
