"""An answer to a request for access: all that is known, where it came from, until when, who was told, and what is also about others."""

from __future__ import annotations

import json
import os
import stat
from importlib.resources import files as packaged
from pathlib import Path

import jsonschema
import pytest

from refold import register, times
from refold.erase import report
from refold.erase.model import Selector
from refold.memory import Memory
from refold.model import AliasKind
from refold.settings import Keep
from refold.state.generation import State
from refold.store import Store
from tests.calls import recorded
from tests.cli.conftest import Shell
from tests.erase.small import say
from tests.erase.test_model import turn
from tests.erase.test_profiles import copies_all
from tests.fold_model.scripted import fold
from tests.fold_model.telling import telling
from tests.journal import unsynced
from tests.openai_server import Server

RUTH = Selector(aliases=((AliasKind.HANDLE, "ruth"),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a memory of three people, one of whom asks what is known of her."""
    made = tmp_path_factory.mktemp("report")
    with unsynced(), Memory.create(made / "store", vault=made / "vault", root=made / "root") as memory:
        memory.add("I live in Porto.", user_id="ruth", said_at="2024-01-05", source="chat:2#1")
        shared = memory.add("I live in Munich.", user_id="ada", subjects=["ruth"], said_at="2024-02-02", source="mail:1#3")
        memory.add("I met Ruth. I like rye bread.", user_id="ben", said_at="2024-02-03", source="chat:3#1")
        memory.add("I live in Ghent.", user_id="ben", said_at="2024-02-03", source="chat:3#2")
        memory.fold()
        recorded(memory.store, "http://127.0.0.1:8123/v1", memory.store.log.event(shared.seq))
        register.add(memory.store, register.Kind.BACKUP, "the attic", now=lambda: times.parse("2024-03-01"), random=os.urandom)
    return made


@pytest.fixture
def shell(folder: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(folder, capsys)


def checked(data: object) -> None:
    schema = json.loads((packaged("refold") / "schemas/subject_report.1.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(data)


def test_it_tells_what_is_also_about_others(shell: Shell):
    data = shell.json("subject", "report", "--user", "ruth").data
    assert {one["source"]: one["others"] for one in data["events"]} == {"chat:2#1": 0, "mail:1#3": 1}
    about = {one["value"]: one["concerns_others"] for one in data["facts"]}
    assert [about[value] for value in ("Porto", "Munich", "rye bread")] == [False, True, True]
    assert [one["sentence"] for one in data["mentions"]] == ["I met Ruth."]
    letter = shell("subject", "report", "--user", "ruth").out
    assert "I live in Munich.  [also about others]" in letter
    assert "I live in Porto.\n" in letter


def test_it_tells_where_it_came_from_and_until_when_it_is_kept(folder: Path):
    keep = (Keep("chat", 30),)
    with Memory.open(folder / "store", vault=folder / "vault", root=folder / "root") as memory, memory._knowing() as state:
        made = report.report(memory.store, state, RUTH, keep=keep, now=lambda: 5)
    assert made.made_at == 5
    assert {one.document: (one.events, one.due) for one in made.origins} == {
        "chat:2": (1, times.parse("2024-02-04")),
        "chat:3": (1, times.parse("2024-03-04")),
        "mail:1": (1, None),
    }


def test_it_tells_who_was_told_and_where_copies_are(shell: Shell):
    data = shell.json("subject", "report", "--user", "ruth").data
    assert [(one["host"], one["calls"]) for one in data["recipients"]] == [("127.0.0.1:8123", 1)]
    assert [(one["kind"], one["owner"]) for one in data["copies"]] == [("backup", "operator")]
    assert "attic" not in json.dumps(data)


def test_it_is_of_the_form_that_the_package_says(shell: Shell):
    data = shell.json("subject", "report", "--user", "ruth").data
    checked(data)
    with pytest.raises(jsonschema.ValidationError):
        checked(data | {"more": 1})


def test_an_answer_that_is_written_is_private_and_stands_in_the_register(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shell = Shell(folder, capsys)
    for name in ("letter.txt", "data.json"):
        told = shell.json("subject", "report", "--user", "ruth", "--to", str(tmp_path / name))
        assert (told.code, set(told.data)) == (0, {"path", "copy_id"})
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        kept = {one["copy_id"]: (one["kind"], one["place"]) for one in shell.json("copies", "list").data["copies"]}
        assert kept[told.data["copy_id"]] == ("export", str(tmp_path / name))
    assert "I live in Porto." in (tmp_path / "letter.txt").read_text()
    written = json.loads((tmp_path / "data.json").read_text())
    checked(written)
    assert written["format"] == "refold.subject_report/1"
    assert shell("subject", "report", "--user", "ruth", "--to", str(tmp_path / "data.json")).code == 2
    assert shell("subject", "report", "--user", "ruth", "--to", str(folder / "store" / "data.json")).code == 2


def test_somebody_who_is_named_becomes_a_person_whom_status_counts_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shell = Shell(tmp_path, capsys)
    with unsynced(), Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as memory:
        memory.add("My sister is called Ruth Kern.", user_id="ada", source="chat:1#1")
        memory.fold()
    with unsynced():
        assert shell.json("status").data["named"] == 1
        subject = shell.json("subject", "add", "--from-entity", "Ruth Kern").data["subject"]
        assert shell.json("subject", "show", "Ruth Kern").data["subjects"][0]["subject"] == subject
        shell("fold")
        assert shell.json("status").data["named"] == 0
        assert shell("subject", "add", "--from-entity", "Nobody Here").code == 2


def test_it_tells_what_a_model_wrote_by_what_is_told_and_nothing_else(store: Store):
    with unsynced(), Server(copies_all) as server:
        say(store, turn("ada", 1, "Rye bread again"), turn("ben", 1, "Chess at noon", chat="8"))
        fold(store, telling(server, facts_min=1, characters=10_000))
        made = report.report(store, State.open(store), Selector(aliases=((AliasKind.HANDLE, "ada"),)))
    said = [sentence.text for one in made.profiles for sentence in one.sentences]
    assert said
    assert all("Rye bread" in text for text in said)
