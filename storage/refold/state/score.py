"""Scoring: BM25F over an event with its neighbours, in integers. Pure; whole arrays at once.

    tf       = x + y + Σ over neighbours, weight · x of the neighbour              x and y as in the postings, 1/4096
    impact   = (1 + k1) · tf / (k1 + tf)
    coverage = 10 · Σ idf · impact / ((1 + k1) · Σ idf)                            0 to 10, whatever the size of the index
    idf      = ln(1 + (n - df + 1/2) / (df + 1/2)), over the events that the query may see

Every quantity is a count of 1/4096, so that a sum does not depend on the order of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from refold.search_recipe import UNIT, Context, Query, fixed

TF_MAX = 0xFFFF
UNIT_BITS = UNIT.bit_length() - 1
DENSE = 20  # a word that stands at more than one in so many places is added over all places at once
BLOCK = 1 << 15  # places
SAMPLE = 16  # one total in so many gives the first bound of the best ones


@dataclass(frozen=True, slots=True)
class Matched:
    """One word of a query: its weight, and where it occurs among the events that may be seen."""

    idf: int
    place: np.ndarray  # intp
    x: np.ndarray  # i32
    y: np.ndarray  # i32


def idf(events: int, occurrences: int) -> int:
    """Return how rare a word is, in 1/4096."""
    return fixed(math.log1p((events - occurrences + 0.5) / (occurrences + 0.5)))


def sums(matched: Sequence[Matched], query: Query, places: int) -> np.ndarray:
    """Return Σ idf · impact for every place. The first and last two places are empty."""
    impact, near = impacts(fixed(query.saturation)), query.neighbours
    # A word at p is a word of the previous turn for p+1, of the one before for p+2, of the next turn for p-1.
    steps = ((1, fixed(near.previous)), (2, fixed(near.second_previous)), (-1, fixed(near.next)), (-2, fixed(near.second_next)))
    total, own, tf = np.zeros(places, np.int64), np.zeros(places, np.int32), np.zeros(places, np.int32)
    for word in matched:
        gain = word.idf * impact
        if len(word.place) * DENSE > places:
            _add_everywhere(total, word, gain, steps, own, tf)
        else:
            _add_where_it_reaches(total, word, gain, steps, tf)
    return total


def _add_where_it_reaches(total: np.ndarray, word: Matched, gain: np.ndarray, steps: Sequence[tuple[int, int]], tf: np.ndarray) -> None:
    """Add a rare word. `tf` is all zero before and after."""
    tf[word.place] += word.x + word.y
    for step, weight in steps:
        tf[word.place + step] += (word.x * weight) >> UNIT_BITS
    # A place may be reached twice; it is assigned the same sum twice, which costs less than finding that out.
    reached = np.concatenate([word.place, *(word.place + step for step, _ in steps)])
    total[reached] = total[reached] + gain.take(tf[reached], mode="clip")
    tf[reached] = 0


def _add_everywhere(
    total: np.ndarray, word: Matched, gain: np.ndarray, steps: Sequence[tuple[int, int]], own: np.ndarray, tf: np.ndarray
) -> None:
    """Add a frequent word: shifted sums over blocks that fit the processor's cache. `own` and `tf` are all zero before and after."""
    own[word.place], tf[word.place] = word.x, word.x + word.y
    shifted, block = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int64)
    last = len(total) - 2
    for start in range(2, last, BLOCK):
        end = min(start + BLOCK, last)
        here, sum_here = shifted[: end - start], tf[start:end].copy()
        for step, weight in steps:
            np.multiply(own[start - step : end - step], weight, out=here)
            np.right_shift(here, UNIT_BITS, out=here)
            np.add(sum_here, here, out=sum_here)
        total[start:end] += gain.take(sum_here, out=block[: end - start], mode="clip")
    own[word.place] = tf[word.place] = 0


def best(total: np.ndarray, occupied: np.ndarray, seq_of: Callable[[np.ndarray], np.ndarray], count: int) -> np.ndarray:
    """Return the occupied places with the greatest totals above zero, best first, by (total, seq). No tie is broken by chance."""
    # What is among the best of a sample's totals is a lower bound for all of them, so that few have to be looked at twice.
    sample = total[::SAMPLE] * occupied[::SAMPLE]
    at = np.flatnonzero(total >= max(_nth_greatest(sample, count), 1))
    at = at[occupied[at]]
    at = at[total[at] >= _nth_greatest(total[at], count)]
    return at[np.lexsort((seq_of(at), -total[at]))][:count]


def _nth_greatest(totals: np.ndarray, count: int) -> int:
    """Return the count-th greatest total; 0 where there are not so many."""
    return int(np.partition(totals, len(totals) - count)[len(totals) - count]) if len(totals) > count else 0


def coverages(total: np.ndarray, matched: Sequence[Matched], saturation: float) -> np.ndarray:
    """Return 10 · totals over the greatest total that is possible, in 1/4096."""
    greatest = (UNIT + fixed(saturation)) * max(sum(word.idf for word in matched), 1)
    return 10 * UNIT * total // greatest


def context_coverages(matched: Sequence[Matched], context: Context, at: np.ndarray, places: int) -> np.ndarray:
    """Return, for events at some places, the coverage by the two turns before them alone."""
    impact = impacts(fixed(context.saturation))
    before = np.unique(np.concatenate([at - 1, at - 2]))
    slot_of = np.zeros(places, np.int32)
    slot_of[before] = np.arange(1, len(before) + 1)
    first, second = slot_of[at - 1], slot_of[at - 2]
    total = np.zeros(len(at), np.int64)
    for word in matched:
        slots = slot_of[word.place]
        wanted = np.flatnonzero(slots)
        own = np.zeros(len(before) + 1, np.int64)
        own[slots[wanted]] = word.x[wanted]
        tf = (own[first] * fixed(context.previous) >> UNIT_BITS) + (own[second] * fixed(context.second_previous) >> UNIT_BITS)
        total += word.idf * impact.take(tf, mode="clip")
    return coverages(total, matched, context.saturation)


@lru_cache(maxsize=8)
def impacts(saturation: int) -> np.ndarray:
    """Return the impact of every term frequency from 0 to TF_MAX."""
    tf = np.arange(TF_MAX + 1, dtype=np.int64)
    return (UNIT + saturation) * tf // np.maximum(saturation + tf, 1)
