"""Whatever a file holds, a reader yields drafts that can be stored, or says where and why not. It never raises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refold.imports import chatgpt_export, markdown, openai_messages, records, text
from refold.imports.reader import File, Malformed, Options, Reader
from refold.imports.recognise import READERS
from refold.model import Draft, Source, identity_part

each_example = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
words = st.text(st.characters(), max_size=20)
contents = (
    words
    | st.none()
    | st.lists(words | st.fixed_dictionaries({"type": st.sampled_from(["text", "image"]), "text": words | values}) | values, max_size=3)
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "system", "tool", "nobody"]) | values,
        "content": contents | values,
        "name": words | values,
        "created_at": st.floats() | st.integers() | words | values,
        "conversation_id": words | values,
    },
)
json_lines = st.lists(messages | st.fixed_dictionaries({"messages": st.lists(messages | values, max_size=4) | values}) | values, max_size=6)
nodes = st.sampled_from("abcdef")
trees = st.fixed_dictionaries(
    {},
    optional={
        "mapping": st.dictionaries(
            nodes,
            st.fixed_dictionaries(
                {},
                optional={
                    "parent": nodes | values,
                    "children": st.lists(nodes, max_size=3) | values,
                    "message": st.fixed_dictionaries(
                        {},
                        optional={
                            "author": st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]) | values, "name": values})
                            | values,
                            "content": st.fixed_dictionaries({"parts": st.lists(words | values, max_size=2) | values}) | values,
                            "create_time": st.floats() | values,
                            "metadata": values,
                        },
                    )
                    | values,
                },
            )
            | values,
            max_size=6,
        ),
        "current_node": nodes | values,
        "title": values,
        "create_time": st.floats() | values,
        "conversation_id": words | values,
    },
)
marks = st.sampled_from(["", "---", "===", "***", "```", "~~~~", "same", "Owner: Ada", "Author: x", "    code", "\ufeff", "> q", "\ud800"])
STARTS = ("", "# ", "## ", "###### ", "- ", "> ", "    ", "Date: ", "```", "2024-05-20 ")
starts = st.sampled_from(STARTS)
document_lines = st.lists(marks | starts, max_size=25)


def storable(found: Iterator[Draft | Malformed], path: Path) -> list[Draft]:
    """Check every record, and return the drafts."""
    read = list(found)
    for record in read:
        if isinstance(record, Malformed):
            assert record.reason
            assert record.place
        else:
            assert record.source == Source.parse(str(record.source))
            json.dumps([record.text, str(record.source), record.author, record.metadata], ensure_ascii=False, allow_nan=False).encode(
                "utf-8"
            )
            assert record.said_at is None or abs(record.said_at) < 2**57
    return [record for record in read if isinstance(record, Draft)]


def written(folder: Path, content: bytes) -> File:
    path = folder / "notes.txt"
    path.write_bytes(content)
    return File(path, path.name)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@each_example
@given(content=st.binary(max_size=400) | words.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_read_or_refused(tmp_path, reader: Reader, content):
    file = written(tmp_path, content)
    storable(reader.read(file, Options()), file.path)
    assert reader.recognises(file.path, content) in (True, False)


@each_example
@given(lines=json_lines)
def test_any_json_lines_are_read_or_refused(tmp_path, lines):
    file = written(tmp_path, "\n".join(json.dumps(line) for line in lines).encode("utf-8"))
    storable(openai_messages.read(file, Options()), file.path)


@each_example
@given(conversations=st.lists(trees | values, max_size=3))
def test_any_tree_is_walked_once_through(tmp_path, conversations):
    file = written(tmp_path, json.dumps(conversations).encode("utf-8"))
    storable(chatgpt_export.read(file, Options()), file.path)


@each_example
@given(objects=st.lists(st.dictionaries(words, values, max_size=4) | st.lists(values, max_size=3), max_size=5), size=st.integers(1, 80))
def test_the_objects_of_a_list_are_found_wherever_the_reading_stops(monkeypatch, objects, size):
    monkeypatch.setattr(records, "CHUNK_BYTES", size)
    content = json.dumps(objects, indent=size % 3 or None).encode("utf-8")
    found = list(records.elements(BytesIO(content), "object"))
    assert [json.dumps(json.loads(record.raw)) for record in found if isinstance(record, records.Record)] == [
        json.dumps(o) for o in objects
    ]
    assert [record.number for record in found if isinstance(record, records.Record)] == list(range(1, len(objects) + 1))


@each_example
@given(parents=st.lists(st.integers(-1, 30), max_size=30))
def test_every_message_of_a_tree_is_read_under_a_part_of_its_own_or_reported(tmp_path, parents):
    """The parent of node n is any node, also itself or one that does not exist."""
    mapping = {
        f"n{node}": {
            "parent": f"n{parent}" if parent >= 0 else None,
            "message": {"author": {"role": "user"}, "content": {"parts": [str(node)]}},
        }
        for node, parent in enumerate(parents)
    }
    file = written(tmp_path, json.dumps([{"mapping": mapping}]).encode("utf-8"))
    found = list(chatgpt_export.read(file, Options()))
    drafts = [record for record in found if isinstance(record, Draft)]
    lost = [int(record.reason.split()[0]) for record in found if isinstance(record, Malformed)]
    assert len(drafts) + sum(lost) == len(parents)
    assert len({draft.source for draft in drafts}) == len(drafts)


@pytest.mark.parametrize("read", [markdown.read, text.read])
@each_example
@given(lines=document_lines)
def test_no_line_of_a_document_is_lost(tmp_path, read, lines):
    """Each line gets a word of its own where it may have one; it is in a block, in a heading that blocks cite, or reported."""
    lines = [f"{line}word{number}" if line in STARTS else line for number, line in enumerate(lines)]
    file = written(tmp_path, "\n".join(["start", "", *lines]).encode("utf-8", "surrogatepass"))
    found = list(read(file, Options()))
    drafts = storable(iter(found), file.path)
    assert len({draft.source for draft in drafts}) == len(drafts)
    kept = {word for draft in drafts for word in re.findall(r"word\d+", " ".join([draft.text, *map(str, draft.metadata.values())]))}
    lost = {word for line in lines for word in re.findall(r"word\d+", line)} - kept
    assert not lost or len(found) > len(drafts)


@each_example
@given(blocks=st.lists(st.sampled_from("abc"), max_size=8), at=st.integers(0, 8))
def test_inserting_a_block_adds_one_identity(tmp_path, blocks, at):
    def identities(paragraphs: list[str]) -> set[tuple[str, str]]:
        file = written(tmp_path, "\n\n".join(paragraphs).encode())
        return {(d.text, identity_part(d.role, d.source.part)) for d in storable(text.read(file, Options()), file.path) if d.source}

    before, after = identities(blocks), identities([*blocks[:at], "b", *blocks[at:]])
    assert before < after
    assert len(after) == len(before) + 1
