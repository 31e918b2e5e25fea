"""Seen: the part of a corpus that a view may see. All that is counted or scored for a query is taken from this part alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refold.model import View
from refold.state.corpus import NOBODY, Columns, Corpus
from refold.state.places import Layout, laid_out, moved


@dataclass(frozen=True, slots=True)
class Seen:
    """What a view may see, event by event. Only what may be seen has a place."""

    layout: Layout
    place_of_seq: np.ndarray  # i32 by sequence number of what is folded: 0 where nothing is to be seen
    place_of_tail: np.ndarray  # i32 by position in the tail, likewise
    whole: bool  # everything may be seen
    events: int
    later: int  # events that come after the time that is asked for
    speaks: np.ndarray  # by speaker code: whether they speak in it


def see_folded(corpus: Corpus, view: View) -> Seen:
    """Look at everything that is folded."""
    columns, order, count = corpus.folded, corpus.order, len(corpus.folded)
    allowed, in_time = _allowed(corpus, view, columns, slice(None)), _in_time(view, columns, slice(None))
    shown = allowed & in_time
    order = order[shown[order]]
    layout = laid_out(order, columns.session[order], count)
    place_of_seq = np.zeros(corpus.state.size, np.int32)
    place_of_seq[columns.seq[order].view(np.int64)] = layout.place_of[order]
    speaks = _speaks(corpus, columns.speaker[shown])
    later = int(np.count_nonzero(allowed)) - len(order)
    return Seen(layout, place_of_seq, np.zeros(0, np.int32), len(order) == count, len(order), later, speaks)


def see_more(corpus: Corpus, view: View, folded: Seen) -> Seen:
    """Add to what is seen of the folded part what the tail changes: its own events, and the places of its sessions."""
    columns, count = corpus.columns, len(corpus.folded)
    allowed, in_time = _allowed(corpus, view, columns, corpus.moved), _in_time(view, columns, corpus.moved)
    members = corpus.moved[allowed & in_time]
    layout = moved(folded.layout, members, columns.session[members], len(columns))
    old, new = members[members < count], members[members >= count]
    place_of_seq, place_of_tail = folded.place_of_seq.copy(), np.zeros(len(columns) - count, np.int32)
    place_of_seq[columns.seq[old].view(np.int64)] = layout.place_of[old]
    place_of_tail[new - count] = layout.place_of[new]
    speaks = _speaks(corpus, columns.speaker[new])
    speaks[: len(folded.speaks)] |= folded.speaks
    later = folded.later + int(np.count_nonzero(allowed & ~in_time & (corpus.moved >= count)))
    whole = folded.whole and len(new) == len(place_of_tail)
    return Seen(layout, place_of_seq, place_of_tail, whole, folded.events + len(new), later, speaks)


def _allowed(corpus: Corpus, view: View, columns: Columns, events: np.ndarray | slice) -> np.ndarray:
    """Return which events a view may see, whenever they came."""
    allowed = corpus.labels.visible(view)
    scopes, audiences = _among(corpus.scopes, allowed.scopes), _among(corpus.audiences, allowed.audiences)
    return scopes[columns.scope[events]] & audiences[columns.audience[events]]


def _in_time(view: View, columns: Columns, events: np.ndarray | slice) -> np.ndarray:
    """Return which events had come by the time that is asked for."""
    seqs = columns.seq[events]
    in_time = np.ones(len(seqs), bool)
    if view.as_of_seq is not None:
        in_time &= seqs <= view.as_of_seq
    if view.as_of_time is not None:
        in_time &= columns.recorded_at[events] <= view.as_of_time
    return in_time


def _among(codes: dict[int, int], allowed: frozenset[int] | None) -> np.ndarray:
    """Return, for each code, whether its tag is allowed."""
    if allowed is None:
        return np.ones(len(codes), bool)
    table = np.zeros(len(codes), bool)
    table[[codes[tag] for tag in allowed if tag in codes]] = True
    return table


def _speaks(corpus: Corpus, speakers: np.ndarray) -> np.ndarray:
    return np.bincount(speakers[speakers != NOBODY], minlength=len(corpus.names.person)) > 0
