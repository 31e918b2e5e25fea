"""The session files of coding agents: what the user and the agent said, and nothing that a tool put into the user's mouth."""

from __future__ import annotations

from pathlib import Path

from refold.imports import claude_code, codex
from refold.model import Role
from refold.times import parse
from tests.imports.conftest import drafts, faults, json_lines, parts


def turn(kind: str, content: object, **of: object) -> dict[str, object]:
    line = {"parentUuid": None, "uuid": "u", "sessionId": "s1", "timestamp": "2025-06-01T08:00:00.000Z", "type": kind}
    return line | {"message": {"role": kind, "content": content}} | of


CLAUDE = json_lines(
    {"type": "summary", "summary": "Fixing the build", "leafUuid": "u"},
    turn("user", "I prefer tabs."),
    turn("assistant", [{"type": "text", "text": "Noted."}, {"type": "tool_use", "name": "Bash", "input": {}}]),
    turn("user", [{"type": "tool_result", "content": "3 files"}]),
    turn("user", "<command-name>/clear</command-name>"),
    turn("user", "a caveat", isMeta=True),
    turn("user", "Look for the bug.", isSidechain=True),
    turn("system", "x", message=None),
)


def test_a_session_of_claude_code_is_read_as_what_was_said(read):
    said = drafts(read(claude_code.READER, CLAUDE))
    assert [(draft.text, draft.role) for draft in said] == [
        ("I prefer tabs.", Role.USER),
        ("Noted.", Role.ASSISTANT),
        ("", Role.USER),
        ("<command-name>/clear</command-name>", Role.SYSTEM),
        ("Look for the bug.", Role.ASSISTANT),
    ]
    assert (str(said[0].source), said[0].said_at) == ("chat:s1#2", parse("2025-06-01T08:00Z"))


def item(role: str, text: str) -> dict[str, object]:
    payload = {"type": "message", "role": role, "content": [{"type": "input_text" if role == "user" else "output_text", "text": text}]}
    return {"timestamp": "2025-06-01T08:00:00.000Z", "type": "response_item", "payload": payload}


CODEX = json_lines(
    {"timestamp": "2025-06-01T07:59:00Z", "type": "session_meta", "payload": {"id": "r9", "cwd": "/work"}},
    item("user", "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"),
    item("user", "I use ruff for linting."),
    {"timestamp": "2025-06-01T08:00:00Z", "type": "event_msg", "payload": {"type": "user_message", "message": "I use ruff for linting."}},
    {"timestamp": "2025-06-01T08:00:00Z", "type": "response_item", "payload": {"type": "function_call", "name": "shell"}},
    item("assistant", "Understood."),
)


def test_a_session_of_codex_is_read_once_as_what_was_said(read):
    said = drafts(read(codex.READER, CODEX))
    assert [(draft.text.split("\n")[0], draft.role) for draft in said] == [
        ("<environment_context>", Role.SYSTEM),
        ("I use ruff for linting.", Role.USER),
        ("Understood.", Role.ASSISTANT),
    ]
    assert parts(read(codex.READER, CODEX)) == ["chat:r9#2", "chat:r9#3", "chat:r9#6"]


def test_words_around_a_tag_are_the_users(read):
    (said,) = drafts(read(claude_code.READER, json_lines(turn("user", "<b>I</b> live in Berlin."))))
    assert said.role is Role.USER


def test_a_line_that_is_broken_costs_only_itself(read):
    broken = CLAUDE + "no json\n" + json_lines(turn("user", 3), turn("user", "x", message=[]), turn("user", "I drink tea."))
    records = read(claude_code.READER, broken)
    assert [place for place, _ in faults(records)] == ["line 9", "line 10", "line 11"]
    assert parts(records)[-1] == "chat:s1#12"
    records = read(codex.READER, json_lines({"type": "response_item", "payload": []}, item("user", "I drink tea.")), name="s.jsonl")
    assert faults(records) == [("line 1", "the payload is not a JSON object")]
    assert parts(records) == ["chat:s#2"]


REMINDER = "<system-reminder>\nBe brief.\n</system-reminder>"
COMMAND = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>all</command-args>"


def test_what_the_tool_wrote_beside_the_users_words_is_left_out(read):
    parts = [{"type": "text", "text": REMINDER}, {"type": "text", "text": "I prefer tabs."}]
    said = drafts(read(claude_code.READER, json_lines(turn("user", parts), turn("user", COMMAND), turn("user", f"{REMINDER} I use vim."))))
    assert [(draft.text, draft.role) for draft in said] == [
        ("I prefer tabs.", Role.USER),
        (COMMAND, Role.SYSTEM),
        (f"{REMINDER} I use vim.", Role.USER),
    ]


def test_a_summary_to_go_on_from_is_not_the_users(read):
    (said,) = drafts(read(claude_code.READER, json_lines(turn("user", "I live in Rome, the user said.", isCompactSummary=True))))
    assert said.role is Role.ASSISTANT


def test_a_line_without_a_time_was_said_when_the_one_before_it_was(read):
    first, second = drafts(read(claude_code.READER, json_lines(turn("user", "a"), turn("user", "b", timestamp=None))))
    assert first.said_at == second.said_at == parse("2025-06-01T08:00Z")


def test_instructions_and_what_an_editor_adds_are_not_the_users(read):
    instructions = "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nI like tea.\n</INSTRUCTIONS>"
    asked = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nI use ruff.\n"
    said = drafts(read(codex.READER, json_lines(item("user", instructions), item("user", asked))))
    assert [(draft.text, draft.role) for draft in said] == [(instructions, Role.SYSTEM), ("I use ruff.", Role.USER)]


def test_a_session_of_an_older_codex_is_recognised_and_read(read):
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "I use ruff."}]}
    older = json_lines(
        {"id": "r1", "timestamp": "2025-06-01T08:00:00.000Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        message,
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "shell", "arguments": "{}"},
    )
    assert codex.READER.recognises(Path("rollout.jsonl"), older.encode())
    (said,) = drafts(read(codex.READER, older))
    assert (said.text, str(said.source), said.said_at) == ("I use ruff.", "chat:r1#3", parse("2025-06-01T08:00Z"))
