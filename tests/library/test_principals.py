"""A limited principal sees and writes what is its own, and no verb of the library lets it past that."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path

import pytest

from refold.erase.model import Selector, Target
from refold.erase.plan import Plan, PlanDiff
from refold.errors import NotAllowed
from refold.imports.reader import Options
from refold.ingest import Added
from refold.memory import Memory
from refold.model import AliasKind, Draft, EventId, Scope
from refold.settings import Principal
from refold.store import Store
from tests.conftest import now

CHILD = Principal("child", frozenset({"family"}), ("ada",))
NOTHING = Plan(
    Target(bytes(16), frozenset(), frozenset(), frozenset(), 0, b""), PlanDiff((), (), 0, 0), 0, 0, {}, (), (), 0, frozenset(), 0, ()
)
OPERATORS = {
    "backup": lambda memory: memory.backup("out"),
    "backup_keys": lambda memory: memory.backup_keys("out", recipient=b""),
    "mirror": lambda memory: memory.mirror("out"),
    "copies": lambda memory: memory.copies(),
    "copy_add": lambda memory: memory.copy_add("export", "a drawer"),
    "copy_confirm": lambda memory: memory.copy_confirm("00", evidence="seen"),
    "prove": lambda memory: memory.prove(0),
    "prove_growth": lambda memory: memory.prove_growth(0),
    "keys": lambda memory: memory.keys(),
    "key_rotate": lambda memory: memory.key_rotate(),
    "audit": lambda memory: memory.audit(),
    "call": lambda memory: memory.call("00"),
    "calls": lambda memory: memory.calls(),
    "checkpoint": lambda memory: memory.checkpoint(),
    "costs": lambda memory: memory.costs(),
    "erase": lambda memory: memory.erase(NOTHING),
    "erase_approve": lambda memory: memory.erase_approve(bytes(16)),
    "erase_certificate": lambda memory: memory.erase_certificate(bytes(16)),
    "erase_decide": lambda memory: memory.erase_decide(bytes(16), {}),
    "erase_due": lambda memory: memory.erase_due(),
    "erase_find": lambda memory: memory.erase_find(bytes(16)),
    "erase_hold": lambda memory: memory.erase_hold(Selector(before=1), "a court"),
    "erase_plan": lambda memory: memory.erase_plan(bytes(16)),
    "erase_shared": lambda memory: memory.erase_shared(bytes(16)),
    "erase_keep": lambda memory: memory.erase_keep(bytes(16), {}),
    "erase_refuse": lambda memory: memory.erase_refuse(bytes(16), "a court"),
    "erase_release": lambda memory: memory.erase_release(bytes(16)),
    "erase_renew": lambda memory: memory.erase_renew(),
    "erase_waiting": lambda memory: memory.erase_waiting(),
    "erase_request": lambda memory: memory.erase_request(Selector(before=1)),
    "erase_requests": lambda memory: memory.erase_requests(),
    "erase_run": lambda memory: memory.erase_run(bytes(16)),
    "erase_show": lambda memory: memory.erase_show(bytes(16)),
    "export": lambda memory: memory.export("out"),
    "evaluate": lambda memory: memory.evaluate("x"),
    "fold": lambda memory: memory.fold(),
    "fold_without": lambda memory: memory.fold_without(Selector(before=1)),
    "fold_plan": lambda memory: memory.fold_plan(),
    "recordings": lambda memory: memory.recordings(),
    "report": lambda memory: memory.report(),
    "seen_by": lambda memory: memory.seen_by(Principal("operator", None)),
    "plan_erasure": lambda memory: memory.plan_erasure(user_id="ben"),
    "reads_as": lambda memory: memory.reads_as(Added(EventId(bytes(16)), 0, True), "lives_in"),
    "sql": lambda memory: memory.sql("select 1"),
    "status": lambda memory: memory.status(),
    "subject_add": lambda memory: memory.subject_add([(AliasKind.NAME, "Ben")]),
    "subject_of_entity": lambda memory: memory.subject_of_entity("Ben"),
    "subject_report": lambda memory: memory.subject_report(Selector(before=1)),
    "subjects": lambda memory: memory.subjects(),
    "token_add": lambda memory: memory.token_add("laptop", principal="operator"),
    "token_revoke": lambda memory: memory.token_revoke("laptop"),
    "tokens": lambda memory: memory.tokens(),
    "verify": lambda memory: memory.verify(b"{}"),
    "verify_log": lambda memory: memory.verify_log(),
}
LIMITED = {
    "context": lambda memory: memory.context("Oslo", user_id="ben"),
    "diff": lambda memory: memory.diff(since="2024-01-01", user_id="ben"),
    "facts": lambda memory: memory.facts(user_id="ben"),
    "find": lambda memory: memory.find("Oslo", user_id="ben"),
    "import_files": lambda memory: memory.import_files([Path("x")], options=Options(user="ben")),
    "profiles": lambda memory: memory.profiles(user_id="ben"),
    "search": lambda memory: memory.search("Oslo", user_id="ben"),
    "similar": lambda memory: memory.similar("Ben", user_id="ben"),
    "unfolded": lambda memory: memory.unfolded(user_id="ben"),
    "why": lambda memory: memory.why("00000000", user_id="ben"),
    "why_not": lambda memory: memory.why_not("ben", "lives_in", "Oslo", user_id="ben"),
    "erase_ask": lambda memory: memory.erase_ask(user_id="ben"),
    "add": lambda memory: memory.add("I live in Oslo.", user_id="ben"),
    "add_many": lambda memory: memory.add_many([Draft("I live in Oslo.", scope=Scope("ben"))]),
}
AWAITED = {
    "aadd": lambda memory: asyncio.run(memory.aadd("I live in Oslo.", user_id="ben")),
    "acontext": lambda memory: asyncio.run(memory.acontext("Oslo", user_id="ben")),
    "afacts": lambda memory: asyncio.run(memory.afacts(user_id="ben")),
    "asearch": lambda memory: asyncio.run(memory.asearch("Oslo", user_id="ben")),
    "awhy": lambda memory: asyncio.run(memory.awhy("00000000", user_id="ben")),
}
NOT_VERBS = {"erasures_after", "scope", "is_limited", "close", "create", "open", "places", "principal"}


def memory_of(store: Store, principal: Principal | None) -> Memory:
    return Memory(store, principal=principal, now=now)


@pytest.fixture
def child(store: Store) -> Memory:
    return memory_of(store, CHILD)


def size(store: Store) -> int:
    return store.log.refresh()[0].size


@pytest.mark.parametrize("verb", [*OPERATORS, *LIMITED, *AWAITED])
def test_no_verb_reaches_what_is_somebody_elses(child: Memory, verb: str):
    before = size(child.store)
    with pytest.raises(NotAllowed):
        (OPERATORS | LIMITED | AWAITED)[verb](child)
    assert size(child.store) == before


def test_every_verb_is_tried():
    public = {name for name, _ in inspect.getmembers(Memory) if not name.startswith("_")}
    assert public == NOT_VERBS | OPERATORS.keys() | LIMITED.keys() | AWAITED.keys()


@pytest.mark.parametrize("role", ["user", "document"])
def test_nobody_elses_words_are_written(child: Memory, role: str):
    with pytest.raises(NotAllowed, match="own users' words"):
        child.add("I live in Oslo.", author="Ben", role=role)
    with pytest.raises(NotAllowed, match="own users' words"):
        child.add_many([Draft("I live in Bonn."), Draft("I live in Oslo.", author="Ben")])
    assert size(child.store) == 0


def test_nothing_is_written_for_a_label_that_is_not_held(child: Memory):
    with pytest.raises(NotAllowed, match="label"):
        child.add("I live in Oslo.", audience=["family", "doctor"])
    assert size(child.store) == 0


def test_its_own_words_are_written(child: Memory):
    child.add("I live in Berlin.", audience=["family"])
    child.add("I live in Munich.", author="  ADA ")
    child.add("Noted.", author="helper", role="assistant")
    assert {event.scope.user for batch in child.store.log.events(0, size(child.store)) for event in batch} == {"ada"}


def test_who_is_limited_to_labels_alone_writes_for_anybody(store: Store):
    guest = memory_of(store, Principal("guest", frozenset()))
    guest.add("I live in Oslo.", user_id="ben", author="Ben Ole")
    with pytest.raises(NotAllowed, match="label"):
        guest.add("I live in Oslo.", user_id="ben", audience=["family"])


def test_an_event_loop_adds_and_asks_side_by_side(child: Memory):
    async def talk() -> tuple[list[bool], list[str]]:
        added = await asyncio.gather(*(child.aadd(f"I like tea number {number}.", key=str(number % 2)) for number in (0, 1)))
        return [one.new for one in added], [hit.text for hit in await child.asearch("tea")]

    new, found = asyncio.run(talk())
    assert (new, sorted(found)) == ([True, True], ["I like tea number 0.", "I like tea number 1."])


def test_an_operator_writes_everything(store: Store):
    for principal in (None, Principal("operator", None)):
        memory_of(store, principal).add("I live in Oslo.", user_id="ada", author="Ben", audience=["doctor"])


def test_an_import_leaves_out_what_others_say(child: Memory, tmp_path: Path):
    turns = [{"role": "user", "name": name, "content": f"I am {name}."} for name in ("Ada", "Ben")]
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps({"messages": turns}))
    report = child.import_files([chat])
    assert (report.added, [each.reason for each in report.malformed]) == (1, ["this principal may write in its own users' words only"])
    assert [event.text for batch in child.store.log.events(0, size(child.store)) for event in batch] == ["I am Ada."]


@pytest.mark.parametrize("options", [Options(author="Ben"), Options(audience=("doctor",))])
def test_an_import_is_refused_that_could_add_nothing_allowed(child: Memory, tmp_path: Path, options: Options):
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps({"messages": [{"role": "user", "content": "I live in Oslo."}]}))
    with pytest.raises(NotAllowed):
        child.import_files([chat], options=options)
    assert size(child.store) == 0


def test_a_limited_principal_is_not_told_how_many_erasures_came_after(store: Store):
    child = memory_of(store, CHILD)
    assert memory_of(store, None).erasures_after("2024-01-01") == 0
    assert child.erasures_after("2024-01-01") is None
    assert child.diff(since="2024-01-01", user_id="ada").erasures is None
