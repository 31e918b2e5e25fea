"""A state that is newer than its log, or that cannot be read: nothing is answered from it, and no number is given twice."""

from __future__ import annotations

import pytest

from refold.errors import Corrupt
from refold.memory import Memory
from refold.state.generation import Absence, State


@pytest.fixture
def memory(places):
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Berlin.", user_id="ada", said_at="2024-01-01")
        memory.add("I live in Munich.", user_id="ada", said_at="2024-02-01")
        memory.fold()
    return places


def opened(places):
    return Memory.open(places.store, vault=places.vault, root=places.root)


def newest_commit(places):
    return max((places.store / "log" / "commits").iterdir())


def test_a_log_that_lost_its_end_is_neither_added_to_nor_folded_nor_asked(memory, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes\n\nA word.\n")
    newest_commit(memory).unlink()
    with opened(memory) as lost:
        assert State.open(lost.store).absent is Absence.LOG
        for call in (
            lambda: lost.add("I live in Oslo.", user_id="ada"),
            lambda: lost.import_files([tmp_path / "notes.md"]),
            lambda: lost.subject_add([]),
            lambda: lost.fold(),
            lambda: lost.facts(user_id="ada"),
            lambda: lost.context("where does ada live", user_id="ada"),
            lambda: lost.sql("select 1"),
            lambda: lost.why("00000000", user_id="ada"),
        ):
            with pytest.raises(Corrupt, match="the log has lost entries"):
                call()
        assert [hit.text for hit in lost.search("live", user_id="ada")] == ["I live in Berlin."]


@pytest.mark.parametrize("remembers", ["the state", "a head beside it", "the vault's witness"])
def test_a_full_fold_refuses_a_shorter_log_before_anything_is_folded(memory, remembers):
    newest_commit(memory).unlink()
    if remembers != "the state":
        (memory.store / "state" / "CURRENT").unlink()
    forgets = {
        "a head beside it": (memory.vault / "witness/heads",),
        "the vault's witness": (memory.store / "checkpoints",),
        "the state": (memory.vault / "witness/heads", memory.store / "checkpoints"),
    }
    for path in (path for folder in forgets[remembers] for path in folder.iterdir()):
        path.unlink()
    before = {path: path.read_bytes() for path in (memory.store / "state").rglob("*") if path.is_file()}
    with opened(memory) as lost, pytest.raises(Corrupt, match="the log has lost entries") as raised:
        lost.fold(full=True)
    assert raised.value.hint == "refold recover --log"
    assert before == {path: path.read_bytes() for path in (memory.store / "state").rglob("*") if path.is_file()}


def test_a_damaged_state_gives_no_answer_and_is_folded_again(memory):
    (memory.store / "state" / "CURRENT").write_bytes(b"x")
    with opened(memory) as spoilt:
        with pytest.raises(Corrupt, match="the state cannot be read"):
            spoilt.facts(user_id="ada")
        spoilt.add("I like tea.", user_id="ada")
        spoilt.fold()
        assert {fact.value for fact in spoilt.facts(user_id="ada")} == {"Munich", "tea"}
