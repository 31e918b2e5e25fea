"""Salvage: what of damaged parts can still be told apart, entry by entry, and what of that the hash chain vouches for.

From the last hash before a damaged part that a signed commit names, the chain is recomputed over headers and payload commits up to the next
such hash. Where it arrives there, every header and every commitment on the way is what was signed, and an entry is damaged only in its
payload. Where it does not, or a file cannot be told apart, nothing is said of any of them.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from refold.log import entry, parts
from refold.log.head import Place
from refold.log.parts import Part, Rows
from refold.model import EntryKind
from refold.recover.history import History
from refold.recover.survey import read_file
from refold.recover.tiers import parse


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A part of which every entry is vouched for, but for the payloads that are not there any more."""

    part: Part
    rows: Rows  # the damaged payloads are NULL
    lost: tuple[int, ...]  # their seqs
    found: str  # SHA-256 of the damaged file

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost but the file."""
        return not self.lost

    @property
    def raw(self) -> bytes:
        """Return the bytes of a part with these rows: those that were signed, where nothing was lost and they are written as they were."""
        return parts.encode(self.rows)


def salvage(place: Place, told: History, damaged: Sequence[str], *, erased: frozenset[int]) -> dict[str, Salvaged]:
    """Return by their paths those of the damaged parts of which every entry is vouched for. Raises VerificationIncomplete."""
    live = [listed.part for listed in told.parts]
    anchors = sorted(told.anchors)
    found: dict[str, Salvaged] = {}
    for part in live:
        if part.path in damaged and part.path not in found:
            low = anchors[bisect_right(anchors, part.first) - 1]
            high = bisect_left(anchors, part.end)
            if high < len(anchors):
                span = [each for each in live if each.first < anchors[high] and each.end > low]
                found |= _span(place, told, span, low, anchors[high], frozenset(damaged), erased)
    return found


def _span(
    place: Place, told: History, span: Sequence[Part], low: int, high: int, damaged: frozenset[str], erased: frozenset[int]
) -> dict[str, Salvaged]:
    """Recompute the chain over some parts from one signed hash to another; nothing where it does not arrive there."""
    if not span or span[0].first < low or span[-1].end > high:
        return {}
    previous, found = told.anchors[low], {}
    for part in span:
        raw = read_file(place.folder / part.path)
        rows = None if raw is None else parse(raw, part)
        if raw is None or rows is None or len(rows) != part.count:
            return {}
        headers, commits, payloads = rows.headers(), rows.commits(), rows.payloads()
        hashes = entry.chain(part.first, previous, headers, commits)
        previous = hashes[-1]
        if part.path in damaged:
            kept = [
                None if each is None or entry.payload_commit(each) != commit else each
                for each, commit in zip(payloads, commits, strict=True)
            ]
            lost = tuple(seq for seq, each in enumerate(kept, part.first) if each is None and seq not in erased)
            after = Rows.of(part.first, headers, kept, commits, hashes)
            found[part.path] = Salvaged(part, after, lost, hashlib.sha256(raw).hexdigest())
    return found if previous == told.anchors[high] else {}


def control_of(salvaged: Salvaged) -> tuple[int, ...]:
    """Return the lost entries that are control entries: of those none can be done without."""
    headers, first = salvaged.rows.headers(), salvaged.rows.first
    return tuple(seq for seq in salvaged.lost if EntryKind(headers[seq - first][1]).is_control)
