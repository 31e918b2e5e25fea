"""A restore checks everything first, makes a store of a copy at an empty place, and says what was given up."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from refold import canonical, files, journal, settings
from refold.cli import main
from refold.copies import restore as restores
from refold.copies.backup import backup
from refold.copies.mirror import mirror
from refold.copies.restore import plan, restore
from refold.errors import Corrupt, KeyMissing, Usage
from refold.heads.rotation import rotate
from refold.keys.signing import follower
from refold.keys.vault import open_vault
from refold.log import entry, parts
from refold.log.head import newest
from refold.memory import Memory
from refold.model import EntryKind
from refold.recover import heads
from refold.recover.verify import verify
from refold.store import Places, Store, open_store
from refold.verdict import Kind, SeenHead
from tests.conftest import now
from tests.copies.conftest import EVERY, as_store, whole
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, left, stopped_after, tree
from tests.log import Disk, say, texts


def head_of(store: Store) -> SeenHead:
    head = store.log.head
    return SeenHead(head.size, restores.root_at(store.log.place, head, head.size), is_external=False)


def restored(places: Places, source: Path, seen: list[SeenHead]) -> restores.Restoration | None:
    return restore(places, source, confirm=places.origin[:6], seen=seen, now=now, random=os.urandom)


@pytest.fixture
def older(store: Store, there: Path) -> tuple[Path, SeenHead]:
    """A backup that holds two events of three, and the head that was seen after the third."""
    say(store, "one")
    say(store, "two")
    backup(store.places, there, now=now, random=os.urandom)
    say(store, "three")
    return there, head_of(store)


def new_place(store: Store, tmp_path: Path, name: str = "new") -> Places:
    """Return places with a store that is to be, and the vault as it is now."""
    shutil.copytree(store.places.vault, tmp_path / name / "vault", dirs_exist_ok=True)
    return Places(tmp_path / name / "store", tmp_path / name / "vault", store.places.root, store.origin)


def control(store: Store) -> list[dict[str, Any]]:
    """Return the bodies of the restored entries of a log."""
    found = []
    for rows in store.log.rows():
        for at, (header, payload) in enumerate(zip(rows.headers(), rows.payloads(), strict=True)):
            if header[1] == EntryKind.RESTORED:
                assert payload is not None
                found.append(entry.control_body(payload, rows.first + at))
    return found


def test_the_newest_backup_comes_back_whole_and_without_an_entry(store: Store, there: Path, tmp_path: Path):
    say(store, "one")
    backup(store.places, there, now=now, random=os.urandom)
    where = new_place(store, tmp_path)
    done = restored(where, there, [head_of(store)])
    assert done is not None
    assert done.lost is None
    with open_store(where) as again:
        assert again.log.head.digest == store.log.head.digest
        say(again, "two")
        assert texts(again) == ["one", "two"]


def test_an_older_backup_lists_what_is_lost_and_signs_what_it_gives_up(store: Store, older: tuple[Path, SeenHead], tmp_path: Path):
    source, seen = older
    where = new_place(store, tmp_path)
    found = plan(where, source, seen=[seen], random=os.urandom)
    assert found.lost == (found.head.size, seen.size)
    assert not where.store.exists()
    restored(where, source, [seen])
    with open_store(where) as again:
        assert texts(again) == ["one", "two"]
        assert control(again) == [{"abandoned_root": seen.root.hex(), "abandoned_size": seen.size}]
        assert again.log.head.commit.control == ((again.log.head.size - 1, EntryKind.RESTORED),)
        say(again, "four")
        assert texts(again) == ["one", "two", "four"]


def test_the_vaults_witness_takes_the_shorter_log_for_a_successor_and_not_for_a_fork(tmp_path: Path, there: Path):
    with Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as memory:
        memory.add("I live in Berlin.", user_id="ada")
        memory.fold()
        backup(memory.places, there, now=now, random=os.urandom)
        memory.add("I work at Siemens.", user_id="ada")
        memory.fold()  # signs a head, which the vault remembers
        places = memory.places
    shutil.rmtree(places.store)
    seen = heads.known(places, settings.load({})).seen
    assert max(each.size for each in seen) == 3
    done = restored(places, there, list(seen))
    assert done is not None
    assert done.lost == (2, 3)
    assert verify(places, deep=True, seen=heads.known(places, settings.load({})).seen).kind is Kind.INTACT
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I own a boat.", user_id="ada")
        assert memory.fold().checkpoint is not None
    seen = heads.known(places, settings.load({})).seen
    assert verify(places, deep=True, seen=seen).kind is Kind.INTACT
    assert max(each.size for each in seen) == 4
    assert len(list((places.vault / "witness/abandoned").iterdir())) == 1


def test_a_mirror_can_be_made_a_store_too(store: Store, there: Path, tmp_path: Path):
    say(store, "one")
    mirror(store.places, there)
    where = new_place(store, tmp_path)
    assert restored(where, there, restores.heads_seen(where, [there])) is not None
    with open_store(where) as again:
        assert texts(again) == ["one"]
        say(again, "two")


def test_what_a_mirror_holds_more_is_known_to_be_lost(store: Store, older: tuple[Path, SeenHead], tmp_path: Path):
    _, seen = older
    mirror(store.places, tmp_path / "mirrors/a")
    where = new_place(store, tmp_path)
    assert restores.heads_seen(where, [tmp_path / "mirrors/a", tmp_path / "mirrors/none"]) == [seen]


def test_a_copy_of_another_history_than_was_seen_is_refused(store: Store, older: tuple[Path, SeenHead], tmp_path: Path):
    source, _ = older
    where = new_place(store, tmp_path)
    with pytest.raises(Corrupt, match="another history"):
        plan(where, source, seen=[SeenHead(2, bytes(32), is_external=False)], random=os.urandom)
    assert not where.store.exists()


@pytest.mark.parametrize("name", ["log/parts", "log/commits", "store.json", "backup.json"])
def test_everything_is_checked_before_anything_is_written(store: Store, older: tuple[Path, SeenHead], tmp_path: Path, name: str):
    source, seen = older
    path = max((source / name).iterdir()) if (source / name).is_dir() else source / name
    path.write_bytes(path.read_bytes()[:-1])
    where = new_place(store, tmp_path)
    with pytest.raises(Corrupt):
        restored(where, source, [seen])
    assert not where.store.exists()


@pytest.mark.parametrize("is_seen", [True, False], ids=["seen", "unseen"])
def test_a_backup_from_before_another_signing_key_comes_back_and_says_the_keys_again(store, older, tmp_path, is_seen):
    source, _ = older
    rotate(store, random=os.urandom)
    rotate(store, random=os.urandom)
    where, seen = new_place(store, tmp_path), [head_of(store)] if is_seen else []
    found = plan(where, source, seen=seen, random=os.urandom)
    assert len(found.keys) == 2
    assert found.lost == ((found.head.size, seen[0].size) if is_seen else None)
    restored(where, source, seen)
    with open_store(where) as again:
        assert texts(again) == ["one", "two"]
        (body,) = control(again)
        first = open_vault(where.vault, where.root, random=os.urandom).public_keys[0]
        told = [first]
        for number, said in enumerate(body["keys"], 2):
            told.append(follower(canonical.encode(said), where.origin, number, told[-1]))
        assert tuple(told) == again.vault.public_keys, "whoever has the log and the first key can follow"
        say(again, "four")
    assert verify(where, deep=True, seen=seen).kind is Kind.INTACT


def test_an_interrupted_restore_is_not_taken_for_that_of_another_copy(store, older, tmp_path):
    source, seen = older
    other = tmp_path / "elsewhere/newer"
    backup(store.places, other, now=now, random=os.urandom)
    say(store, "four")
    where, beyond = new_place(store, tmp_path), [seen, head_of(store)]
    assert stopped_after(lambda: restored(where, source, beyond), 1) == KILLED
    assert not (where.store / "store.json").exists()
    with pytest.raises(Usage, match="another copy"):
        restored(where, other, beyond)
    assert restored(where, source, beyond) is None
    with open_store(where) as again:
        assert texts(again) == ["one", "two"]


def test_a_place_that_is_not_empty_is_refused_and_left_alone(store: Store, older: tuple[Path, SeenHead], tmp_path: Path):
    source, seen = older
    with pytest.raises(Usage, match="empty place"):
        restored(store.places, source, [seen])
    where = new_place(store, tmp_path)
    files.make_folder(where.store)
    (where.store / "thesis.tex").write_bytes(b"mine")
    was = tree(where.store)
    with pytest.raises(Usage, match="empty place"):
        restored(where, source, [seen])
    assert tree(where.store) == was


def test_without_its_keys_nothing_is_restored(store: Store, older: tuple[Path, SeenHead], tmp_path: Path):
    source, seen = older
    where = Places(tmp_path / "new/store", tmp_path / "nowhere", store.places.root, store.origin)
    with pytest.raises(KeyMissing, match="they come back first") as refused:
        plan(where, source, seen=[seen], random=os.urandom)
    assert refused.value.hint == "refold restore --keys FILE --identity FILE"
    with pytest.raises(KeyMissing):
        restored(where, source, [seen])


def test_the_command_on_an_empty_machine_says_that_the_keys_come_first(older: tuple[Path, SeenHead], tmp_path: Path, capsys):
    source, _ = older
    where = [f"--{place}={tmp_path / 'new' / place}" for place in ("store", "vault", "root")]
    assert main(["restore", str(source), *where, "--format", "json"]) == 12
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["remediation"] == "refold restore --keys FILE --identity FILE"
    assert not (tmp_path / "new").exists()


def test_a_backup_made_under_a_fence_keeps_it(store: Store, there: Path, tmp_path: Path):
    say(store, "one")
    store.log.fence(now=now, random=os.urandom)
    backup(store.places, there, now=now, random=os.urandom)
    where = new_place(store, tmp_path)
    beyond = SeenHead(store.log.head.size + 1, bytes(32), is_external=False)
    restored(where, there, [beyond])
    with open_store(where) as again:
        assert again.log.head.fence == 2
        again.log.lift(now=now, random=os.urandom)
        say(again, "two")


@pytest.mark.parametrize("confirm", ["", "00000", "zzzzzzzz"])
def test_it_has_to_be_confirmed(store: Store, older: tuple[Path, SeenHead], tmp_path: Path, confirm: str):
    source, seen = older
    with pytest.raises(Usage, match="origin"):
        restore(new_place(store, tmp_path), source, confirm=confirm, seen=[seen], now=now, random=os.urandom)


def test_killed_at_any_change_it_is_no_store_or_the_whole_one_and_run_again_ends_the_same(
    store: Store, older: tuple[Path, SeenHead], tmp_path: Path
):
    source, seen = older
    model = new_place(store, tmp_path, "model")
    count = changes_of(lambda: restored(model, source, [seen]))
    wanted = shape(model)
    half = completed = 0
    for at in range(1, count + 1, EVERY):
        where = new_place(store, tmp_path, f"{at}")
        assert in_child(lambda: restored(where, source, [seen]), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
        half += not (where.store / "store.json").exists()
        if not (where.store / "store.json").exists() or left(where):
            completed += restored(where, source, [seen]) is None
        with open_store(where) as again:
            assert texts(again) == ["one", "two"]
            assert control(again) == [{"abandoned_root": seen.root.hex(), "abandoned_size": seen.size}]
        assert shape(where) == wanted
        with journal.mutating(where):
            pass  # nothing is unfinished
    assert half > 20 // EVERY
    assert completed > 3 // EVERY


def shape(places: Places) -> list[str]:
    """Return the names in a store that do not depend on what was drawn, and the head's shape."""
    names = [name for name in whole(places.store) if "parts/" not in name and name != "log/turn"]
    with open_store(places) as store:
        return [*names, str((store.log.head.version, store.log.head.size, len(store.log.head.parts)))]


def test_the_commands_show_first_and_do_it_when_it_is_confirmed(store: Store, older: tuple[Path, SeenHead], tmp_path: Path, capsys: Any):
    from refold.cli import main

    source, _ = older
    where = new_place(store, tmp_path)
    argv = ["restore", str(source), "--store", str(where.store), "--vault", str(where.vault), "--root", str(where.root), "--format", "json"]
    assert main(argv) == 0
    said = json.loads(capsys.readouterr().out)["data"]["restore"]
    assert (said["done"], said["kind"], where.store.exists()) == (False, "backup", False)
    assert main([*argv, "--confirm", store.origin[:8]]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["restore"]["done"] is True
    with open_store(where) as again:
        assert texts(again) == ["one", "two"]
    assert main([*argv, "--confirm", store.origin[:8]]) == 2
    assert main(["restore", str(tmp_path), *argv[2:]]) == 2


def test_the_root_that_is_named_is_the_tree_of_what_was_there(store: Store):
    say(store, "one")
    head = newest(store.log.place)
    hashes = [each for part in head.parts for each in parts.read(store.log.place.folder, part).hashes()]
    from refold.log.tree import root

    assert head_of(store).root == root(hashes)
    assert as_store(store.places, store.places.store) == store.places
