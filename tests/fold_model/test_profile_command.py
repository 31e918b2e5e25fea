"""Profiles as the commands tell them: below the facts, explained, counted, planned and replayed elsewhere; read in a closed worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refold import settings
from refold.extractors import Choice
from refold.memory import Memory
from tests.cli.conftest import Shell
from tests.fold_model.telling import MARK, is_profile, tells
from tests.openai_server import Server, failure


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(tells) as running:
        yield running


def recipe(folder: Path, server: Server) -> str:
    """Write a recipe that asks the server for profiles as well."""
    text = settings.text("recipes/openai.toml")
    ours = (("https://api.openai.com/v1", server.url), ('model = ""', 'model = "small"'), ("attempts = 5", "attempts = 1"))
    of = (("# [profile]", "[profile]"), *((f"# {key} =", f"{key} =") for key in ("prompt", "facts", "sentences", "characters")))
    for found, instead in (*ours, *of, ("# facts_min = 3", "facts_min = 1")):
        assert found in text
        text = text.replace(found, instead, 1)
    (folder / "own.toml").write_text(text)
    return str(folder / "own.toml")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Path:
    """Make a memory of which all but Ben is folded, with a profile of each."""
    folder = tmp_path_factory.mktemp("told")
    with Memory.create(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
        for part, text in enumerate(("My sister Ruth called.", "She lives in Oslo. I live in Kiel."), 1):
            memory.add(text, user_id="ada", source=f"chat:7#{part}")
        memory.fold(by=Choice.of(recipe(folder, server)))
    return folder


@pytest.fixture
def shell(made: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(made, capsys)


def by(shell: Shell) -> tuple[str, str]:
    return "--recipe", str(shell.folder / "own.toml")


def test_facts_are_followed_by_what_a_model_makes_of_them(shell):
    told = shell.json("facts", "Ruth", "--user", "ada").data
    (profile,) = told["profiles"]
    (fact,) = told["facts"]
    assert (profile["entity"], profile["told"], profile["held"]) == ("Ruth", 1, 1)
    assert profile["sentences"][0]["premises"] == [fact["fact_id"]]
    said = shell("facts", "--user", "ada").out
    assert "ada, as openai/small tells it from 1 fact\n" in said
    assert f"{MARK} ada lives_in Kiel." in said
    assert shell.json("facts", "--user", "ada", "--relation", "lives_in").data["profiles"] == []


def test_why_leads_from_a_sentence_to_its_premises_and_its_call(shell):
    (profile,) = shell.json("facts", "Ruth", "--user", "ada").data["profiles"]
    sentence = profile["sentences"][0]
    why = shell.json("why", sentence["fact_id"][:8], "--user", "ada").data
    assert (why["fact"]["value"], why["fact"]["call_id"]) == (sentence["text"], profile["call_id"])
    assert [premise["fact"]["value"] for premise in why["premises"]] == ["Oslo"]
    assert [saying["text"] for saying in why["premises"][0]["named"]] == ["My sister Ruth called."]
    said = shell("why", sentence["fact_id"], "--user", "ada").out
    assert f"refold calls show {profile['call_id']}" in said
    assert "because" in said
    shown = shell("calls", "show", profile["call_id"]).out
    assert '"of\\":\\"Ruth' in shown
    assert f"fact      {sentence['premises'][0][:8]}" in shown


def test_the_library_gives_them_typed_and_only_to_who_may_see_their_facts(made):
    with Memory.open(made / "store", vault=made / "vault", root=made / "root") as memory:
        (profile,) = memory.profiles(user_id="ada")
        assert [sentence.text for sentence in profile.sentences] == [f"{MARK} ada lives_in Kiel."]
        assert memory.why(profile.sentences[0], user_id="ada").premises[0].fact.value == "Kiel"
        assert memory.profiles(user_id="ben", entity="Ruth") == []
        assert memory.profiles(user_id="ada", as_of=0) == []


def test_the_report_and_the_status_count_sentences_and_a_plan_says_what_it_cannot_know(shell):
    again = shell.json("fold", "--full", *by(shell)).data
    assert again["profiles"] == {"entities": 2, "sentences": 2, "dropped": {}, "pending": 0}
    assert (again["spent"]["calls"], again["spent"]["reused"]) == (0, 3)
    assert shell.json("status").data["profiles"] == {"stands": 2}
    assert "2 sentences; dropped: none" in shell("status").out
    plan = shell.json("fold", "--plan", "--full", *by(shell)).data["plan"]
    assert (plan["estimate"]["calls"], plan["profiles"]) == (0, {"pending": 0, "others": None})
    assert "of whom else, and at what price, is known when the events are read" in shell("fold", "--plan", "--full", *by(shell)).out


def test_a_profile_without_an_answer_is_an_exit_code_and_pending(shell, server):
    server.script = lambda asked: failure(500) if is_profile(asked) else tells(asked)
    shell("add", "I live in Bonn.", "--user", "ben", "--source", "chat:8#1")
    done = shell.json("fold", *by(shell))
    assert (done.code, done.data["pending"], done.data["profiles"]["pending"]) == (15, 0, 1)
    assert done.envelope["findings"][0]["message"].startswith("1 profile pending")
    assert [finding["code"] for finding in shell.json("status").envelope["findings"]] == ["RF-STATUS-005"]
    told = shell.json("facts", "--user", "ben").data
    assert (len(told["facts"]), told["profiles"]) == (1, [])
    assert shell.json("fold", "--plan", *by(shell)).data["plan"]["profiles"] == {"pending": 1, "others": 0}
    server.script = tells
    assert shell.json("fold", *by(shell)).code == 0
    assert len(shell.json("facts", "--user", "ben").data["profiles"]) == 1


def test_an_audit_finds_every_request_for_a_profile_made_of_what_the_recipe_and_the_log_declare(shell, tmp_path, monkeypatch):
    (tmp_path / "own-settings.toml").write_text(f'[fold]\nrecipe = "{by(shell)[1]}"\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(tmp_path / "own-settings.toml"))
    audited = shell.json("audit", "--closure")
    assert [finding["code"] for finding in audited.envelope["findings"]] == []
    assert audited.code == 0


@pytest.mark.slow
def test_a_receipt_says_that_the_recordings_give_the_same_profiles_in_another_process(shell, server, tmp_path):
    sent = server.count
    assert shell("fold", *by(shell), "--receipt", str(tmp_path / "replay.json")).code == 0
    assert server.count == sent
    assert '"model_calls":0' in (tmp_path / "replay.json").read_text()
