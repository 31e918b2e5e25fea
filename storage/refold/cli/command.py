"""A command: how its arguments are declared and what runs it. And how a command opens the memory it speaks to."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refold.cli.envelope import Finding, Outcome

if TYPE_CHECKING:
    from refold.memory import Memory
    from refold.store import Places

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


def cautions(places: Places) -> list[Finding]:
    """Return a warning where something is added to a demo: its keys come from a fixed seed, so they keep no secret."""
    from refold.store import DEMO

    if not (places.store.parent / DEMO).is_file():
        return []
    return [Finding("RF-DEMO-001", "warning", "this is a demo, whose keys are public: nothing in it is secret", remediation="refold init")]
