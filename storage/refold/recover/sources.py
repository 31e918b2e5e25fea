"""What a recovery may rely on beside the store itself: the copies, heads, checkpoints and policy that the settings and the vault name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from refold.copies.restore import heads_seen
from refold.errors import Corrupt, Usage, VerificationIncomplete
from refold.recover import audit, heal
from refold.recover.repair import Sources
from refold.recover.verify import place_of
from refold.settings import Settings
from refold.store import Places
from refold.verdict import Policy


def known(places: Places, settings: Settings, copies: Sequence[Path] = ()) -> Sources:
    """Return all that is known of a log outside of it. A mirror is a copy, and remembers how far the log once came.

    Raises VerificationIncomplete.
    """
    folders = [*copies, *(Path(folder) for folder in settings.mirror.folders)]
    found = Sources(copies=folders, known=audit.known(places, settings), policy=Policy(**asdict(settings.verify)))
    place = place_of(places)
    seen, abandoned = [], []
    for folder in folders:
        try:
            heads = heads_seen(places, [folder])
            if heads:
                heal.offered(place, folder, found.heads)
            seen += heads
        except (Corrupt, Usage, VerificationIncomplete, FileNotFoundError) as error:
            if isinstance(error, Corrupt):  # what it remembers is not of this log; of the rest, healing names it
                abandoned.append((str(folder), error.message))
    return replace(found, mirrored=seen, abandoned=abandoned)
