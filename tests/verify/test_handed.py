"""What one process is handed of a log: never so much that another one has nothing to do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from refold.log.parts import Part
from refold.recover.tiers import Job
from refold.recover.verify import BYTES_AT_ONCE, PARTS_AT_ONCE, handed_out


@given(st.lists(st.sampled_from([1, 100, BYTES_AT_ONCE // 4, BYTES_AT_ONCE // 2, BYTES_AT_ONCE, 4 * BYTES_AT_ONCE]), max_size=40))
def test_every_part_is_handed_out_once_in_order_few_at_a_time_and_large_ones_alone(sizes: list[int]):
    todo = [Job(Part(f"parts/{at}", size, "", at, 1), 1) for at, size in enumerate(sizes)]
    handed = list(handed_out(todo))
    assert [job for some in handed for job in some] == todo
    for some in handed:
        assert 1 <= len(some) <= PARTS_AT_ONCE
        assert len(some) == 1 or sum(job.part.size for job in some) <= BYTES_AT_ONCE
