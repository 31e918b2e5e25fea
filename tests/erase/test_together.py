"""While an erasure runs, others go on writing and reading: nothing acknowledged is lost, and nothing of the person gets past it."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from refold.erase import epoch
from refold.errors import Drifted, Locked, SubjectErased
from refold.recover.verify import verify
from refold.state import builder
from refold.state.generation import State, reading
from refold.store import Places, open_store
from tests.erase.small import CANARY, Heard, draft, erase, filled, fold, folded_without, rows, ruth, say

WRITERS = ("ada", "ben", "ruth")


def write(places: Places, user: str, stop: threading.Event, kept: list[int], ended: list[str]) -> None:
    """Add one event after the other until told to stop; note what was acknowledged."""
    number = 0
    with open_store(places) as store:
        while not stop.is_set():
            number += 1
            try:
                text = f"{CANARY} once more." if user == "ruth" else f"I like number {number}."
                kept.append(say(store, draft(user, f"{user}{number}", text))[0].seq)
            except Locked:  # the fence: whoever writes waits
                continue
            except SubjectErased:
                ended.append(user)
                return


def ask(places: Places, stop: threading.Event, seen: list[int]) -> None:
    """Read the state over and over."""
    with open_store(places) as store:
        state = State.open(store)
        while not stop.is_set():
            with reading(store, state) as state:
                state.require_rows()
                seen.append(state.table("assertions").num_rows)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_and_nothing_of_the_person_gets_past_it(tmp_path: Path):
    places = filled(tmp_path)
    stop, ended, seen = threading.Event(), list[str](), list[int]()
    kept: dict[str, list[int]] = {user: [] for user in WRITERS}
    threads = [threading.Thread(target=write, args=(places, user, stop, kept[user], ended)) for user in WRITERS]
    threads.append(threading.Thread(target=ask, args=(places, stop, seen)))
    with open_store(places) as store:
        aim = ruth(store)
        for thread in threads:
            thread.start()
        try:
            done = erase(store, aim)
            before = len(seen)
            while ended != ["ruth"] or len(seen) <= before:
                threads[-1].join(0.01)
                assert all(thread.is_alive() for thread in threads if thread is not threads[2])
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        heard = Heard.of(store)
        there = {event.seq for event, _ in heard.events}
        assert {*kept["ada"], *kept["ben"]} <= there
        assert not any(CANARY in event.text for event, _ in heard.events)
        assert set(kept["ruth"]).isdisjoint(there)
        assert done.events >= 5
        state = rows(fold(store))
        assert rows(folded_without(store, heard, set())) == state
    assert verify(places, deep=True).is_whole


def test_a_second_erasure_waits_for_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from refold.erase import run

    places, real, refused = filled(tmp_path), run._build, []

    def build(work: object, *rest: object) -> None:
        with open_store(places) as other, pytest.raises(Locked):
            erase(other, ruth(other))
        refused.append(True)
        real(work, *rest)  # ty: ignore[invalid-argument-type]

    monkeypatch.setattr(run, "_build", build)
    with open_store(places) as store:
        erase(store, ruth(store))
        assert refused
        assert not any(CANARY in event.text for event, _ in Heard.of(store).events)


def test_no_fold_is_published_while_an_erasure_changes_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from refold.erase import run

    places, real, refused = filled(tmp_path), run._transact, []
    monkeypatch.setattr(builder, "PUBLISH_WAIT_SECONDS_MAX", 0.0)

    def transact(*given: Any) -> Any:
        with open_store(places) as other:
            say(other, draft("ben", "10", "I like soup."))
            with pytest.raises(Locked):
                fold(other)
            refused.append(State.open(other).number)
        return real(*given)

    monkeypatch.setattr(run, "_transact", transact)
    with open_store(places) as store:
        before = State.open(store).number
        assert erase(store, ruth(store)).generation == before + 1
        assert refused == [before]
        assert fold(store).size == store.log.refresh()[0].size


def test_an_epoch_that_somebody_else_began_meanwhile_is_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from refold.erase import run

    places, real = filled(tmp_path), run._build

    def build(work: object, *rest: object) -> None:
        real(work, *rest)  # ty: ignore[invalid-argument-type]
        with open_store(places) as other:  # without the lock that holds it off
            epoch.begin(other, random=os.urandom)

    monkeypatch.setattr(run, "_build", build)
    with open_store(places) as store:
        with pytest.raises(Drifted):
            erase(store, ruth(store))
        assert (store.vault.live_epoch(), store.log.refresh()[0].fence) == (1, False)
        monkeypatch.undo()
        erase(store, ruth(store))
