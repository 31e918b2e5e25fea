"""An end of the log that nobody has any more is given up by a person's word alone, and the log itself says so from then on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refold import settings
from refold.errors import Blocked, Corrupt, Usage
from refold.heads import kept
from refold.heads.checkpoint import given_up_by, vault_keys
from refold.heads.configured import sign, witnesses
from refold.heads.rotation import rotate
from refold.heads.witness import HEADS
from refold.journal import Direction
from refold.memory import Memory
from refold.recover import audit, heads
from refold.recover import repair as repairs
from refold.recover.audit import Area
from refold.recover.repair import Repaired
from refold.recover.reset import survey
from refold.recover.sources import known
from refold.recover.verify import verify
from refold.store import Places, open_store, vault_of
from refold.verdict import DamageKind, Kind, SeenHead
from tests.conftest import now
from tests.journal import CALLS, KILLED, in_child, killing, left, stopped_after, unsynced
from tests.log import Disk, say, texts
from tests.recover.damage import head_of, place_of


@pytest.fixture(autouse=True)
def quick() -> Any:
    with unsynced():
        yield


def newest(places: Places) -> Path:
    return max((places.store / "log/commits").iterdir())


def repaired(places: Places, *, give_up: bool = True) -> Repaired:
    sources = known(places, settings.load())
    return repairs.repair(places, sources, confirm=places.origin[:6], give_up=give_up, now=now, random=os.urandom)


def values(places: Places) -> list[str]:
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        return sorted(str(fact.value) for fact in memory.facts(user_id="ada"))


SPOILS: dict[str, Callable[[Path], object]] = {
    "removed": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "zeroed": lambda path: path.write_bytes(bytes(500)),
    "another signature": lambda path: path.write_bytes(path.read_bytes()[:-6] + b'0000"}'),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_the_log_goes_on_without_its_end_and_says_what_it_gave_up(spoil, places):
    lost, path = head_of(places), newest(places)
    SPOILS[spoil](path)
    spoilt = path.read_bytes() if path.exists() else None
    assert repaired(places, give_up=False).after.kind is not Kind.INTACT, "nothing is given up unasked"
    with pytest.raises((Blocked, Corrupt)), open_store(places) as store:
        say(store, "I like tea.")
    found = repairs.plan(places, known(places, settings.load())).ending
    assert found is not None
    assert (found.size, found.lost, found.version) == (lost.size - 1, (lost.size - 1, lost.size), lost.version - 1)
    done = repaired(places)
    assert done.after.kind is Kind.INTACT
    assert done.given_up == found
    with open_store(places) as store:
        assert texts(store) == ["I live in Berlin.", "I've been living in Munich since 2023."]
        named = {(each.size, each.root) for each in found.given_up}
        assert named
        assert given_up_by(store.log) == named
        say(store, "I like tea.")
    assert "Munich" in values(places)
    kept_there = [each.read_bytes() for each in (places.vault / "quarantine").iterdir()]
    assert spoilt is None or spoilt in kept_there
    audited = audit.audit(places, [Area.LOG, Area.STATE, Area.TRANSACTIONS], log=audit.options(places, settings.load()))
    assert audited.findings == ()
    assert survey(places).unexpected == ()


def test_what_was_folded_from_the_lost_end_is_folded_anew(places):
    newest(places).unlink()
    repaired(places)
    assert "Ruth" not in values(places)


def test_more_than_the_end_is_not_given_up(places):
    newest(places).write_bytes(b"")
    path = place_of(places).commit(1)
    path.write_bytes(b"")
    assert repairs.plan(places, known(places, settings.load())).ending is None
    with pytest.raises(Usage, match="more is wrong"):
        repaired(places)
    assert path.exists()


def test_what_nobody_ever_saw_is_given_up_too_where_its_commit_cannot_be_read(places):
    forget(places)
    newest(places).write_bytes(b"")
    found = repairs.plan(places, known(places, settings.load())).ending
    assert found is not None
    assert found.lost is None
    done = repaired(places)
    assert done.after.kind is Kind.INTACT
    with open_store(places) as store:
        assert given_up_by(store.log) == frozenset()
        assert store.log.head.size == found.size + 1, "one entry says from where on"


def forget(places: Places) -> None:
    for folder in (places.store / "checkpoints", places.vault / "witness/heads"):
        for path in folder.iterdir():
            path.unlink()


@pytest.mark.slow
def test_killed_at_any_change_and_run_again_it_ends_the_same(places, tmp_path):
    newest(places).write_bytes(b"")
    done, at = False, 0
    while not done:
        at += STEP
        for name, old in (("store", places.store), ("vault", places.vault), ("root", places.root)):
            shutil.rmtree(tmp_path / "again" / name, ignore_errors=True)
            shutil.copytree(old, tmp_path / "again" / name)
        again = Places(tmp_path / "again/store", tmp_path / "again/vault", tmp_path / "again/root", places.origin)
        code = in_child(lambda at=at, again=again: killed(again, at))
        done = code == 0
        assert code in (0, KILLED)
        end = repaired(again)
        assert end.after.kind is Kind.INTACT
        assert left(again) == []
        with open_store(again) as store:
            assert texts(store) == ["I live in Berlin.", "I've been living in Munich since 2023."]
            assert given_up_by(store.log), "the log says what it gave up"
    assert at > STEP


STEP = 1 if os.environ.get("REFOLD_EXHAUSTIVE") else 7


def killed(places: Places, at: int) -> None:
    from refold import files

    files.os = Disk(killing(at), CALLS)  # ty: ignore[invalid-assignment]
    repaired(places)


@pytest.mark.parametrize("direction", Direction)
def test_interrupted_before_the_log_says_so_it_can_be_carried_either_way(direction, run, places):
    path = newest(places)
    path.write_bytes(b"")
    stopped_after(lambda: repaired(places), 2)
    (entry,) = left(places)
    assert path.read_bytes() == b"", "what cannot be read stays until the quarantine has it"
    assert run("audit", "--transactions").envelope["findings"][0]["details"]["rollback"] == "safe"
    assert run("recover", "--transaction-id", entry.id, f"--{direction.value}").code == 0
    assert path.exists()
    assert (path.read_bytes() == b"") == (direction is Direction.ROLL_BACK)
    assert repaired(places).after.kind is Kind.INTACT
    with open_store(places) as store:
        assert len(given_up_by(store.log)) == 1


def test_a_witness_that_saw_a_head_which_was_given_up_is_not_cut_by_it_but_by_any_other(places):
    with open_store(places) as store:
        elsewhere = witnesses(store.vault, settings.load().witness)
        assert [each.name for each in elsewhere] == ["the vault"]
    seen = [SeenHead(head_of(places).size, head_root(places), is_external=True)]
    newest(places).unlink()
    assert verify(places, seen=seen).kind is not Kind.INTACT
    repaired(places)
    assert verify(places, seen=seen).kind is Kind.INTACT
    other = [SeenHead(seen[0].size + 9, seen[0].root, is_external=True)]
    assert [each.kind for each in verify(places, seen=other).damage] == [DamageKind.CUT]
    with open_store(places) as store:
        say(store, "I like tea.", "I like milk.")
    assert verify(places, seen=seen).kind is Kind.INTACT, "nor later, where the log has as many entries again"
    forked = [SeenHead(seen[0].size, b"r" * 32, is_external=True)]
    assert [each.kind for each in verify(places, seen=forked).damage] == [DamageKind.FORK]


@pytest.mark.parametrize("is_signed", [True, False])
def test_an_end_that_brought_in_another_signing_key_is_given_up_and_the_log_says_the_key_again(is_signed, places):
    with open_store(places) as store:
        rotate(store, random=os.urandom)
        if is_signed:
            sign(store)
    newest(places).unlink()
    assert repaired(places).after.kind is Kind.INTACT
    with open_store(places) as store:
        say(store, "I like tea.")
        assert sign(store).head.size == head_of(places).size
    assert verify(places, deep=True, known=audit.known(places, settings.load())).kind is Kind.INTACT


def test_from_a_checkpoint_on_a_head_that_was_given_up_below_it_is_not_missed(places):
    seen = [SeenHead(head_of(places).size, head_root(places), is_external=True)]
    for _ in range(2):
        newest(places).unlink()
    repaired(places)
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()
        memory.checkpoint()
    (checkpoint,) = heads.checkpoints(places)
    assert checkpoint.size < seen[0].size
    assert verify(places, from_checkpoint=checkpoint, seen=seen).kind is Kind.INTACT
    other = [SeenHead(seen[0].size, b"r" * 32, is_external=True)]
    assert [each.kind for each in verify(places, from_checkpoint=checkpoint, seen=other).damage] == [DamageKind.CUT]


def head_root(places: Places) -> bytes:
    found = kept.newest(places.vault / "witness" / HEADS, vault_keys(vault_of(places)))
    assert found is not None
    return found.head.root


def test_the_command_shows_it_first_and_does_it_when_it_is_confirmed(run, places):
    newest(places).unlink()
    shown = run("recover", "--log")
    assert (shown.data["given_up"]["first"], shown.data["given_up"]["end"]) == (3, 4)
    assert run("recover", "--log", "--give-up-end").data["done"] is False
    assert run("fold", "--full").code == 13
    assert run("fold", "--full").envelope["findings"][0]["remediation"] == "refold recover --log"
    done = run("recover", "--log", "--give-up-end", "--confirm", places.origin[:8])
    assert done.code == 0
    assert done.data["given_up"]["heads"]
    assert run("audit", "--deep").code == 0
    assert run("add", "I like tea.", "--user", "ada").code == 0
    assert run("checkpoint").code == 0
