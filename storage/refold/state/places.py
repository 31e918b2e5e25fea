"""Places: which event stands beside which. Each session is laid out in one row, with two empty places between sessions.

So the neighbours of the event at place p stand at p-2, p-1, p+1 and p+2, and nobody's neighbour is of another session. Scores are
gathered in arrays over places, where a neighbour's words cost one addition for each occurrence and no table of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from refold.model import part_key

GAP = 2
NOBODY = -1

Parts = Callable[[np.ndarray], list[str]]  # the parts of some events, by their ordinals


@dataclass(frozen=True, slots=True)
class Layout:
    """Events at their places. An event is meant by its ordinal: its rank by sequence number."""

    event_at: np.ndarray  # i32 by place: the ordinal, or NOBODY
    place_of: np.ndarray  # i32 by ordinal: the place, or NOBODY (which as an index is the last place, always empty)

    @property
    def size(self) -> int:
        return len(self.event_at)


def ordered(sessions: np.ndarray, places: np.ndarray, parts: Parts) -> np.ndarray:
    """Return the events by session, then part (digit runs as numbers), then sequence number.

    `places` holds the first 8 bytes of each part's sort key; only where they agree and are full are the parts themselves compared.
    """
    order = np.lexsort((places, sessions))
    session, place = sessions[order], places[order]
    tied = np.zeros(len(order) + 1, bool)
    tied[1:-1] = (session[1:] == session[:-1]) & (place[1:] == place[:-1]) & ((place[1:] & np.uint64(0xFF)) != 0)
    if tied.any():
        starts = np.flatnonzero(~tied[:-1] & tied[1:])
        ends = np.flatnonzero(tied[:-1] & ~tied[1:]) + 1
        for start, end in zip(starts, ends, strict=True):
            members = order[start:end]
            keys = [part_key(part) for part in parts(members)]
            order[start:end] = members[sorted(range(len(keys)), key=lambda at: (keys[at], members[at]))]
    return order


def by_first_event(order: np.ndarray, sessions: np.ndarray) -> np.ndarray:
    """Return events that stand in order by session with the sessions in the order of their first events.

    Postings come by sequence number, so their places then rise too, and memory is read in the order in which it lies.
    """
    if not len(order):
        return order
    starts = np.flatnonzero(np.concatenate([[True], sessions[1:] != sessions[:-1]]))
    lengths = np.diff(np.append(starts, len(order)))
    ranked = np.argsort(np.minimum.reduceat(order, starts))
    ends = np.cumsum(lengths[ranked])
    return order[np.arange(len(order)) + np.repeat(starts[ranked] - (ends - lengths[ranked]), lengths[ranked])]


def laid_out(order: np.ndarray, sessions: np.ndarray, events: int) -> Layout:
    """Return the layout of events in order. `sessions` holds the session of each of them, in that order."""
    new = np.ones(len(order), np.int32)
    new[1:] = sessions[1:] != sessions[:-1]
    at = np.arange(len(order), dtype=np.int32) + GAP * np.cumsum(new, dtype=np.int32)
    event_at = np.full(int(at[-1]) + 1 + GAP if len(at) else 2 * GAP, NOBODY, np.int32)
    event_at[at] = order
    place_of = np.full(events, NOBODY, np.int32)
    place_of[order] = at
    return Layout(event_at, place_of)


def moved(base: Layout, order: np.ndarray, sessions: np.ndarray, events: int) -> Layout:
    """Return a layout in which the sessions of some events, old and new, are laid out anew behind the others.

    `order` must hold all events of those sessions that have a place; their old places stay empty.
    """
    added = laid_out(order, sessions, events)
    event_at = np.concatenate([base.event_at, added.event_at])
    place_of = np.concatenate([base.place_of, np.full(events - len(base.place_of), NOBODY, np.int32)])
    old = order[order < len(base.place_of)]
    event_at[base.place_of[old]] = NOBODY
    place_of[order] = added.place_of[order] + base.size
    return Layout(event_at, place_of)
