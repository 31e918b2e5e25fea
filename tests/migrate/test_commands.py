"""`refold migrate`: what each step says to people and to programs, and that it quotes nothing of what it moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refold import disclaimers
from tests.cli.conftest import Printed, Shell
from tests.migrate import ANSWERS, MCP_LINES, SAMPLES, written

PRIVATE = ("Mimi", "Lisbon", "Ruth", "Spanish", "892db2ae", "Lind", "chess")


@pytest.fixture
def shell(empty_shell: Shell) -> Shell:
    assert empty_shell("init").code == 0
    return empty_shell


def prepare(shell: Shell, folder: Path, *names: str) -> tuple[Printed, str]:
    printed = shell.json("migrate", "prepare", *map(str, written(folder, *names)))
    return printed, printed.data["move"]["move_id"]


def decided(folder: Path, answers: dict[str, Any] | None = None) -> str:
    path = folder / "answers"
    path.write_text(json.dumps(answers or ANSWERS), encoding="utf-8")
    return str(path)


def test_the_whole_way(shell: Shell, tmp_path: Path):
    printed, move_id = prepare(shell, tmp_path, "mem0", "mcp")
    assert [(each["source"], each["reader"], each["records"], each["unreadable"]) for each in printed.data["move"]["sources"]] == [
        (0, "mem0", 6, 0), (1, "mcp", 6, 0),
    ]  # fmt: skip
    open_ = shell.json("migrate", "canonicalize", move_id[:8]).data
    assert (open_["ready"], open_["open"]) == (3, 9)
    assert open_["needs_input"][0] == {"place": "0/result 4", "missing": ["user"], "reason": None}
    assert shell.json("migrate", "finalize", move_id, "--confirm", move_id).envelope["exit_class"] == "usage"
    assert shell.json("migrate", "canonicalize", move_id, "--decide", decided(tmp_path)).data["open"] == 0
    preview = shell.json("migrate", "finalize", move_id).data
    assert (preview["done"], preview["added"], preview["already"], preview["roles"]) == (False, 12, 0, {"document": 11, "user": 1})
    assert (preview["said_from"], preview["said_to"]) == ("2024-02-10T08:00:00Z", "2024-07-01T00:00:00Z")
    assert shell.json("status").data["log"]["entries"] == 0
    done = shell.json("migrate", "finalize", move_id, "--confirm", move_id[:8])
    assert (done.data["done"], done.data["added"]) == (True, 12)
    assert done.envelope["disclaimers"] == [disclaimers.TRANSACTION]
    assert shell.json("migrate", "list").data == {"moves": []}
    assert shell.json("search", "Spanish", "--user", "ada").data["results"][0]["source"] == "mcp:Ruth_Brandt#1"


def test_to_a_person_each_step_says_what_comes_next(shell: Shell, tmp_path: Path):
    paths = [str(path) for path in written(tmp_path, "mem0", "mcp")]
    first = shell("migrate", "prepare", *paths).out
    move_id = shell("migrate", "list").out.split()[0]
    assert f"next: refold migrate canonicalize {move_id[:8]}" in first
    assert "mem0  6 records" in first
    second = shell("migrate", "canonicalize", move_id).out
    assert second.startswith("3 ready, 9 need input\n  0/result 4")
    assert "said_at, subjects" in second
    assert "it would stop: 3 ready, 9 need input" in shell("migrate", "finalize", move_id).out
    third = shell("migrate", "canonicalize", move_id, "--decide", decided(tmp_path)).out
    assert third == f"12 ready\n\nnext: refold migrate finalize {move_id[:8]}\n"
    fourth = shell("migrate", "finalize", move_id).out
    assert f"to do it: refold migrate finalize {move_id[:8]} --confirm {move_id[:8]}" in fourth
    Path(paths[0]).write_text("{}")
    assert "are not what was captured" in shell("migrate", "finalize", move_id).out
    assert shell("migrate", "finalize", move_id, "--confirm", move_id).code == 14
    Path(paths[0]).write_text(SAMPLES["mem0"][1], encoding="utf-8")
    assert shell("migrate", "finalize", move_id, "--confirm", move_id).out.startswith("moved in: 12 events")


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_step_quotes_what_it_moves(form: str, shell: Shell, tmp_path: Path):
    (tmp_path / "cut").write_text("\n".join([json.dumps(MCP_LINES[0]), '{"type": "entity", "name": "Lind", "observations": "chess"}', "{"]))
    sources = [*map(str, written(tmp_path, "mem0", "mcp")), str(tmp_path / "cut")]
    said = shell("migrate", "prepare", *sources, form=form)
    move_id = shell.json("migrate", "list").data["moves"][0]["move_id"]
    steps = (("canonicalize", move_id), ("finalize", move_id), ("finalize", move_id, "--confirm", move_id), ("drop", move_id))
    for printed in (said, *(shell("migrate", *step, form=form) for step in steps)):
        assert not [word for word in PRIVATE if word in printed.out + printed.err], printed


def test_many_open_records_are_all_told_to_a_program_and_some_to_a_person(shell: Shell, tmp_path: Path):
    (tmp_path / "many.json").write_text(json.dumps([{"id": str(at), "memory": "Likes tea"} for at in range(50)]))
    move_id = shell.json("migrate", "prepare", str(tmp_path / "many.json")).data["move"]["move_id"]
    assert len(shell.json("migrate", "canonicalize", move_id).data["needs_input"]) == 50
    printed = shell("migrate", "canonicalize", move_id).out
    assert printed.count("said_at") == 20
    assert "and 30 more" in printed


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("prepare",), 2),
        (("prepare", "{folder}/none"), 2),
        (("prepare", "{folder}"), 2),
        (("canonicalize", "ff"), 2),
        (("finalize", "ff", "--confirm", "ffffff"), 2),
        (("drop", "ff"), 2),
        ((), 2),
        (("canonicalize", "{id}", "--decide", "{folder}/none"), 2),
        (("canonicalize", "{id}", "--decide", "{folder}"), 2),
        (("canonicalize", "{id}", "--decide", "{folder}/mem0.json"), 2),
        (("finalize", "{id}"), 2),
    ],
)
def test_what_cannot_be_done_is_said_with_its_exit_code(words: tuple[str, ...], code: int, shell: Shell, tmp_path: Path):
    _, move_id = prepare(shell, tmp_path, "mem0")
    printed = shell.json("migrate", *(word.format(folder=tmp_path, id=move_id) for word in words))
    assert (printed.code, printed.envelope["status"]) == (code, "FAIL")


def test_a_limited_principal_may_none_of_it(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _, move_id = prepare(shell, tmp_path, "mem0")
    (tmp_path / "refold.toml").write_text('[principals.guest]\nlabels = []\nusers = ["ada"]\n', encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(tmp_path / "refold.toml"))
    for words in (("prepare", str(tmp_path / "mem0.json")), ("list",), ("canonicalize", move_id), ("finalize", move_id), ("drop", move_id)):
        assert shell("migrate", *words, "--as", "guest").code == 16


def test_a_move_that_is_not_wanted_is_dropped(shell: Shell, tmp_path: Path):
    _, move_id = prepare(shell, tmp_path, "mem0")
    assert shell.json("migrate", "drop", move_id[:8]).data == {"move_id": move_id, "dropped": True}
    assert shell("migrate", "list").out == "no move is prepared\n"


def test_what_is_there_already_for_others_is_a_warning(shell: Shell, tmp_path: Path):
    for audience in ([], ["family"]):
        _, move_id = prepare(shell, tmp_path, "mcp")
        answers = {"default": ANSWERS["default"] | {"audience": audience}}
        shell("migrate", "canonicalize", move_id, "--decide", decided(tmp_path, answers))
        preview, done = shell.json("migrate", "finalize", move_id), shell.json("migrate", "finalize", move_id, "--confirm", move_id)
        for printed in (preview, done):
            assert [each["code"] for each in printed.envelope["findings"]] == ["RF-IMPORT-002"] * bool(audience)
