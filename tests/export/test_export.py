"""An export says what the memory says, in files that others read; it is a copy, and an erasure that comes after it says so."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx
import pyarrow.parquet as pq
import pytest

from refold import register, settings
from refold.erase.model import Decision
from refold.errors import NotAllowed, Usage
from refold.memory import Memory
from refold.settings import Principal
from tests.conftest import now
from tests.journal import unsynced

FORMS = ("jsonl", "parquet", "graphml")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("memory")
    with unsynced(), Memory.create(folder / "store", vault=folder / "vault", root=folder / "root", now=now) as made:
        made.add("I live in Berlin.", user_id="ada", source="chat:7#1", said_at="2024-01-10")
        made.add("I've been living in Munich since 2023.", user_id="ada", source="chat:7#2", said_at="2024-06-01")
        made.add("My sister is called Ruth.", user_id="ada", source="chat:7#3", said_at="2024-06-02")
        made.add("Ruth lives in Oslo.", user_id="ada", source="chat:7#4", said_at="2024-06-03", audience=["family"])
        made.add("I like tea\x0b and biscuits.", user_id="ada", source="chat:7#5", said_at="2024-06-04")
        made.add("I like rum\x85 and\u2028 gin\u2029.", user_id="ada", source="chat:7#6", said_at="2024-06-04")
        made.add("I work at Siemens.", user_id="ben", source="chat:8#1", said_at="2024-06-03")
        made.fold()
        made.add("I like Darjeeling.", user_id="ben", source="chat:8#2", said_at="2024-06-05")  # not folded
        yield made


@pytest.fixture(scope="module")
def everything(memory: Memory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return memory.export(tmp_path_factory.mktemp("out") / "all", files=FORMS, seen_by="operator", all=True, events=True).folder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_facts_are_those_that_the_memory_tells(memory: Memory, tmp_path: Path):
    done = memory.export(tmp_path / "out", user_id="ada")
    told = lines(done.folder / "facts.jsonl")
    known = [fact for fact in memory.facts(user_id="ada", all=True) if fact.standing == "holds"]
    assert {row["fact_id"] for row in told} == {fact.fact_id.hex() for fact in known}
    (home,) = [row for row in told if row["relation"] == "lives_in" and row["entity"] == "ada"]
    assert (home["value"], home["valid_from"], home["quote"]) == (
        "Munich",
        "2023-01-01T00:00:00Z",
        "I've been living in Munich since 2023.",
    )
    assert home["support"][0] == {
        "event_id": memory.facts(user_id="ada", relation="lives_in")[0].support[0][0].hex(),
        "first": 0,
        "end": 37,
    }
    assert done.rows == {"facts": len(told), "entities": len(lines(done.folder / "entities.jsonl"))}


def test_with_all_of_it_comes_what_holds_no_more(everything: Path):
    homes = {row["value"]: row["standing"] for row in lines(everything / "facts.jsonl") if row["entity"] == "ada"}
    assert (homes["Berlin"], homes["Munich"]) == ("superseded", "holds")


def test_parquet_says_what_the_lines_say(everything: Path):
    for name in ("facts", "entities", "events"):
        rows = pq.read_table(everything / f"{name}.parquet").to_pylist()
        told = lines(everything / f"{name}.jsonl")
        assert [set(row) for row in rows] == [set(row) for row in told]
        for row, line in zip(rows, told, strict=True):
            same = {key: value for key, value in row.items() if not hasattr(value, "isoformat")}
            assert same == {key: line[key] for key in same}
            assert [value.isoformat().replace("+00:00", "Z") for value in row.values() if hasattr(value, "isoformat")] == [
                line[key] for key in row if key not in same
            ]


def test_the_graph_has_every_fact_as_an_edge_between_those_it_joins(everything: Path):
    graph = networkx.read_graphml(everything / "facts.graphml", force_multigraph=True)
    facts = lines(everything / "facts.jsonl")
    label = networkx.get_node_attributes(graph, "label")
    edges = {key: (label[start], data["relation"], label[end]) for start, end, key, data in graph.edges(keys=True, data=True)}
    assert edges == {row["fact_id"]: (row["entity"], row["relation"], row["value"].replace("\x0b", "\ufffd")) for row in facts}
    assert len([node for node in graph if label[node] == "Ruth"]) == 1  # the sister is whoever lives in Oslo


def test_what_ends_a_line_to_somebody_ends_none_within_a_row(everything: Path):
    said = (everything / "events.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["text"] for line in said.splitlines() if "rum" in line] == ["I like rum\x85 and\u2028 gin\u2029."]


def test_events_come_only_when_asked_for_and_word_for_word_folded_or_not(everything: Path, memory: Memory, tmp_path: Path):
    assert [row["text"] for row in lines(everything / "events.jsonl")][-1] == "I like Darjeeling."
    assert "events.jsonl" not in memory.export(tmp_path / "out", user_id="ada").files


def test_it_holds_what_a_principal_may_see_and_no_number_that_counts_the_rest(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    config = tmp_path / "refold.toml"
    config.write_text('[principals.guest]\nlabels = []\nusers = ["ada"]\n', encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(config))
    assert settings.load().principal("guest").is_limited
    done = memory.export(tmp_path / "out", seen_by="guest", all=True, events=True)
    said = "".join(path.read_text(encoding="utf-8") for path in done.folder.iterdir())
    assert "Munich" in said
    assert not any(word in said for word in ("Oslo", "Siemens", "Darjeeling"))
    assert {row["seq"] for name in ("facts", "events") for row in lines(done.folder / f"{name}.jsonl")} == {None}


def test_it_stands_in_the_register_before_its_first_byte(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "out"
    written: list[bool] = []
    create_all = register.files.create_all

    def seen(place: Path, contents: Any) -> None:
        written.append(str(folder) in {one.place for one in register.copies(memory.store)})
        create_all(place, contents)

    monkeypatch.setattr("refold.files.create_all", seen)
    done = memory.export(folder, user_id="ada", owner="recipient", due="2030-01-01")
    assert written == [True]
    (copy,) = [one for one in register.copies(memory.store) if one.place == str(folder)]
    assert copy == done.copy
    assert (copy.kind, copy.owner, copy.state) == ("export", "recipient", "open")
    assert json.loads((folder / "export.json").read_text())["copy_id"] == copy.copy_id


def test_nobody_else_may_read_it(everything: Path):
    assert stat.S_IMODE(everything.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in everything.iterdir()} == {0o600}


def test_it_lies_in_no_place_of_the_memory_and_over_nothing(memory: Memory, everything: Path, tmp_path: Path):
    before = register.copies(memory.store)
    (tmp_path / "file").write_text("mine")
    places = [place / "out" for place in (memory.places.store, memory.places.vault, memory.places.root)]
    for folder in (*places, memory.places.store.parent, everything, tmp_path / "file"):
        with pytest.raises(Usage):
            memory.export(folder, user_id="ada")
    for wrong in ({}, {"user_id": "ada", "files": ["xml"]}, {"user_id": "ada", "files": "jsonl"}, {"user_id": "ada", "owner": "me"}):
        with pytest.raises(Usage):
            memory.export(tmp_path / "out", **wrong)  # ty: ignore[invalid-argument-type]
    assert not (tmp_path / "out").exists()
    assert register.copies(memory.store) == before


def test_a_limited_principal_exports_nothing(memory: Memory, tmp_path: Path):
    with pytest.raises(NotAllowed):
        memory.seen_by(Principal("child", frozenset(), ("ada",))).export(tmp_path / "out")


def test_without_networkx_the_error_names_what_to_install(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(Usage) as refused:
        memory.export(tmp_path / "out", user_id="ada", files=["graphml"])
    assert refused.value.hint == "pip install 'refold[notebook]'"
    assert not (tmp_path / "out").exists()


def test_an_erasure_that_comes_after_it_lists_it(tmp_path: Path):
    with unsynced(), Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root", now=now) as memory:
        memory.add("I live in Berlin.", user_id="miriam", source="chat:7#1", said_at="2024-01-10")
        memory.add("I live in Oslo.", user_id="ben", source="chat:8#1", said_at="2024-01-10")
        memory.fold()
        copy = memory.export(tmp_path / "out", seen_by="operator").copy
        plan = memory.plan_erasure(user_id="miriam", mentions=Decision.CONCERNS)
        memory.erase(plan)
        said = json.loads(memory.erase_certificate(plan.target.request_id))["body"]
    assert (said["state"], said["reasons"]) == ("certified-except", ["copies elsewhere are not confirmed to be gone or dark"])
    assert [(one["id"], one["kind"], one["state"]) for one in said["copies"]] == [(copy.copy_id, "export", "open")]
