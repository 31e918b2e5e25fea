"""Which mentions are one entity: pairs, authority over first persons, bounds, and the same answer near and far."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from refold.fold.entities import MENTIONS_MAX, OPERATOR, Edge, components, components_of, pairs
from refold.model import Act
from tests.merge.claims import both_ways, edge


def together(edges: Sequence[Edge], **bounds) -> set[tuple[int, ...]]:
    return {component.mentions for component in components(edges, **bounds).values()}


class Counted:
    """A look-up over a list of edges, as a reader answers it, that counts the mentions asked for."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.edges = both_ways(edges)
        self.asked = 0

    def __call__(self, mentions: Sequence[int]) -> list[Edge]:
        self.asked += len(mentions)
        return [e for e in self.edges if e.a in mentions]


def test_alias_statements_join_mentions_transitively():
    assert together([edge(1, 2), edge(2, 3), edge(4, 5)]) == {(1, 2, 3), (4, 5)}


def test_the_last_act_on_a_pair_decides_in_either_direction():
    assert together([edge(1, 2, day=1), edge(2, 1, day=2, act=Act.DENY)]) == set()
    assert together([edge(1, 2, day=3), edge(2, 1, day=2, act=Act.DENY)]) == {(1, 2)}


def test_a_denied_pair_stays_joined_over_another_way():
    assert together([edge(1, 2, day=1), edge(1, 3, day=1), edge(3, 2, day=1), edge(1, 2, day=2, act=Act.DENY)]) == {(1, 2, 3)}


def test_one_speaker_cannot_join_two_first_persons():
    assert together([edge(1, 2, asserted_by=1, firsts={1, 2})]) == set()


def test_both_speakers_join_two_first_persons():
    assert together([edge(1, 2, asserted_by=s, firsts={1, 2}) for s in (1, 2)]) == {(1, 2)}


def test_a_third_speaker_counts_for_neither():
    assert together([edge(1, 2, asserted_by=s, firsts={1, 2}) for s in (1, 3)]) == set()


def test_a_speaker_can_withdraw_from_another_first_person():
    said = [edge(1, 2, asserted_by=s, firsts={1, 2}, day=1) for s in (1, 2)]
    assert together([*said, edge(1, 2, asserted_by=2, firsts={1, 2}, day=2, act=Act.DENY)]) == set()


def test_an_operator_joins_and_parts_first_persons():
    said = [edge(1, 2, asserted_by=s, firsts={1, 2}, day=1) for s in (1, 2)]
    assert together([edge(1, 2, asserted_by=OPERATOR, firsts={1, 2})]) == {(1, 2)}
    assert together([*said, edge(1, 2, asserted_by=OPERATOR, firsts={1, 2}, act=Act.DENY)]) == set()


def test_first_persons_are_not_joined_by_way_of_a_name():
    """The statement that closes the way is ignored, and so is what comes after it; what was there before stays."""
    found = components([edge(1, 9, day=1, firsts={1}), edge(9, 2, day=2, firsts={2}), edge(2, 8, day=3, firsts={2})])
    assert {(c.mentions, c.is_cut) for c in found.values()} == {((1, 9), True), ((2,), True), ((8,), True)}


def test_authority_counts_before_age():
    firsts = {1, 2}
    chain = [edge(1, 9, day=1, firsts=firsts), edge(9, 2, day=2, firsts=firsts)]
    assert together([*chain, edge(1, 2, day=3, asserted_by=OPERATOR, firsts=firsts)]) == {(1, 2, 9)}


def test_a_component_keeps_its_oldest_statements_and_is_reported_when_it_outgrows_its_bound():
    found = components([edge(n, n + 1, day=n) for n in range(MENTIONS_MAX + 5)])
    assert found[0].mentions == tuple(range(MENTIONS_MAX))
    assert found[0].is_cut


def test_a_component_at_its_bound_is_whole():
    found = components([edge(n, n + 1, day=n) for n in range(MENTIONS_MAX - 1)])
    assert (len(found[0].mentions), found[0].is_cut) == (MENTIONS_MAX, False)


def test_a_component_is_found_by_bounded_look_ups():
    hub = [edge(0, n, day=n) for n in range(1, 5000)]
    look_up = Counted([*hub, *(edge(n, n + 5000, day=n) for n in range(1, 5000))])
    assert components_of([0], look_up)[0].is_cut
    assert look_up.asked <= 2 * MENTIONS_MAX


def test_a_mention_that_nobody_joined_is_alone():
    assert components_of([7], Counted([]))[7].mentions == (7,)


def test_saying_a_pair_again_does_not_make_it_younger():
    (pair,) = pairs([edge(1, 2, day=1), edge(1, 2, day=5)])
    assert pair.since[0] == edge(1, 2, day=1).said_at


EDGES = st.lists(
    st.builds(
        lambda a, b, day, act, by: edge(a, b, day=day, act=act, asserted_by=by, firsts={1, 2, 3}),
        st.integers(1, 12),
        st.integers(1, 12),
        st.integers(0, 99),
        st.sampled_from([Act.SAY] * 4 + [Act.DENY]),
        st.sampled_from([OPERATOR, 1, 2, 3]),
    ),
    max_size=30,
)


@given(EDGES, st.integers(2, 6))
def test_near_and_far_give_the_same_component(edges, mentions_max):
    everywhere = components(both_ways(edges), mentions_max=mentions_max)
    for mention in range(1, 13):
        near = components_of([mention], Counted(edges), mentions_max=mentions_max)[mention]
        assert near.mentions == (everywhere[mention].mentions if mention in everywhere else (mention,))
        assert near.is_cut == (mention in everywhere and everywhere[mention].is_cut)


@given(EDGES, st.integers(2, 6))
def test_asking_for_many_at_once_is_asking_for_each(edges, mentions_max):
    at_once = components_of(range(1, 13), Counted(edges), mentions_max=mentions_max)
    for mention in range(1, 13):
        assert at_once[mention] == components_of([mention], Counted(edges), mentions_max=mentions_max)[mention]


@given(EDGES, st.randoms(use_true_random=False))
def test_the_order_of_arrival_joins_nobody(edges, chance):
    shuffled = list(edges)
    chance.shuffle(shuffled)
    assert components(shuffled) == components(edges)


@given(EDGES, st.integers(2, 6))
def test_components_keep_their_bounds_and_part_the_mentions(edges, mentions_max):
    found = components(edges, mentions_max=mentions_max)
    assert all(len(component.mentions) <= mentions_max for component in found.values())
    assert all(mention in component.mentions for mention, component in found.items())
    assert all(found[fellow] is component for component in found.values() for fellow in component.mentions)
