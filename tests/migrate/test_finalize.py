"""A move is made once, whole, from what the sources still are; what stands in its way is said before anything is recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from refold import files, ingest, journal
from refold.errors import Blocked, Drifted, Usage
from refold.journal import Direction
from refold.log.persons import everybody
from refold.memory import Memory
from refold.migrate import capture, finalize
from refold.model import Draft, Role, Scope, Source
from refold.recover.intents import KNOWN
from refold.store import Places, Store
from tests.conftest import now
from tests.journal import CALLS, KILLED, in_child, killing, tree
from tests.log import Disk, heard
from tests.migrate import ANSWERS, EPISODES, MEM0, canonicalized, moved, prepared, said


def ready(store: Store, folder: Path, *names: str) -> capture.Move:
    move = prepared(store, folder, *names)
    assert not canonicalized(store, move, ANSWERS).open
    return move


def test_every_record_is_there_once_with_what_it_said_of_itself(store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "mem0", "mcp", "letta", "graphiti")
    drafts = capture.rebuild(store, move)[0].drafts
    done = moved(store, move)
    events = heard(store)
    assert (done.added, done.already) == (len(drafts), 0)
    assert [(each.text, each.source, each.said_at, each.author, each.role, each.scope, each.metadata) for each in events] == [
        (each.text, each.source, each.said_at, each.author, each.role, each.scope, each.metadata) for each in drafts
    ]
    assert {each.ingest for each in events} == {bytes.fromhex(move.id)}


def test_what_other_systems_derived_is_no_statement_of_a_user(store: Store, tmp_path: Path):
    moved(store, ready(store, tmp_path, "mem0", "mcp", "letta", "graphiti"))
    spoken = {event.text for event in heard(store) if event.role is Role.USER}
    assert spoken == {
        "I adopted a dog called Rufus.", "I moved to Porto.", "I play the cello.", "I live in Ghent.", "I live in Bruges.",
        "I collect stamps.\nNote: the blue ones.",
    }  # fmt: skip
    assert all(event.speaker is None for event in heard(store) if event.role is Role.DOCUMENT)


def test_a_move_can_be_asked_at_once_and_folds(places: Places, store: Store, tmp_path: Path):
    moved(store, ready(store, tmp_path, "mem0", "mcp"))
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        assert memory.search("Who speaks Spanish?", user_id="ada")[0].source == "mcp:Ruth_Brandt#1"
        memory.fold()
        assert [fact.value for fact in memory.facts(user_id="ada", relation="owns")] == ["dog"]


def test_it_is_one_commit_and_the_copies_are_gone(store: Store, tmp_path: Path):
    version = store.log.head.version
    moved(store, ready(store, tmp_path, "mem0", "mcp", "letta"))
    head, _ = store.log.refresh()
    assert head.version == version + 1
    assert files.names(capture.folder(store.places)) == []
    assert journal.entries(store.places) == []


def test_a_large_one_is_several_commits_of_one_transaction(store: Store, tmp_path: Path):
    version = store.log.head.version
    done = moved(store, ready(store, tmp_path, "mem0", "mcp"), batch=5)
    head, _ = store.log.refresh()
    assert (done.added, head.version) == (12, version + 3)
    assert len(said(store)) == 12


def test_what_is_there_already_is_not_added_again(store: Store, tmp_path: Path):
    moved(store, ready(store, tmp_path, "mem0", "letta"))
    there = said(store)
    again = ready(store, tmp_path, "mem0", "letta")
    preview = finalize.preview(store, again.id, now=now)
    assert (preview.rehearsal.events, preview.rehearsal.people) == (0, 0)
    done = moved(store, again)
    assert (done.added, done.already) == (0, len(there))
    assert said(store) == there
    more = ready(store, tmp_path, "mem0", "graphiti")
    assert moved(store, more).added == 7


def test_what_is_there_already_for_others_is_told_and_stays(store: Store, tmp_path: Path):
    moved(store, ready(store, tmp_path, "mcp"))
    again = prepared(store, tmp_path, "mcp")
    canonicalized(store, again, {"default": ANSWERS["default"] | {"audience": ["family"]}})
    assert finalize.preview(store, again.id, now=now).rehearsal.differing == 6
    done = moved(store, again)
    assert (done.added, done.already, done.differing) == (0, 6, 6)
    assert {event.audience for event in heard(store)} == {()}


def test_a_preview_says_what_the_move_then_does(store: Store, tmp_path: Path):
    ingest.add(store, [Draft("I am here.", scope=Scope("ada"))], now=now, random=os.urandom)
    move = ready(store, tmp_path, "mem0", "mcp")
    preview = finalize.preview(store, move.id[:10], now=now)
    assert (preview.is_stale, preview.drifted, preview.outcome.open) == (False, (), ())
    people = len(everybody([*store.log.subjects()]))
    assert preview.rehearsal.events == moved(store, move).added == 12
    assert len(everybody([*store.log.subjects()])) - people == preview.rehearsal.people > 3


@pytest.mark.parametrize("wrong", ["", "00000", "zzzzzz", "{id}0", "{short}"])
def test_without_its_id_nothing_is_moved(wrong: str, store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "mem0")
    was = tree(store.places.store)
    with pytest.raises(Usage):
        finalize.finalize(store, move.id, confirm=wrong.format(id=move.id, short=move.id[:5]), now=now)
    assert tree(store.places.store) == was


def test_while_something_needs_input_nothing_is_moved(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    was = tree(store.places.store)
    with pytest.raises(Usage, match="not canonicalized"):
        moved(store, move)
    canonicalized(store, move)
    with pytest.raises(Usage, match="3 records still need input"):
        moved(store, move)
    assert tree(store.places.store) == was
    assert not journal.entries(store.places)


def test_a_move_of_nothing_is_refused(store: Store, tmp_path: Path):
    (tmp_path / "empty.json").write_text('{"results": []}')
    move = capture.prepare(store, [tmp_path / "empty.json"], now=now)
    canonicalized(store, move)
    with pytest.raises(Usage, match="nothing"):
        moved(store, move)


def change(path: Path) -> None:
    path.write_text(json.dumps({"results": MEM0["results"][:2]}))


def touch(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


@pytest.mark.parametrize("act", [change, touch, Path.unlink, lambda path: (path.unlink(), path.mkdir())])
def test_a_source_that_changed_since_stops_it(act, store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "mcp", "mem0")
    act(tmp_path / "mem0.json")
    was = tree(capture.folder(store.places)), tree(store.places.store)
    assert finalize.preview(store, move.id, now=now).drifted == (tmp_path / "mem0.json",)
    with pytest.raises(Drifted) as caught:
        moved(store, move)
    assert (caught.value.path, caught.value.hint) == (str(tmp_path / "mem0.json"), "refold migrate prepare")
    assert (tree(capture.folder(store.places)), tree(store.places.store)) == was


def test_a_source_that_was_only_copied_over_itself_stops_nothing(store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "mem0")
    raw = (tmp_path / "mem0.json").read_bytes()
    (tmp_path / "mem0.json").unlink()
    (tmp_path / "mem0.json").write_bytes(raw)
    assert moved(store, move).added == 6


def test_records_that_a_later_release_makes_otherwise_stop_it(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    move = ready(store, tmp_path, "mem0")
    monkeypatch.setattr("refold.migrate.mem0.Source", lambda kind, ref, part="": Source("other", ref, part))
    assert finalize.preview(store, move.id, now=now).is_stale
    with pytest.raises(Drifted) as caught:
        moved(store, move)
    assert caught.value.hint == f"refold migrate canonicalize {move.id}"


def stopped_at_its_commit(store: Store, move: capture.Move) -> int:
    """Die right after the transaction was recorded, before its first commit."""

    def stop() -> None:
        from refold.journal import carry

        carry.forward = lambda *rest: os._exit(0)  # ty: ignore[invalid-assignment]
        moved(store, move)

    return in_child(stop, Disk(killing(0), calls=CALLS))


def test_while_it_is_unfinished_appends_wait_and_reading_goes_on(store: Store, tmp_path: Path):
    ingest.add(store, [Draft("I am here.", scope=Scope("ada"))], now=now, random=os.urandom)
    move = ready(store, tmp_path, "mem0")
    assert stopped_at_its_commit(store, move) == 0
    with pytest.raises(Blocked):
        ingest.add(store, [Draft("I am there.", scope=Scope("ada"))], now=now, random=os.urandom)
    with Memory.open(store.places.store, vault=store.places.vault, root=store.places.root) as memory:
        assert memory.search("here", user_id="ada")
    for folder in (store.places.store, store.places.vault, store.places.root):
        assert not any(b"Lisbon" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert moved(store, move) == finalize.Moved(move.id, None, None)
    assert said(store)[0] == "I am here."
    assert len(said(store)) == 7
    ingest.add(store, [Draft("I am there.", scope=Scope("ada"))], now=now, random=os.urandom)


def test_to_complete_it_the_id_must_be_confirmed_as_well(store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "mem0")
    assert stopped_at_its_commit(store, move) == 0
    with pytest.raises(Usage):
        finalize.finalize(store, move.id, confirm="000000", now=now)
    assert said(store) == []


def test_before_its_first_commit_it_can_be_rolled_back_and_made_again(store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "mem0")
    assert stopped_at_its_commit(store, move) == 0
    (entry,) = journal.entries(store.places)
    from refold.store import open_store

    journal.recover(store.places, entry.id, Direction.ROLL_BACK, open_store=lambda: open_store(store.places), intents=KNOWN)
    assert said(store) == []
    assert moved(store, move).added == 6


def test_another_process_completes_it_by_recovery(store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "mem0")
    assert stopped_at_its_commit(store, move) == 0
    (entry,) = journal.entries(store.places)
    where = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(getattr(store.places, name)))]

    def refold(*words: str) -> subprocess.CompletedProcess[str]:
        code = "import sys; from refold.cli import main; sys.exit(main(sys.argv[1:]))"
        return subprocess.run([sys.executable, "-c", code, *words, *where], capture_output=True, text=True, check=False)

    assert "--complete: safe" in refold("recover", "--transaction-id", entry.id).stdout
    assert '"complete": "safe"' in refold("audit", "--transactions", "--format", "json").stdout
    done = refold("recover", "--transaction-id", entry.id, "--complete")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(said(store)) == 6
    assert not journal.entries(store.places)


def test_a_copy_that_changed_while_it_was_unfinished_is_left_for_a_person(store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "mem0")
    assert stopped_at_its_commit(store, move) == 0
    path = capture.folder(store.places) / move.id / "records"
    path.write_bytes(b"mine")
    with pytest.raises(Drifted):
        moved(store, move)
    assert (path.read_bytes(), said(store)) == (b"mine", [])


def test_killed_before_it_is_recorded_nothing_happened(store: Store, tmp_path: Path):
    move = ready(store, tmp_path, "graphiti")
    assert in_child(lambda: moved(store, move), Disk(killing(2), calls=CALLS)) == KILLED
    assert said(store) == []
    assert moved(store, move).added == len(EPISODES) + 2
