"""`refold demo`: the same everywhere, again and again, and only in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from refold import cli
from refold.cli import demo
from refold.cli.envelope import as_json
from refold.errors import ModelFailed, Usage
from refold.extractors import Choice
from refold.memory import Memory
from tests.fold_model.asked import content, fact
from tests.openai_server import Server, answer

FACTS = """
import sys
from pathlib import Path
from refold.cli import demo
from refold.memory import Memory
folder = Path(sys.argv[1])
demo.fill(folder)
with Memory.open(folder, principal="operator") as memory:
    memory.fold()
    print([(fact.fact_id.hex(), fact.value) for fact in memory.facts(entity="Ada")], [hit.event_id.hex() for hit in memory.search("Ada")])
"""


@pytest.mark.slow
def test_ids_are_the_same_in_every_process(tmp_path):
    printed = [
        subprocess.run(
            [sys.executable, "-c", FACTS, str(tmp_path / seed)],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert "Munich" in printed[0]


def test_a_demo_is_opened_by_its_folder_alone(tmp_path):
    demo.fill(tmp_path / "demo")
    with Memory.open(tmp_path / "demo", principal="operator") as memory:
        assert memory.status().entries > 10
        assert {place.parent for place in (memory.places.store, memory.places.vault, memory.places.root)} == {tmp_path / "demo"}


def test_a_demo_is_made_anew_and_leaves_alone_what_is_not_of_it(tmp_path):
    demo.fill(tmp_path / "demo")
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    (tmp_path / "demo" / "store" / "log" / "parts" / "junk").write_text("x")
    again, _ = demo.fill(tmp_path / "demo")
    assert (again.already, again.malformed_count) == (0, 0)
    assert (tmp_path / "demo" / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "demo" / "store" / "log" / "parts" / "junk").exists()


def test_a_folder_that_is_no_demo_is_left_alone(tmp_path):
    with Memory.create(tmp_path / "real" / "store", vault=tmp_path / "v", root=tmp_path / "r"):
        pass
    (tmp_path / "file").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    for taken in (tmp_path / "real", tmp_path / "file"):
        with pytest.raises(Usage):
            demo.fill(taken)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_to_a_demo_is_not_followed(tmp_path):
    demo.fill(tmp_path / "demo")
    (tmp_path / "link").symlink_to(tmp_path / "demo")
    with pytest.raises(Usage):
        demo.fill(tmp_path / "link")
    assert (tmp_path / "demo" / "store" / "store.json").exists()


def test_the_demo_shows_facts_a_search_a_reason_and_where_everything_lies(tmp_path, monkeypatch):
    """The fold is the library's here; the blocks of the README run it in Prefect."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "memory-demo"
    imported, _ = demo.fill(folder)
    assert imported.malformed_count == 0
    with Memory.open(folder, principal="operator") as memory:
        report = memory.fold()
        night = {"state": "Completed", "counts": {"rejected": report.rejected, "generation": report.generation}}
        outcome = demo.shown_to(folder, memory, imported, night, demo.forget(folder, Choice.of()))
    data = json.loads(as_json("demo", outcome))["data"]
    assert ("lives_in", "Munich") in {(fact["relation"], fact["value"]) for fact in data["facts"]}
    assert data["results"]
    assert data["why"]["beat"][0]["value"] == "Berlin"
    text = "\n".join(outcome.lines)
    for words in ("facts about Ada", "[I've been living in Munich since 2023]", "memory-demo/vault", "refold status --store memory-demo"):
        assert words in text
    assert (data["forgotten"]["dark_in_backup"], data["forgotten"]["certificate"]["state"]) == (6, "certified")
    for words in ("Ruth Brandt: ", "0 traces in", "6 of 6 events are dark in the backup made before"):
        assert words in text
    with Memory.open(folder, principal="operator") as memory:
        assert [hit for hit in memory.search("Ruth Brandt moved to Hamburg") if "Ruth" in hit.text]
    assert {path.name for path in folder.iterdir()} == {"store", "vault", "root", *demo.PAPERS, "refold-demo", ".gitignore"}
    assert cli.main(["verify", str(folder / demo.PAPERS[0]), "--store", str(folder)]) == 0
    demo.fill(folder)
    assert not (folder / demo.PAPERS[0]).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["memory-demo"]


def test_every_command_that_the_demo_proposes_works(tmp_path, capsys):
    folder = tmp_path / "demo"
    demo.fill(folder)
    with Memory.open(folder) as memory:
        memory.fold()
    for command in demo.NEXT:
        assert cli.main([*shlex.split(command), "--store", str(folder)]) == 0
        assert capsys.readouterr().out.count("\n") >= 3


def test_the_demo_names_refold_as_whoever_ran_it_can_name_it(tmp_path, monkeypatch):
    command = tmp_path / "a venv" / "bin" / "refold"
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    activated = {"PATH": str(command.parent)}
    assert demo.typed(str(command), activated) == "refold"
    assert demo.typed("a venv/bin/refold", {"PATH": "/nowhere"}) == "'a venv/bin/refold'"
    assert demo.typed(str(command), activated | {"UV_RUN_RECURSION_DEPTH": "1"}) == "'a venv/bin/refold'"
    assert demo.typed("/usr/lib/python3/site-packages/refold/__main__.py", activated) == "refold"


def test_whoever_adds_to_a_demo_is_told_that_its_keys_are_public(tmp_path, capsys):
    folder = tmp_path / "demo"
    demo.fill(folder)
    (tmp_path / "notes.txt").write_text("I like tea.")
    for argv in (["add", "I like tea.", "--user", "ada"], ["import", str(tmp_path / "notes.txt"), "--user", "ada", "--said-at", "2024-06"]):
        assert cli.main([*argv, "--store", str(folder), "--format", "json"]) == 0
        (finding,) = json.loads(capsys.readouterr().out)["findings"]
        assert (finding["code"], finding["severity"]) == ("RF-DEMO-001", "warning")


def test_with_a_model_its_facts_are_those_that_its_answers_prove(tmp_path, monkeypatch):
    def reads(asked):
        alias = re.search(r"(e[0-9]+) \{[^\n]*I live in Berlin", asked.text)
        return answer(content(*([fact("Berlin", "I live in Berlin", event=alias[1], entity_in=alias[1])] if alias else [])))

    with Server(reads) as server:
        _, home = demo.fill(tmp_path / "demo")
        settled = demo._with_model(tmp_path / "demo", ("openai", "openai/scripted", server.url))
        assert home.environment(os.environ | settled)["REFOLD_CONFIG"] == settled["REFOLD_CONFIG"]
        monkeypatch.setenv("REFOLD_CONFIG", settled["REFOLD_CONFIG"])
        with Memory.open(tmp_path / "demo", principal="operator") as memory:
            assert memory.fold().pending == 0
            (found,) = memory.facts(entity="Ada")
            assert (found.relation, found.value) == ("lives_in", "Berlin")
            assert memory.status().calls.calls == server.count > 0
        done = demo.forget(tmp_path / "demo", Choice.of("openai", model="openai/scripted", api_base=server.url))
        assert (done.dark, done.gone) == (6, 6)
        assert (done.certificate["state"], {one["kind"] for one in done.certificate["copies"]}) == ("certified-except", {"provider"})
    monkeypatch.delenv("REFOLD_CONFIG")
    assert demo.read_by({"calls": 5, "pending": 1}) == "read by a model in 5 calls, 1 event pending: refold calls list"
    demo.fill(tmp_path / "demo")
    assert not (tmp_path / "demo" / "refold.toml").exists()


def test_a_demo_whose_model_answered_nothing_says_so_and_goes_no_further(tmp_path):
    silent = {"calls": 18, "pending": 6, "assertions": 0, "rejected": 0}
    with pytest.raises(ModelFailed, match="did not answer about 6 events of the example") as failed:
        demo.require_answers(silent, tmp_path / "demo")
    assert failed.value.hint == f"refold calls list --store {tmp_path / 'demo'}"
    demo.require_answers(silent | {"assertions": 1}, tmp_path / "demo")
    demo.require_answers({"assertions": 0, "rejected": 0}, tmp_path / "demo")  # patterns leave nothing pending
