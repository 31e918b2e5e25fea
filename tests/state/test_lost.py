"""A state that was lost while a memory is open: whoever and whatever is in the log stays known."""

from __future__ import annotations

from pathlib import Path

from refold.memory import Memory
from refold.state.manifest import CURRENT


def test_a_lost_state_doubles_neither_an_event_nor_a_person(tmp_path: Path):
    with Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as memory:
        first = memory.add("I live in Berlin.", user_id="ada", key="k-1")
        memory.fold()
        memory.add("I like tea.", user_id="ada")
        (tmp_path / "store" / "state" / CURRENT).unlink()
        again = memory.add("I live in Berlin.", user_id="ada", key="k-1")
        assert (again.seq, again.new) == (first.seq, False)
        memory.add("I like coffee.", user_id="ada")
        assert len(memory.subjects()) == 1
