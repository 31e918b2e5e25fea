"""Scoring: BM25F over an event with its neighbours, in integers. Pure; whole arrays at once.

    tf       = x + y + Σ over neighbours, weight · x of the neighbour              x and y as in the postings, 1/4096
    impact   = (1 + k1) · tf / (k1 + tf)
    coverage = 10 · Σ idf · impact / ((1 + k1) · Σ idf)                            0 to 10, whatever the size of the index
    idf      = ln(1 + (n - df + 1/2) / (df + 1/2)), over the events that the query may see

Every quantity is a count of 1/4096, so that a sum does not depend on the order of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from refold.state.recipe import UNIT, Context, Query, fixed

TF_MAX = 0xFFFF
DENSE = 12  # a term that reaches more than one in so many places is added over all places at once


@dataclass(frozen=True, slots=True)
class Matched:
    """One word of a query: its weight, and where it occurs among the events that may be seen."""

    idf: int
    place: np.ndarray
    x: np.ndarray
    y: np.ndarray


def idf(events: int, occurrences: int) -> int:
    """Return how rare a word is, in 1/4096."""
    return fixed(math.log1p((events - occurrences + 0.5) / (occurrences + 0.5)))


def sums(matched: Sequence[Matched], query: Query, places: int) -> np.ndarray:
    """Return Σ idf · impact for every place."""
    impact = _impacts(fixed(query.saturation))
    near = query.neighbours
    # A word at p is a word of the previous turn for p+1, of the one before for p+2, of the next turn for p-1.
    steps = ((1, fixed(near.previous)), (2, fixed(near.second_previous)), (-1, fixed(near.next)), (-2, fixed(near.second_next)))
    total, tf = np.zeros(places, np.int64), np.zeros(places, np.int32)
    for word in matched:
        tf[word.place] += word.x + word.y
        for step, weight in steps:
            tf[word.place + step] += (word.x * weight) // UNIT
        if len(word.place) * DENSE > places:
            np.minimum(tf, TF_MAX, out=tf)
            total += word.idf * impact[tf]
            tf.fill(0)
        else:
            reached = np.unique(np.concatenate([word.place, *(word.place + step for step, _ in steps)]))
            total[reached] += word.idf * impact[np.minimum(tf[reached], TF_MAX)]
            tf[reached] = 0
    return total


def best(total: np.ndarray, seqs: np.ndarray, count: int) -> np.ndarray:
    """Return which of the totals are the greatest, best first, by (total, seq). No tie is broken by chance."""
    if len(total) > count:
        least = np.partition(total, len(total) - count)[len(total) - count]
        kept = np.flatnonzero(total >= least)
    else:
        kept = np.arange(len(total))
    return kept[np.lexsort((seqs[kept], -total[kept]))][:count]


def coverages(total: np.ndarray, matched: Sequence[Matched], saturation: float) -> np.ndarray:
    """Return 10 · totals over the greatest total that is possible, in 1/4096."""
    greatest = (UNIT + fixed(saturation)) * max(sum(word.idf for word in matched), 1)
    return 10 * UNIT * total // greatest


def context_coverages(matched: Sequence[Matched], context: Context, at: np.ndarray, places: int) -> np.ndarray:
    """Return, for events at some places, the coverage by the two turns before them alone."""
    impact = _impacts(fixed(context.saturation))
    total, own = np.zeros(len(at), np.int64), np.zeros(places, np.int32)
    first, second = fixed(context.previous), fixed(context.second_previous)
    for word in matched:
        own[word.place] = word.x
        tf = own[at - 1].astype(np.int64) * first // UNIT + own[at - 2].astype(np.int64) * second // UNIT
        total += word.idf * impact[np.minimum(tf, TF_MAX)]
        own[word.place] = 0
    return coverages(total, matched, context.saturation)


@lru_cache(maxsize=8)
def _impacts(saturation: int) -> np.ndarray:
    """Return the impact of every term frequency."""
    tf = np.arange(TF_MAX + 1, dtype=np.int64)
    return (UNIT + saturation) * tf // np.maximum(saturation + tf, 1)
