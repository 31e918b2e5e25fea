"""Scoring by places: both ways of adding a word agree, and the best are the best whatever is tied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.search_recipe import shipped
from refold.state import score
from refold.state.places import by_first_event, laid_out, moved, ordered
from refold.state.rows import place_of
from refold.state.score import Matched

PLACES = 400
QUERY = shipped().query


def word(draw: np.random.Generator, count: int) -> Matched:
    place = np.sort(draw.choice(np.arange(2, PLACES - 2), count, replace=False)).astype(np.intp)
    x = draw.integers(0, 1 << 16, count).astype(np.int32)
    return Matched(int(draw.integers(1, 50_000)), place, x, draw.integers(0, 1 << 16, count).astype(np.int32))


def plain_sums(words: list[Matched]) -> np.ndarray:
    """Return what `sums` is to return, place by place."""
    near = QUERY.neighbours
    weights = {0: 1.0, 1: near.previous, 2: near.second_previous, -1: near.next, -2: near.second_next}
    total = np.zeros(PLACES, np.int64)
    impact = score.impacts(score.fixed(QUERY.saturation))
    for one in words:
        tf = [0] * PLACES
        for place, x, y in zip(one.place.tolist(), one.x.tolist(), one.y.tolist(), strict=True):
            tf[place] += x + y
            for step, weight in weights.items():
                if step:
                    tf[place + step] += x * score.fixed(weight) // score.UNIT
        total += [one.idf * int(impact[min(each, score.TF_MAX)]) for each in tf]
    return total


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 30), counts=st.lists(st.sampled_from([1, 3, 12, 19, 20, 60, 300]), min_size=1, max_size=4))
def test_rare_and_frequent_words_are_added_alike(seed, counts):
    draw = np.random.default_rng(seed)
    words = [word(draw, count) for count in counts]
    inner = slice(2, PLACES - 2)  # the outermost places are always empty
    assert score.sums(words, QUERY, PLACES)[inner].tolist() == plain_sums(words)[inner].tolist()


def test_words_are_added_over_all_blocks(monkeypatch):
    monkeypatch.setattr(score, "BLOCK", 7)
    words = [word(np.random.default_rng(1), 300)]
    assert score.sums(words, QUERY, PLACES)[2:-2].tolist() == plain_sums(words)[2:-2].tolist()


@given(
    totals=st.lists(st.integers(0, 6), min_size=1, max_size=120),
    empty=st.lists(st.integers(0, 119), max_size=40),
    count=st.integers(1, 30),
    seed=st.integers(0, 1 << 20),
)
def test_the_best_are_the_best_with_ties_in_the_order_of_their_numbers(totals, empty, count, seed):
    seqs = np.random.default_rng(seed).permutation(len(totals))
    occupied = ~np.isin(np.arange(len(totals)), empty)
    expected = sorted((place for place, total in enumerate(totals) if total and occupied[place]), key=lambda at: (-totals[at], seqs[at]))
    found = score.best(np.array(totals, np.int64), occupied, lambda places: seqs[places], count)
    assert found.tolist() == expected[:count]


def test_coverage_is_ten_for_an_event_that_says_nothing_else():
    impact = int(score.impacts(score.fixed(QUERY.saturation))[score.TF_MAX])
    words = [replace(word(np.random.default_rng(0), 1), idf=idf) for idf in (100, 9_000)]
    [coverage] = score.coverages(np.array([impact * 9_100]), words, QUERY.saturation)
    assert coverage / score.UNIT == pytest.approx(10, abs=0.5)


def test_a_word_that_is_in_every_event_still_counts_a_little():
    assert 0 < score.idf(1000, 1000) < score.idf(1000, 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "2", "10", "section-2", "section-10", "section-1"])), max_size=30))
def test_sessions_are_laid_out_apart_and_in_the_order_of_their_parts(events):
    sessions = np.array([session for session, _ in events], np.uint64)
    parts = [part for _, part in events]
    order = ordered(sessions, places_of(parts), lambda at: [parts[each] for each in at])
    wanted = ["", "2", "10", "section-1", "section-2", "section-10"]
    expected = sorted(range(len(events)), key=lambda at: (events[at][0], wanted.index(events[at][1]), at))
    assert order.tolist() == expected
    by_first = by_first_event(order, sessions[order])
    firsts = {session: at for at, (session, _) in reversed(list(enumerate(events)))}
    assert by_first.tolist() == sorted(expected, key=lambda at: firsts[events[at][0]])
    layout = laid_out(by_first, sessions[by_first], len(events))
    for at in range(len(events)):
        for step in (-2, -1, 1, 2):
            other = layout.event_at[layout.place_of[at] + step]
            assert other == -1 or events[other][0] == events[at][0]


def places_of(parts):
    return np.array([place_of(part) for part in parts], np.uint64)


def test_a_session_that_moves_leaves_its_old_places_empty():
    base = laid_out(np.array([0, 1, 2]), np.array([5, 5, 6]), 3)
    layout = moved(base, np.array([0, 3, 1]), np.array([5, 5, 5]), 4)
    assert sorted(layout.event_at[layout.event_at != -1].tolist()) == [0, 1, 2, 3]
    assert [layout.event_at[layout.place_of[0] + step] for step in (1, 2, 3)] == [3, 1, -1]
    assert layout.place_of[2] == base.place_of[2]
