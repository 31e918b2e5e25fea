from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from refold.imports import records
from refold.imports.chatgpt_export import READER
from refold.imports.reader import Options
from refold.model import Role, part_key
from tests.imports.conftest import drafts, faults, parts


def message(text: object, role: str = "user", **more: object) -> dict[str, object]:
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    return {"author": {"role": role, "name": None}, "content": content, **more}


def conversation(tree: Mapping[str, tuple[str | None, object]], current: str | None = None, **more: object) -> dict[str, object]:
    """Make a conversation from `{node: (parent, message)}`; the order of the nodes is that of the children."""
    mapping: dict[str, dict] = {
        name: {"id": name, "parent": parent, "children": [], "message": said} for name, (parent, said) in tree.items()
    }
    for name, (parent, _) in tree.items():
        if parent in mapping:
            mapping[parent]["children"].append(name)
    return {"title": "Talk", "conversation_id": "c1", "create_time": 1_700_000_000.5, "mapping": mapping, "current_node": current, **more}


def line(*texts: str) -> dict[str, tuple[str | None, object]]:
    """Make a tree without branches: a root without a message, then the texts n1, n2, ..."""
    names = ["root", *(f"n{number}" for number in range(1, len(texts) + 1))]
    return {"root": (None, None)} | {
        name: (names[place], message(text)) for place, (name, text) in enumerate(zip(names[1:], texts, strict=True))
    }


EDITED = {
    "root": (None, None),
    "a": ("root", message("I live in Paris")),
    "b": ("a", message("Nice", "assistant")),
    "a2": ("root", message("I live in Rome")),
    "b2": ("a2", message("Lovely", "assistant")),
    "b3": ("a2", message("Beautiful", "assistant")),
}


def test_messages_come_in_their_order_with_time_role_and_title(read):
    tree = {
        "root": (None, None),
        "s": ("root", message("", "system")),
        "u": ("s", message("Hello", create_time=1_700_000_100.25)),
        "t": ("u", {"author": {"role": "tool", "name": "browser"}, "content": {"content_type": "code", "text": "open()"}}),
    }
    _, hello, code = drafts(read(READER, json.dumps([conversation(tree, "t")]), options=Options(user="ada", author="Ada")))
    assert (hello.text, str(hello.source), hello.author, hello.role) == ("Hello", "chat:c1#2", "Ada", Role.USER)
    assert hello.said_at == 1_700_000_100_250000
    assert hello.metadata == {"title": "Talk"}
    assert (code.text, code.role, code.author) == ("open()", Role.TOOL, "browser")
    assert code.said_at == hello.said_at


def test_without_any_time_in_a_message_the_conversation_dates_it(read):
    assert [draft.said_at for draft in drafts(read(READER, json.dumps([conversation(line("a"), "n1")])))] == [1_700_000_000_500000]


def test_what_is_not_on_the_current_path_is_kept_and_flagged(read):
    found = drafts(read(READER, json.dumps([conversation(EDITED, "b3")])))
    assert {draft.text: draft.metadata.get("branch") for draft in found} == {
        "I live in Paris": "abandoned",
        "Nice": "abandoned",
        "I live in Rome": None,
        "Lovely": "abandoned",
        "Beautiful": None,
    }


def test_a_part_is_the_depth_and_what_opened_its_branch(read):
    found = drafts(read(READER, json.dumps([conversation(EDITED, "b3")])))
    assert {draft.text: draft.source.part for draft in found if draft.source} == {
        "I live in Paris": "1",
        "Nice": "2",
        "I live in Rome": "1/a2",
        "Lovely": "2/a2",
        "Beautiful": "2/b3",
    }


def test_which_branch_is_the_first_is_told_by_the_parent_and_not_by_the_order_of_the_file(read):
    talk = conversation(EDITED, "b3")
    mapping = talk["mapping"]
    assert isinstance(mapping, dict)
    turned = talk | {"mapping": dict(reversed(mapping.items()))}
    straight, reverse = (sorted(parts(read(READER, json.dumps([each])))) for each in (talk, turned))
    assert straight == reverse


def test_a_later_export_with_another_current_branch_names_the_old_messages_alike(read):
    before = conversation({name: EDITED[name] for name in ("root", "a", "b")}, "b")
    after = conversation(EDITED, "b3")
    old, new = (set(parts(read(READER, json.dumps([each])))) for each in (before, after))
    assert old < new


def test_parts_sort_by_depth(read):
    found = read(READER, json.dumps([conversation(line(*"abcdefghijkl"), "n12")]))
    order = [draft.source.part for draft in drafts(found) if draft.source]
    assert sorted(order, key=part_key) == order == [str(number) for number in range(1, 13)]


@pytest.mark.parametrize("current", [None, "gone", 7])
def test_without_a_current_node_nothing_is_called_abandoned(read, current):
    found = drafts(read(READER, json.dumps([conversation(EDITED) | {"current_node": current}])))
    assert [draft.metadata for draft in found] == [{"title": "Talk"}] * 5


def test_of_many_parts_the_text_and_the_transcripts_are_kept(read):
    content = {
        "content_type": "multimodal_text",
        "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file"},
            {"content_type": "audio_transcription", "text": "said aloud"},
            "and written",
        ],
    }
    found = drafts(read(READER, json.dumps([conversation({"u": (None, message(content))}, "u")])))
    assert [draft.text for draft in found] == ["said aloud\nand written"]


def test_what_the_export_hides_has_no_words(read):
    hidden = message("instructions", "system", metadata={"is_visually_hidden_from_conversation": True})
    assert [draft.text for draft in drafts(read(READER, json.dumps([conversation({"u": (None, hidden)}, "u")])))] == [""]


def test_one_conversation_alone_is_read_too(read):
    assert parts(read(READER, json.dumps(conversation(line("a", "b"), "n2"), indent=2))) == ["chat:c1#1", "chat:c1#2"]


def test_a_conversation_without_an_id_is_known_by_its_place_in_the_file(read):
    bare = conversation(line("a"), "n1")
    del bare["conversation_id"]
    assert parts(read(READER, json.dumps([bare, bare]), name="mine.json")) == ["chat:mine/1#1", "chat:mine/2#1"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ('{"mapping": {"a": ]}', "not valid JSON at its character"),
        ('{"mapping": []}', "the mapping of the conversation is not a JSON object"),
        ('{"title": "x"}', "the mapping of the conversation is not a JSON object"),
        ('{"mapping": {"a": 3}}', "a node of the conversation is not a JSON object"),
        ('{"mapping": {}, "create_time": "soon"}', "a time is not an ISO 8601"),
        ('{"mapping": {"a": {"x": "\\ud800"}}}', "half of a surrogate pair stands alone"),
        ("[1, 2]", "the conversation is not a JSON object"),
    ],
)
def test_a_malformed_conversation_costs_that_one_alone(read, broken, reason):
    whole = json.dumps(conversation(line("a"), "n1"))
    found = read(READER, f"[{whole},{broken},\n{whole}]")
    assert parts(found) == ["chat:c1#1", "chat:c1#1"]
    ((place, why),) = faults(found)
    assert place == "conversation 2"
    assert why.startswith(reason)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("text", "the message is not a JSON object"),
        ({"content": {"parts": ["x"]}}, "the author of the message is not a JSON object"),
        (message("x", "owner"), "the role is none of"),
        (message({"parts": "x"}), "the parts of the message are not a list"),
        ({"author": {"role": "user"}, "content": "x"}, "the content of the message is not a JSON object"),
        (message("x", create_time="soon"), "a time is not an ISO 8601"),
    ],
)
def test_a_malformed_message_costs_that_one_alone(read, broken, reason):
    tree = line("a", "b", "c")
    tree["n2"] = ("n1", broken)
    found = read(READER, json.dumps([conversation(tree, "n3")]))
    assert parts(found) == ["chat:c1#1", "chat:c1#3"]
    ((place, why),) = faults(found)
    assert place == "conversation 1, message 2"
    assert why.startswith(reason)


def test_messages_that_hang_together_in_a_circle_are_reported(read):
    tree = line("a") | {"x": ("y", message("x")), "y": ("x", message("y"))}
    found = read(READER, json.dumps([conversation(tree, "x")]))
    assert parts(found) == ["chat:c1#1"]
    assert faults(found) == [("conversation 1", "2 of its messages hang together in a circle")]


def test_a_tree_of_ten_thousand_levels_is_walked(read):
    found = drafts(read(READER, json.dumps([conversation(line(*["x"] * 10_000), "n10000")])))
    assert [str(draft.source) for draft in found][-1] == "chat:c1#10000"


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_a_record_is_found_wherever_the_reading_stops(read, monkeypatch, size):
    monkeypatch.setattr(records, "CHUNK_BYTES", size)
    each = conversation(line('quotes " and \\ and ] } [ { é 😀'), "n1")
    content = "\ufeff" + json.dumps([each, each], ensure_ascii=False) + "\n"
    assert [draft.text for draft in drafts(read(READER, content))] == ['quotes " and \\ and ] } [ { é 😀'] * 2


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('[{"mapping": {}}, {"mapping": {', "after conversation 1"),
        ('[{"mapping": {}}, {"mapping": "', "after conversation 1"),
        ('[{"mapping": {}}', "after conversation 1"),
        ('[{"mapping": {}}, "', "after conversation 1"),
        ("[", "after conversation 0"),
        ('"', "after conversation 0"),
        ('[{"mapping": {}}] "', "after conversation 1"),
    ],
)
def test_a_file_that_was_cut_is_reported(read, content, place):
    assert (place, "the file ends before its list does") in faults(read(READER, content))


@pytest.mark.parametrize("stray", ["7", '"text"', "null", "garbage"])
def test_what_stands_between_conversations_is_reported(read, stray):
    whole = json.dumps(conversation(line("a"), "n1"))
    found = read(READER, f"[{whole}, {stray}, {whole}]")
    assert len(parts(found)) == 2
    assert faults(found) == [("after conversation 1", "something that is no object stands in the list")]


@pytest.mark.parametrize("shape", ["[{0}][{0}]", "[{0}] {0}", "{0} {0}", "{0} [{0}]", "][{0}, {0}]", "{0} ]] {0}"])
def test_conversations_that_follow_one_another_are_all_read(read, shape):
    whole = json.dumps(conversation(line("a"), "n1"))
    assert len(parts(read(READER, shape.replace("{0}", whole)))) == 2


def test_a_conversation_longer_than_a_record_may_be_ends_the_reading(read, monkeypatch):
    monkeypatch.setattr(records, "RECORD_BYTES_MAX", 2_000)
    monkeypatch.setattr(records, "CHUNK_BYTES", 100)
    found = read(READER, json.dumps([conversation(line("a"), "n1"), conversation(line("b" * 10_000), "n1")]))
    assert parts(found) == ["chat:c1#1"]
    assert [place for place, _ in faults(found)] == ["conversation 2"]


def test_an_export_without_conversations_is_empty(read):
    assert read(READER, "[]") == []


def test_files_that_were_attached_are_counted(read):
    about = {"attachments": [{"name": "lease.pdf"}, {"name": "a.png"}]}
    tree = {"root": (None, None), "u": ("root", message("Read this.", metadata=about))}
    (said,) = drafts(read(READER, json.dumps([conversation(tree, "u")])))
    assert said.metadata == {"title": "Talk", "attachments": 2}


def test_a_text_of_another_kind_is_left_out_and_none_is_no_words(read):
    contents = [{"content_type": "code", "text": ["x"]}, {"content_type": "thoughts"}]
    tree = {"root": (None, None)} | {f"n{at}": ("root", message(content)) for at, content in enumerate(contents)}
    records = read(READER, json.dumps([conversation(tree)]))
    assert [reason for _, reason in faults(records)] == ["the text of the message is not a text"]
    assert parts(records) == ["chat:c1#1/n1"]
