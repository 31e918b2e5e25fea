"""A reset takes away what Refold made and nothing else, in one transaction, and can be interrupted anywhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from refold import files, journal
from refold.errors import Blocked, Drifted, Locked, StoreMissing, Usage
from refold.journal import Direction
from refold.memory import Memory
from refold.recover import reset as reset_module
from refold.recover.reset import RESET, reset, survey
from refold.store import Places, open_store
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, left, stopped_after, tree, unsynced
from tests.log import Disk
from tests.recover.conftest import fill
from tests.recover.spoils import stop


def gone(places: Places) -> bool:
    return not (places.store.exists() or places.vault.exists() or places.root.exists())


def make_debris(places: Places) -> None:
    """Leave what interrupted writers leave, and a home of Prefect's."""
    (places.store / "log/parts/.tmp-0123456789abcdef").write_bytes(b"half")
    (places.store / "state/runs" / ("ab" * 16)).write_bytes(b"nobody's")
    (places.store / "prefect/storage/a b").mkdir(parents=True)
    (places.store / "prefect/storage/a b/Übergabe.json").write_bytes(b"{}")


def test_everything_that_refold_made_goes(places: Places):
    make_debris(places)
    with unsynced():
        done = reset(places, confirm=places.origin[:6])
    assert gone(places)
    assert len(done.files) > 20


def test_folders_that_an_earlier_release_made_are_no_hindrance(places: Places):
    for name in ("calls/commits", "calls/parts", "checkpoints", "receipts"):
        (places.store / name).mkdir(parents=True, exist_ok=True)
    with open_store(places) as store:
        assert store.log.head.size
    reset(places, confirm=places.origin)
    assert gone(places)


def test_a_preview_counts_and_changes_nothing(places: Places, run):
    was = tree(places.store.parent)
    said = run("reset")
    assert (said.code, said.data["done"], said.data["unexpected"]) == (0, False, [])
    assert said.data["origin"] == places.origin
    assert {place: one["files"] > 0 for place, one in said.data["places"].items()} == {"store": True, "vault": True, "root": True}
    assert tree(places.store.parent) == was


def test_the_command_does_it_once_it_is_confirmed(places: Places, run):
    assert run("reset", "--confirm", places.origin[:8]).data["done"] is True
    assert gone(places)
    assert run("reset").code == 2
    assert run("init").code == 0


@pytest.mark.parametrize("wrong", ["", "0", "zzzzzzzz", "{origin}0", "{short}"])
def test_what_does_not_confirm_it_does_nothing(wrong: str, places: Places):
    was = tree(places.store.parent)
    with pytest.raises(Usage):
        reset(places, confirm=wrong.format(origin=places.origin, short=places.origin[:5]))
    assert tree(places.store.parent) == was


STRANGE = [
    "store/notes.txt", "store/log/parts/notes.txt", "store/log/commits/00000000000000000001.txt", "store/state/runs/notes",
    "store/state/CURRENT.bak", "store/journal/x", "vault/keys/epoch-000001/notes", "vault/passwords", "vault/witness/other.json",
    "root/id_ed25519", "root/root.000001.bak",
]  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_what_refold_did_not_make_stops_it_and_is_named(name: str, places: Places, run):
    path = places.store.parent / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"mine")
    assert str(path) in run("reset").data["unexpected"]
    was = tree(places.store.parent)
    said = run("reset", "--confirm", places.origin)
    assert said.code == 14
    (finding,) = said.envelope["findings"]
    assert Path(finding["path"]) in (path, path.parent)
    assert tree(places.store.parent) == was


@pytest.mark.parametrize("name", ["store/log", "store/state/CURRENT", "vault/keys/epoch-000001/seeds", "root/root.000001"])
def test_a_link_in_the_place_of_anything_stops_it(name: str, places: Places, tmp_path: Path):
    path = tmp_path / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    was = tree(tmp_path)
    assert path in survey(places).unexpected
    with pytest.raises(Drifted):
        reset(places, confirm=places.origin)
    assert tree(tmp_path) == was


def test_it_is_refused_while_something_is_unfinished(places: Places):
    stop(places)
    was = tree(places.store)
    with pytest.raises(Blocked):
        reset(places, confirm=places.origin)
    assert tree(places.store) == was


@pytest.mark.parametrize("lock", ["mutate.lock", "readers.lock"])
def test_it_waits_for_whoever_changes_or_reads(lock: str, places: Places, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reset_module, "LOCK_SECONDS_MAX", 0)
    was = tree(places.store)
    with files.lock(places.vault / lock, exclusive=False), pytest.raises(Locked):
        reset(places, confirm=places.origin)
    assert tree(places.store) == was


def test_where_there_is_no_store_there_is_nothing_to_take_away(tmp_path: Path):
    places = Places(tmp_path / "store", tmp_path / "vault", tmp_path / "root", "ab" * 16)
    with pytest.raises(StoreMissing):
        reset(places, confirm=places.origin)
    assert list(tmp_path.iterdir()) == []


def lose_the_root(places: Places) -> None:
    for path in places.root.iterdir():
        path.unlink()
    places.root.rmdir()


def lose_the_vault(places: Places) -> None:
    for path in sorted(places.vault.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    places.vault.rmdir()


def damage_the_log(places: Places) -> None:
    for path in (places.store / "log/commits").iterdir():
        path.write_bytes(b"")


@pytest.mark.parametrize("loss", [lose_the_root, lose_the_vault, damage_the_log])
def test_a_store_that_cannot_be_opened_can_be_taken_away(loss: Callable[[Places], None], places: Places):
    loss(places)
    with unsynced():
        reset(places, confirm=places.origin)
    assert gone(places)


def test_appends_wait_while_a_reset_is_unfinished_and_it_can_only_be_completed(tmp_path: Path):
    places = fill(tmp_path)
    assert stopped_after(lambda: reset(places, confirm=places.origin), 8) == KILLED
    (entry,) = left(places)
    with pytest.raises(Blocked):
        journal.require_appendable(places)
    inspection = journal.inspect(places, entry.id)
    assert (inspection.is_safe(Direction.COMPLETE), inspection.is_safe(Direction.ROLL_BACK)) == (True, False)


def stop_once_recorded(places: Places) -> None:
    """Record the reset as a transaction, and die before anything is removed."""
    from refold.journal import carry

    carry.forward = lambda *rest: os._exit(0)  # ty: ignore[invalid-assignment]
    reset(places, confirm=places.origin)


def test_a_reset_that_removed_nothing_yet_can_be_rolled_back(tmp_path: Path):
    places = fill(tmp_path)
    assert in_child(lambda: stop_once_recorded(places), Disk(killing(0), calls=CALLS)) == 0
    (entry,) = left(places)
    assert entry.journal is not None
    assert entry.journal.kind == RESET.name
    journal.recover(places, entry.id, Direction.ROLL_BACK)
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        assert memory.facts(user_id="ada")


@pytest.mark.slow
def test_killed_at_any_change_it_is_completed_and_run_again_to_the_same_end(tmp_path: Path):
    model = fill(tmp_path / "model")
    count = changes_of(lambda: reset(model, confirm=model.origin))
    assert gone(model)
    completed = 0
    for at in range(1, count + 1, 5):
        places = fill(tmp_path / f"{at}")
        assert in_child(lambda: reset(places, confirm=places.origin), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
        if left(places):
            (entry,) = left(places)
            with unsynced():
                journal.recover(places, entry.id, Direction.COMPLETE)
            completed += 1
        if (places.store / "store.json").exists():
            with unsynced():
                reset(places, confirm=places.origin)
        assert not any(path.is_file() for path in (tmp_path / f"{at}").rglob("*"))
    assert completed > 5


def test_what_comes_into_a_folder_meanwhile_stops_it_where_it_is(tmp_path: Path):
    places = fill(tmp_path)
    assert stopped_after(lambda: reset(places, confirm=places.origin), 8) == KILLED
    (places.store / "log/commits/mine").write_bytes(b"mine")
    (entry,) = left(places)
    was = tree(tmp_path)
    with pytest.raises(Drifted):
        journal.recover(places, entry.id, Direction.COMPLETE)
    assert tree(tmp_path) == was
    assert files.look(places.store / "log/commits/mine")
