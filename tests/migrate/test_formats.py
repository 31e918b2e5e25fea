"""Each format is known by what is in it, and read as what it says: who speaks, when, in whose memory, and what it leaves open."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.migrate import formats
from refold.migrate.documents import Document
from refold.migrate.record import Record, Unreadable
from refold.model import Role, Source
from refold.times import DAY, parse
from tests.migrate import EPISODES, LETTA, MCP_LINES, MEM0, SAMPLES, TODAY, kinds, readable, records


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_recognised_by_its_content(name: str):
    expected, text = SAMPLES[name]
    for raw in (text.encode(), b"\xef\xbb\xbf" + text.encode(), text.replace("\n", "\r\n").encode()):
        known = formats.recognise(Document(raw))
        assert known is not None
        assert known.name == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "7",
        '"results"',
        "# Notes\n\nI like tea.\n",
        '{"results": [{"title": "x"}]}',
        '[{"role": "user", "content": "hi"}]',
        '{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "ho"}\n',
        '{"agents": []}',
        '{"agents": [{"name": "x"}], "blocks": []}',
        '{"type": "entity"}',
        '{"entities": []}',
        '[{"id": 1, "mapping": {}}]',
        '[{"uuid": "x", "content": "y"}]',
        "\x00\xff",
    ],
)
def test_what_is_none_of_them_is_recognised_as_none(text: str):
    assert formats.recognise(Document(text.encode("utf-8", "surrogatepass"))) is None


@pytest.mark.parametrize("more", [{"count": 9}, {"next": "https://api.example/?page=2"}, {"count": 9, "next": None, "previous": "x"}])
def test_a_page_of_mem0_says_that_others_are_missing(more: dict[str, Any]):
    whole = {**MEM0, "next": None, "previous": None, "count": len(MEM0["results"])}
    assert not any(isinstance(each, Unreadable) and each.place == "other pages" for each in records(json.dumps(whole)))
    (missing,) = [each for each in records(json.dumps(whole | more)) if isinstance(each, Unreadable) and each.place == "other pages"]
    assert missing.reason.startswith(f"this is one page, with {len(MEM0['results'])}")


def test_a_memory_of_mem0_is_its_own_document_of_the_time_it_was_last_written():
    found = readable(json.dumps(MEM0))["result 1"]
    assert (found.role, found.author, found.user, found.text) == (Role.DOCUMENT, None, "ada", "Lives in Lisbon with a cat named Mimi")
    assert found.source == Source("mem0", "892db2ae-06d9-49e5-8b3e-585ef9b85b8e")
    assert found.said_at == parse("2024-03-02T17:30:00Z")
    assert found.metadata == {"of_mem0": {"category": "home"}, "created_at": "2024-01-10T08:00:00.123456-08:00"}


def test_what_mem0_kept_as_it_was_said_has_its_speaker():
    found = readable(json.dumps(MEM0))["result 2"]
    assert (found.role, found.author, found.user, found.agent, found.run) == (Role.USER, "ada", "ada", "butler", "r1")
    assert found.said_at == parse("2024-02-10T08:00:00Z")


def test_a_memory_of_an_agent_alone_belongs_to_it_and_one_of_nobody_asks():
    found = readable(json.dumps(MEM0))
    assert {place: each.asks_user for place, each in found.items()} == {
        "result 1": False, "result 2": False, "result 3": False, "result 4": True, "result 5": False, "relation 1": True,
    }  # fmt: skip
    assert found["result 5"].said_at is None


def test_an_edge_of_mem0s_graph_is_the_sentence_of_its_words():
    edge = readable(json.dumps(MEM0))["relation 1"]
    assert (edge.text, edge.role, edge.said_at, edge.perhaps) == ("ada lives_in lisbon", Role.DOCUMENT, None, ("ada", "lisbon"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory": "x"},
        {"id": "1"},
        {"id": None, "memory": "x"},
        {"id": True, "memory": "x"},
        {"id": "1", "memory": 7},
        {"id": "1", "memory": "x", "user_id": 7},
        {"id": "1", "memory": "x", "role": "king"},
        {"id": "1", "memory": "x", "role": ["user"]},
        7,
        None,
        "x",
        [],
    ],
)
def test_a_memory_that_is_none_is_unreadable_by_itself(wrong: Any):
    found = records(json.dumps({"results": [{"id": "0", "memory": "Likes tea"}, wrong, {"id": "2", "memory": "Likes rum"}]}))
    assert kinds(found) == ["result 2"]
    assert len(found) == 3


def test_an_observation_stands_under_its_entity_and_tells_neither_user_nor_time():
    found = readable(SAMPLES["mcp"][1])
    assert list(found) == [
        "line 1 observation 1", "line 1 observation 2", "line 2 observation 1", "line 3 observation 1", "line 4", "line 5",
    ]  # fmt: skip
    one = found["line 1 observation 2"]
    assert (one.text, one.role, one.source) == ("Prefers morning meetings", Role.DOCUMENT, Source("mcp", "Ruth_Brandt", "2"))
    assert one.metadata == {"heading": "Ruth_Brandt", "entity_type": "Person"}
    assert all(each.asks_user and each.said_at is None and each.user is None for each in found.values())


def test_the_type_of_an_entity_says_who_is_a_person_where_it_is_a_known_word():
    found = readable(SAMPLES["mcp"][1])
    assert {place: (each.subjects, each.perhaps) for place, each in found.items()} == {
        "line 1 observation 1": (("Ruth_Brandt",), ()),
        "line 1 observation 2": (("Ruth_Brandt",), ()),
        "line 2 observation 1": ((), ()),
        "line 3 observation 1": ((), ("Bo Lind",)),
        "line 4": (("Ruth_Brandt",), ()),
        "line 5": ((), ("Nobody Known",)),
    }


def test_a_relation_is_the_sentence_of_its_words():
    assert readable(SAMPLES["mcp"][1])["line 4"].text == "Ruth_Brandt works on Kestrel"


def test_the_graph_that_the_server_answers_with_holds_what_its_file_holds():
    of_file, of_graph = (list(readable(SAMPLES[name][1]).values()) for name in ("mcp", "mcp-graph"))
    assert [(each.text, each.source, each.subjects) for each in of_file] == [(each.text, each.source, each.subjects) for each in of_graph]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "7",
        "[]",
        '{"type": "note"}',
        '{"type": ["entity"]}',
        '{"type": "entity", "name": "x"}',
        '{"type": "entity", "name": 7, "observations": []}',
        '{"type": "relation", "from": "a", "to": "b"}',
        '{"type": "relation", "from": {}, "to": "b", "relationType": "c"}',
        '{"a": NaN}',
        "\udcff",
    ],
)
def test_a_line_that_is_none_is_unreadable_by_itself(line: str):
    text = "\n".join([json.dumps(MCP_LINES[0]), line, json.dumps(MCP_LINES[1])])
    found = records(text.encode("utf-8", "surrogateescape"))
    assert kinds(found) == ["line 2"]
    assert len(found) == 4


def test_an_observation_that_is_no_text_is_unreadable_by_itself():
    line = MCP_LINES[0] | {"observations": ["Likes tea", 7, "Likes rum"]}
    assert kinds(records(json.dumps(line))) == ["line 1 observation 2"]


def test_the_messages_of_a_letta_agent_have_the_speakers_of_their_roles():
    found = readable(json.dumps(LETTA))
    spoken = {place: (each.role, each.author, each.text) for place, each in found.items() if "message" in place}
    assert spoken == {
        "agent 1 message 1": (Role.SYSTEM, None, "You are Sam."),
        "agent 1 message 2": (Role.USER, None, "I moved to Porto."),
        "agent 1 message 3": (Role.USER, "Zoe", "I play the cello."),
        "agent 1 message 4": (Role.SYSTEM, None, ""),
        "agent 1 message 5": (Role.SYSTEM, None, "Memory is full."),
        "agent 1 message 6": (Role.ASSISTANT, None, "How lovely!"),
        "agent 1 message 7": (Role.TOOL, None, "None"),
    }
    assert all(each.agent == "Sam" and each.asks_user for each in found.values())


def test_a_block_is_a_document_of_its_agent_and_speaks_at_no_time_where_none_is_given():
    block = readable(json.dumps(LETTA))["agent 1 block 1"]
    assert (block.text, block.role, block.source) == (
        "First name: Zoe\nInterests: sailing",
        Role.DOCUMENT,
        Source("letta", "Sam", "human"),
    )
    assert block.said_at is None
    old = readable(SAMPLES["letta-old"][1])
    assert (old["block 1"].said_at, old["message 1"].author) == (parse("2025-04-01T03:47:27Z"), None)


def test_a_block_that_no_agent_has_is_not_lost():
    file = LETTA | {"blocks": [*LETTA["blocks"], {"id": "block-9", "label": "notes", "value": "The gate code changed."}]}
    assert readable(json.dumps(file))["block 3"].source == Source("letta", "shared", "notes")


def test_a_later_export_of_a_letta_agent_gives_its_messages_the_same_parts():
    agent = LETTA["agents"][0]
    later = LETTA | {"agents": [agent | {"messages": agent["messages"][2:]}]}
    sources = {each.text: each.source for each in readable(json.dumps(LETTA)).values()}
    assert all(sources[each.text] == each.source for each in readable(json.dumps(later)).values())


def test_a_letta_file_with_holes_tells_each_of_them():
    agent = {"name": "Sam", "block_ids": ["gone"], "messages": [7, {"role": "king"}, {"role": "user", "content": 7}]}
    file = {"agents": [agent, 7, {"name": ["x"], "messages": []}], "blocks": [7, {"id": ["x"], "label": "a"}]}
    assert kinds(records(json.dumps(file))) == [
        "agent 1 block 1", "agent 1 message 1", "agent 1 message 2", "agent 1 message 3", "agent 2", "block 1", "block 2",
    ]  # fmt: skip


def test_the_turns_of_an_episode_are_told_apart_where_every_line_names_its_speaker():
    found = readable(json.dumps(EPISODES))
    turns = [(each.role, each.author, each.text, str(each.source)) for place, each in found.items() if place.startswith("episode 1")]
    assert turns == [
        (Role.USER, None, "I live in Ghent.", "graphiti:e1#1"),
        (Role.ASSISTANT, None, "Noted.", "graphiti:e1#2"),
        (Role.USER, "Mira", "I live in Bruges.", "graphiti:e1#3"),
    ]


def test_a_turn_with_a_role_goes_on_over_its_lines():
    found = readable(json.dumps(EPISODES))["episode 2"]
    assert (found.role, found.author, found.text) == (Role.USER, "Mira", "I collect stamps.\nNote: the blue ones.")


def test_an_episode_in_which_nobody_can_tell_who_speaks_is_one_document():
    found = readable(json.dumps(EPISODES))["episode 3"]
    assert (found.role, found.author, found.text) == (Role.DOCUMENT, None, "Mira: hello\nand welcome")


@given(
    st.lists(
        st.tuples(st.sampled_from(["Mira: ", "user: ", "Bo(user): ", "(assistant): ", "", "x:", " "]), st.text("ab: ()", max_size=6)),
        max_size=5,
    )
)
@settings(max_examples=200, deadline=None)
def test_no_word_of_an_episode_is_lost_and_none_added(lines: list[tuple[str, str]]):
    content = "\n".join(name + said for name, said in lines)
    episode = {"uuid": "e", "source": "message", "content": content, "valid_at": "2024-05-01T10:00:00Z"}
    found = [each for each in records(json.dumps([episode])) if isinstance(each, Record)]
    text = "\n".join(each.text for each in found)
    assert all(line.split(":", 1)[-1].strip() in text for line in content.split("\n"))
    assert Counter(text) <= Counter(content)
    assert all(each.author in (None, "Mira", "Bo", "x") or each.author.strip("ab ") == "" for each in found)


def test_an_episode_speaks_at_its_reference_time_and_never_at_the_time_it_was_read():
    found = readable(json.dumps(EPISODES))
    assert found["episode 4"].said_at == parse("2024-05-04T10:00:00Z")
    assert found["episode 5"].said_at is None


def test_data_handed_over_as_json_states_nothing():
    assert not readable(json.dumps(EPISODES))["episode 5"].role.asserts


def test_a_group_is_no_user_by_itself():
    assert {(each.user, each.group, each.asks_user) for each in readable(json.dumps(EPISODES[:3])).values()} == {(None, "ada", True)}


@pytest.mark.parametrize(
    "wrong", [7, {}, {"content": 7, "valid_at": "x"}, {"content": "x", "source": "song"}, {"uuid": {}, "content": "x"}]
)
def test_an_episode_that_is_none_is_unreadable_by_itself(wrong: Any):
    assert kinds(records(json.dumps([EPISODES[3], wrong]))) == ["episode 2"]


@pytest.mark.parametrize("when", ["yesterday", "2024-13-01", {}, [], True, 1e300, "2031-01-01", None, ""])
def test_a_time_that_is_none_or_still_to_come_is_missing_and_not_made_up(when: Any):
    memory = {"id": "1", "memory": "x", "user_id": "ada", "created_at": when}
    assert readable(json.dumps([memory]))["result 1"].said_at is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2), max_leaves=3
)


def spoilt(value: Any, draw: Any, chance: int = 8) -> Any:
    """Return a value with random parts of it replaced or left out."""
    if draw(st.integers(0, chance)) == 0:
        return draw(JUNK)
    if isinstance(value, dict):
        return {key: spoilt(each, draw, chance) for key, each in value.items() if draw(st.integers(0, chance)) != 0}
    return [spoilt(each, draw, chance) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("sample", [MEM0, MEM0["results"], LETTA, EPISODES, MCP_LINES], ids=["mem0", "list", "letta", "graphiti", "mcp"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_is_wrong_in_a_file_each_record_is_read_or_named_as_unreadable(sample: Any, data: st.DataObject):
    value = spoilt(sample, data.draw)
    text = "\n".join(map(json.dumps, value)) if sample is MCP_LINES and isinstance(value, list) else json.dumps(value)
    for known in formats.FORMATS.values():
        document = Document(text.encode())
        known.recognises(document)
        found = [*known.read(document, latest=TODAY + DAY)]
        assert all(isinstance(each, Record | Unreadable) for each in found)
        assert len({each.place for each in found}) == len(found)
