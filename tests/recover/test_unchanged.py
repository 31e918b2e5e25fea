"""Nothing is added to a log with a part that is not what was committed, as far as sizes and times of files tell (R17)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from refold.errors import Corrupt
from refold.memory import Memory
from refold.store import Places
from tests.conftest import now
from tests.recover.damage import flip, head_of, path_with

HARMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit": (lambda path: flip(path, 100), "is not what was committed"),
    "its end": (lambda path: os.truncate(path, path.stat().st_size - 1), r"has [\d,]+ bytes, and [\d,]+ were committed"),
    "all of it": (lambda path: os.truncate(path, 0), "has 0 bytes"),
    "the file": (lambda path: path.unlink(), "is missing"),
}


def opened(places: Places) -> Memory:
    return Memory.open(places.store, vault=places.vault, root=places.root)


@pytest.mark.parametrize("harm", HARMS)
def test_nothing_is_added_after_a_part_was_harmed(harm: str, places: Places):
    do, said = HARMS[harm]
    path, before = path_with(places, 1), head_of(places)
    do(path)
    with opened(places) as memory:
        for _ in range(2):
            with pytest.raises(Corrupt, match=said) as refused:
                memory.add("I like tea.", user_id="ada")
        assert (refused.value.path, refused.value.hint) == (str(path), "refold recover --log")
        assert memory.status().blocked == refused.value.message
    assert head_of(places) == before


def test_what_was_put_back_is_added_to(places: Places):
    path = path_with(places, 1)
    flip(path, 100)
    flip(path, 100)
    with opened(places) as memory:
        assert memory.add("I like tea.", user_id="ada")


def test_a_part_that_nobody_wrote_to_is_not_read(places: Places):
    """A bit that turned on the disk leaves no trace in the times: that is for a verification. So an append stays cheap."""
    path = path_with(places, 1)
    flip(path, 100)
    os.utime(path, ns=(0, 0))
    with opened(places) as memory:
        assert memory.add("I like tea.", user_id="ada")


def test_parts_that_were_replaced_since_the_log_was_read_are_not_missed(places: Places):
    with opened(places) as memory, opened(places) as other:
        gone = path_with(places, 1)
        assert other.store.log.compact(now=now, random=os.urandom, parts_max=1).merged
        assert path_with(places, 1) != gone
        gone.unlink()
        memory.store.log.require_unchanged()  # it reads on where a file of its own list is not there
        assert memory.add("I like tea.", user_id="ada")
