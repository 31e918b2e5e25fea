"""The room of moving in. What its tests share: what other memory systems write, and short ways to capture and move it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refold.migrate import capture, decisions, finalize, formats
from refold.migrate.capture import Move
from refold.migrate.documents import Document
from refold.migrate.drafting import Outcome
from refold.migrate.record import Record, Unreadable
from refold.store import Store
from refold.times import DAY, parse
from tests.conftest import now

TODAY = parse("2026-06-01")

MEM0: dict[str, Any] = {
    "results": [
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "memory": "Lives in Lisbon with a cat named Mimi",
            "hash": "1f3870be274f6c49b3e31a0c6728957f",
            "metadata": {"category": "home"},
            "score": None,
            "created_at": "2024-01-10T08:00:00.123456-08:00",
            "updated_at": "2024-03-02T09:30:00-08:00",
            "user_id": "ada",
        },
        {
            "id": "0f4b9a4e-9a0c-4f4f-8a44-6a4f2f6bb111",
            "memory": "I adopted a dog called Rufus.",
            "created_at": "2024-02-10T08:00:00Z",
            "updated_at": None,
            "user_id": "ada",
            "agent_id": "butler",
            "run_id": "r1",
            "role": "user",
            "actor_id": "ada",
        },
        {"id": "3", "memory": "Prefers short answers", "created_at": "2024-02-11T08:00:00Z", "agent_id": "butler", "user_id": None},
        {"id": "4", "memory": "Likes tea", "created_at": "2024-02-12T08:00:00Z"},
        {"id": "5", "memory": "Plays chess", "user_id": "ben"},
    ],
    "relations": [{"source": "ada", "relationship": "lives_in", "target": "lisbon"}],
}

MCP_LINES: list[dict[str, Any]] = [
    {
        "type": "entity",
        "name": "Ruth_Brandt",
        "entityType": "Person",
        "observations": ["Speaks fluent Spanish", "Prefers morning meetings"],
    },
    {"type": "entity", "name": "Kestrel", "entityType": "project", "observations": ["Owner: Ada Brandt"]},
    {"type": "entity", "name": "Bo Lind", "entityType": "employee", "observations": ["Is on leave"]},
    {"type": "relation", "from": "Ruth_Brandt", "to": "Kestrel", "relationType": "works on"},
    {"type": "relation", "from": "Kestrel", "to": "Nobody Known", "relationType": "is led by"},
]

LETTA: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Sam",
            "agent_type": "letta_v1_agent",
            "system": "You are Sam.",
            "memory_blocks": [],
            "block_ids": ["block-0", "block-1"],
            "in_context_message_ids": ["message-0"],
            "messages": [
                {
                    "id": "message-0",
                    "role": "system",
                    "content": [{"type": "text", "text": "You are Sam.", "signature": None}],
                    "created_at": "2025-10-31T22:56:56.459100+00:00",
                },
                {
                    "id": "message-1",
                    "role": "user",
                    "name": None,
                    "content": [{"type": "text", "text": "I moved to Porto."}],
                    "created_at": "2025-10-31T22:57:10+00:00",
                },
                {
                    "id": "message-2",
                    "role": "user",
                    "content": json.dumps({"type": "user_message", "message": "I play the cello.", "time": "2025-10-31", "name": "Zoe"}),
                    "created_at": "2025-10-31T22:58:00+00:00",
                },
                {
                    "id": "message-3",
                    "role": "user",
                    "content": [{"type": "text", "text": json.dumps({"type": "heartbeat", "reason": "timer", "time": "x"})}],
                    "created_at": "2025-10-31T22:58:30+00:00",
                },
                {
                    "id": "message-4",
                    "role": "user",
                    "content": [{"type": "text", "text": json.dumps({"type": "system_alert", "message": "Memory is full.", "time": "x"})}],
                    "created_at": "2025-10-31T22:58:40+00:00",
                },
                {
                    "id": "message-5",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "The user plays an instrument."}],
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "send_message", "arguments": json.dumps({"message": "How lovely!"})},
                        }
                    ],
                    "created_at": "2025-10-31T22:59:00+00:00",
                },
                {
                    "id": "message-6",
                    "role": "tool",
                    "content": json.dumps({"status": "OK", "message": "None", "time": "x"}),
                    "created_at": "2025-10-31T22:59:01+00:00",
                },
            ],
        }
    ],
    "groups": [],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "First name: Zoe\nInterests: sailing\n", "limit": 20000},
        {"id": "block-1", "label": "persona", "value": "I am Sam.", "limit": 20000},
    ],
    "files": [],
    "sources": [],
    "tools": [],
}

LETTA_OLD: dict[str, Any] = {
    "agent_type": "memgpt_agent",
    "name": "memgpt",
    "core_memory": [
        {
            "created_at": "2025-03-31T20:47:27.5142+00:00",
            "updated_at": "2025-04-01T03:47:27+00:00",
            "label": "human",
            "value": "Likes Formula 1.",
            "limit": 5000,
            "description": None,
        }
    ],
    "messages": [
        {
            "created_at": "2025-04-01T03:48:00+00:00",
            "role": "user",
            "content": [{"type": "text", "text": "I race karts."}],
            "tool_calls": [],
        }
    ],
    "in_context_message_indices": [0],
    "version": "0.6.47",
}

EPISODES: list[dict[str, Any]] = [
    {
        "uuid": "e1",
        "name": "Chat 1",
        "group_id": "ada",
        "source": "message",
        "source_description": "support chat",
        "content": "user: I live in Ghent.\nassistant: Noted.\nMira: I live in Bruges.",
        "valid_at": "2024-05-01T10:00:00Z",
        "created_at": "2025-01-01T00:00:00Z",
        "entity_edges": ["x"],
    },
    {
        "uuid": "e2",
        "name": "From the server",
        "group_id": "ada",
        "source": "message",
        "source_description": "",
        "content": "Mira(user): I collect stamps.\nNote: the blue ones.",
        "valid_at": "2024-05-02T10:00:00Z",
    },
    {
        "uuid": "e3",
        "name": "Ambiguous",
        "group_id": "ada",
        "source": "message",
        "source_description": "",
        "content": "Mira: hello\nand welcome",
        "valid_at": "2024-05-03T10:00:00Z",
    },
    {
        "uuid": "e4",
        "name": "Article",
        "group_id": "",
        "source": "text",
        "source_description": "magazine",
        "episode_body": "Kestrel has a new owner.",
        "reference_time": "2024-05-04T10:00:00Z",
    },
    {
        "uuid": "e5",
        "name": "Row",
        "source": "json",
        "source_description": "crm",
        "content": '{"name": "Lena", "city": "Graz"}',
        "valid_at": None,
        "created_at": "2025-01-01T00:00:00Z",
    },
]

SAMPLES: dict[str, tuple[str, str]] = {
    "mem0": ("mem0", json.dumps(MEM0)),
    "mem0-list": ("mem0", json.dumps(MEM0["results"])),
    "mcp": ("mcp", "\n".join(map(json.dumps, MCP_LINES)) + "\n"),
    "mcp-graph": (
        "mcp",
        json.dumps(
            {
                "entities": [each for each in MCP_LINES if each["type"] == "entity"],
                "relations": [each for each in MCP_LINES if each["type"] == "relation"],
            }
        ),
    ),
    "letta": ("letta", json.dumps(LETTA)),
    "letta-old": ("letta", json.dumps(LETTA_OLD)),
    "graphiti": ("graphiti", json.dumps(EPISODES)),
    "graphiti-object": ("graphiti", json.dumps({"episodes": EPISODES}, indent=2)),
}

ANSWERS: dict[str, Any] = {"default": {"user": "ada", "said_at": "2024-07-01", "person": True}}


def records(text: str | bytes) -> list[Record | Unreadable]:
    """Return what a source holds, read by the format that it is recognised as."""
    document = Document(text.encode() if isinstance(text, str) else text)
    known = formats.recognise(document)
    assert known is not None
    return [*known.read(document, latest=TODAY + DAY)]


def readable(text: str | bytes) -> dict[str, Record]:
    """Return its records by their places; all must be readable."""
    found = records(text)
    assert all(isinstance(each, Record) for each in found)
    return {each.place: each for each in found if isinstance(each, Record)}


def written(folder: Path, *names: str) -> list[Path]:
    """Write samples as files, and return where they are."""
    paths = [folder / f"{name}.json" for name in names]
    for path, name in zip(paths, names, strict=True):
        path.write_text(SAMPLES[name][1], encoding="utf-8")
    return paths


def prepared(store: Store, folder: Path, *names: str) -> Move:
    """Capture samples."""
    return capture.prepare(store, written(folder, *names), now=now)


def canonicalized(store: Store, move: Move, answers: dict[str, Any] | None = None) -> Outcome:
    """Turn what was captured into drafts."""
    return capture.canonicalize(store, move, decisions.parse(answers or {}))


def moved(store: Store, move: Move, **options: Any) -> finalize.Moved:
    """Move in."""
    return finalize.finalize(store, move.id, confirm=move.id, now=now, random=os.urandom, **options)


def said(store: Store) -> list[str]:
    """Return the texts of all events in the log, in order."""
    store.log.refresh()
    return [event.text for batch in store.log.events() for event in batch]


def places_of(outcome: Outcome) -> dict[str, list[str]]:
    """Return what is open, and what each of it needs."""
    return {each.place: [str(need) for need in each.needs] for each in outcome.open}


def kinds(found: Sequence[Record | Unreadable]) -> list[str]:
    """Return the places of what could not be read."""
    return [each.place for each in found if isinstance(each, Unreadable)]
