"""A command: how its arguments are declared and what runs it. And how a command opens the memory it speaks to."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refold.cli.envelope import Finding, Outcome

if TYPE_CHECKING:
    from refold.memory import Memory

FORMAT_VERSION = 1  # of the stores that this release reads and makes


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the catalogue."""

    configure: Callable[[ArgumentParser], object]
    run: Callable[[Namespace], Outcome]


def opened(given: Namespace) -> Memory:
    """Open the memory that the command line names, as the principal it names."""
    from refold.memory import Memory

    return Memory.open(given.store, vault=given.vault, root=given.root, principal=given.principal)


def cautions(memory: Memory, **scope: str | None) -> list[Finding]:
    """Return warnings for whoever adds something: a demo keeps no secret, and what is in nobody's memory is found by few."""
    from refold.store import DEMO

    found = []
    if (memory.places.store.parent / DEMO).is_file():
        public = "this is a demo, whose keys are public: nothing in it is secret"
        found.append(Finding("RF-DEMO-001", "warning", public, remediation="refold init"))
    if memory.scope(**scope).is_empty:
        nobody = "neither --user, --agent nor --run is given: this is in nobody's memory, and only a principal (--as) finds it"
        found.append(Finding("RF-SCOPE-001", "warning", nobody, remediation="refold help scope"))
    return found


def shortfalls(memory: Memory) -> list[Finding]:
    """Return warnings where damage took entries for good, or the log ends before what was seen of it: whatever is derived lacks them."""
    log = memory.store.log
    return [*incomplete_since(log.incomplete_since), *cut(log.lost), *behind(log.behind)]


def cut(lost: tuple[int, int] | None) -> list[Finding]:
    """Return the warning that the end of the log is missing; none where it is None."""
    if lost is None:
        return []
    first, end = lost
    message = f"the log has lost its end: entries {first} to {end - 1} were there when its head was signed"
    return [Finding("RF-CUT-001", "warning", message, remediation="refold recover --log", details={"first": first, "end": end})]


def behind(missing: tuple[int, int] | None) -> list[Finding]:
    """Return the warning that a copy does not have all that its store has; none where it is None."""
    if missing is None:
        return []
    first, end = missing
    message = f"this is a copy, and behind its store: that has entries {first} to {end - 1} too"
    return [Finding("RF-CUT-002", "warning", message, remediation="refold help copies", details={"first": first, "end": end})]


def incomplete_since(seq: int | None) -> list[Finding]:
    """Return the warning that entries of the log are lost from an entry on; none where it is None."""
    if seq is None:
        return []
    message = f"damage took entries of the log for good, so that what is derived is incomplete since entry {seq}"
    return [Finding("RF-GAP-001", "warning", message, remediation="refold help damage", details={"incomplete_since": seq})]
