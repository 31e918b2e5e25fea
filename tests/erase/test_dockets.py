"""What an erasure is certified by is sealed before it, opens after it, and is gone once it is certified."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refold import disclaimers, files, journal, register
from refold.erase import conclusion, dockets, prove
from refold.erase.dockets import Docket
from refold.erase.model import Footprint, Reached, Request, Stage
from refold.errors import Blocked, Corrupt, KeyMissing
from refold.memory import Memory
from refold.model import EventId
from refold.recover.intents import KNOWN
from refold.store import open_store
from tests.cli.conftest import Shell
from tests.erase.small import CANARY, approved, event, filled, stopped
from tests.journal import CALLS, unsynced
from tests.log import Disk

REACHED = Reached(1, 2, (), 5, 1, 0, 0, 0, 1, 3)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with unsynced():
        places = filled(tmp_path)
        with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
            yield memory


def docket_of(request: Request) -> Docket:
    return Docket(request, Footprint((CANARY, "Ruth"), (bytes(32),), "rye bread", 3), 5)


def left(memory: Memory) -> list[str]:
    vault, root = memory.places.vault / dockets.FOLDER, memory.places.root
    return [path.name for path in (*(vault.iterdir() if vault.exists() else ()), *root.glob("docket.*"))]


def test_a_docket_opens_by_its_own_key_alone(memory: Memory):
    request = memory.erase_show(approved(memory))
    dockets.keep(memory.store, docket_of(request), random=os.urandom)
    path, key = dockets.path_of(memory.store, request.request_id), dockets.key_path(memory.store, request.request_id)
    assert CANARY.encode() not in path.read_bytes()
    assert dockets.opened(memory.store, request.request_id) == docket_of(request)
    kept = key.read_bytes()
    key.write_bytes(bytes(32))
    with pytest.raises(Corrupt, match="damaged"):
        dockets.opened(memory.store, request.request_id)
    key.unlink()
    assert dockets.opened(memory.store, request.request_id) is None
    key.write_bytes(kept)
    dockets.destroy(memory.store, request.request_id)
    assert left(memory) == []


def test_what_was_found_and_seen_to_is_certified_by_running_it_again(memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    request_id = approved(memory)
    notes = memory.places.store / "prefect" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text(CANARY)
    reached = memory.erase_run(request_id)
    assert [one.stage for one in memory.erase_requests()] == [Stage.ERASED]
    assert json.loads(memory.erase_certificate(request_id))["body"]["state"] == "refused"
    with pytest.raises(KeyMissing):
        memory.erase_show(request_id)
    shell, short = Shell(tmp_path, capsys), request_id.hex()[:8]
    assert f"refold erase run {short} --confirm {short}" in shell("erase", "status").out
    residue = shell.json("audit", "--residue", "--request", short)
    assert (residue.code, [hit["path"] for hit in residue.data["hits"]]) == (14, ["store/prefect/notes.txt"])
    notes.unlink()
    assert shell("audit", "--residue", "--request", short).code == 0
    assert memory.erase_run(request_id) == reached
    assert [one.stage for one in memory.erase_requests()] == [Stage.CERTIFIED]
    assert left(memory) == []
    assert "gone" in shell("audit", "--residue", "--request", short).err
    assert shell("erase", "status", short).code == 0


def test_the_next_erasure_waits_until_one_that_was_interrupted_is_certified_and_takes_along_what_had_its_turn(memory: Memory):
    first = approved(memory)
    second = memory.plan_erasure(event=event(memory.store, "8")).target.request_id
    memory.erase_approve(second)
    docket, _ = memory._erased(first, by=None, progress=lambda done, whole: None)  # and dies here
    assert conclusion.waiting(memory.store) == [first]
    with pytest.raises(Blocked, match="not certified yet"):
        memory.erase_run(second)
    notes = memory.places.store / "notes.txt"
    notes.write_text(CANARY)
    memory.erase_run(first)
    notes.unlink()
    memory.erase_run(second)
    assert left(memory) == []
    assert sorted(one.stage for one in memory.erase_requests()) == [Stage.CERTIFIED, Stage.ERASED]
    with pytest.raises(KeyMissing):
        memory.erase_run(first)
    assert docket.reached is not None


def test_a_run_that_is_refused_leaves_no_docket(memory: Memory):
    request_id = approved(memory)
    dockets.keep(memory.store, docket_of(memory.erase_show(request_id)), random=os.urandom)  # as one that was rolled back leaves it
    memory.add("Ruth called me.", user_id="ben")
    with pytest.raises(Exception, match="came after the plan"):
        memory.erase_run(request_id)
    assert left(memory) == []
    assert memory.erase_show(request_id).stage is Stage.APPROVED


@pytest.mark.parametrize("sealed", [False, True])
def test_a_run_that_failed_between_is_ended_by_a_recovery_and_certified_or_run_again(memory: Memory, sealed: bool):
    request_id = approved(memory)
    mark = memory.store.vault.keys / "epoch-000002" / "SEALED" if sealed else dockets.path_of(memory.store, request_id)
    stopped(memory, request_id, once=mark)
    assert [one.stage for one in memory.erase_requests()] == [Stage.RUNNING]
    with pytest.raises(Blocked):
        memory.erase_run(request_id)
    (entry,) = [entry for entry in journal.entries(memory.places) if entry.forbids_changes]
    direction = journal.Direction.COMPLETE if sealed else journal.Direction.ROLL_BACK
    journal.recover(memory.places, entry.id, direction, open_store=lambda: open_store(memory.places), intents=KNOWN)
    assert conclusion.waiting(memory.store) == ([request_id] if sealed else [])
    assert memory.erase_run(request_id).events == 5
    assert [one.stage for one in memory.erase_requests()] == [Stage.CERTIFIED]
    assert left(memory) == []


def test_a_docket_of_another_format_is_damaged_and_what_is_no_docket_is_none(memory: Memory):
    request = memory.erase_show(approved(memory))
    dockets.keep(memory.store, docket_of(request), random=os.urandom)
    path = dockets.path_of(memory.store, request.request_id)
    (path.parent / "notes.txt").write_text("a note")
    assert [*dockets.ids(memory.store)] == [request.request_id]
    path.write_bytes(path.read_bytes().replace(b"docket/1", b"docket/9"))
    with pytest.raises(Corrupt, match="damaged"):
        dockets.opened(memory.store, request.request_id)


def test_what_nothing_was_there_of_is_certified_and_in_nobodys_way(memory: Memory):
    nothing = memory.plan_erasure(event=EventId(bytes(16))).target.request_id
    memory.erase_approve(nothing)
    assert memory.erase_run(nothing).events == 0
    memory.erase_run(approved(memory))
    assert [one.stage for one in memory.erase_requests()] == [Stage.CERTIFIED] * 2
    scan = json.loads(memory.erase_certificate(nothing))["body"]["scan"]
    assert (scan["needles_at_most"], scan["hits"], scan["control"]) == (0, 0, "found")


@pytest.mark.parametrize(
    ("name", "value", "is_told"),
    [
        ("PREFECT_HOME", "store/prefect", False),
        ("PREFECT_HOME", "looked into", False),
        ("PREFECT_HOME", "elsewhere", True),
        ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql://host/x", True),
    ],
)
def test_a_certificate_tells_where_what_prefect_keeps_was_not_looked_into(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, is_told: bool
):
    monkeypatch.setenv(name, value if "URL" in name else str(tmp_path / value))
    (tmp_path / "looked into").mkdir()
    request_id = memory.plan_erasure(event=EventId(bytes(16))).target.request_id
    memory.erase_approve(request_id)
    memory.erase_run(request_id, extra=[tmp_path / "looked into"])
    assert (disclaimers.ORCHESTRATED in json.loads(memory.erase_certificate(request_id))["body"]["disclaimers"]) is is_told


def test_what_writers_left_half_written_keeps_no_erasure_from_its_certificate(memory: Memory):
    log, state, size = memory.places.store / "log" / "parts", memory.places.store / "state", memory.store.log.head.size
    part = min(log.iterdir()).read_bytes()
    halves = [log / f"{size + late:020d}-{'ab' * 8}.parquet" for late in (-1, 0, 1)] + [state / ".tmp-0011223344556677"]
    for path in halves:
        path.write_bytes(part[: len(part) * 2 // 3])
        path.chmod(0o600)
    memory.erase_run(approved(memory))
    assert [one.stage for one in memory.erase_requests()] == [Stage.CERTIFIED]
    assert not any(path.exists() for path in halves)


def test_the_key_of_a_docket_has_no_other_name_at_any_time(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    request, named = memory.erase_show(approved(memory)), []

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        named.append(sorted(path.name for path in memory.places.root.iterdir()))
        return call()

    monkeypatch.setattr(files, "os", Disk(step, calls=CALLS))
    dockets.keep(memory.store, docket_of(request), random=os.urandom)
    assert {name for names in named for name in names} == {"root.000001", f"docket.{request.request_id.hex()}"}


def test_a_certificate_in_the_place_of_another_is_refused_and_one_that_is_lost_is_not_made_anew(memory: Memory):
    requests = [approved(memory)]
    memory.erase_run(requests[0])
    requests.append(memory.plan_erasure(event=EventId(bytes(16))).target.request_id)
    memory.erase_approve(requests[1])
    memory.erase_run(requests[1])
    one, other = (prove.path_of(memory.store, each) for each in requests)
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    with pytest.raises(Corrupt, match="of another request"):
        memory.erase_certificate(requests[0])
    with pytest.raises(Corrupt, match="of another request"):
        memory.erase_renew()
    one.write_bytes(kept)
    other.unlink()
    register.add(memory.store, register.Kind.EXPORT, "a drawer", made=1, now=memory._now, random=os.urandom)
    assert memory.erase_renew() == {requests[0]: Stage.CERTIFIED_EXCEPT}


def test_nothing_is_certified_where_the_disk_says_that_it_was_not_erased(memory: Memory):
    request = memory.erase_show(approved(memory))
    with pytest.raises(Corrupt, match="no entry of the log"):
        conclusion.conclude(memory.store, replace(docket_of(request), reached=REACHED), is_drained=True, now=memory._now, random=os.urandom)
