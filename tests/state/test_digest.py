"""P4: the same log gives the same state hash, however it was folded and in whatever process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from refold.state.digest import _table, attested, state_hash
from tests.state.made import add, fold, mentions_each_word, say


def fill(store):
    add(store, [say("Ada", f"Tea number {at} and now?", at=str(at), audience=("a", "b")[: at % 3]) for at in range(40)])


def test_pieces_and_flushes_do_not_change_the_state_hash(store):
    fill(store)
    first = fold(store, end=17, by=mentions_each_word).state
    pieces = state_hash(fold(store, first, by=mentions_each_word).state)
    assert pieces == state_hash(fold(store, by=mentions_each_word, flush_events=7).state)


def test_other_rows_give_another_hash(store):
    fill(store)
    full = fold(store, by=mentions_each_word).state
    hashes = {state_hash(full), state_hash(fold(store, end=30, by=mentions_each_word).state), state_hash(fold(store).state)}
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        ([None, ""], ["", None]),
        ([[1, 2], []], [[1], [2]]),
        ([True, False], [False, True]),
        ([0, None], [None, 0]),
    ],
)
def test_values_that_look_alike_are_told_apart(one, other):
    assert _table("t", pa.table({"c": one})) != _table("t", pa.table({"c": other}))


def test_chunks_do_not_matter():
    pieces = pa.chunked_array([["a"], ["b", None], []], pa.string())
    assert _table("t", pa.table({"c": pieces})) == _table("t", pa.table({"c": ["a", "b", None]}))


def test_the_published_form_differs_from_the_hash(store):
    fill(store)
    state = fold(store).state
    assert attested(state) != state_hash(state)
    assert attested(state) == attested(fold(store).state)


FOLD_IN_ANOTHER_PROCESS = """
import sys, pyarrow
from refold.store import open_store, places
from refold.state.digest import state_hash
from tests.state.made import fold, mentions_each_word
pyarrow.set_cpu_count(int(sys.argv[4]))
with open_store(places(*sys.argv[1:4], env={})) as store:
    print(state_hash(fold(store, by=mentions_each_word, flush_events=int(sys.argv[5])).state).hex())
"""


def test_two_processes_with_other_hash_seeds_and_threads_agree(store, places):
    fill(store)
    expected = state_hash(fold(store, by=mentions_each_word).state).hex()
    where = [str(path) for path in (places.store, places.vault, places.root)]
    for seed, threads, flush in (("1", "1", "5"), ("77", "4", "1000")):
        env = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", FOLD_IN_ANOTHER_PROCESS, *where, threads, flush]
        done = subprocess.run(command, env=env, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected
