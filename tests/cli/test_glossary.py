"""The help of a command explains every word, format and table that the code knows, and shows examples that work."""

from __future__ import annotations

import pytest

from refold.cli import glossary
from refold.imports import recognise
from refold.imports.reader import File, Malformed, Options
from refold.model import Act, Modality
from refold.reading import Standing
from refold.state.sql import columns
from refold.verdict import Completeness, Directive, Kind

ENDINGS = {"markdown": ".md", "text": ".txt", "mbox": ".mbox", "openai-messages": ".jsonl", "claude-code": ".jsonl", "codex": ".jsonl"}


def test_every_word_of_a_list_of_facts_is_explained(shell):
    assert set(glossary.STANDINGS) == set(Standing)
    assert set(glossary.MARKS) == {each.name.lower() for kind in (Act, Modality) for each in kind} | {"contested"}
    for asked in (("help", "facts"), ("facts", "--help")):
        printed = shell(*asked).out
        assert "whatever was stated, about whomever" in printed
        assert "ENTITY is the user of --user unless it is given" in printed
        for word in (*Standing, "rejected", "contested", "hedged", "planned", "reported"):
            assert word in printed


def test_every_format_is_named_with_an_example(shell):
    assert set(glossary.FORMATS) == set(recognise.NAMES)
    printed = shell("help", "import").out
    for name, (_, example) in glossary.FORMATS.items():
        assert f"{name}: " in printed
        assert "".join(example.split()) in "".join(printed.split())


@pytest.mark.parametrize("name", recognise.NAMES)
def test_the_example_of_a_format_is_recognised_and_read(tmp_path, name):
    path = tmp_path / f"example{ENDINGS.get(name, '.json')}"
    path.write_text(glossary.FORMATS[name][1])
    reader = recognise.recognise(path, path.read_bytes())
    assert reader is not None
    assert reader.name == name
    records = list(reader.read(File(path, path.name), Options()))
    assert records
    assert not [record for record in records if isinstance(record, Malformed)]


def test_the_help_of_sql_lists_every_table_with_the_columns_that_it_has(shell):
    assert set(columns()) == set(glossary.TABLES)
    printed = " ".join(shell("help", "sql").out.split())
    for name, names in columns().items():
        assert shell.json("sql", f"select * from {name} limit 0").data["columns"] == names
        assert f"{name}: {glossary.TABLES[name]} {', '.join(names)}" in printed


def test_every_word_of_the_verdict_on_a_log_is_explained(shell):
    assert (set(glossary.VERDICTS), set(glossary.DIRECTIVES), set(glossary.ENDS)) == (set(Kind), set(Directive), set(Completeness))
    printed = shell("help", "audit").out
    for word in (*Kind, *Directive, *Completeness):
        assert f"  {word}  " in printed


def test_the_list_of_topics_says_what_each_is_about(shell):
    topics = shell.json("help").data["topics"]
    lines = shell("help", "topics").out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == topics
    assert all(len(line.split()) > 1 for line in lines)
