"""Row groups that were read last are kept, within a bound, as long as their generation is the one that is asked."""

from __future__ import annotations

import pytest

from refold.recent import Recent
from refold.state.generation import RECENT_BYTES_MAX, State
from refold.store import Store
from tests.state.made import add, fold, mentions_each_word, say


def test_what_was_used_last_stays_and_the_bound_holds():
    recent: Recent[str, str] = Recent(bytes_max=10)
    for key in "abc":
        recent.put(key, key.upper(), 4)
        recent.get("a")
    assert [recent.get(key) for key in "abc"] == ["A", None, "C"]
    assert recent.bytes == 8


def test_what_is_asked_again_is_not_read_again_until_the_state_is_closed(store: Store, monkeypatch: pytest.MonkeyPatch):
    add(store, [say("ada", f"Word{number} and tea", at=str(number)) for number in range(20)])
    fold(store, by=mentions_each_word)
    state = State.open(store)
    was = state.lookup("events", [3, 4]).to_pylist()
    run = state.runs("events")[0]
    monkeypatch.setattr(run, "_file", None)  # the disk is gone
    assert state.lookup("events", [3, 4]).to_pylist() == was
    monkeypatch.undo()
    assert 0 < state._recent.bytes <= RECENT_BYTES_MAX
    state.close()
    assert state._recent.bytes == 0
