from __future__ import annotations

from pathlib import Path

import pytest

from refold import Memory
from refold.errors import Usage
from refold.imports import mapping
from refold.model import Role
from refold.store import Places
from refold.times import parse
from tests.imports.conftest import drafts, faults, json_lines

MAPPING = """
text = "body.plain"
said_at = "sent"
author = "from.name"
role = "kind"
ref = "thread"
part = "n"
title = "subject"
source = "ticket"
[roles]
customer = "user"
agent = "assistant"
"""


@pytest.fixture
def declared(tmp_path: Path):
    def write(text: str = MAPPING) -> Path:
        path = tmp_path / "map.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_record_is_read_by_the_keys_that_are_declared(read, declared):
    full = {"body": {"plain": "I live in Berlin."}, "sent": 1709632800, "from": {"name": "Ada"}, "kind": "customer", "thread": 7, "n": 3}
    first, second = drafts(
        read(mapping.reader(declared()), json_lines(full | {"subject": "Moving"}, {"body": {"plain": "x"}}), name="t.jsonl")
    )
    assert (first.text, first.author, first.role, str(first.source)) == ("I live in Berlin.", "Ada", Role.USER, "ticket:7#3")
    assert (first.said_at, first.metadata) == (parse("2024-03-05T10:00Z"), {"title": "Moving"})
    assert (str(second.source), second.role, second.said_at) == ("ticket:t#2", Role.USER, None)


def test_a_record_that_does_not_fit_costs_only_itself(read, declared):
    content = json_lines({"body": "x"}, {"body": {"plain": "x"}, "kind": "stranger"}, {"body": {"plain": "x"}, "kind": "agent"})
    records = read(mapping.reader(declared()), content)
    assert [place for place, _ in faults(records)] == ["line 1", "line 2"]
    assert [record.role for record in records if not hasattr(record, "reason")] == [Role.ASSISTANT]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "text = 3",
        "said_at = 'x'",
        "text = 'x'\nnobody = 'y'",
        "no toml",
        "text = 'x'\nsource = 'Not A Kind'",
        "text = 'x'\n[roles]\na = 'b'",
    ],
)
def test_a_mapping_that_says_no_such_thing_is_refused(declared, text: str):
    with pytest.raises(Usage):
        mapping.reader(declared(text))


def test_a_mapping_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(Usage, match="cannot be read"):
        mapping.reader(tmp_path / "nowhere.toml")


def test_what_a_mapping_reads_is_found(places: Places, declared, tmp_path):
    file = tmp_path / "t.jsonl"
    file.write_text(json_lines({"body": {"plain": "I live in Berlin."}}), encoding="utf-8")
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        from refold.imports.reader import Options

        report = memory.import_files([file], mapping=declared(), options=Options(user="ada"))
        assert (report.added, report.sources) == (1, ("ticket:t",))
        assert memory.import_files([file], mapping=declared(), options=Options(user="ada")).already == 1
