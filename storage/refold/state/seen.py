"""Seen: the part of a corpus that a view may see. All that is counted or scored for a query is taken from this part alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refold.model import View
from refold.state.corpus import NOBODY, Columns, Corpus
from refold.state.places import Layout, laid_out


@dataclass(frozen=True, slots=True)
class Seen:
    """What a view may see, event by event."""

    layout: Layout
    visible: np.ndarray  # by place
    place_of_seq: np.ndarray  # i32 by sequence number of what is folded: 0 where nothing is to be seen
    place_of_tail: np.ndarray  # i32 by position in the tail, likewise
    whole: bool  # everything may be seen
    events: int
    later: int  # events that come after the time that is asked for
    speaks: np.ndarray  # by speaker code: whether they speak in it


def see(corpus: Corpus, view: View) -> Seen:
    """Look at every event, folded or not."""
    return _see(corpus, view, corpus.columns, corpus.layout)


def see_folded(corpus: Corpus, view: View) -> Seen:
    """Look at what is folded alone."""
    return _see(corpus, view, corpus.folded, corpus.folded_layout)


def see_more(corpus: Corpus, view: View, folded: Seen) -> Seen:
    """Add to what is seen of the folded part what the tail changes: its own events, and the places of its sessions.

    Not for a view of an earlier time, in which neighbours are others.
    """
    assert not _is_earlier(view)
    columns, layout, count = corpus.columns, corpus.layout, len(corpus.folded)
    members = corpus.moved
    shown = _allowed(corpus, view, columns.scope[members], columns.audience[members])
    place = np.where(shown, layout.place_of[members], 0)
    old = members < count
    visible = np.zeros(layout.size, bool)
    visible[: folded.layout.size] = folded.visible
    visible[folded.layout.place_of[members[old]]] = False
    visible[place[shown]] = True
    place_of_seq = folded.place_of_seq.copy()
    place_of_seq[columns.seq[members[old]].view(np.int64)] = place[old]
    place_of_tail = np.zeros(len(columns) - count, np.int32)
    place_of_tail[members[~old] - count] = place[~old]
    new = members[~old & shown]
    speaks = _speaks(corpus, columns.speaker[new])
    speaks[: len(folded.speaks)] |= folded.speaks
    whole = folded.whole and len(new) == len(place_of_tail)
    return Seen(layout, visible, place_of_seq, place_of_tail, whole, folded.events + len(new), 0, speaks)


def _see(corpus: Corpus, view: View, columns: Columns, layout: Layout) -> Seen:
    visible = _allowed(corpus, view, columns.scope, columns.audience)
    events = int(np.count_nonzero(visible))
    if _is_earlier(view):
        in_time = np.ones(len(columns), bool)
        if view.as_of_seq is not None:
            in_time &= columns.seq <= view.as_of_seq
        if view.as_of_time is not None:
            in_time &= columns.recorded_at <= view.as_of_time
        order = layout.event_at[layout.event_at != NOBODY]
        order = order[in_time[order]]
        layout = laid_out(order, columns.session[order], len(columns))
        visible &= in_time
    by_place = np.zeros(layout.size, bool)
    by_place[layout.place_of[visible]] = True
    place_of = np.where(visible, layout.place_of, 0)
    count, shown = len(corpus.folded), int(np.count_nonzero(visible))
    by_seq = np.zeros(corpus.state.size, np.int32)
    by_seq[corpus.folded.seq.view(np.int64)] = place_of[:count]
    return Seen(
        layout, by_place, by_seq, place_of[count:], shown == len(columns), shown, events - shown, _speaks(corpus, columns.speaker[visible])
    )


def _is_earlier(view: View) -> bool:
    return view.as_of_seq is not None or view.as_of_time is not None


def _allowed(corpus: Corpus, view: View, scope: np.ndarray, audience: np.ndarray) -> np.ndarray:
    """Return which events of these scopes and audiences a view may see, whenever they came."""
    allowed = corpus.labels.visible(view)
    return _among(corpus.scopes, allowed.scopes)[scope] & _among(corpus.audiences, allowed.audiences)[audience]


def _among(codes: dict[int, int], allowed: frozenset[int] | None) -> np.ndarray:
    """Return, for each code, whether its tag is allowed."""
    if allowed is None:
        return np.ones(len(codes), bool)
    table = np.zeros(len(codes), bool)
    table[[codes[tag] for tag in allowed if tag in codes]] = True
    return table


def _speaks(corpus: Corpus, speakers: np.ndarray) -> np.ndarray:
    return np.bincount(speakers[speakers != NOBODY], minlength=len(corpus.names.person)) > 0
