"""What a caller of the library hands in is read as it is meant, or refused as a mistake of usage: never taken for something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from refold.errors import Usage
from refold.memory import Memory
from tests.journal import unsynced

MOMENT = datetime(2024, 6, 1, 18, 30, tzinfo=UTC)
MICROSECONDS = 1_717_266_600_000_000


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with unsynced(), Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as made:
        yield made


@pytest.mark.parametrize(
    ("when", "stored"),
    [
        (MOMENT, MICROSECONDS),
        (MOMENT.replace(tzinfo=None), MICROSECONDS),
        (MOMENT.astimezone(timezone(timedelta(hours=2))), MICROSECONDS),
        (date(2024, 6, 1), MICROSECONDS - 66_600_000_000),
        (MICROSECONDS, MICROSECONDS),
        (0, 0),
        ("1970-01-02", 86_400_000_000),
    ],
)
def test_a_time_is_text_a_date_or_microseconds(when, stored, memory):
    added = memory.add("I like tea.", user_id="ada", said_at=when)
    assert memory.store.log.event(added.seq).said_at == stored


@pytest.mark.parametrize("when", [1_717_266_600, 1_717_266_600_000, 1_717_266_600_000_000_000, -1, True, 1.5, b"2024"])
def test_a_number_in_another_unit_is_no_time(when, memory):
    for ask in (lambda: memory.add("I like tea.", said_at=when), lambda: memory.facts(user_id="ada", valid_at=when)):
        with pytest.raises(Usage, match="microseconds"):
            ask()


def test_as_of_is_a_sequence_number_or_any_time(memory):
    memory.add("I live in Berlin.", user_id="ada", said_at=MOMENT)
    memory.fold()
    assert len(memory.facts(user_id="ada", as_of=memory.store.log.head.size)) == 1
    assert memory.facts(user_id="ada", as_of=datetime(2020, 1, 1, tzinfo=UTC)) == []
    assert len(memory.facts(user_id="ada", as_of=datetime.now(UTC) + timedelta(days=1))) == 1


ANYTHING: list[Any] = [5, b"m"]
WRONG: dict[str, Callable[[Any], object]] = {
    "query": lambda memory: memory.search(5, user_id="ada"),
    "limit as text": lambda memory: memory.search("tea", user_id="ada", limit="3"),
    "limit as a fraction": lambda memory: memory.search("tea", user_id="ada", limit=1.5),
    "limit as a truth": lambda memory: memory.search("tea", user_id="ada", limit=True),
    "limit of facts": lambda memory: memory.facts(user_id="ada", limit="3"),
    "entity": lambda memory: memory.facts(user_id="ada", entity=5),
    "relation": lambda memory: memory.facts(user_id="ada", relation=5),
    "tokens": lambda memory: memory.context("tea", user_id="ada", tokens="5"),
    "context": lambda memory: memory.context(None, user_id="ada"),
    "fact": lambda memory: memory.why(5),
    "no fact": lambda memory: memory.why(None),
    "sql": lambda memory: memory.sql(5),
    "similar": lambda memory: memory.similar(5, user_id="ada"),
    "as_of": lambda memory: memory.facts(user_id="ada", as_of=True),
    "user": lambda memory: memory.search("tea", user_id=5),
    "metadata": lambda memory: memory.add("tea", metadata={1: "a"}),
    "drafts": lambda memory: memory.add_many(["tea"]),
    "store": lambda memory: type(memory).open(ANYTHING[0]),
    "store of bytes": lambda memory: type(memory).open(ANYTHING[1]),
    "store with a null": lambda memory: Memory.open("a\0b"),
    "vault": lambda memory: type(memory).create("a", vault=ANYTHING[0]),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_of_another_type_is_a_mistake_of_usage(what, memory):
    memory.add("I like tea.", user_id="ada")
    memory.fold()
    with pytest.raises(Usage):
        WRONG[what](memory)
