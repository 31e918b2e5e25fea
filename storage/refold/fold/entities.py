"""Decide which mentions are one entity: the components of the alias statements that survive in one view.

First each pair of mentions, from its own acts: the last one must be `say`. Two first persons are joined only by an operator's word or
by the say of both speakers. Then components: pairs are added oldest first, those that join first persons with due authority before all
others, and a component never holds more than 64 mentions, nor two first persons without that authority: where the next pair would break
this, that pair and all newer ones of the component are ignored, and the component is reported as cut. (50,000 random alias statements
joined nearly everyone.)

A cut depends only on the pairs in and around a component, so that the component of one mention is found by bounded look-ups and is the
same that `components` finds over everything.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from refold.model import Act, Span, part_key

MENTIONS_MAX = 64  # of a component
OPERATOR = 0  # the asserter of an operator's word: no mention has this tag


@dataclass(frozen=True, slots=True)
class Edge:
    """An alias statement as a reader gets it from a generation, in either direction: mentions are keyed tags."""

    a: int
    b: int
    act: Act
    asserted_by: int
    said_at: int
    source: str
    part: str
    seq: int
    recorded_at: int
    spans: tuple[Span, ...]
    audience: int
    scope: int
    first_a: bool
    first_b: bool


Order = tuple[int, str, str, int, tuple[Span, ...], int, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two mentions that are said to be one, `a < b`, since the first act of the saying that still stands."""

    a: int
    b: int
    first_a: bool
    first_b: bool
    since: Order
    authority: bool  # joins two first persons, by an operator's word or by both

    @property
    def rank(self) -> tuple[bool, Order, int, int]:
        """Return the key under which pairs are added to components: authority first, then the oldest."""
        return (not self.authority, self.since, self.a, self.b)

    def other(self, mention: int) -> int:
        return self.b if mention == self.a else self.a


@dataclass(frozen=True, slots=True)
class Component:
    """The mentions of one entity, sorted. `is_cut`: alias statements were ignored to keep it within bounds."""

    mentions: tuple[int, ...]
    is_cut: bool = False

    @property
    def entity(self) -> int:
        """Return the mention that stands for all: the least, so that it is the same for every reader who sees the same."""
        return self.mentions[0]


EdgesOf = Callable[[Sequence[int]], Iterable[Edge]]


def edge_order(edge: Edge) -> Order:
    """Return the key of the merge order, as far as an alias statement has its parts."""
    return (edge.said_at, edge.source, part_key(edge.part), edge.seq, edge.spans, int(edge.act), edge.asserted_by)


def pairs(edges: Iterable[Edge]) -> list[Pair]:
    """Decide each pair of mentions from the statements about it; return the pairs that stand, in the order of their rank."""
    about: dict[tuple[int, int], dict[Order, Edge]] = {}
    for edge in edges:
        about.setdefault((min(edge.a, edge.b), max(edge.a, edge.b)), {})[edge_order(edge)] = edge
    decided = (_pair(key, [acts[at] for at in sorted(acts)]) for key, acts in about.items())
    return sorted((pair for pair in decided if pair), key=lambda pair: pair.rank)


def _pair(key: tuple[int, int], acts: Sequence[Edge]) -> Pair | None:
    """Decide one pair from its acts, which come in merge order."""
    a, b = key
    first = {acts[0].a: acts[0].first_a, acts[0].b: acts[0].first_b}
    if first[a] and first[b]:
        since = _joined_with_authority(a, b, acts)
        return Pair(a, b, True, True, since, True) if since else None
    since = _said_since(acts)
    return Pair(a, b, first[a], first[b], since, False) if since else None


def _said_since(acts: Sequence[Edge]) -> Order | None:
    """Return the first act of the saying that the acts end in, None if they end in a denial."""
    since = None
    for act in acts:
        since = (since or edge_order(act)) if act.act is Act.SAY else None
    return since


def _joined_with_authority(a: int, b: int, acts: Sequence[Edge]) -> Order | None:
    """Return since when two first persons are one: the operator says so, or the operator is silent and both speakers do."""
    words = {speaker: [act for act in acts if act.asserted_by == speaker] for speaker in (OPERATOR, a, b)}
    if words[OPERATOR]:
        return _said_since(words[OPERATOR])
    mine, theirs = _said_since(words[a]), _said_since(words[b])
    return max(mine, theirs) if mine and theirs else None


def components(edges: Iterable[Edge], *, mentions_max: int = MENTIONS_MAX) -> dict[int, Component]:
    """Return the component of every mention that the edges name; a mention not here is its own."""
    groups: dict[int, list[int]] = {}
    where: dict[int, int] = {}
    first: dict[int, bool] = {}
    frozen: set[int] = set()
    for pair in pairs(edges):
        for mention, is_first in ((pair.a, pair.first_a), (pair.b, pair.first_b)):
            if mention not in where:
                where[mention], groups[mention], first[mention] = mention, [mention], is_first
        small, large = sorted((where[pair.a], where[pair.b]), key=lambda group: (len(groups[group]), group))
        if small == large:
            continue
        together = len(groups[small]) + len(groups[large])
        unauthorised = first[small] and first[large] and not pair.authority
        if small in frozen or large in frozen or together > mentions_max or unauthorised:
            frozen |= {small, large}
            continue
        first[large] |= first.pop(small)
        where.update(dict.fromkeys(groups[small], large))
        groups[large] += groups.pop(small)
    return {m: found for group, members in groups.items() for found in [_component(members, group in frozen)] for m in members}


def _component(mentions: Iterable[int], is_cut: bool) -> Component:
    return Component(tuple(sorted(mentions)), is_cut)


def components_of(starts: Iterable[int], edges_of: EdgesOf, *, mentions_max: int = MENTIONS_MAX) -> dict[int, Component]:
    """Return the component of each mention asked for, and of all their fellows, by bounded look-ups.

    The neighbourhood is read ring by ring, all starts at once; then each component grows from its start by the oldest pair first, as far
    as the bounds allow.
    """
    wanted = sorted(set(starts))
    near: dict[int, list[Pair]] = {}
    _read(wanted, edges_of, near, mentions_max=mentions_max)
    found: dict[int, Component] = {}
    for start in wanted:
        if start not in found:
            component = _grow(start, edges_of, near, mentions_max=mentions_max)
            found |= dict.fromkeys(component.mentions, component)
    return found


def _read(starts: Sequence[int], edges_of: EdgesOf, near: dict[int, list[Pair]], *, mentions_max: int) -> None:
    """Fill `near` with the pairs around the starts, until nothing is new or so much was read that the rest is better read as needed."""
    ring = {mention for mention in starts if mention not in near}
    room = len(ring) + mentions_max
    while ring and len(ring) <= room:
        room -= len(ring)
        near |= {mention: [] for mention in ring}
        for pair in pairs(edges_of(sorted(ring))):
            for mention in ring & {pair.a, pair.b}:
                near[mention].append(pair)
        ring = {pair.other(mention) for mention in ring for pair in near[mention]} - near.keys()


def _grow(start: int, edges_of: EdgesOf, near: dict[int, list[Pair]], *, mentions_max: int) -> Component:
    """Grow a component from one mention, always by the oldest pair at its border, until it is whole or the next pair breaks a bound.

    Each member is kept with the newest pair that was needed to reach it: where a bound breaks, all that needed that pair leave.
    """
    border: list[tuple[tuple, int, Pair]] = []
    reached: dict[int, tuple] = {}
    has_first, newest = False, ()
    other, is_first = start, any(pair.first_a if pair.a == start else pair.first_b for pair in near[start])
    while True:
        has_first |= is_first
        reached[other] = newest
        if other not in near:
            _read([other], edges_of, near, mentions_max=0)
        for pair in near[other]:
            heapq.heappush(border, (pair.rank, other, pair))
        pair = _next(border, reached)
        if pair is None:
            return _component(reached, False)
        other, is_first = (pair.b, pair.first_b) if pair.a in reached else (pair.a, pair.first_a)
        newest = max(newest, pair.rank)
        if len(reached) == mentions_max or (is_first and has_first and not pair.authority):
            return _component((mention for mention, needed in reached.items() if needed < newest), True)


def _next(border: list[tuple[tuple, int, Pair]], reached: Mapping[int, tuple]) -> Pair | None:
    """Take the oldest pair off the border that leads to a mention not yet reached."""
    while border:
        _, mention, pair = heapq.heappop(border)
        if pair.other(mention) not in reached:
            return pair
    return None
