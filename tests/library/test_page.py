"""The page for those who come from another library names methods that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from refold import memory
from refold.memory import Memory
from tests.journal import unsynced
from tests.readme import blocks

PAGE = Path(str(memory.__file__)).parent / "README.md"


def test_every_verb_of_the_table_is_a_method_of_memory():
    rows = [row.split("|") for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| ")][1:]
    assert len(rows) == 10
    for row in rows:
        verbs = re.findall(r"`(?:await memory\.|Memory\.)?([a-z_]+)", row[3])
        assert verbs
        assert [verb for verb in verbs if not hasattr(Memory, verb)] == []


def test_the_calls_on_the_page_do_what_is_said(tmp_path: Path):
    (block,) = [each for each in blocks(PAGE) if each.language == "python"]
    with unsynced(), Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as opened:
        names: dict[str, Any] = {"memory": opened}
        exec(compile(block.text, PAGE.name, "exec"), names)
        assert {hit.text for hit in names["hits"]} == {"I live in Berlin.", "I live in Munich."}
        assert names["home"].value == "Munich"
        assert [fact.value for fact in names["before"]] == ["Munich", "Berlin"]
        assert names["done"].reached.events == 3
        assert opened.facts(user_id="ada", all=True) == []
