"""A backup is the store of one moment, under a signed list; keys are another copy, for a recipient; the two never lie together."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from refold import files
from refold.copies import backup as backups
from refold.copies import escrow
from refold.copies.backup import backup, check
from refold.errors import Corrupt, KeyMissing, Usage
from refold.heads.configured import sign
from refold.heads.rotation import rotate
from refold.store import Places, Store, open_store
from tests.conftest import now
from tests.copies.conftest import EVERY, Recipient, as_store, recipient, whole
from tests.journal import CALLS, KILLED, changes_of, in_child, killing
from tests.log import Disk, say, texts


def made(store: Store, where: Path) -> backups.Backup:
    return backup(store.places, where, now=now, random=os.urandom)


def sealed_keys(store: Store, path: Path, to: Recipient) -> escrow.Escrow:
    return escrow.make(store.places, path, to.public, now=now, random=os.urandom)


def restored_keys(store: Store, folder: Path, path: Path, to: Recipient) -> Places:
    where = Places(store.places.store, folder / "vault", folder / "root", store.origin)
    escrow.restore(where, path, to.private, random=os.urandom)
    return where


def test_a_backup_holds_the_log_under_a_signed_list_and_can_be_read_like_a_store(store: Store, there: Path):
    say(store, "one")
    say(store, "two")
    done = made(store, there)
    assert set(whole(there)) == {"copy.json", "backup.json", *(file.path for file in done.files)}
    assert (done.entries, done.version) == (store.log.head.size, 2)
    with open_store(as_store(store.places, there)) as copy:
        assert texts(copy) == ["one", "two"]


def test_a_backup_made_while_a_writer_goes_on_holds_a_moment_of_it(store: Store, there: Path):
    say(store, "before")
    stop = threading.Event()

    def write() -> None:
        with open_store(store.places) as other:
            for number in range(200):
                if stop.is_set():
                    return
                say(other, f"event {number}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(4):
            done = made(store, there / f"{number}")
            with open_store(as_store(store.places, there / f"{number}")) as copy:
                said = texts(copy)
            assert said == ["before", *(f"event {at}" for at in range(len(said) - 1))]
            assert done.entries == copy.log.head.size
    finally:
        stop.set()
        writer.join()


def test_every_file_of_a_backup_that_changes_is_found(store: Store, there: Path):
    say(store, "one")
    done = made(store, there)
    for name, data in whole(there).items():
        if name == "copy.json":
            continue
        for changed in (data[:-1], data[:-1] + bytes([data[-1] ^ 1]), data + b"\0", None):
            (there / name).unlink() if changed is None else (there / name).write_bytes(changed)
            with pytest.raises((Corrupt, Usage)):
                check(there, public_keys=store.vault.public_keys)
            (there / name).write_bytes(data)
    assert check(there, public_keys=store.vault.public_keys) == done


def test_a_list_that_another_key_signed_is_refused(store: Store, there: Path):
    made(store, there)
    with pytest.raises(Corrupt, match="not signed"):
        check(there, public_keys=(bytes(32),))


def test_what_lies_unlisted_in_a_backup_is_no_part_of_it(store: Store, there: Path):
    done = made(store, there)
    (there / "log/parts/notes.txt").write_bytes(b"")
    assert check(there, public_keys=store.vault.public_keys) == done


def test_a_backup_is_made_once_and_never_of_a_damaged_log(store: Store, there: Path):
    say(store, "one")
    made(store, there)
    with pytest.raises(Usage, match="backup here already"):
        made(store, there)
    path = store.places.store / "log" / store.log.head.parts[0].path
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Corrupt, match="not what was signed"):
        made(store, there.with_name("another"))
    assert not (there.with_name("another") / "backup.json").exists()


def test_killed_at_any_change_there_is_a_whole_backup_or_none_and_the_next_run_makes_one(store: Store, tmp_path: Path):
    say(store, "one")
    count = changes_of(lambda: made(store, tmp_path / "model/copy"))
    wanted = set(whole(tmp_path / "model/copy"))
    none = 0
    for at in range(1, count + 1, EVERY):
        there = tmp_path / f"{at}/copy"
        assert in_child(lambda: made(store, there), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
        if (there / "backup.json").exists():
            check(there, public_keys=store.vault.public_keys)
        else:
            none += 1
            made(store, there)
        assert set(whole(there)) == wanted
    assert none > 20 // EVERY


def test_only_the_recipient_opens_an_escrow_copy_and_reads_the_log_with_it(store: Store, tmp_path: Path):
    say(store, "one")
    to, other, path = recipient(), recipient(), tmp_path / "safe/keys"
    assert sealed_keys(store, path, to).epoch == 1
    with pytest.raises(KeyMissing, match="another recipient"):
        restored_keys(store, tmp_path / "wrong", path, other)
    where = restored_keys(store, tmp_path / "new", path, to)
    with open_store(where) as again:
        assert texts(again) == ["one"]
        say(again, "two")
    with open_store(store.places) as first:
        assert texts(first) == ["one", "two"]


def test_what_the_witness_saw_goes_along_with_the_keys(store: Store, tmp_path: Path):
    to, path = recipient(), tmp_path / "safe/keys"
    files.make_folder(store.places.vault / "witness/heads")
    files.create(store.places.vault / "witness/heads/00000000000000000001.note", b"a head")
    sealed_keys(store, path, to)
    where = restored_keys(store, tmp_path / "new", path, to)
    assert (where.vault / "witness/heads/00000000000000000001.note").read_bytes() == b"a head"


def test_nothing_of_the_keys_is_in_the_clear(store: Store, tmp_path: Path):
    sealed_keys(store, tmp_path / "safe/keys", recipient())
    raw = (tmp_path / "safe/keys").read_bytes()
    for secret in (store.keyring.state_key, store.keyring.attest_key, store.keyring.suppress_key):
        assert secret not in raw
        assert secret.hex().encode() not in raw
    for path in [*store.places.vault.rglob("*"), *store.places.root.rglob("*")]:
        if path.is_file() and path.stat().st_size:
            assert path.read_bytes() not in raw


def test_keys_come_back_with_the_heads_that_were_seen_and_every_key_that_signed(store: Store, tmp_path: Path):
    say(store, "one")
    sign(store)
    rotate(store, random=os.urandom)
    say(store, "two")
    sign(store)
    to = recipient()
    sealed_keys(store, tmp_path / "safe/keys", to)
    where = restored_keys(store, tmp_path / "back", tmp_path / "safe/keys", to)
    assert whole(where.vault / "witness") == whole(store.vault.path / "witness")
    with open_store(where) as again:
        assert again.vault.public_keys == store.vault.public_keys
        say(again, "three")


def test_what_others_left_among_the_keys_is_named_and_keeps_no_key_from_coming_back(store: Store, tmp_path: Path):
    strays = [
        store.places.vault / name for name in ("signing/.DS_Store", "signing/000001.key~", "witness/Notes.txt", "witness/heads/a/b/c.note")
    ]
    for path in strays:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    to = recipient()
    made = sealed_keys(store, tmp_path / "safe/keys", to)
    assert sorted(made.left_out) == sorted(strays)
    where = restored_keys(store, tmp_path / "again", tmp_path / "safe/keys", to)
    kept = {path.relative_to(store.places.vault) for path in store.places.vault.rglob("*.key")}
    assert {path.relative_to(where.vault) for path in where.vault.rglob("*.key")} == kept


def test_an_escrow_copy_that_was_changed_anywhere_is_refused(store: Store, tmp_path: Path):
    to, path = recipient(), tmp_path / "safe/keys"
    sealed_keys(store, path, to)
    raw = path.read_bytes()
    for at in [*range(0, len(raw), 7), len(raw) - 1]:
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        with pytest.raises((Corrupt, Usage, KeyMissing)):
            restored_keys(store, tmp_path / "new", path, to)
    for at in range(0, len(raw), 13):
        path.write_bytes(raw[:at])
        with pytest.raises((Corrupt, Usage)):
            restored_keys(store, tmp_path / "new", path, to)
    assert not (tmp_path / "new").exists()


def test_a_forged_escrow_copy_writes_nowhere_but_into_the_vault(store: Store, tmp_path: Path):
    from refold.keys import crypto

    to, path = recipient(), tmp_path / "safe/keys"
    real = sealed_keys(store, path, to)
    beginning = escrow._beginning(real)
    for name in ("witness/../../out", "../out", "/out", "keys/../out", "journal/x"):
        forged = escrow._packed(bytes(32), {name: b"x"})
        path.write_bytes(beginning + crypto.seal_to(real.recipient, forged, beginning))
        with pytest.raises(Corrupt):
            restored_keys(store, tmp_path / "new", path, to)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "new").exists()


def test_killed_at_any_change_a_restore_of_keys_is_gone_on_with(store: Store, tmp_path: Path):
    say(store, "one")
    to, path = recipient(), tmp_path / "safe/keys"
    sealed_keys(store, path, to)
    count = changes_of(lambda: restored_keys(store, tmp_path / "model", path, to))
    for at in range(1, count + 1, EVERY):
        killed = in_child(lambda: restored_keys(store, tmp_path / f"{at}", path, to), Disk(killing(at), calls=CALLS))  # noqa: B023
        assert killed == KILLED
        where = Places(store.places.store, tmp_path / f"{at}/vault", tmp_path / f"{at}/root", store.origin)
        if (where.vault / "keys/epoch-000001/SEALED").exists():
            with pytest.raises(Usage, match="keyring here already"):
                restored_keys(store, tmp_path / f"{at}", path, to)
        else:
            restored_keys(store, tmp_path / f"{at}", path, to)
        with open_store(where) as again:
            assert texts(again) == ["one"]


def test_keys_are_restored_to_an_empty_vault_only(store: Store, tmp_path: Path):
    to, path = recipient(), tmp_path / "safe/keys"
    sealed_keys(store, path, to)
    files.make_folder(tmp_path / "new/vault")
    (tmp_path / "new/vault/notes").write_bytes(b"mine")
    with pytest.raises(Usage, match="empty"):
        restored_keys(store, tmp_path / "new", path, to)


def test_store_and_keys_refuse_to_be_copied_into_one_another_or_into_one_place(store: Store, tmp_path: Path):
    to, disk = recipient(), tmp_path / "disk"
    made(store, disk / "backup")
    for path in (disk / "backup/keys", disk / "backup/log/keys", disk / "keys"):
        with pytest.raises(Usage, match="must not"):
            sealed_keys(store, path, to)
    sealed_keys(store, tmp_path / "safe/keys", to)
    for where in (tmp_path / "safe/backup", tmp_path / "safe/keys"):
        with pytest.raises(Usage):
            made(store, where)
    for place in (store.places.store, store.places.vault, store.places.root):
        with pytest.raises(Usage, match="must not lie"):
            made(store, place / "backup")
        with pytest.raises(Usage, match="must not lie"):
            sealed_keys(store, place / "keys", to)
    with pytest.raises(Usage, match="lies beside"):
        sealed_keys(store, store.places.store.parent / "keys", to)


def test_an_escrow_copy_replaces_nothing(store: Store, tmp_path: Path):
    sealed_keys(store, tmp_path / "safe/keys", recipient())
    with pytest.raises(Usage, match="replaces nothing"):
        sealed_keys(store, tmp_path / "safe/keys", recipient())


@pytest.mark.parametrize("pem", [b"", b"not a key", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_what_is_no_public_key_is_refused(store: Store, tmp_path: Path, pem: bytes):
    with pytest.raises(Usage, match="X25519 public key"):
        escrow.make(store.places, tmp_path / "safe/keys", pem, now=now, random=os.urandom)


def test_the_command_wants_either_a_folder_or_keys_with_a_recipient(store: Store, tmp_path: Path, capsys: Any):
    from refold.cli import main

    places = store.places
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root), "--format", "json"]
    to = recipient()
    files.make_folder(tmp_path / "safe")
    (tmp_path / "safe/public.pem").write_bytes(to.public)
    keys = ["--keys", str(tmp_path / "safe/keys"), "--recipient", str(tmp_path / "safe/public.pem")]
    for wrong in ([], ["x", *keys], keys[:2], ["x", *keys[2:]]):
        assert main(["backup", *wrong, *where]) == 2
    capsys.readouterr()
    assert main(["backup", *keys, *where]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["data"]["keys"]["epoch"] == 1
    assert main(["backup", str(tmp_path / "disk/b"), *where]) == 0
