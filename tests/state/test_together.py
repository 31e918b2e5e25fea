"""Folds that run at the same time: each publishes or says what it waits for, and none leaves the work of another out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from refold import folding, recipes
from refold.errors import Locked
from refold.folding import FoldReport
from refold.state.generation import State
from refold.store import open_store
from tests.conftest import now
from tests.state.made import add, say

FOLDS = 8


def folded(places, **options) -> FoldReport:
    with open_store(places) as store:
        state = State.open(store)
        return folding.fold(store, state, relations=recipes.relations(), recipe=recipes.search(), now=now, **options)


def test_eight_full_folds_at_once_all_publish(store, places):
    add(store, [say("ada", f"I like tea {at}.", at=str(at)) for at in range(20)])
    with ThreadPoolExecutor(FOLDS) as together:
        reports = [*together.map(lambda _: folded(places, full=True), range(FOLDS))]
    assert sorted(report.generation for report in reports) == [*range(1, FOLDS + 1)]
    assert State.open(store).size == 21


def test_a_fold_that_others_are_always_faster_than_gives_way_in_the_end(store, places):
    add(store, [say("ada", "I like tea.", at="1")])
    ticks = count(0, 100)
    with pytest.raises(Locked, match="6 times in a row"):
        folded(places, full=True, progress=lambda *_: folded(places, full=True), timer=lambda: next(ticks))
    assert State.open(store).number == 6
