"""How clients are told of the server: one page each, whose commands run, the same for every client, without a network."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from refold import cli, settings
from refold.errors import Usage
from refold.mcp import agents, server
from refold.store import Places, create
from tests.conftest import now
from tests.readme import blocks

PAGES = settings.folder() / "agents"
PLACES = ("store", "vault", "root")


def page_of(client: str, places: Places, **given: str | None) -> agents.Registration:
    return agents.registration(client, places, **({"principal": None, "user": "ada"} | given), env={})


def canonical(client: str) -> list[str]:
    """Return the commands of a page that are to be tried."""
    return blocks(PAGES / f"{client}.md")[-1].text.splitlines()


def test_every_client_has_a_page_and_every_page_a_client():
    assert {path.stem for path in PAGES.iterdir()} == set(agents.CLIENTS)


def test_the_pages_try_the_same_commands_under_their_own_label():
    assert len({tuple(line.replace(client, "LABEL") for line in canonical(client)) for client in agents.CLIENTS}) == 1


def test_the_commands_of_every_page_run_and_find_what_they_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    places = [word for name in PLACES for word in (f"--{name}", str(tmp_path / name))]
    assert cli.main(["init", *places]) == 0
    for client in agents.CLIENTS:
        capsys.readouterr()
        for line in canonical(client):
            program, *words = shlex.split(line)
            assert program == "refold"
            assert cli.main([*words, *places, "--format", "json"]) == 0
        added, again, found, _, facts, context = (json.loads(out)["data"] for out in capsys.readouterr().out.splitlines())
        assert (added["new"], again["new"]) == (True, False)
        assert [hit["text"] for hit in found["results"]] == ["I live in Berlin."]
        assert [(fact["value"], fact["source"]) for fact in facts["facts"]] == [("Berlin", f"chat:{client}#1")]
        assert f"[chat:{client}#1]" in context["text"]


def test_a_page_holds_the_command_in_the_form_that_its_client_reads(places: Places):
    for client in agents.CLIENTS:
        made = page_of(client, places)
        head, *rest = made.command
        assert rest[-9:] == ["mcp", "--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root), "--user", "ada"]
        assert "{command}" not in made.page
        shown = {block.language: block.text for block in blocks_of(made.page, places.store.parent)[:-1]}
        if "json" in shown:
            assert json.loads(shown["json"]) == {"mcpServers": {"refold": {"command": head, "args": rest}}}
        if "toml" in shown:
            assert tomllib.loads(shown["toml"]) == {"mcp_servers": {"refold": {"command": head, "args": rest}}}
        if "sh" in shown:
            words = shlex.split(shown["sh"])
            assert words[words.index(head) :] == list(made.command)


def blocks_of(page: str, folder: Path):
    path = folder / "page.md"
    path.write_text(page, encoding="utf-8")
    return blocks(path)


def test_what_is_printed_is_what_has_to_be_done_and_the_page_is_whole_as_data(places: Places, capsys: pytest.CaptureFixture[str]):
    create(places, now=now, random=os.urandom).close()
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root), "--user", "ada"]
    for client in agents.CLIENTS:
        assert cli.main(["mcp", "config", client, *where]) == 0
        assert cli.main(["mcp", "config", client, *where, "--format", "json"]) == 0
        *lines, envelope = capsys.readouterr().out.splitlines()
        page = json.loads(envelope)["data"]["page"]
        assert lines[0].endswith((":", "JSON:"))
        assert "\n".join(lines) in page
        assert "## Try it" in page
        assert not any("Try it" in line or "prints this page" in line for line in lines)


def test_the_settings_go_along_because_a_client_starts_servers_with_an_environment_of_its_own(places: Places, tmp_path: Path):
    made = agents.registration("generic", places, principal="ada", user=None, env={"REFOLD_CONFIG": str(tmp_path / "refold.toml")})
    assert made.command[:2] == ("env", f"REFOLD_CONFIG={tmp_path / 'refold.toml'}")
    assert made.command[-2:] == ("--as", "ada")


def test_a_place_with_a_space_and_quotes_stays_one_word(tmp_path: Path):
    strange = Places(tmp_path / 'my "memory\'s"', tmp_path / "vault", tmp_path / "root", "00" * 16)
    made = page_of("codex", strange)
    shown = {block.language: block.text for block in blocks_of(made.page, tmp_path)[:-1]}
    assert str(strange.store) in tomllib.loads(shown["toml"])["mcp_servers"]["refold"]["args"]
    assert str(strange.store) in shlex.split(shown["sh"])


def test_whose_memory_is_meant_has_to_be_said(places: Places):
    with pytest.raises(Usage, match="whose memory"):
        page_of("generic", places, user=None)
    with pytest.raises(Usage, match="one of claude-code"):
        page_of("emacs", places)


def test_a_missing_extra_is_one_error_that_names_it(places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    create(places, now=now, random=os.urandom).close()
    monkeypatch.setitem(sys.modules, "fastmcp", None)
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root)]
    for more in (["--user", "ada"], ["--http", "0"]):
        assert cli.main(["mcp", *where, *more, "--format", "json"]) == 2
        (finding,) = json.loads(capsys.readouterr().out)["findings"]
        assert finding["remediation"] == "pip install 'refold[mcp]'"
    with pytest.raises(Usage):
        server.require()
