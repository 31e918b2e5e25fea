"""`refold fold` by a model: the plan says what it would ask, the report what was asked, and what is pending is an exit code and a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from refold import settings
from refold.closed.closure import Level
from refold.errors import Usage
from refold.extractors import Choice
from refold.memory import Memory
from tests.cli.conftest import Shell
from tests.fold_model.scripted import reads
from tests.openai_server import Server, answer, failure


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    made = Shell(tmp_path, capsys)
    made("init")
    for part, text in enumerate(("My sister Ruth called.", "She lives in Oslo. I live in Kiel."), 1):
        made("add", text, "--user", "ada", "--source", f"chat:7#{part}")
    return made


def of(server: Server) -> list[str]:
    return ["--model", "openai/small", "--api-base", server.url]


def recipe(folder: Path, server: Server, *changed: tuple[str, str]) -> str:
    """Write a recipe for the server, that tries once."""
    text = settings.text("recipes/openai.toml")
    ours = (("https://api.openai.com/v1", server.url), ('model = ""', 'model = "small"'), ("attempts = 5", "attempts = 1"))
    for found, instead in (*ours, *changed):
        assert found in text
        text = text.replace(found, instead, 1)
    (folder / "own.toml").write_text(text)
    return str(folder / "own.toml")


def test_a_plan_counts_the_calls_exactly_and_sends_nothing(shell, server):
    plan = shell.json("fold", "--plan", *of(server)).data["plan"]
    assert server.count == 0
    assert (plan["estimate"]["calls"], plan["estimate"]["calls_max"]) == (1, 3)
    assert "1 call, at most 3 where" in shell("fold", "--plan", *of(server)).out
    shell("fold", *of(server))
    assert server.count == 1
    sent = len(server.asked[0].body)
    assert plan["estimate"]["prompt_tokens"] == -(-sent // 4)
    again = shell.json("fold", "--plan", "--full", *of(server)).data["plan"]["estimate"]
    assert (again["calls"], again["reused"], again["cost"]) == (0, 1, None)
    fresh = shell.json("fold", "--plan", "--fresh", *of(server)).data["plan"]["estimate"]
    assert (fresh["calls"], fresh["reused"]) == (1, 0)


def test_a_plan_is_priced_by_the_recipe(shell, server, tmp_path):
    priced = recipe(tmp_path, server, ("# [price]", '[price]\ncurrency = "EUR"\ninput = 1000\noutput = 2000'))
    plan = shell.json("fold", "--plan", "--recipe", priced).data["plan"]["estimate"]
    assert plan["currency"] == "EUR"
    assert plan["cost"] == pytest.approx((plan["prompt_tokens"] * 1000 + plan["completion_tokens"] * 2000) / 1_000_000)


def test_a_fold_says_what_it_asked_and_how_closed_the_answers_were_read(shell, server):
    done = shell.json("fold", *of(server))
    assert done.code == 0
    assert done.data["spent"]["calls"] == 1
    assert (done.data["extractor"], done.data["pending"]) == ("openai/small", 0)
    assert Level(done.data["closure_level"]).rank >= Level.TRIPWIRE.rank
    said = shell("fold", "--full", *of(server)).out
    assert "0 tokens, no price table in the recipe" in said
    assert "0 calls of openai/small, 1 answered by recordings" in said
    assert shell("fold", "--fresh", *of(server)).code == 0
    assert server.count == 2


def test_a_model_that_fails_is_an_exit_code_and_its_events_are_pending_in_the_status(shell, server, tmp_path):
    server.script = lambda asked: failure(500)
    done = shell.json("fold", "--recipe", recipe(tmp_path, server))
    assert (done.code, done.envelope["exit_class"]) == (15, "model")
    assert (done.data["pending"], done.data["faults"]) == (2, {"server-error": 1})
    status = shell.json("status")
    assert status.data["state"]["pending"] == 2
    assert [finding["code"] for finding in status.envelope["findings"]] == ["RF-STATUS-003"]
    server.script = reads
    assert shell.json("fold", "--recipe", recipe(tmp_path, server)).data["pending"] == 0
    assert shell.json("status").data["state"]["pending"] == 0


def test_a_spent_budget_ends_a_fold_cleanly_and_the_next_one_goes_on(shell, server, tmp_path):
    shell("add", "I live in Rome.", "--user", "ben", "--source", "chat:8#1")
    server.script = lambda asked: answer('{"facts":[],"aliases":[]}', usage=(1_000_000, 0))
    limited = recipe(
        tmp_path,
        server,
        ("# [price]", '[price]\ncurrency = "EUR"\ninput = 1\noutput = 1'),
        ("cost = 0", "cost = 1"),
        ("concurrency = 8", "concurrency = 1"),
    )
    done = shell.json("fold", "--recipe", limited)
    assert (done.code, done.data["faults"], done.data["currency"]) == (0, {"budget": 1}, "EUR")
    assert [finding["code"] for finding in done.envelope["findings"]] == ["RF-BUDGET-001"]
    assert done.envelope["findings"][0]["message"].endswith("the next fold goes on, with as much again")
    assert shell.json("fold", "--recipe", limited).data["pending"] == 0
    assert server.count == 2


def test_what_a_model_made_up_is_counted_in_the_status(shell, server):
    server.script = lambda asked: answer('{"facts":[{"event":"e1"}],"aliases":[]}')
    assert shell.json("fold", *of(server)).data["rejected"] == 1
    assert shell.json("status").data["rejections"] == {"bad-shape": 1}


def test_why_leads_to_the_call_and_to_the_event_that_names_the_entity(shell, server):
    shell("fold", *of(server))
    (ruth,) = [fact for fact in shell.json("facts", "Ruth", "--user", "ada").data["facts"] if fact["value"] == "Oslo"]
    assert len({place["event_id"] for place in ruth["support"]}) == 2
    why = shell.json("why", ruth["fact_id"], "--user", "ada").data
    assert [saying["text"] for saying in why["named"]] == ["My sister Ruth called."]
    assert why["fact"]["call_id"] == ruth["call_id"]
    said = shell("why", ruth["fact_id"], "--user", "ada").out
    assert f"refold calls show {ruth['call_id']}" in said
    assert "My sister [Ruth] called." in said


@pytest.mark.slow
def test_a_receipt_says_that_the_recordings_give_the_same_state_in_another_process(shell, server, tmp_path):
    done = shell.json("fold", *of(server), "--receipt", str(tmp_path / "replay.json"))
    assert done.code == 0
    assert server.count == 1
    assert '"model_calls":0' in (tmp_path / "replay.json").read_text()
    verified = shell.json("verify", str(tmp_path / "replay.json"))
    assert (verified.code, verified.envelope["status"]) == (0, "PASS")


def test_a_replay_without_a_recording_is_refused(shell, server):
    done = shell.json("fold", "--calls", "replay", *of(server))
    assert (done.code, done.envelope["findings"][0]["code"]) == (15, "RF-MODEL-003")


@pytest.mark.parametrize(
    "argv",
    [
        ("--calls", "replay"),
        ("--api-base", "http://127.0.0.1:1/v1"),
        ("--recipe", "none-of-this-name"),
        ("--recipe", "openai"),
        ("--model", "small", "--api-base", "nowhere"),
        ("--fresh", "--calls", "replay", "--model", "small"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(shell, argv):
    done = shell.json("fold", *argv)
    assert (done.code, done.envelope["findings"][0]["code"]) == (2, "RF-USAGE-001")


def test_a_fresh_fold_by_patterns_is_a_full_one(shell):
    shell("fold")
    assert shell.json("fold", "--fresh").data["plan"]["full"] is True


def test_the_settings_say_what_reads_where_the_command_does_not(shell, server, tmp_path, monkeypatch):
    own = tmp_path / "own-settings.toml"
    own.write_text(f'[fold]\nrecipe = "openai"\nmodel = "small"\napi_base = "{server.url}"\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(own))
    assert shell.json("fold").data["extractor"] == "openai/small"
    assert shell.json("fold", "--recipe", "symbolic").data["plan"]["full"] is True
    assert server.count == 1


def test_a_library_folds_by_a_choice(shell, server):
    with Memory.open(*(), **{name: shell.folder / name for name in ("store", "vault", "root")}) as memory:
        chosen = Choice.of(model="openai/small", api_base=server.url)
        assert memory.fold_plan(by=chosen).estimate is not None
        assert memory.fold(by=chosen, require_closure="declared").closure_level is Level.DECLARED
        with pytest.raises(Usage):
            Choice.of(model="small", calls="sometimes")


def test_what_a_fold_cost_is_told_by_source_and_what_calls_cost_by_run_and_source(shell, server, tmp_path):
    priced = ("# [price]", '[price]\ncurrency = "EUR"\ninput = 1000\noutput = 2000')
    own = recipe(tmp_path, server, priced)
    shell("add", "I live in Ghent.", "--user", "ben", "--source", "chat:8#1")
    server.script = lambda asked: answer('{"facts":[],"aliases":[]}', usage=(100, 10) if "Ghent" in asked.text else (30, 5))
    done = shell.json("fold", "--recipe", own).data
    dearer = {"source": "chat:8", "calls": 1, "reused": 0, "prompt_tokens": 100, "completion_tokens": 10, "cost": 120_000_000}
    cheaper = {"source": "chat:7", "calls": 1, "reused": 0, "prompt_tokens": 30, "completion_tokens": 5, "cost": 40_000_000}
    assert done["sources"] == [dearer, cheaper]
    assert sum(one["cost"] for one in done["sources"]) == done["spent"]["cost"]
    shell("fold", "--recipe", own, "--fresh")
    again = shell.json("fold", "--recipe", own, "--full").data
    assert again["sources"] == []
    runs = shell.json("calls", "list", "--by", "run").data["runs"]
    assert [(one["calls"], one["prompt_tokens"], one["cost"]) for one in runs] == [(2, 130, 160_000_000)] * 2
    sources = shell.json("calls", "list", "--by", "source").data["sources"]
    assert sorted((one["source"], one["calls"], one["cost"]) for one in sources) == [
        ("chat:7", 2, 80_000_000),
        ("chat:8", 2, 240_000_000),
    ]
    assert "chat:8" in shell("calls", "list", "--by", "source").out
