from __future__ import annotations

import json

import pytest

from refold.imports import records
from refold.imports.openai_messages import READER
from refold.imports.reader import Options
from refold.model import Role, Scope
from refold.times import parse
from tests.imports.conftest import drafts, faults, json_lines, parts


def test_a_message_on_each_line_keeps_role_name_time_and_place(read):
    content = json_lines(
        {"role": "user", "content": "I live in Berlin", "name": "Ada", "created_at": "2024-01-10T09:30:00+01:00"},
        {"role": "assistant", "content": "Noted", "timestamp": 1704875500},
    )
    first, second = drafts(read(READER, content, name="ada.jsonl", options=Options(user="ada", run="r1", audience=("family",))))
    assert (first.text, first.role, first.author, str(first.source)) == ("I live in Berlin", Role.USER, "Ada", "chat:ada#1")
    assert first.said_at == parse("2024-01-10T08:30Z")
    assert (first.scope, first.audience) == (Scope("ada", None, "r1"), ("family",))
    assert (second.role, second.author, second.said_at) == (Role.ASSISTANT, None, 1704875500_000000)


def test_a_conversation_on_each_line_is_a_source_of_its_own(read):
    two = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    content = json_lines({"messages": two}, {"messages": two}, {"id": "abc", "messages": two})
    assert parts(read(READER, content, name="talks.jsonl")) == [
        "chat:talks#1",
        "chat:talks#2",
        "chat:talks/2#1",
        "chat:talks/2#2",
        "chat:abc#1",
        "chat:abc#2",
    ]


def test_the_conversation_named_on_a_line_is_its_source(read):
    content = json_lines(
        {"role": "user", "content": "a", "conversation_id": "x#1"},
        {"role": "user", "content": "b", "thread_id": 7},
    )
    assert parts(read(READER, content)) == ["chat:x-1#1", "chat:7#2"]


def test_of_typed_parts_the_text_is_kept(read):
    content = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:"}},
        {"type": "input_text", "text": {"value": "at this"}},
        "please",
    ]
    assert [draft.text for draft in drafts(read(READER, json_lines({"role": "user", "content": content})))] == ["Look\nat this\nplease"]


def test_a_message_without_words_is_no_fault(read):
    content = json_lines({"role": "assistant", "content": None, "tool_calls": []}, {"role": "user", "content": []})
    assert [draft.text for draft in drafts(read(READER, content))] == ["", ""]


def test_the_author_given_holds_for_users_that_the_file_does_not_name(read):
    content = json_lines(
        {"role": "user", "content": "a"}, {"role": "user", "content": "b", "name": "Ben"}, {"role": "tool", "content": "c"}
    )
    assert [draft.author for draft in drafts(read(READER, content, options=Options(author="Ada")))] == ["Ada", "Ben", None]


def test_the_subjects_given_join_every_draft(read):
    content = json_lines({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})
    assert {draft.subjects for draft in drafts(read(READER, content, options=Options(subjects=("Ruth", "r@example.org"))))} == {
        ("Ruth", "r@example.org")
    }


def test_a_message_without_a_time_has_that_of_the_one_before_in_its_conversation(read):
    a = [{"role": "user", "content": "a", "created": 1_700_000_000}, {"role": "user", "content": "b"}]
    content = json_lines({"messages": a}, {"created_at": 1_600_000_000, "messages": [{"role": "user", "content": "c"}]}, a[1])
    assert [draft.said_at for draft in drafts(read(READER, content))] == [
        1_700_000_000_000000,
        1_700_000_000_000000,
        1_600_000_000_000000,
        None,
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"role": "user", "content": "cut', "not valid JSON at its character"),
        (b'{"role": "user", "content": "\xff"}', "not valid UTF-8 at its byte 30"),
        (b'["role", "content"]', "the line is not a JSON object"),
        (b'{"role": "user", "content": 7}', "the content is neither a text nor a list of parts"),
        (b'{"role": "user", "content": [7]}', "a part of the content is not a JSON object"),
        (b'{"role": "user", "content": [{"type": "text"}]}', "a text part of the content has no text"),
        (b'{"role": "owner", "content": "x"}', "the role is none of user, assistant"),
        (b'{"content": "x"}', "the role is none of user, assistant"),
        (b'{"role": "user", "content": "x", "name": ["Ada"]}', "the name is not a text"),
        (b'{"role": "user", "content": "\\ud83d half"}', "half of a surrogate pair stands alone"),
        (b'{"role": "user", "content": "x", "name": "\\udc00"}', "half of a surrogate pair stands alone"),
        (b'{"role": "user", "content": "x", "created_at": NaN}', "a number that JSON does not know"),
        (b'{"role": "user", "content": "x", "created_at": 1e999}', "a time is not a finite number"),
        (b'{"role": "user", "content": "x", "created_at": 1e30}', "a time is out of range"),
        (b'{"role": "user", "content": "x", "created_at": "soon"}', "a time is not an ISO 8601 date or time"),
        (b'{"role": "user", "content": "x", "created_at": true}', "a time is neither a number nor a text"),
        (b'{"role": "user", "content": "x", "n": ' + b"9" * 5000 + b"}", "a number that JSON does not know"),
        (b'{"role": "user", "content": "x", "n": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"messages": "none"}', "the messages are not a list"),
    ],
)
def test_a_malformed_line_is_reported_with_its_place_and_the_rest_is_read(read, line, reason):
    whole = b'{"role": "user", "content": "whole"}\n'
    found = read(READER, whole + line + b"\n" + whole)
    assert parts(found) == ["chat:notes#1", "chat:notes#3"]
    ((place, why),) = faults(found)
    assert place == "line 2"
    assert why.startswith(reason)


def test_a_malformed_message_costs_that_message_alone(read):
    content = json_lines({"messages": [{"role": "user", "content": "a"}, "b", {"role": "user", "content": "c"}]})
    found = read(READER, content)
    assert parts(found) == ["chat:notes#1", "chat:notes#3"]
    assert faults(found) == [("line 1, message 2", "the message is not a JSON object")]


def test_a_line_mended_later_moves_no_other(read):
    lines = [json.dumps({"role": "user", "content": text}) for text in "abc"]
    broken = read(READER, "\n".join([lines[0], lines[1][:-4], lines[2]]))
    mended = read(READER, "\n".join(lines))
    assert set(parts(broken)) < set(parts(mended))


def test_text_is_kept_to_the_character(read):
    text = "a\u0000b\u202ec\r\n\td\u2028e😀 " + "x" * 100
    assert [draft.text for draft in drafts(read(READER, json_lines({"role": "user", "content": text})))] == [text]


def test_a_byte_order_mark_blank_lines_and_crlf_mean_nothing(read):
    line = b'{"role": "user", "content": "x"}'
    assert parts(read(READER, b"\xef\xbb\xbf" + line + b"\r\n\r\n" + line)) == ["chat:notes#1", "chat:notes#3"]


def test_a_text_of_ten_megabytes_is_one_event(read):
    content = json_lines({"role": "user", "content": "word " * 2_000_000})
    assert [len(draft.text) for draft in drafts(read(READER, content))] == [10_000_000]


def test_a_line_longer_than_a_record_may_be_is_left_out(read, monkeypatch):
    monkeypatch.setattr(records, "RECORD_BYTES_MAX", 1_000)
    content = json_lines(*({"role": "user", "content": "x" * size} for size in (10, 5_000, 20)))
    found = read(READER, content)
    assert parts(found) == ["chat:notes#1", "chat:notes#3"]
    assert [place for place, _ in faults(found)] == ["line 2"]


def test_no_reason_shows_what_the_file_says(read):
    content = b'{"role": "SECRETROLE", "content": "SECRET"}\n{"role": "user", "content": "SECRET\n{"SECRET": 1}\n{"created_at": "SECRET"}\n'
    assert "SECRET" not in str(faults(read(READER, content)))
