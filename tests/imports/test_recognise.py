from __future__ import annotations

from pathlib import Path

import pytest

from refold.errors import Usage
from refold.imports.recognise import NAMES, READERS, named, recognise


@pytest.mark.parametrize(
    ("name", "head", "reader"),
    [
        ("a.jsonl", b'{"role": "user", "content": "x"}\n', "openai-messages"),
        ("a.txt", b'\n{"content": "x", "role": "user"}\n', "openai-messages"),
        ("a.jsonl", b'broken\n{"messages": []}\n', "openai-messages"),
        ("a.jsonl", b'\xef\xbb\xbf{ "messages": [' + b"x" * 70_000, "openai-messages"),
        ("a.jsonl", b'{"content": "' + b"x" * 65_000, "openai-messages"),
        ("conversations.json", b'[{"title": "x", "mapping": {"a": {"role": 1}}}]', "chatgpt-export"),
        ("export.json", b'[\n  {\n    "title": "x",\n    "mapping": {', "chatgpt-export"),
        ("one.json", b'{"title": "x", "mapping": {"a": {"role": "user", "content": 1}}}', "chatgpt-export"),
        ("conversations.json", b"[]", "chatgpt-export"),
        ("conversations.json", b'[{"uuid": "x", "name": "y", "chat_messages": [', "claude-export"),
        ("s.jsonl", b'{"type":"summary"}\n{"parentUuid":null,"sessionId":"s","message":{"role":"user","content":"x"}}', "claude-code"),
        ("r.jsonl", b'{"timestamp":"x","type":"session_meta","payload":{"id":"r"}}\n', "codex"),
        ("a.mbox", b"From x Tue Mar  5 10:00:00 2024\nFrom: y\n", "mbox"),
        ("inbox", b"From x Tue Mar  5 10:00:00 2024\r\nReturn-Path: <y>\r\n", "mbox"),
        ("a.txt", b"From here on:\nnothing", "text"),
        ("a.md", b"no heading", "markdown"),
        ("a.markdown", b"", "markdown"),
        ("README", b"intro\n\n## Heading\n", "markdown"),
        ("a.txt", b"# Heading\n", "markdown"),
        ("a.md", b'[{"mapping"}](http://x)', "markdown"),
        ("a.txt", b"words", "text"),
        ("LETTER", b"#hash but no heading", "text"),
        ("a.py", b"# comment\n", None),
        ("a.json", b'{"name": "x"}', None),
        ("a.json", b'{"role": "x"}', None),
        ("a.csv", b"a,b", None),
        ("a.png", b"\x89PNG", None),
    ],
)
def test_a_file_is_recognised_by_what_it_holds(name, head, reader):
    found = recognise(Path(name), head)
    assert (found and found.name) == reader


def test_every_reader_is_found_by_its_name():
    assert [named(name) for name in NAMES] == list(READERS)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(Usage, match="openai-messages"):
        named("pdf")
