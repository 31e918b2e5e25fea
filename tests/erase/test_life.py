"""The life of an erasure as an officer leads it, on the command line: nothing is left of the person, and nobody else loses anything."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from refold import register, settings, times
from refold.erase.model import Candidate, Decision, Selector, Stage
from refold.erase.plan import Plan, Recipient, _owed
from refold.erase.run import Undecided
from refold.errors import Blocked, KeyMissing, NotAllowed, SubjectErased, Usage
from refold.memory import Memory
from refold.model import AliasKind
from refold.settings import Erase, Keep, Principal
from tests.calls import recorded
from tests.cli.conftest import Printed, Shell
from tests.conftest import now
from tests.journal import unsynced

RUTH = Selector(aliases=((AliasKind.HANDLE, "ruth"), (AliasKind.NAME, "Ruth Kern")))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    made = Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root")
    with unsynced():
        made.add("I live in Berlin.", user_id="ada", said_at="2024-01-01", source="chat:1#1")
        made.add("My sister is called Ruth Kern.", user_id="ada", said_at="2024-01-03", source="chat:1#2")
        made.add("I live in Porto.", user_id="ruth", said_at="2024-01-05", source="chat:2#1")
        made.add("I live in Munich.", user_id="ada", subjects=["ruth"], said_at="2024-02-02", source="chat:1#3")
        made.add("I met R. Kern and Ruth Albers.", user_id="ben", said_at="2024-02-03", source="chat:3#1")
        made.fold()
    return made


@pytest.fixture
def shell(memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    memory.close()
    return Shell(tmp_path, capsys)


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def asked(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> str:
    typed(monkeypatch, "ruth\nRuth Kern\n")
    request_id = shell.json("erase", "request", "--aliases", "-", "--received", "2026-01-10").data["request_id"]
    shell("erase", "find", request_id)
    return request_id


def confirmed(shell: Shell, request_id: str, *, form: str = "text") -> Printed:
    return shell("erase", "run", request_id, "--confirm", request_id[:8], form=form)


def test_e47_the_whole_life_without_a_name_in_argv(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    request_id = asked(shell, monkeypatch)
    shown = shell.json("erase", "review", request_id).data["candidates"]
    assert {one["variant"]: one["sentence"] for one in shown if one["seq"] > 5} == {
        "initials": "I met [R. Kern] and Ruth Albers.",
        "first name": "Kern and [Ruth] Albers.",
    }
    decisions = {one["id"]: "namesake" if "[Ruth] Albers" in one["sentence"] else "concerns" for one in shown}
    typed(monkeypatch, json.dumps(decisions))
    assert shell.json("erase", "review", request_id, "--decide", "-").data["undecided"] == 0
    planned = shell.json("erase", "plan", request_id).data
    assert (planned["events"], planned["shared_events"]) == (4, 3)
    assert [(one["entity"], one["value"]) for one in planned["facts_again"]] == [("ada", "Berlin")]
    assert confirmed(shell, request_id).code == 2
    assert "approved" in shell("erase", "run", request_id).err
    assert "next: refold erase approve" in shell("erase", "plan", request_id).out
    shell("erase", "approve", request_id)
    assert "next: refold erase run" in shell("erase", "plan", request_id).out
    assert "--confirm" in shell("erase", "run", request_id).err
    done = confirmed(shell, request_id, form="json")
    assert (done.code, done.data["events"]) == (0, 4)
    assert "Berlin" in shell("facts", "--user", "ada").out
    assert "Munich" not in shell("facts", "--user", "ada").out
    listed = shell.json("erase", "status").data["requests"]
    assert [(one["stage"], one["due"]) for one in listed] == [("certified", "2026-02-09T00:00:00Z")]
    assert "dark" in shell("erase", "status", request_id).out
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [name for name in (b"Ruth Kern", b"Porto") if name in everything]


def test_what_is_declared_by_mistake_is_no_namesakes_and_the_refusal_says_the_way_out(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    request_id = asked(shell, monkeypatch)
    (seq, *_) = [one["seq"] for one in shell.json("erase", "review", request_id).data["shared"] if one["declared"]]
    file = tmp_path / "decisions.csv"
    for text in (f"{seq},namesake\n", f"{seq}:0-4,namesake\n"):
        file.write_text(text)
        refused = shell.json("erase", "review", request_id, "--decide", str(file))
        (finding,) = refused.envelope["findings"]
        assert (refused.code, finding["remediation"]) == (2, "refold help redaction")
        assert "goes dark with their key" in finding["message"]
        assert "add it again without declaring them" in finding["message"]


def test_decisions_come_as_lines_too_and_wrong_ones_are_refused(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    request_id = asked(shell, monkeypatch)
    ids = [one["id"] for one in shell.json("erase", "review", request_id).data["candidates"]]
    file = tmp_path / "decisions.csv"
    file.write_text("mention,decision\n" + "".join(f"{one},namesake\n" for one in ids))
    assert shell.json("erase", "review", request_id, "--decide", str(file)).data["undecided"] == 0
    for text in ("12:0-3,perhaps\n", "twelve,concerns\n", "[1]", "999:0-3,concerns\n"):
        file.write_text(text)
        assert shell("erase", "review", request_id, "--decide", str(file)).code == 2
    assert shell.json("erase", "plan", request_id).data["events"] == 2


def test_who_asks_for_somebody_whom_nobody_knows_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    for names, unknown in (("nobody here\nruth\n", 1), ("RUTH\n", 0)):
        typed(monkeypatch, names)
        asked_for = shell.json("erase", "request", "--aliases", "-")
        assert (asked_for.code, asked_for.data["unknown"]) == (0, unknown)
        assert asked_for.out.count("nobody is known by 1 of the names") == unknown


def test_a_plan_shows_copies_with_their_dues_and_a_certificate_is_made_anew_when_they_are_gone(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    due = ("--due", "2026-03-01")
    keys, table = (
        shell.json("copies", "add", *what).data["copy"]["copy_id"] for what in (("escrow", "a safe", *due), ("export", "a table"))
    )
    shell("copies", "add", "backup", "the attic")
    request_id = asked(shell, monkeypatch)
    shell("erase", "review", request_id, "--all", "concerns")
    planned = shell.json("erase", "plan", request_id).data["copies"]
    assert {(one["kind"], one["state"], one["due"]) for one in planned} == {
        ("escrow", "open", "2026-03-01T00:00:00Z"),
        ("export", "open", None),
        ("backup", "dark", None),
    }
    assert "2026-03-01" in shell("erase", "plan", request_id).out
    shell("erase", "approve", request_id)
    assert confirmed(shell, request_id, form="json").data["stage"] == "certified-except"
    first = shell.json("erase", "certificate", request_id).data["certificate"]
    page, whole = shell("erase", "certificate", request_id, "--html", str(tmp_path / "c.html")), shell("erase", "certificate", request_id)
    assert page.out.splitlines() == [*whole.out.splitlines()[:2], f"written: {tmp_path / 'c.html'}"]
    assert len(whole.out.splitlines()) > 5
    renewed = shell.json("copies", "confirm", table, "--evidence", "burnt").data["certificates"]
    assert renewed == [{"request_id": request_id, "state": "certified-except"}]
    second = shell.json("erase", "certificate", request_id).data["certificate"]
    assert {copy["kind"]: copy["state"] for copy in second["copies"]} == {"escrow": "open", "export": "done", "backup": "dark"}
    shell("copies", "add", "escrow", "a safe")  # the keys of now, at the place of those of before
    assert "made anew: certified\n" in shell("copies", "confirm", table, "--evidence", "burnt, again").out
    last = shell.json("erase", "certificate", request_id).data["certificate"]
    assert (last["state"], last["reasons"]) == ("certified", [])
    assert first["replaces"] is None
    assert len({first["replaces"], second["replaces"], last["replaces"]}) == 3
    changing = {"copies", "made_at", "reasons", "replaces", "state"}
    assert {name: value for name, value in last.items() if name not in changing} == {
        name: value for name, value in first.items() if name not in changing
    }
    assert [one["stage"] for one in shell.json("erase", "status").data["requests"]] == ["certified"]
    assert keys in {copy["id"] for copy in last["copies"]}
    assert shell.json("copies", "confirm", table, "--evidence", "burnt").data["certificates"] == []


def test_a_copy_that_is_found_later_comes_into_the_certificate_of_what_was_erased_since(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    request_id = asked(shell, monkeypatch)
    shell("erase", "review", request_id, "--all", "concerns")
    shell("erase", "plan", request_id)
    shell("erase", "approve", request_id)
    assert confirmed(shell, request_id, form="json").data["stage"] == "certified"
    except_one = [{"request_id": request_id, "state": "certified-except"}]
    assert shell.json("copies", "add", "export", "of today").data["certificates"] == []
    assert shell("copies", "add", "export", "of tomorrow", "--made", "2999-01-01").code == 2
    found = shell.json("copies", "add", "export", "an old disk", "--made", "2020-01-01").data
    assert found["certificates"] == except_one
    assert shell.json("copies", "add", "backup", "a drawer", "--made", "2020-01-01").data["certificates"] == except_one
    said = shell.json("erase", "certificate", request_id).data["certificate"]
    assert [(copy["kind"], copy["state"]) for copy in said["copies"]] == [("export", "open"), ("backup", "dark")]
    old = found["copy"]["copy_id"]
    assert shell.json("copies", "confirm", old, "--state", "open", "--evidence", "they refuse").data["certificates"] == []
    done = shell.json("copies", "confirm", old, "--evidence", "they did it").data["certificates"]
    assert done == [{"request_id": request_id, "state": "certified"}]


def test_undecided_mentions_stop_the_run(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    request_id = asked(shell, monkeypatch)
    assert "undecided" in shell("erase", "plan", request_id).err
    assert shell("erase", "approve", request_id).code == 10
    assert confirmed(shell, request_id).code == 2


def test_a_decision_that_decides_about_nothing_is_refused_with_what_to_look_at(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    request_id = asked(shell, monkeypatch)
    review = ("erase", "review", request_id)
    look = f"refold erase review {request_id[:8]}"
    misnamed = shell.json(*review, "--all", "concerns", "--variant", "no such way")
    assert (misnamed.code, misnamed.envelope["findings"][0]["remediation"]) == (2, look)
    assert shell(*review, "--variant", "initials").code == 2
    for typed_in, hint in (("999:0-1,concerns\n", look), ("4:6-13,yes\n", "refold help redaction")):
        typed(monkeypatch, typed_in)
        refused = shell.json(*review, "--decide", "-")
        assert (refused.code, refused.envelope["findings"][0]["remediation"]) == (2, hint)
    before = shell.json(*review).data
    assert before["undecided"] == before["total"] > 0
    alike = before["candidates"][0]["variant"]
    after = shell.json(*review, "--all", "concerns", "--variant", alike).data
    assert {one["variant"] for one in after["candidates"] if one["decision"] == "concerns"} == {alike}


def test_somebody_who_is_only_spoken_of_goes_and_does_not_come_back_with_the_same_record(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    chat = tmp_path / "chat.jsonl"
    said = ("I had lunch with Jonas Keller.", "I like tea.")
    chat.write_text("".join(json.dumps({"messages": [{"role": "user", "content": each}]}) + "\n" for each in said))
    assert shell("import", str(chat), "--user", "mara").code == 0
    shell("fold")
    typed(monkeypatch, "Jonas Keller\n")
    request_id = shell.json("erase", "request", "--aliases", "-").data["request_id"]
    for step in (("find",), ("review", "--all", "concerns"), ("plan",), ("approve",)):
        assert shell("erase", step[0], request_id, *step[1:]).code == 0
    assert shell("erase", "approve", request_id).code == 2  # approved already
    assert confirmed(shell, request_id).code == 0
    again = shell.json("import", str(chat), "--user", "mara").data
    assert (again["added"], again["suppressed"]) == (0, 1)
    assert "Jonas" not in shell("search", "lunch Jonas", "--user", "mara").out


def test_whoever_was_erased_is_known_again_only_when_readmitted(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    request_id = asked(shell, monkeypatch)
    for step in (("review", "--all", "concerns"), ("plan",), ("approve",)):
        assert shell("erase", step[0], request_id, *step[1:]).code == 0
    assert confirmed(shell, request_id).code == 0
    refused = shell("add", "I live in Oslo.", "--user", "ruth")
    assert (refused.code, "refold subject readmit" in refused.err) == (16, True)
    assert shell("subject", "add", "ruth").code == 16
    assert shell("subject", "readmit", "ruth").code == 0
    assert shell("add", "I live in Oslo.", "--user", "ruth").code == 0


def test_the_report_tells_all_and_who_was_told(memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first = next(event for events in memory.store.log.events() for event in events if event.scope.user == "ruth")
    recorded(memory.store, "http://127.0.0.1:8123/v1", first)
    memory.close()
    shell = Shell(tmp_path, capsys)
    data = shell.json("subject", "report", "--user", "ruth").data
    assert {one["text"] for one in data["events"]} == {"I live in Porto.", "I live in Munich."}
    assert {(one["relation"], one["value"]) for one in data["facts"]} >= {
        ("lives_in", "Porto"),
        ("lives_in", "Munich"),
        ("kin", "Ruth Kern"),
    }
    assert [(one["host"], one["calls"]) for one in data["recipients"]] == [("127.0.0.1:8123", 1)]
    assert len(data["calls"]) == 1
    assert "127.0.0.1" in shell("subject", "report", "--user", "ruth").out


def test_people_are_found_named_and_joined(shell: Shell):
    assert "1 named without one" in shell("status").out
    added = shell.json("subject", "add", "--from-entity", "Ruth Kern").data["subject"]
    assert shell("subject", "add", "--from-entity", "Nobody Here").code == 2
    ruth = shell.json("subject", "show", "ruth").data["subjects"][0]["subject"]
    assert {one["subject"] for one in shell.json("subject", "find", "Ruth").data["subjects"]} == {added, ruth}
    shell("subject", "alias", ruth, "Ruth Kern")
    (joined,) = shell.json("subject", "find", "Ruth").data["subjects"]
    assert set(joined["ids"]) == {added, ruth}


def ready(memory: Memory, selector: Selector = RUTH, *, decision: Decision = Decision.CONCERNS) -> bytes:
    """Bring a request as far as its plan."""
    request_id = memory.erase_request(selector).request_id
    found = memory.erase_find(request_id).found
    assert found is not None
    memory.erase_decide(request_id, {_key(one): decision for one in found.candidates})
    memory.erase_plan(request_id)
    return request_id


def _key(candidate: Candidate) -> tuple[int, int, int]:
    return (candidate.seq, *candidate.span)


def plan_of(memory: Memory, request_id: bytes) -> Plan:
    return memory.erase_plan(request_id)


def test_e33_what_was_found_does_not_open_after_the_erasure_not_even_from_a_copy(memory: Memory):
    with memory:
        request_id = ready(memory)
        memory.erase_approve(request_id)
        path = memory.places.vault / "requests" / request_id.hex()
        copy = path.read_bytes()
        other = memory.erase_hold(Selector(aliases=((AliasKind.HANDLE, "ruth"),)), "a court")
        memory.erase_release(other.request_id)
        memory.erase_run(request_id)
        path.write_bytes(copy)
        for dark in (request_id, other.request_id):
            with pytest.raises(KeyMissing, match="went dark"):
                memory.erase_show(dark)


def test_e33_a_request_that_outlived_an_earlier_erasure_goes_dark_with_its_own_person(memory: Memory):
    with memory:
        waiting = memory.erase_request(RUTH).request_id
        first = ready(memory, Selector(aliases=((AliasKind.HANDLE, "ben"),)))
        memory.erase_approve(first)
        memory.erase_run(first)
        assert memory.erase_show(waiting).selector == RUTH
        again = ready(memory)
        memory.erase_approve(again)
        memory.erase_run(again)
        for dark in (waiting, again):
            with pytest.raises(KeyMissing, match="went dark"):
                memory.erase_show(dark)


def test_a_run_that_was_killed_before_anything_was_erased_can_be_planned_anew(memory: Memory):
    with memory:
        request_id = ready(memory)
        memory.erase_approve(request_id)
        memory._changed(request_id, lambda one: replace(one, stage=Stage.RUNNING))
        assert memory.erase_find(request_id).stage is Stage.REVIEWED


def test_e6_a_mention_that_comes_after_the_plan_stops_the_run_and_is_found_again(memory: Memory):
    with memory:
        request_id = ready(memory)
        memory.erase_approve(request_id)
        memory.add("Ruth Kern called me.", user_id="ben")
        with pytest.raises(Undecided):
            memory.erase_run(request_id)
        assert memory.erase_show(request_id).stage is Stage.APPROVED
        found = memory.erase_find(request_id)
        assert found.stage is Stage.FOUND
        assert found.found is not None
        (new,) = (one for one in found.found.candidates if one.decision is Decision.UNDECIDED)
        memory.erase_decide(request_id, {_key(new): Decision.CONCERNS})
        memory.erase_plan(request_id)
        memory.erase_approve(request_id)
        assert memory.erase_run(request_id).events == 5


def test_a_hold_stops_approval_and_run_until_it_is_released(memory: Memory):
    with memory:
        request_id = ready(memory)
        memory.erase_approve(request_id)
        held = memory.erase_hold(Selector(aliases=((AliasKind.HANDLE, "ada"),)), "a lawsuit")
        assert [hold.events for hold in plan_of(memory, request_id).holds] == [2]
        for step in (memory.erase_approve, memory.erase_run):
            with pytest.raises(NotAllowed, match="hold"):
                step(request_id)
        memory.erase_release(held.request_id)
        assert memory.erase_run(request_id).events == 4


@pytest.mark.parametrize(("said", "days"), [('{ host = "127.0.0.1:8123", days = 30 }', 30), ("", None)])
def test_a_host_of_models_that_was_told_owes_it_in_plan_register_and_certificate(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, said: str, days: int | None
):
    config = tmp_path / "own.toml"
    config.write_text(f"[providers]\nkeep = [{said}]\n")
    monkeypatch.setenv("REFOLD_CONFIG", str(config))
    recorded(memory.store, "http://127.0.0.1:8123/v1", next(e for es in memory.store.log.events() for e in es if e.scope.user == "ruth"))
    plan = memory.plan_erasure(user_id="ruth", mentions=Decision.CONCERNS)
    (told,) = plan.recipients
    assert told.due == (None if days is None else told.last + days * 86_400_000_000)
    memory.erase(plan)
    (copy,) = memory.copies()
    assert (copy.kind, copy.place, copy.owner, copy.due) == (register.Kind.PROVIDER, "127.0.0.1:8123", register.Owner.PROVIDER, told.due)
    body = json.loads(memory.erase_certificate(plan.target.request_id))["body"]
    assert body["state"] == "certified-except"
    assert [(one["kind"], one["owner"], one["state"], one["due"]) for one in body["copies"]] == [("provider", "provider", "open", told.due)]


def test_a_host_that_keeps_nothing_owes_nothing():
    told = [Recipient("own", "a", 1, 5, 9, 9), Recipient("far", "a", 1, 5, 9, 90), Recipient("far", "b", 1, 5, 9, 80)]
    assert _owed(told) == {"far": 90}
    assert _owed([*told, Recipient("far", "c", 1, 5, 9, None)]) == {"far": None}


def test_two_people_approve_where_the_settings_say_so(tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch):
    config = tmp_path / "own.toml"
    config.write_text("[erase]\napprovals = 2\n[principals.officer]\nall = true\n")
    monkeypatch.setenv("REFOLD_CONFIG", str(config))
    assert settings.load().erase == Erase("23 5 * * *", 2)
    with memory:
        request_id = ready(memory)
        with pytest.raises(NotAllowed, match="--as"):
            memory.erase_approve(request_id)
        for name in ("officer", "operator"):
            with pytest.raises(Usage, match="approved"):
                memory.erase_run(request_id)
            Memory(memory.store, principal=Principal(name, None), now=now).erase_approve(request_id)
        assert memory.erase_run(request_id).events == 4


def test_one_wrong_memory_goes_alone(memory: Memory):
    with memory:
        event = next(event for events in memory.store.log.events() for event in events if "Munich" in event.text)
        request_id = ready(memory, Selector(events=(event.event_id,)))
        assert len(plan_of(memory, request_id).target.suppressed) == 1
        memory.erase_approve(request_id)
        assert memory.erase_run(request_id).events == 1
        assert [fact.value for fact in memory.facts(user_id="ada", relation="lives_in")] == ["Berlin"]
        with pytest.raises(SubjectErased):
            memory.add("I live in Munich.", user_id="ada", source="chat:1#3")


def test_what_is_kept_too_long_becomes_a_request_once(tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch):
    config = tmp_path / "own.toml"
    config.write_text('[retention]\nkeep = [{ kind = "chat", days = 100 }, { kind = "mail", days = 1 }]\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(config))
    assert settings.load().retention == (Keep("chat", 100), Keep("mail", 1))
    with memory:
        later = Memory(memory.store, now=lambda: times.parse("2024-05-12"), random=os.urandom)
        (made,) = later.erase_due()
        assert made.selector == Selector(before=times.parse("2024-02-02"), before_kind="chat")
        assert later.erase_due() == []
        found = memory.erase_find(made.request_id).found
        assert found is not None
        assert len(found.events) == 3


def test_nothing_runs_that_was_not_planned_on_this_log(memory: Memory):
    with memory:
        request_id = memory.erase_request(RUTH).request_id
        with pytest.raises(Blocked, match="nothing was searched"):
            memory.erase_plan(request_id)
        with pytest.raises(Usage, match="approved"):
            memory.erase_run(request_id)
