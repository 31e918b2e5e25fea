"""What a recovery may rely on beside the store itself: the copies, heads, checkpoints and policy that the settings and the vault name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from refold.copies.restore import heads_seen
from refold.errors import Corrupt, Usage, VerificationIncomplete
from refold.recover import audit
from refold.recover.repair import Sources
from refold.settings import Settings
from refold.store import Places
from refold.verdict import Policy, SeenHead


def known(places: Places, settings: Settings, copies: Sequence[Path] = ()) -> Sources:
    """Return all that is known of a log outside of it. A mirror is a copy, and remembers how far the log once came.

    Raises VerificationIncomplete.
    """
    mirrors = [Path(folder) for folder in settings.mirror.folders]
    told = audit.known(places, settings)
    return Sources(
        copies=[*copies, *mirrors],
        known=replace(told, seen=(*told.seen, *_seen(places, [*copies, *mirrors]))),
        policy=Policy(**asdict(settings.verify)),
    )


def _seen(places: Places, mirrors: Sequence[Path]) -> Iterator[SeenHead]:
    for each in mirrors:
        try:
            yield from heads_seen(places, [each])
        except (Corrupt, Usage, VerificationIncomplete):
            continue  # it remembers nothing that could be relied on; healing names it
