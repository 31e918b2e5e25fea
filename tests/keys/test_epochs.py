"""Keyrings on disk: whole once SEALED is there, opened by their root alone, and never half believed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from refold import canonical, files
from refold.errors import Corrupt, KeyMissing, RefoldError, UnsupportedVersion, WriteFailed
from refold.keys import crypto, epochs
from refold.keys.keyring import Keyring, Secrets
from refold.keys.roots import FileRoots
from refold.model import SubjectId
from tests.journal import CALLS
from tests.log import Disk

ORIGIN = "ab" * 16
SIGNER = crypto.Signer(bytes(range(32)))
DRAW = Random(1)
SUBJECTS = [SubjectId(DRAW.randbytes(16)) for _ in range(30)]


class Epochs:
    """Two epochs in a folder, the second with explicit secrets."""

    def __init__(self, folder: Path) -> None:
        self.keys, self.root = folder / "keys", folder / "root"
        self.roots = FileRoots(self.root, DRAW.randbytes)
        self.first = Secrets.fresh(random=DRAW.randbytes)
        self.write(self.first)
        epochs.seal(self.keys, 1, origin=ORIGIN, signer=SIGNER)

    def write(self, secrets: Secrets) -> None:
        epochs.write(self.keys, secrets, origin=ORIGIN, roots=self.roots, random=DRAW.randbytes)

    def live(self) -> int:
        return epochs.live(self.keys, origin=ORIGIN, public_keys=(SIGNER.public_key,))

    def load(self, epoch: int) -> Keyring:
        return epochs.load(self.keys, epoch, origin=ORIGIN, public_keys=(SIGNER.public_key,), roots=self.roots)

    def second(self) -> Secrets:
        return Keyring(self.first).succeed(SUBJECTS, random=DRAW.randbytes)


@pytest.fixture
def made(tmp_path: Path) -> Epochs:
    return Epochs(tmp_path)


def test_what_is_loaded_gives_the_keys_of_what_was_written(made: Epochs):
    second = made.second()
    made.write(second)
    epochs.seal(made.keys, 2, origin=ORIGIN, signer=SIGNER)
    loaded = made.load(2)
    assert loaded.state_key == second.state_key
    event = DRAW.randbytes(16)
    assert loaded.event_key(1, event, (SUBJECTS[0],)) == Keyring(made.first).event_key(1, event, (SUBJECTS[0],))


def test_an_epoch_is_live_once_it_is_sealed(made: Epochs):
    made.write(made.second())
    assert made.live() == 1
    epochs.seal(made.keys, 2, origin=ORIGIN, signer=SIGNER)
    assert made.live() == 2


def test_an_interrupted_epoch_is_written_anew(made: Epochs):
    made.write(made.second())
    (made.keys / "epoch-000002" / "seeds").write_bytes(b"half")
    made.write(made.second())
    epochs.seal(made.keys, 2, origin=ORIGIN, signer=SIGNER)
    assert made.load(2).epoch == 2


def test_a_sealed_epoch_is_never_written_again(made: Epochs):
    with pytest.raises(FileExistsError):
        made.write(made.first)
    with pytest.raises(FileExistsError):
        epochs.seal(made.keys, 1, origin=ORIGIN, signer=SIGNER)


def test_without_its_root_a_keyring_is_gone_for_good(made: Epochs):
    (made.root / "root.000001").unlink()
    with pytest.raises(KeyMissing, match="a lost root is final"):
        made.load(1)


def test_another_root_opens_nothing(made: Epochs):
    (made.root / "root.000001").write_bytes(bytes(32))
    with pytest.raises(KeyMissing):
        made.load(1)


@pytest.mark.parametrize("name", ["key", "seeds", "batches", "subjects"])
def test_a_flipped_bit_in_a_keyring_is_found(made: Epochs, name: str):
    made.write(made.second())
    epochs.seal(made.keys, 2, origin=ORIGIN, signer=SIGNER)
    path = made.keys / "epoch-000002" / name
    raw = path.read_bytes()
    path.write_bytes(raw[:20] + bytes([raw[20] ^ 1]) + raw[21:])
    with pytest.raises(Corrupt) as error:
        made.load(2)
    assert error.value.path == str(path)


def test_a_lost_file_of_a_keyring_is_a_missing_key(made: Epochs):
    (made.keys / "epoch-000001" / "seeds").unlink()
    with pytest.raises(KeyMissing):
        made.load(1)


def test_an_epoch_whose_seal_was_signed_by_another_is_not_live(made: Epochs):
    made.write(made.second())
    epochs.seal(made.keys, 2, origin=ORIGIN, signer=crypto.Signer(bytes(32)))
    assert made.live() == 1


def test_a_seal_moved_from_another_epoch_is_not_believed(made: Epochs):
    made.write(made.second())
    (made.keys / "epoch-000002" / "SEALED").write_bytes((made.keys / "epoch-000001" / "SEALED").read_bytes())
    assert made.live() == 1


@pytest.mark.parametrize("damage", [b"", b"{", b"\x00" * 80])
def test_a_damaged_seal_is_no_seal(made: Epochs, damage: bytes):
    (made.keys / "epoch-000001" / "SEALED").write_bytes(damage)
    with pytest.raises(KeyMissing):
        made.live()


def test_a_keyring_with_files_of_a_later_format_is_refused_by_name(made: Epochs):
    made.write(made.second())
    place = made.keys / "epoch-000002"
    key = made.roots.unwrap(2, (place / "key").read_bytes(), bound_to=epochs._bound("key", ORIGIN, 2))
    files.create(place / "ledger", bytes(12) + crypto.seal(key, bytes(12), b"later", epochs._bound("ledger", ORIGIN, 2)))
    epochs.seal(made.keys, 2, origin=ORIGIN, signer=SIGNER)
    with pytest.raises(UnsupportedVersion, match="ledger"):
        made.load(2)


def test_blobs_of_one_epoch_do_not_open_as_anothers(made: Epochs):
    """Each file is bound to its name, its origin and its epoch."""
    made.write(made.second())
    place = made.keys / "epoch-000002"
    (place / "shares").write_bytes((place / "subjects").read_bytes())
    epochs.seal(made.keys, 2, origin=ORIGIN, signer=SIGNER)
    with pytest.raises(RefoldError):
        made.load(2)


def test_the_seal_lists_the_digests_of_all_files(made: Epochs):
    body = canonical.decode((made.keys / "epoch-000001" / "SEALED").read_bytes())["body"]
    assert [name for name, _, _ in body["files"]] == ["key", "seeds"]
    assert body["origin"] == ORIGIN


def test_no_secret_lies_open_in_the_vault(made: Epochs):
    second = made.second()
    made.write(second)
    raw = b"".join(path.read_bytes() for path in made.keys.rglob("*") if path.is_file())
    secrets = [second.batch_seed, second.subject_seed, second.state_key, second.attest_key, second.idem_key, second.suppress_key]
    assert not any(secret in raw for secret in [*secrets, *(secret for _, secret in second.subjects.items())])
    assert not any(subject in raw for subject in SUBJECTS)


@pytest.mark.parametrize("again", ["created", "destroyed"])
def test_a_root_that_died_in_the_making_leaves_no_second_copy_of_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str):
    roots = FileRoots(tmp_path, os.urandom)

    def step(number: int, name: str, call: Callable[[], object]) -> object:
        if name == "unlink":  # of the temporary name, which is the last there is to do
            raise OSError(errno.EIO, "gone")
        return call()

    with monkeypatch.context() as broken:
        broken.setattr(files, "os", Disk(step, calls=CALLS))
        with pytest.raises(WriteFailed):
            roots.create(1)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) < len([*tmp_path.iterdir()])
    roots.create(1) if again == "created" else roots.destroy(1)
    assert [path.name for path in tmp_path.iterdir()] == (["root.000001"] if again == "created" else [])
