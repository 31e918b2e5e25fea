"""A correction wins by the policy of its relation, and both facts are explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from refold.cli import main
from refold.errors import NotAllowed, Usage
from refold.memory import Memory
from refold.reading import Fact
from refold.settings import Principal
from refold.times import DAY
from tests.conftest import now
from tests.journal import unsynced


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with unsynced(), Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as made:
        made.add("I live in Berlin.", user_id="ada", audience=["family"], said_at=now() + DAY // 2)
        made.add("I like chess.", user_id="ada")
        made.fold()
        yield made


def fact(memory: Memory, relation: str) -> Fact:
    memory.fold()
    held = Memory(memory.store, principal=Principal("all", None)).facts(user_id="ada", relation=relation)
    return next(iter(held))


def test_a_correction_wins_over_a_later_date_and_is_seen_by_the_same_readers(memory: Memory):
    wrong = fact(memory, "lives_in")
    operator = Memory(memory.store, principal=Principal("all", None))
    added = operator.add("I live in Hamburg.", corrects=wrong)
    right = fact(memory, "lives_in")
    assert (right.value, right.entity) == ("Hamburg", "ada")
    explained = operator.why(right)
    assert [beaten.value for beaten in explained.beat] == ["Berlin"]
    event = memory.store.log.event(added.seq)
    assert (event.audience, event.scope.user, event.metadata) == (("family",), "ada", {"corrects": wrong.fact_id.hex()})


def test_one_that_could_not_win_is_refused(memory: Memory):
    wrong = fact(memory, "likes")
    with pytest.raises(Usage, match="after what it corrects"):
        memory.add("I don't like chess.", corrects=wrong, said_at="2020-01-01")


def test_nobody_corrects_what_they_may_not_see(memory: Memory):
    wrong = fact(memory, "lives_in")
    with pytest.raises((Usage, NotAllowed)):
        Memory(memory.store, principal=Principal("child", frozenset(), ("ben",))).add("I live in Hamburg.", corrects=wrong)


def test_the_command_says_where_nothing_was_corrected(memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    wrong = fact(memory, "likes").fact_id.hex()
    places = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(tmp_path / name))]
    for text, codes in (("That was somebody else.", ["RF-CORRECTS-001"]), ("I don't like chess.", [])):
        assert main(["add", text, "--corrects", wrong, "--user", "ada", "--format", "json", *places]) == 0
        assert [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]] == codes
    memory.fold()
    assert memory.facts(user_id="ada", relation="likes") == []
