"""While a transaction is unfinished nothing is changed, everything is read, and what is said is added."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refold import folding, journal, recipes
from refold.cli import main
from refold.errors import Blocked
from refold.folding import Fold
from refold.journal import Direction, Kind
from refold.memory import Memory
from refold.model import AliasKind
from refold.recover.reset import reset
from refold.state.generation import State
from refold.store import Places
from tests.conftest import now
from tests.journal import HOLDING, KILLED, SAMPLE, left, on, stopped_after, tree, unsynced
from tests.journal.test_drift import end_without_clearing


def said(places: Places) -> None:
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:1#1", said_at="2024-01-10")
        memory.fold()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    with unsynced(), Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as memory:
        places = memory.places
        said(places)
    return places


def stop(places: Places, kind: Kind = SAMPLE) -> None:
    """Leave an unfinished transaction behind."""
    steps = [journal.write(on("store", f"note-{number}"), b"x") for number in range(2)]
    assert stopped_after(lambda: journal.commit(places, kind, steps), 1) == KILLED
    assert left(places)


def opened(places: Places) -> Memory:
    return Memory.open(places.store, vault=places.vault, root=places.root)


def fold(memory: Memory) -> None:
    memory.fold()


def fold_all(memory: Memory) -> None:
    memory.fold(full=True)


def subject_add(memory: Memory) -> None:
    memory.subject_add([(AliasKind.NAME, "Ada Brandt")])


def compact(memory: Memory) -> None:
    folding.compact_log(memory.store, now=now)


def plan_a_night(memory: Memory) -> None:
    Fold(memory.store, State.open(memory.store), relations=recipes.relations(), recipe=recipes.search())


def reset_it(memory: Memory) -> None:
    reset(memory.places, confirm=memory.places.origin)


def another_transaction(memory: Memory) -> None:
    journal.commit(memory.places, SAMPLE, [journal.write(on("store", "note-next"), b"")])


@pytest.mark.parametrize("change", [fold, fold_all, subject_add, compact, plan_a_night, reset_it, another_transaction])
def test_every_change_refuses_and_writes_nothing(places: Places, change: Callable[[Memory], None]):
    stop(places)
    with opened(places) as memory:
        was = tree(places.store), tree(places.vault)
        with pytest.raises(Blocked) as caught:
            change(memory)
        assert caught.value.hint == "refold recover"
        assert (tree(places.store), tree(places.vault)) == was


def test_a_fold_that_was_already_computed_is_not_published(places: Places):
    with opened(places) as memory:
        memory.add("I work at Lumen.", user_id="ada", source="chat:1#2")
        work = Fold(memory.store, State.open(memory.store), relations=recipes.relations(), recipe=recipes.search())
        for first, end in work.plan.batches:
            work.batch(first, end)
        stop(places)
        was = (places.store / "state/CURRENT").read_bytes()
        with pytest.raises(Blocked):
            work.publish(now=now)
        assert (places.store / "state/CURRENT").read_bytes() == was


def test_everything_is_read_and_what_is_said_is_added(places: Places):
    stop(places)
    with opened(places) as memory:
        added = memory.add("I work at Lumen.", user_id="ada", source="chat:1#2")
        assert added.new
        assert {hit.text for hit in memory.search("where does ada live and work", user_id="ada")} == {
            "I live in Berlin.",
            "I work at Lumen.",
        }
        (fact,) = memory.facts(user_id="ada", relation="lives_in")
        assert fact.value == "Berlin"
        assert memory.why(fact, user_id="ada")
        assert memory.context("where", user_id="ada").text
        assert memory.status().unfolded == 1
        assert memory.fold_plan().entries == 1


def test_imports_go_on_too(places: Places, tmp_path: Path):
    stop(places)
    (tmp_path / "notes.md").write_text("# Offsite\n\nOwner: Ada\n", encoding="utf-8")
    with opened(places) as memory:
        assert memory.import_files([tmp_path / "notes.md"]).added


def test_appends_wait_where_the_transaction_holds_them(places: Places):
    stop(places, HOLDING)
    with opened(places) as memory:
        with pytest.raises(Blocked):
            memory.add("I work at Lumen.", user_id="ada", source="chat:1#2")
        assert memory.search("Berlin", user_id="ada")


def test_after_a_recovery_everything_goes_on(places: Places):
    stop(places)
    (entry,) = left(places)
    journal.recover(places, entry.id, Direction.ROLL_BACK)
    with opened(places) as memory:
        memory.add("I work at Lumen.", user_id="ada", source="chat:1#2")
        memory.fold()
        assert memory.facts(user_id="ada", relation="works_at")


def test_what_has_ended_is_in_nobodys_way(places: Places):
    stop(places)
    end_without_clearing(places)
    with opened(places) as memory:
        memory.fold()  # there is nothing new: only the compaction takes the lock
    assert journal.entries(places) == []


def test_a_command_that_refuses_says_so_and_exits_10(places: Places, capsys: pytest.CaptureFixture[str]):
    stop(places)
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root)]
    assert main(["fold", *where, "--format", "json"]) == 10
    said = json.loads(capsys.readouterr().out)
    assert (said["status"], said["exit_class"]) == ("FAIL", "blocker")
    assert said["findings"][0]["remediation"] == "refold recover"


def test_the_nightly_flow_refuses_with_a_code(places: Places):
    from flows.nightly import plan
    from refold.extractors import Choice, means

    stop(places)
    with opened(places) as memory, means(memory.store, Choice(), require=None, now=now) as by:
        state: Any = plan.fn(memory.store, False, by)
    assert (state.is_failed(), state.message) == (True, "RF-BLOCKED-001 blocker")


def test_a_transaction_at_work_in_another_process_is_no_blocker_but_waited_for(places: Places):
    begin, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go[1])  # so that it ends with its parent, whatever happens there
        with journal.mutating(places) as turn:
            turn.begin(SAMPLE).carry_out([journal.write(on("store", "note-one"), b"")], last=False)
            os.write(begin[1], b"x")
            os.read(go[0], 1)
        os._exit(0)
    os.read(begin[0], 1)
    assert journal.is_running(places)
    journal.require_clear(places)
    with opened(places) as memory:
        memory.add("I work at Lumen.", user_id="ada", source="chat:1#2")
    os.write(go[1], b"x")
    os.waitpid(pid, 0)
    assert not journal.is_running(places)
    with pytest.raises(Blocked):
        journal.require_clear(places)
