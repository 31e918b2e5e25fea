"""Killed anywhere, an erasure is rolled back before SEALED and completed after it; completed, nothing of the person is anywhere."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from refold import journal
from refold.erase.model import Reached, Stage
from refold.errors import Blocked, Drifted, Locked, WriteFailed
from refold.journal import Condition, Direction
from refold.memory import Memory
from refold.recover.intents import KNOWN
from refold.recover.verify import verify
from refold.state.generation import State
from refold.store import Places, open_store
from refold.store import places as find_places
from tests.conftest import points
from tests.erase.small import (
    CANARY,
    Heard,
    approved,
    draft,
    erase,
    everything_under,
    filled,
    fold,
    folded_without,
    person,
    rows,
    ruth,
    say,
)
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, left, stopped_after, unsynced
from tests.log import Disk

SAMPLES = 9


@dataclass(frozen=True)
class Model:
    """A memory before the erasure of Ruth, which is asked for and approved, and what is to become of it."""

    places: Places
    request: bytes
    heard: Heard
    gone: set[int]
    subject: bytes
    changes: int  # of the disk, that a whole run makes


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    with unsynced():
        places = filled(tmp_path_factory.mktemp("model"))
        with opened(places) as memory:
            request = approved(memory)
            heard = Heard.of(memory.store)
            gone, subject = heard.reached(ruth(memory.store)), person(memory.store, "ruth")
        whole = copied(places, tmp_path_factory.mktemp("whole") / "copy")  # also loads here what each child would load anew
        return Model(places, request, heard, gone, subject, changes_of(lambda: run_request(whole, request)))


def opened(places: Places) -> Memory:
    return Memory.open(places.store, vault=places.vault, root=places.root)


def copied(places: Places, folder: Path) -> Places:
    shutil.copytree(places.store.parent, folder)
    return find_places(folder / "store", folder / "vault", folder / "root", env={})


def run(places: Places) -> None:
    with open_store(places) as store:
        erase(store, ruth(store))


def run_request(places: Places, request: bytes) -> Reached:
    with opened(places) as memory:
        return memory.erase_run(request)


def recover(places: Places, direction: Direction) -> None:
    (entry,) = left(places)
    with unsynced():
        journal.recover(places, entry.id, direction, open_store=lambda: open_store(places), intents=KNOWN)


def is_safe(places: Places, direction: Direction) -> bool:
    (entry,) = left(places)
    return journal.inspect(places, entry.id, open_store=lambda: open_store(places), intents=KNOWN).is_safe(direction)


def require_as_before(places: Places, model: Model) -> None:
    """See that nothing was erased, and that life, and a later erasure, go on."""
    with unsynced(), opened(places) as memory:
        store = memory.store
        assert Heard.of(store) == model.heard
        assert (store.log.head.fence, store.keyring.epoch, State.open(store).absent) == (False, 1, None)
        say(store, draft("ada", "70", "I like jazz."))
        fold(store)
        assert memory.erase_run(model.request).events == len([event for event, _ in model.heard.events if event.seq in model.gone])
        assert not any(CANARY in event.text for event, _ in Heard.of(store).events)
        assert not [*places.root.glob("docket.*")]


def require_erased(places: Places, model: Model) -> None:
    """See that it is certified, that what had to go is gone from every file, and that everything else is there."""
    with unsynced(), opened(places) as memory:
        stage = memory.erase_requests()[0].stage
        if stage is not Stage.CERTIFIED or [*places.root.glob("docket.*")]:
            assert memory.erase_run(model.request).events == len([event for event, _ in model.heard.events if event.seq in model.gone])
        assert [one.stage for one in memory.erase_requests()] == [Stage.CERTIFIED]
        assert b"certified" in memory.erase_certificate(model.request)
    bytes_left = everything_under(places)
    assert CANARY.encode() not in bytes_left
    assert model.subject not in bytes_left
    with unsynced(), open_store(places) as store:
        assert [event for event, _ in Heard.of(store).events] == [event for event, _ in model.heard.events if event.seq not in model.gone]
        assert (store.log.head.fence, store.keyring.epoch) == (False, 2)
        assert [path.name for path in store.vault.keys.iterdir()] == ["epoch-000002"]
        assert [path.name for path in places.root.iterdir()] == ["root.000002"]
        assert [*(places.vault / "dockets").iterdir()] == []
        state = rows(State.open(store))
        assert rows(folded_without(store, model.heard, model.gone)) == state
        assert verify(places, deep=True).is_whole
        say(store, draft("ada", "70", "I like jazz."))


def steps_of(places: Places) -> list[str]:
    """Return the steps of a transaction that was interrupted, as they are recorded."""
    (entry,) = left(places)
    assert entry.journal is not None
    return [str(step.target) if isinstance(step, journal.RecordedChange) else step.intent for step in entry.journal.steps]


def killed_after(model: Model, folder: Path, done: int) -> Places:
    """Return a copy of the places in which a run died when its transaction had done so many steps."""
    places = copied(model.places, folder)
    assert stopped_after(lambda: run_request(places, model.request), done) == KILLED
    return places


def require_ended(places: Places, direction: Direction, model: Model) -> None:
    """End an interrupted run in a direction, and see that nothing, or all, has become of it."""
    recover(places, direction)
    assert not left(places)
    (require_erased if direction is Direction.COMPLETE else require_as_before)(places, model)


@pytest.mark.slow
def test_killed_after_any_step_it_ends_as_before_or_as_erased_and_certified_and_never_between(tmp_path: Path, model: Model):
    steps = steps_of(killed_after(model, tmp_path / "steps", 2))
    sealed = next(at for at, step in enumerate(steps) if step.endswith("SEALED"))
    safe = set()
    tried = sorted({0, 1, 2, sealed, sealed + 1, len(steps) - 1} | {at - 1 for at in points(len(steps), every=6)})
    for done in tried:
        places = killed_after(model, tmp_path / f"{done}", done)
        with opened(places) as memory, pytest.raises(Blocked):
            memory.erase_run(model.request)
        ways = [direction for direction in Direction if is_safe(places, direction)]
        for direction in set(Direction) - set(ways):
            with pytest.raises(Drifted):
                recover(places, direction)
        for direction in ways:
            at = places if direction is ways[0] else killed_after(model, tmp_path / f"{done}-{direction}", done)
            require_ended(at, direction, model)
        safe |= {(done, direction) for direction in ways}
    assert {done for done, direction in safe if direction is Direction.ROLL_BACK} == {done for done in tried if done <= sealed}
    assert {done for done, direction in safe if direction is Direction.COMPLETE} >= {done for done in tried if done >= 2}


def full(at: int) -> Disk:
    """Return a disk on which the space is used up at one change of it, for once."""

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        if number == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return None if name == "fsync" else call()

    return Disk(step, calls=CALLS)


DISKS = {"killed": lambda at: Disk(killing(at), calls=CALLS), "no space": full}


@pytest.mark.slow
@pytest.mark.parametrize("way", DISKS)
def test_stopped_at_any_change_of_the_disk_it_can_be_ended_and_certified(tmp_path: Path, model: Model, way: str):
    ends = set()
    for at in points(model.changes - 1, every=max(1, model.changes // SAMPLES)):
        places = copied(model.places, tmp_path / f"{at}")
        code = in_child(lambda: run_request(places, model.request), DISKS[way](at))  # noqa: B023
        assert code == KILLED if way == "killed" else code in (0, WriteFailed.exit_code), (at, code)
        found = left(places)
        if found:
            is_over = found[0].condition is Condition.ENDED or is_safe(places, Direction.COMPLETE)
            direction = Direction.COMPLETE if is_over else Direction.ROLL_BACK
            ends.add(direction)
            require_ended(places, direction, model)
            continue
        with open_store(places) as store:
            is_sealed = store.keyring.epoch == 2
        ends.add("run" if is_sealed else "not begun")
        if is_sealed:
            require_erased(places, model)
    assert {"not begun", "run", Direction.COMPLETE} <= ends


def test_behind_its_fence_nothing_is_added_until_it_is_ended(tmp_path: Path, model: Model):
    places = copied(model.places, tmp_path / "fenced")
    assert stopped_after(lambda: run(places), 3) == KILLED
    with open_store(places) as store, pytest.raises(Locked):
        say(store, draft("ada", "80", "It rains."))
    recover(places, Direction.ROLL_BACK)
    with open_store(places) as store:
        say(store, draft("ada", "80", "It rains."))


def test_an_attempt_that_died_before_its_transaction_is_in_nobodys_way(tmp_path: Path, model: Model):
    places = copied(model.places, tmp_path / "again")
    assert in_child(lambda: run_request(places, model.request), Disk(killing(14), calls=CALLS)) == KILLED
    assert not left(places)
    with open_store(places) as store:
        assert Heard.of(store) == model.heard
    with unsynced():
        run_request(places, model.request)
    require_erased(places, model)
