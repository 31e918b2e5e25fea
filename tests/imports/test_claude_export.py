from __future__ import annotations

import json

from refold.imports.claude_export import READER
from refold.imports.reader import Options
from refold.model import Role
from refold.times import parse
from tests.imports.conftest import drafts, faults, parts

ASKED = {
    "uuid": "m1",
    "sender": "human",
    "text": "I live in Berlin.",
    "content": [{"type": "text", "text": "I live in Berlin."}],
    "created_at": "2024-03-05T10:00:00.000000Z",
}
ANSWERED = {
    "uuid": "m2",
    "sender": "assistant",
    "text": "",
    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Noted."}, {"type": "tool_use", "name": "search"}],
    "created_at": "2024-03-05T10:00:09Z",
}


def export(*conversations: object) -> str:
    return json.dumps(conversations)


def conversation(*messages: object, **of: object) -> dict[str, object]:
    return {"uuid": "c7", "name": "Moving", "created_at": "2024-03-05T09:00:00Z", "chat_messages": messages} | of


def test_messages_keep_their_speaker_their_time_and_their_place(read):
    asked, answered = drafts(read(READER, export(conversation(ASKED, ANSWERED)), options=Options(user="ada")))
    assert (asked.text, asked.role, str(asked.source)) == ("I live in Berlin.", Role.USER, "chat:c7#1")
    assert asked.said_at == parse("2024-03-05T10:00Z")
    assert (asked.scope.user, asked.metadata) == ("ada", {"title": "Moving"})
    assert (answered.text, answered.role) == ("Noted.", Role.ASSISTANT)


def test_a_message_without_parts_has_its_text_and_one_without_a_time_that_of_the_one_before(read):
    told = {"sender": "human", "text": "I like tea."}
    (before, said) = drafts(read(READER, export(conversation(ASKED, told))))
    assert (said.text, said.said_at) == ("I like tea.", before.said_at)


def test_a_conversation_without_an_id_is_named_by_the_file(read):
    assert parts(read(READER, export(conversation(ASKED, uuid=""), conversation(ASKED, uuid=None)), name="c.json")) == [
        "chat:c/1#1",
        "chat:c/2#1",
    ]


def test_what_is_broken_costs_only_itself(read):
    broken = {"sender": "somebody", "text": "x"}
    records = read(READER, export(conversation(ASKED, broken, 3, ANSWERED), {"chat_messages": 1}, 4, conversation(ASKED, uuid="c8")))
    (listed,) = faults(read(READER, export(conversation({"sender": "human", "text": ["I live in Rome."]}))))
    assert listed == ("conversation 1, message 1", "the text is not a text")
    assert parts(records) == ["chat:c7#1", "chat:c7#4", "chat:c8#1"]
    assert faults(records)[:3] == [
        ("conversation 1, message 2", "the sender is none of human, assistant"),
        ("conversation 1, message 3", "the message is not a JSON object"),
        ("conversation 2", "the messages are not a list"),
    ]


def test_files_that_were_attached_are_counted(read):
    pasted = {"file_name": "", "extracted_content": "I live in Rome.", "file_type": "txt"}
    told = ASKED | {"text": "", "content": [], "attachments": [pasted], "files": [{"file_name": "a.png"}]}
    with_files, without = drafts(read(READER, export(conversation(told, ASKED))))
    assert (with_files.text, with_files.metadata["attachments"]) == ("", 2)
    assert "attachments" not in without.metadata
