"""The three places: made once, found again, and refused with one clear error where something is not as it should be."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from refold import canonical, files
from refold.errors import Corrupt, KeyMissing, Locked, RefoldError, StoreMissing, UnsupportedVersion, Usage
from refold.keys.vault import PIN
from refold.store import Places, Store, create, open_store
from refold.store import places as find_places
from tests.conftest import now
from tests.log import CALLS, Disk, say, texts


def test_a_new_store_is_empty_and_can_be_opened(places: Places):
    with create(places, now=now) as store:
        assert (store.log.head.size, store.log.head.version, store.keyring.epoch) == (0, 0, 1)
        origin = store.origin
    with open_store(places) as again:
        assert again.origin == origin


def test_a_store_keeps_itself_out_of_git(store: Store):
    assert (store.places.store / ".gitignore").read_bytes() == b"*\n"


def test_the_layout_is_the_documented_one(store: Store):
    assert sorted(path.name for path in store.places.store.iterdir()) == [
        ".gitignore", "log", "state", "store.json",
    ]  # fmt: skip
    assert sorted(path.name for path in store.places.root.iterdir()) == ["root.000001"]


def test_a_second_store_at_the_same_place_is_refused(store: Store):
    with pytest.raises(Usage, match="a store already"):
        create(store.places, now=now)


def test_a_vault_serves_one_store(store: Store, tmp_path: Path):
    with pytest.raises(Usage, match="another store"):
        create(find_places(tmp_path / "second", store.places.vault, store.places.root, env={}), now=now)
    assert not (tmp_path / "second" / "store.json").exists()


def test_a_store_is_opened_with_its_own_vault_only(store: Store, tmp_path: Path):
    other = find_places(tmp_path / "s2", tmp_path / "v2", tmp_path / "r2", env={})
    create(other, now=now).close()
    with pytest.raises(Usage, match="different logs"):
        open_store(find_places(store.places.store, other.vault, other.root, env={}))


def test_a_store_json_that_names_another_log_than_lies_beside_it_is_damage(store: Store, tmp_path: Path):
    other = find_places(tmp_path / "s2", tmp_path / "v2", tmp_path / "r2", env={})
    create(other, now=now).close()
    path = store.places.store / "store.json"
    path.write_bytes((other.store / "store.json").read_bytes())
    with pytest.raises(Corrupt, match="another log than the commits beside it") as caught:
        open_store(find_places(store.places.store, store.places.vault, store.places.root, env={}))
    assert caught.value.path == str(path)


def test_where_no_store_is_none_is_made(places: Places):
    with pytest.raises(StoreMissing) as error:
        open_store(places)
    assert error.value.hint == "refold init"
    assert not places.store.exists()


def test_a_lost_vault_is_a_missing_key(store: Store):
    shutil.rmtree(store.places.vault)
    with pytest.raises(KeyMissing, match="vault"):
        open_store(store.places)


def test_a_lost_root_is_final_and_says_so(store: Store):
    shutil.rmtree(store.places.root)
    with pytest.raises(KeyMissing, match="a lost root is final"):
        open_store(store.places)


def test_a_lost_signing_key_lets_read_and_not_write(store: Store):
    say(store, "before")
    shutil.rmtree(store.places.vault / "signing")
    with open_store(store.places) as again:
        assert texts(again) == ["before"]
        with pytest.raises(KeyMissing, match="signing key"):
            say(again, "after")


def test_a_swapped_signing_key_is_found(store: Store):
    path = store.places.vault / "signing" / "000001.key"
    path.write_bytes(bytes(32))
    with open_store(store.places) as again, pytest.raises(Corrupt, match="pinned"):
        say(again, "after")


@pytest.mark.parametrize("damage", [b"", b"{}", b"\x00\x01", b'{"format":"refold.store/1"}', b'{"format":"refold.store/1","origin":7}'])
def test_a_damaged_store_json_is_named(store: Store, damage: bytes):
    path = store.places.store / "store.json"
    path.write_bytes(damage)
    with pytest.raises(Corrupt) as error:
        open_store(store.places)
    assert error.value.path == str(path)


def test_a_store_of_a_later_version_is_refused_by_name(store: Store):
    document = {"format": "refold.store/2", "origin": store.origin}
    (store.places.store / "store.json").write_bytes(canonical.encode(document))
    with pytest.raises(UnsupportedVersion, match=r"refold\.store/2"):
        open_store(store.places)


def test_a_damaged_pin_is_named(store: Store):
    (store.places.vault / PIN).write_bytes(b"{}")
    with pytest.raises(Corrupt, match="pinned"):
        open_store(store.places)


def test_a_pinned_key_of_another_log_opens_no_keyring(store: Store):
    pin = canonical.decode((store.places.vault / PIN).read_bytes())
    (store.places.vault / PIN).write_bytes(canonical.encode(pin | {"public_key": "00" * 32}))
    with pytest.raises(RefoldError):
        open_store(store.places)


def test_a_store_may_be_moved(store: Store, tmp_path: Path):
    say(store, "before")
    shutil.move(store.places.store, tmp_path / "elsewhere")
    with open_store(find_places(tmp_path / "elsewhere", store.places.vault, store.places.root, env={})) as moved:
        assert texts(moved) == ["before"]


def test_a_place_that_is_a_file_is_a_mistake(tmp_path: Path):
    (tmp_path / "store").write_bytes(b"")
    where = find_places(tmp_path / "other", tmp_path / "vault", tmp_path / "root", env={})
    with pytest.raises(Usage):
        create(Places(tmp_path / "store", where.vault, where.root, where.origin), now=now)


@pytest.mark.parametrize(
    ("store", "vault", "root"),
    [("s", "s/v", "r"), ("s", "v", "s/r"), ("s", "v", "v/r"), ("s", "v", "v"), ("v/s", "v", "r"), ("s", "r/v", "r")],
)
def test_places_within_each_other_are_refused(tmp_path: Path, store: str, vault: str, root: str):
    """Whoever copies the store must not copy its keys along."""
    with pytest.raises(Usage, match="within each other"):
        create(find_places(tmp_path / store, tmp_path / vault, tmp_path / root, env={}), now=now)
    assert list(tmp_path.iterdir()) == []


def test_two_that_make_a_store_at_once_do_not_meet(places: Places):
    files.make_folder(places.store)
    with files.lock(places.store), pytest.raises(Locked):
        create(places, now=now)


def test_the_places_come_from_arguments_then_variables_then_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    default = find_places(env={})
    assert default.store == tmp_path / "memory"
    assert default.vault == tmp_path / "state" / "refold" / default.origin
    assert default.root == tmp_path / "config" / "refold" / default.origin
    env = {"REFOLD_STORE": "s", "REFOLD_VAULT": "v", "REFOLD_ROOT": "r"}
    named = find_places(env=env)
    assert (named.store, named.vault, named.root) == (tmp_path / "s", tmp_path / "v", tmp_path / "r")
    assert find_places("a", "b", "c", env=env).store == tmp_path / "a"


def test_the_users_folders_are_found_again_by_the_stores_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with create(find_places(tmp_path / "store", env={}), now=now) as store:
        say(store, "before")
    with open_store(find_places(tmp_path / "store", env={})) as again:
        assert texts(again) == ["before"]


@pytest.mark.slow
def test_killed_at_any_system_call_of_init_the_next_init_completes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for vault, start in ((None, 1), ("vault", 4)):
        for at in range(start, 400, 6):
            name = f"{vault}-{at}"
            where = find_places(tmp_path / name, vault and tmp_path / f"v{name}", vault and tmp_path / f"r{name}", env={})
            if not killed_while_making(where, at):
                break
            where = find_places(tmp_path / name, vault and where.vault, vault and where.root, env={})
            try:
                store = open_store(where)
            except (StoreMissing, KeyMissing):
                store = create(where, now=now)
            with store:
                say(store, "hello")
                assert texts(store) == ["hello"]
        assert at > 60


def killed_while_making(where: Places, at: int) -> bool:
    child = os.fork()
    if child == 0:

        def step(number: int, name: str, call):
            if number == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return call()

        files.os = Disk(step, calls=CALLS)  # ty: ignore[invalid-assignment]
        create(where, now=now)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0
