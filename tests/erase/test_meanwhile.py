"""What is asked for while an erasure is under way is lost to nobody: a request is kept, and a hold stands."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from refold import journal
from refold.erase import dockets, run
from refold.erase.model import Selector, Stage
from refold.errors import Blocked, NotAllowed, SubjectErased, Usage
from refold.memory import Memory
from refold.model import AliasKind
from tests.erase.small import approved, filled, stopped
from tests.journal import unsynced
from tests.mcp.test_tools import ask

RUTH, BEN = (Selector(aliases=((AliasKind.HANDLE, name),)) for name in ("ruth", "ben"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with unsynced():
        places = filled(tmp_path)
        with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
            yield memory


def another(memory: Memory) -> Memory:
    """Return the same memory as another process has it open."""
    return Memory.open(memory.places.store, vault=memory.places.vault, root=memory.places.root)


def while_it_builds(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen once, when an erasure folds the log anew."""
    build, done = run._build, []

    def acting(*arguments: Any) -> None:
        if not done:
            done.append(act())
        build(*arguments)

    monkeypatch.setattr(run, "_build", acting)


def stages(memory: Memory) -> list[Stage]:
    return sorted(one.stage for one in memory.erase_requests())


def test_a_request_that_comes_while_it_runs_is_kept(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    request_id, made = approved(memory), []
    with another(memory) as other:
        while_it_builds(monkeypatch, lambda: made.append(other.erase_request(BEN).request_id))
        memory.erase_run(request_id)
    assert memory.erase_show(made[0]).selector == BEN


def test_a_request_of_a_process_that_had_opened_the_memory_before_is_kept(memory: Memory):
    request_id = approved(memory)
    with another(memory) as other:
        memory.erase_run(request_id)
        made = other.erase_ask(user_id="ben")
        other.erase_find(made.request_id)
    assert memory.erase_show(made.request_id).found is not None


def test_a_hold_that_comes_while_it_runs_stops_it_and_nothing_is_erased(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    request_id, made = approved(memory), []
    while_it_builds(monkeypatch, lambda: made.append(memory.erase_hold(RUTH, "a court").request_id))
    with pytest.raises(NotAllowed, match="a hold was laid"):
        memory.erase_run(request_id)
    assert (stages(memory), memory.store.log.refresh()[0].fence) == ([Stage.APPROVED, Stage.HELD], False)
    with pytest.raises(NotAllowed, match="a hold stands"):
        memory.erase_run(request_id)
    memory.erase_release(made[0])
    assert memory.erase_run(request_id).events == 5


def test_a_hold_on_somebody_of_whom_nothing_is_there_stands_all_the_same(memory: Memory):
    held = memory.erase_hold(Selector(aliases=((AliasKind.HANDLE, "nobody"),)), "a court")
    request_id = memory.plan_erasure(user_id="nobody").target.request_id
    with pytest.raises(NotAllowed, match="a hold stands"):
        memory.erase_approve(request_id)
    assert memory.erase_show(held.request_id).stage is Stage.HELD


def test_another_request_for_the_same_person_says_that_it_is_dark_and_keeps_nothing_of_them(memory: Memory):
    twice = memory.erase_find(memory.erase_request(RUTH).request_id).request_id
    memory.erase_run(approved(memory))
    assert stages(memory) == [Stage.CERTIFIED, Stage.DARK]
    (outline,) = [one for one in memory.erase_requests() if one.request_id == twice]
    assert outline.sealed == b""


def test_nothing_is_asked_for_while_an_erasure_may_yet_be_completed(memory: Memory):
    request_id = approved(memory)
    stopped(memory, request_id, once=dockets.path_of(memory.store, request_id))
    assert [entry for entry in journal.entries(memory.places) if entry.forbids_changes]
    for asking in (lambda: memory.erase_request(BEN), lambda: memory.erase_hold(BEN, "a court"), lambda: memory.erase_ask(user_id="ben")):
        with pytest.raises(Blocked):
            asking()
    assert stages(memory) == [Stage.RUNNING]


def reachable(start: object) -> Iterator[object]:
    """Yield whatever an object holds on to, but for code."""
    seen: set[int] = set()
    left = [start]
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, ModuleType | type | FunctionType | FrameType):
            seen.add(id(one))
            left += gc.get_referents(one)
            yield one


def test_a_process_that_had_the_memory_open_answers_nothing_of_before_and_lets_go_of_its_keys(memory: Memory):
    asked = (("memory_search", {"query": "Oslo", "user_id": "ruth"}), ("memory_facts", {"user_id": "ruth", "history": True}))
    with another(memory) as library, another(memory) as agents:
        answers = {
            library: lambda: [library.search("Oslo", user_id="ruth"), library.facts(user_id="ruth", history=True)],
            agents: lambda: [answer.get("results", answer.get("facts")) for answer in ask(agents, *asked)],
        }
        assert all(told for answer in answers.values() for told in answer())
        (fact, *_) = library.facts(user_id="ruth")
        secrets = memory.store.keyring._secrets
        memory.erase_run(approved(memory))
        ended = {each for each in map(secrets.__getattribute__, secrets.__slots__) if isinstance(each, bytes)}
        ended.remove(memory.store.keyring.suppress_key)  # which is carried over
        assert len(ended) == 5
        for old, answer in answers.items():
            assert answer() == [[], []]
            assert ended.isdisjoint(one for one in reachable(old) if isinstance(one, bytes))
        with pytest.raises(Usage):
            library.why(fact)
        for old in (library, agents):
            with pytest.raises(SubjectErased):
                old.add("I am back.", user_id="ruth", source="chat:8#1")
