"""Which events are asked about together: one that goes or comes late changes its own block and what has it as context, and no other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from refold.fold.blocks import Block, Turn, blocks, touched

PARTS = st.one_of(st.integers(0, 30).map(str), st.integers(0, 12).map("p{}".format), st.sampled_from(["", "intro", "3.2", "p9~2"]))
TURNS = st.lists(st.tuples(st.integers(0, 2), PARTS), max_size=30).map(
    lambda places: [Turn(session, part, seq) for seq, (session, part) in enumerate(places)]
)


def made(turns: list[Turn], *, parts: int = 4, context: int = 2) -> list[Block]:
    return list(blocks(turns, parts=parts, context=context))


def test_blocks_are_aligned_on_the_part_number():
    turns = [Turn(0, str(part), part) for part in (0, 1, 3, 4, 7, 9, 10)]
    assert made(turns) == [Block((0, 1, 3), ()), Block((4, 7), (1, 3)), Block((9, 10), (4, 7))]


def test_parts_are_ordered_as_numbers_and_events_without_one_stand_alone():
    turns = [Turn(0, "p10", 0), Turn(0, "p9", 1), Turn(0, "", 2), Turn(0, "", 3), Turn(1, "p9", 4)]
    assert made(turns) == [Block((2,), ()), Block((3,), (2,)), Block((1, 0), (2, 3)), Block((4,), ())]


def test_without_context_nothing_is_told_before():
    assert {block.context for block in made([Turn(0, str(part), part) for part in range(9)], context=0)} == {()}


def test_a_block_that_is_too_long_is_asked_event_by_event_each_with_what_stands_before_it():
    assert Block((4, 5, 6), (2, 3)).singles(2) == (Block((4,), (2, 3)), Block((5,), (3, 4)), Block((6,), (4, 5)))


@given(TURNS)
def test_every_event_is_in_one_block_of_its_own_session(turns):
    found = made(turns)
    assert sorted(seq for block in found for seq in block.seqs) == [turn.seq for turn in turns]
    session = {turn.seq: turn.session for turn in turns}
    assert all(len({session[seq] for seq in block.all}) == 1 for block in found)


@given(TURNS, st.data())
def test_an_event_that_goes_changes_only_the_blocks_that_had_it(turns, data):
    if not turns:
        return
    gone = data.draw(st.sampled_from(turns))
    before, after = made(turns), made([turn for turn in turns if turn != gone])
    kept = [block for block in before if block not in touched(before, {gone.seq})]
    assert set(kept) <= set(after)


@given(TURNS, st.randoms())
def test_the_order_in_which_events_came_does_not_matter(turns, random):
    shuffled = list(turns)
    random.shuffle(shuffled)
    assert made(shuffled) == made(turns)
