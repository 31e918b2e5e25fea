"""A store of every version that was ever released is opened and answers as it did; one of a version to come is refused by its name."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from refold import canonical, journal
from refold.errors import Blocked, UnsupportedVersion
from refold.journal import Condition
from refold.keys import crypto, epochs
from refold.log import append
from refold.log import commit as commits
from refold.memory import Memory
from refold.recover.audit import Area, audit
from refold.state import manifest
from refold.store import open_store
from refold.store import places as find_places
from tests.journal import tree

DATA = Path(__file__).parent.parent / "data"
FROZEN = DATA / "store-v1"


def script() -> ModuleType:
    """Return the module that made the frozen store."""
    spec = importlib.util.spec_from_file_location("make_store_v1", DATA / "make_store_v1.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = script()


def copied(folder: Path) -> Path:
    """Copy the frozen store with the modes that it had, which a repository does not keep."""
    for name in ("store", "vault", "root"):
        shutil.copytree(FROZEN / name, folder / name)
        for path in [folder / name, *(folder / name).rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)
    for name in ("calls/commits", "calls/parts", "checkpoints", "receipts"):  # empty folders are not kept either
        (folder / "store" / name).mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    return copied(tmp_path)


@pytest.fixture(scope="session")
def recorded() -> dict[str, Any]:
    return json.loads((FROZEN / "answers.json").read_text(encoding="utf-8"))


def test_a_store_of_version_1_answers_as_it_did(frozen: Path, recorded: dict[str, Any]):
    was = tree(frozen / "store"), tree(frozen / "root")
    with MADE.opened(frozen, principal="operator") as memory:
        said = json.loads(json.dumps(MADE.answers(memory)))
    assert said == recorded
    assert (tree(frozen / "store"), tree(frozen / "root")) == was


def test_its_answers_are_worth_comparing(recorded: dict[str, Any]):
    assert len(recorded["events"]) == 9
    assert {fact[5] for fact in recorded["facts"]} >= {"holds", "superseded"}
    assert recorded["search"]["marmalade"] == ["chat:8#3"]
    assert any(each["beat"] for each in recorded["why"].values())


def test_what_was_added_to_it_is_known_again(frozen: Path, tmp_path: Path):
    (tmp_path / "notes.md").write_text(MADE.NOTES, encoding="utf-8")
    with MADE.opened(frozen) as memory:
        assert not memory.add("I live in Berlin.", user_id="ada", source="chat:7#1", said_at="2024-01-10", key="first").new
        done = memory.import_files([tmp_path / "notes.md"])
        assert (done.added, done.already) == (0, 2)
        known = set(memory.subjects())
        memory.add("I moved to Hamburg.", user_id="Ada", source="chat:9#1")
        assert set(memory.subjects()) == known


def test_it_can_be_added_to_and_folded(frozen: Path):
    with MADE.opened(frozen) as memory:
        memory.add("I live in Hamburg.", user_id="ada", source="chat:9#1", said_at="2024-09-01")
        memory.fold()
        assert [fact.value for fact in memory.facts(user_id="ada", relation="lives_in")] == ["Hamburg"]
    assert [
        each.code.code for each in audit(find_places(frozen / "store", frozen / "vault", frozen / "root", env={}), tuple(Area)).findings
    ] == []


def test_everything_in_it_is_folded_anew_from_the_log_alone(frozen: Path):
    (frozen / "store/state/CURRENT").unlink()
    with MADE.opened(frozen) as memory:
        memory.fold()
        assert [fact.value for fact in memory.facts(user_id="ada", relation="lives_in")] == ["Munich"]


def ask(folder: Path) -> None:
    with MADE.opened(folder) as memory:
        memory.facts(user_id="ada")
        memory.search("cello", user_id="ben")


def signer(folder: Path) -> crypto.Signer:
    return crypto.Signer((folder / "vault/signing/000001.key").read_bytes())


def later_store(folder: Path) -> str:
    path = folder / "store/store.json"
    path.write_bytes(path.read_bytes().replace(b"refold.store/1", b"refold.store/2"))
    return r"refold\.store/2"


def later_vault(folder: Path) -> str:
    path = folder / "vault/witness/log.json"
    path.write_bytes(path.read_bytes().replace(b"refold.vault/1", b"refold.vault/2"))
    return r"refold\.vault/2"


def later_keyring(folder: Path) -> str:
    path = folder / "vault/keys/epoch-000001/SEALED"
    body = canonical.decode(path.read_bytes())["body"] | {"format": "refold.keyring/2"}
    signature = signer(folder).sign(epochs.SEALED_LABEL + canonical.encode(body)).hex()
    path.write_bytes(canonical.encode({"body": body, "sig": signature}))
    return r"refold\.keyring/2"


def later_commit(folder: Path) -> str:
    path = max((folder / "store/log/commits").iterdir())
    body = canonical.encode(canonical.decode(path.read_bytes())["body"] | {"format": "refold.log/2"})
    path.write_bytes(b'{"body":' + body + b',"sig":"' + signer(folder).sign(commits.SIGNED + body).hex().encode() + b'"}')
    return r"refold\.log/2"


def later_pointer(folder: Path) -> str:
    path = folder / "store/state/CURRENT"
    path.write_bytes(path.read_bytes().replace(b"refold.state/1", b"refold.state/2"))
    return "the state has a format"


def later_manifest(folder: Path) -> str:
    with MADE.opened(folder) as memory:
        key = memory.store.keyring.state_key
    path = max(path for path in (folder / "store/state").iterdir() if path.name.isdigit())
    number, raw = int(path.name), path.read_bytes()
    bound, sealing = manifest._aad(number), manifest._key(key)
    opened = crypto.unseal(sealing, raw[:12], raw[12:], bound)
    body = canonical.decode(opened) | {"format": "refold.state/2"}
    path.write_bytes(bytes(12) + crypto.seal(sealing, bytes(12), canonical.encode(body), bound))
    return "the state has a format"


def later_entry(folder: Path) -> str:
    known = append.VERSION
    append.VERSION = 2  # ty: ignore[invalid-assignment]
    try:
        with MADE.opened(folder) as memory:
            memory.add("I live in Hamburg.", user_id="ada", source="chat:9#1")
    finally:
        append.VERSION = known
    return "version 2"


LATER = (later_store, later_vault, later_keyring, later_commit, later_pointer, later_manifest, later_entry)


@pytest.mark.parametrize("later", LATER, ids=lambda each: each.__name__)
def test_what_a_later_release_wrote_is_refused_by_its_name(later, frozen: Path):
    version = later(frozen)
    was = tree(frozen / "store"), tree(frozen / "root")
    with pytest.raises(UnsupportedVersion, match=version):
        ask(frozen)
    assert (tree(frozen / "store"), tree(frozen / "root")) == was


def test_a_keyring_with_a_file_of_a_later_format_is_refused_by_its_name(frozen: Path):
    place = frozen / "vault/keys/epoch-000001"
    with open_store(find_places(frozen / "store", frozen / "vault", frozen / "root", env={})) as store:
        origin, roots = store.origin, store.vault.roots
    key = roots.unwrap(1, (place / "key").read_bytes(), bound_to=epochs._bound("key", origin, 1))
    (place / "ledger").write_bytes(bytes(12) + crypto.seal(key, bytes(12), b"", epochs._bound("ledger", origin, 1)))
    (place / "SEALED").unlink()
    epochs.seal(frozen / "vault/keys", 1, origin=origin, signer=signer(frozen))
    with pytest.raises(UnsupportedVersion, match="ledger"):
        ask(frozen)


def test_a_transaction_of_a_later_release_blocks_and_is_named(frozen: Path):
    places = find_places(frozen / "store", frozen / "vault", frozen / "root", env={})
    folder = frozen / "vault/journal" / ("ab" * 16)
    folder.mkdir(parents=True)
    (folder / "journal.json").write_bytes(canonical.encode({"body": {"format": "refold.journal/2", "new": 1}, "checksum": "00"}))
    assert [entry.condition for entry in journal.entries(places)] == [Condition.UNSUPPORTED]
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Hamburg.", user_id="ada", source="chat:9#1")
        with pytest.raises(Blocked, match="format version that this release does not know"):
            memory.fold()


def test_the_script_makes_what_lies_there(tmp_path: Path, recorded: dict[str, Any]):
    """As long as version 1 is what is written: the frozen store is of the format that this release writes."""
    MADE.fill(tmp_path)
    with MADE.opened(tmp_path, principal="operator") as memory:
        assert [event[1:] for event in json.loads(json.dumps(MADE.answers(memory)))["events"]] == [each[1:] for each in recorded["events"]]
    frozen = [path for place in ("store", "vault", "root") for path in (FROZEN / place).rglob("*") if path.is_file()]
    names = {path.relative_to(FROZEN).parts[:3] for path in frozen}
    made = {path.relative_to(tmp_path).parts[:3] for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"}
    kinds = {tuple(part for part in parts if not any(char.isdigit() for char in part)) for parts in names}
    assert kinds <= {tuple(part for part in parts if not any(char.isdigit() for char in part)) for parts in made}
