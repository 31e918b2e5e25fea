"""Likeness: how near in meaning events are to a query, by their vectors with those of their neighbours. Pure; whole arrays at once.

    mixed    e / |e| + previous · p / |p| + next · n / |n|        of an event, and the turns before and after it that the view may see
    likeness q · mixed / (|q| · |mixed|)                          -1 to 1

Components are integers from -127 to 127, so that every product of two vectors is an exact integer below 2²⁴ in whatever order a
processor adds it up; the rest is done element by element. So a likeness is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from refold.search_recipe import UNIT, Vectors

FINE = UNIT * UNIT  # one, where the best are looked for among all
GATHERED = 2  # of so many events one: fewer are picked out of all
BLOCK = 1 << 9  # events whose vectors are made floats at once: they fit the cache, and are too few for threads that wait for each other


def lengths(vectors: np.ndarray) -> np.ndarray:
    """Return the lengths of some vectors (int8, events by components)."""
    squares = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), BLOCK):
        some = vectors[start : start + BLOCK].astype(np.float32)
        squares[start : start + BLOCK] = np.einsum("ij,ij->i", some, some)
    return np.sqrt(squares.astype(np.float64))


class Likeness:
    """The likenesses of one query to events at places."""

    def __init__(self, query: np.ndarray, recipe: Vectors, event_at: np.ndarray, vectors: np.ndarray, length: np.ndarray) -> None:
        """Take the query's vector, which is not nothing, and what stands where. The first and last two places are empty."""
        self._recipe, self._event_at, self._vectors, self._length = recipe, event_at, vectors, length
        at = np.flatnonzero(event_at >= 0)
        self._own = np.zeros(len(event_at))
        self._own[at] = _likenesses(query, vectors, length, event_at[at])

    def mixed(self) -> np.ndarray:
        """Return, for every place, the likeness with its neighbours' before it is divided by a length: what to look for the best in."""
        own, total = self._own, np.zeros(len(self._own))
        total[1:-1] = own[1:-1] + self._recipe.previous * own[:-2] + self._recipe.next * own[2:]
        total *= FINE
        total[self._event_at < 0] = 0
        return np.rint(total, out=total).astype(np.int64)

    def at(self, places: np.ndarray) -> np.ndarray:
        """Return the likenesses at some places, in 1/4096."""
        shares = (1.0, self._recipe.previous, self._recipe.next)
        near = [self._unit(self._event_at[places + step]) for step in (0, -1, 1)]
        square, total = np.zeros(len(places)), np.zeros(len(places))
        for share, (step, one) in zip(shares, zip((0, -1, 1), near, strict=True), strict=True):
            total += share * self._own[places + step]
            for other_share, other in zip(shares, near, strict=True):
                square += share * other_share * _cosines(one, other)
        length = np.sqrt(square)
        return np.rint(UNIT * total / np.where(length > 0, length, 1)).astype(np.int64)

    def _unit(self, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors of events, and their lengths; nothing where there is no event."""
        there = events >= 0
        vectors = self._vectors[np.where(there, events, 0)].astype(np.float32) * there[:, None]
        return vectors, np.where(there, self._length[np.where(there, events, 0)], 0)


def _likenesses(query: np.ndarray, vectors: np.ndarray, length: np.ndarray, events: np.ndarray) -> np.ndarray:
    """Return the likenesses of a query to some events. Where they are most of all, it is faster to go through all, as they lie."""
    own, size = query.astype(np.float32), float(lengths(query[None])[0])
    if len(events) > len(vectors) // GATHERED:
        return _each(own, size, length, lambda start, end: vectors[start:end])[events]
    return _each(own, size, length[events], lambda start, end: vectors[events[start:end]])


def _each(own: np.ndarray, size: float, length: np.ndarray, some: Callable[[int, int], np.ndarray]) -> np.ndarray:
    found = np.empty(len(length), np.float64)
    for start in range(0, len(length), BLOCK):
        found[start : start + BLOCK] = some(start, start + BLOCK).astype(np.float32) @ own
    found /= np.maximum(length, 1) * size
    return found


def _cosines(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the cosine of each pair of vectors; 0 where one of them is nothing."""
    products = np.einsum("ij,ij->i", one[0], other[0]).astype(np.float64)
    length = one[1] * other[1]
    return np.where(length > 0, products / np.where(length > 0, length, 1), 0)
