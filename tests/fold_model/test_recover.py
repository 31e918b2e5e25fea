"""A recovery goes on with what a model has read only by that model's recipe and by recordings; else it leaves the state as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Shell
from tests.fold_model.test_command import of, recipe
from tests.openai_server import Server


@pytest.fixture
def shell(tmp_path, capsys: pytest.CaptureFixture[str], server: Server) -> Shell:
    made = Shell(tmp_path, capsys)
    made("init")
    for part, text in enumerate(("My sister Ruth called.", "She lives in Oslo. I live in Kiel."), 1):
        made("add", text, "--user", "ada", "--source", f"chat:7#{part}")
    assert made("fold", *of(server)).code == 0
    return made


def current(shell: Shell) -> bytes:
    return (shell.folder / "store/state/CURRENT").read_bytes()


def said(shell: Shell) -> list[str]:
    return sorted(str(fact["value"]) for fact in shell.json("facts", "--user", "ada").data["facts"])


def recovered(shell: Shell, *argv: str) -> dict[str, Any]:
    origin = json.loads((shell.folder / "store/store.json").read_bytes())["origin"]
    return shell.json("recover", "--log", "--confirm", origin[:8], *argv).data


def lose_a_part(shell: Shell) -> list[str]:
    """Lose a part of the log of which a mirror has the bytes; return what names the mirror."""
    mirror = str(shell.folder / "copies/mirror")
    assert shell("mirror", mirror).code == 0
    min((shell.folder / "store/log/parts").iterdir()).write_bytes(b"")
    return ["--from", mirror]


def test_on_a_whole_log_a_recovery_does_nothing(shell):
    before, facts = current(shell), said(shell)
    done = recovered(shell)
    assert (done["replay"], done["not_replayed"]) == (None, "nothing is damaged")
    assert (current(shell), said(shell)) == (before, facts)


def test_a_state_of_another_recipe_than_the_settings_name_is_left_alone_and_that_is_said(shell):
    before, facts = current(shell), said(shell)
    done = recovered(shell, *lose_a_part(shell))
    assert done["healed"]
    assert "another recipe" in done["not_replayed"]
    assert (current(shell), said(shell)) == (before, facts)


def test_by_the_recipe_of_the_settings_it_is_gone_on_with_from_recordings_alone(shell, server, tmp_path, monkeypatch):
    own = tmp_path / "own-settings.toml"
    own.write_text(f'[fold]\nrecipe = "{recipe(tmp_path, server)}"\n', encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(own))
    assert shell("fold").code == 0
    sent, facts, before = server.count, said(shell), current(shell)
    done = recovered(shell, *lose_a_part(shell))
    assert done["replay"] is not None, done["not_replayed"]
    assert (server.count, said(shell)) == (sent, facts)
    shell("add", "I live in Bonn.", "--user", "ada", "--source", "chat:7#3")
    done = recovered(shell, *lose_a_part(shell))
    assert "never recorded" in done["not_replayed"]
    assert (server.count, said(shell), current(shell)) == (sent, facts, before), "nobody is asked, and what was read stays"
