"""Makes tests/data/store-v1: a small memory of format version 1, and the answers it gave when it was made.

Run once, from the project's folder, with the release that made the version: `python tests/data/make_store_v1.py`. The store is never
made anew while its version is supported: what later releases must be able to open is what lies there. The people in it are invented.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refold.memory import Memory

FOLDER = Path(__file__).parent / "store-v1"
BEGINS_AT = 1_735_722_000_000_000  # 2025-01-01T09:00Z, µs
NOTES = "# Kestrel\n\nOwner: Ada Brandt\n\nThe boathouse key hangs behind the door.\n"
QUESTIONS = ("where does Ada live?", "boathouse key", "who plays the cello?", "marmalade")
USERS = ("ada", "ben")


def stream(seed: bytes) -> tuple[Callable[[int], bytes], Callable[[], int]]:
    """Return bytes that are the same every time, and a clock that goes on by a second with every look."""
    drawn = ticks = 0

    def random(size: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.shake_256(seed + drawn.to_bytes(8, "big")).digest(size)

    def now() -> int:
        nonlocal ticks
        ticks += 1
        return BEGINS_AT + ticks * 1_000_000

    return random, now


def opened(folder: Path, **options: Any) -> Memory:
    """Open the three places of a folder."""
    return Memory.open(folder / "store", vault=folder / "vault", root=folder / "root", **options)


def fill(folder: Path) -> None:
    """Make the memory: statements of two people, a document, one thing taken back, and one that no fold has read."""
    random, now = stream(b"refold store v1")
    with Memory.create(folder / "store", vault=folder / "vault", root=folder / "root", now=now, random=random) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1", said_at="2024-01-10", key="first")
        memory.add("My sister is called Ruth.", user_id="ada", source="chat:7#2", said_at="2024-01-11", metadata={"mood": "glad"})
        memory.add("Noted, Berlin it is.", user_id="ada", source="chat:7#3", said_at="2024-01-11", role="assistant")
        memory.fold()
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "notes.md").write_text(NOTES, encoding="utf-8")
            memory.import_files([Path(place) / "notes.md"])
        memory.add("I've been living in Munich since 2023.", user_id="ada", source="chat:7#4", said_at="2024-06-01")
        memory.add("I play the cello.", user_id="ben", agent_id="butler", source="chat:8#1", said_at="2024-06-02")
        memory.add("I am allergic to nuts.", user_id="ben", source="chat:8#2", said_at="2024-06-03", audience=["family"])
        memory.fold()
        memory.add("I ran out of marmalade.", user_id="ben", source="chat:8#3", said_at="2024-06-04")


def answers(memory: Memory) -> dict[str, Any]:
    """Return what an operator hears: every event, what is found, what holds, and why."""
    events = [
        [event.seq, event.event_id.hex(), event.text, str(event.source), event.said_at, event.role.value, event.author, event.metadata]
        for batch in memory.store.log.events()
        for event in batch
    ]
    facts = [fact for user in USERS for fact in memory.facts(user_id=user, all=True)]
    return {
        "events": events,
        "search": {question: [hit.source for hit in memory.search(question, limit=2)] for question in QUESTIONS},
        "facts": [
            [fact.fact_id.hex(), fact.entity, fact.relation, fact.qualifier, fact.value, fact.standing.value, fact.source, fact.valid_from]
            for fact in facts
        ],
        "why": {fact.fact_id.hex(): _because(memory, fact.fact_id) for fact in facts},
        "subjects": {
            subject.hex(): [alias for entry in entries for _, alias in entry.aliases] for subject, entries in memory.subjects().items()
        },
    }


def _because(memory: Memory, fact_id: bytes) -> dict[str, Any]:
    said = memory.why(fact_id)
    return {
        "support": [[event.hex(), list(span)] for event, span in said.fact.support],
        "quotes": [saying.quote for saying in said.sayings],
        "beat": [fact.fact_id.hex() for fact in said.beat],
        "beaten_by": said.beaten_by and said.beaten_by.fact_id.hex(),
    }


def main() -> None:
    """Make the store and its answers."""
    if FOLDER.exists() and "--anew" not in sys.argv:
        sys.exit(f"{FOLDER} is there: it stays as it is")
    shutil.rmtree(FOLDER, ignore_errors=True)
    fill(FOLDER)
    (FOLDER / "store/.gitignore").unlink()  # it would keep the store out of the repository
    with opened(FOLDER, principal="operator") as memory:
        said = json.dumps(answers(memory), indent=1, ensure_ascii=False)
    (FOLDER / ".gitattributes").write_text("* -text\n", encoding="utf-8")  # bytes are kept as they are
    (FOLDER / "answers.json").write_text(said + "\n", encoding="utf-8")
    for path in (*FOLDER.rglob("*.lock"), FOLDER / "store/log/turn"):
        path.unlink()


if __name__ == "__main__":
    main()
