"""Roots in a token: made in it, never out of it, destroyed with their epoch. Tried on SoftHSM2, a token in software.

Debian has it as `softhsm2`. Where it is missing the tests are skipped, unless REFOLD_TOKEN_TESTS says `required`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from refold import disclaimers
from refold.cli import main
from refold.erase.model import Selector
from refold.errors import Corrupt, KeyMissing, NotAllowed, Usage
from refold.heads.checkpoint import vault_keys
from refold.keys import custody, epochs
from refold.keys.hsm import Token, TokenRoots
from refold.memory import Memory
from refold.model import AliasKind
from refold.receipts import verify
from refold.store import Places, create, open_store, own_vault
from refold.store import places as find_places
from tests.conftest import now
from tests.copies.conftest import recipient

LIBRARY = next((path for path in map(Path, ("/usr/lib/softhsm/libsofthsm2.so",)) if path.is_file()), None)
LABEL, PIN, ORIGIN = "refold tests", "4711-0815", "ab" * 16
KEY, BOUND = b"k" * 32, b"what it is bound to"


@dataclass(frozen=True)
class Made:
    module: str
    folder: Path
    settings: Path

    def token(self, *, module: str | None = None, label: str = LABEL, pin: str = PIN) -> Token:
        return Token(self.module if module is None else module, label, lambda: pin)

    def roots(self, origin: str = ORIGIN, **changed: str) -> TokenRoots:
        return TokenRoots(self.token(**changed), origin, os.urandom)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Iterator[Made]:
    """Make a token, and settings that name it. It is this process's until the module is over."""
    pkcs11 = pytest.importorskip("pkcs11") if os.environ.get("REFOLD_TOKEN_TESTS") != "required" else __import__("pkcs11")
    if LIBRARY is None:
        if os.environ.get("REFOLD_TOKEN_TESTS") == "required":
            pytest.fail("SoftHSM2 is not installed, and the tests of tokens are required")
        pytest.skip("SoftHSM2 is not installed: apt-get install softhsm2")
    folder = tmp_path_factory.mktemp("token")
    (folder / "tokens").mkdir()
    (folder / "softhsm2.conf").write_text(f"directories.tokendir = {folder / 'tokens'}\nobjectstore.backend = file\nlog.level = ERROR\n")
    own = folder / "refold.toml"
    own.write_text(f'[root]\ncustody = "pkcs11"\nmodule = "{LIBRARY}"\ntoken = "{LABEL}"\n')
    patch = pytest.MonkeyPatch()
    patch.setenv("SOFTHSM2_CONF", str(folder / "softhsm2.conf"))
    patch.setenv("REFOLD_CONFIG", str(own))
    patch.setenv("REFOLD_PIN", PIN)
    subprocess.run(
        ["softhsm2-util", "--init-token", "--free", "--label", LABEL, "--pin", PIN, "--so-pin", PIN], check=True, capture_output=True
    )
    yield Made(str(LIBRARY), folder, own)
    pkcs11.lib(str(LIBRARY)).finalize()
    patch.undo()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return find_places(tmp_path / "store", tmp_path / "vault", tmp_path / "root", env={})


def test_a_root_wraps_for_what_it_is_bound_to_and_for_nothing_else(made):
    roots = made.roots()
    roots.create(1)
    roots.create(2)
    roots.create(2)  # one that exists stays
    wrapped = roots.wrap(2, KEY, bound_to=BOUND)
    assert KEY not in wrapped
    assert roots.unwrap(2, wrapped, bound_to=BOUND) == KEY
    for epoch, sealed, bound in (
        (1, wrapped, BOUND),
        (2, wrapped, BOUND + b"!"),
        (2, wrapped[:-1] + bytes([wrapped[-1] ^ 1]), BOUND),
        (2, b"", BOUND),
    ):
        with pytest.raises(KeyMissing, match="does not unwrap"):
            roots.unwrap(epoch, sealed, bound_to=bound)


def test_a_root_cannot_be_read_out_of_its_token(made):
    import pkcs11

    made.roots("cd" * 16).create(1)
    with pkcs11.lib(made.module).get_token(token_label=LABEL).open(user_pin=PIN) as session:
        (key,) = session.get_objects({pkcs11.Attribute.LABEL: f"refold {'cd' * 16} 000001"})
        assert key[pkcs11.Attribute.NEVER_EXTRACTABLE]
        assert key[pkcs11.Attribute.ALWAYS_SENSITIVE]
        with pytest.raises(pkcs11.AttributeSensitive):
            key[pkcs11.Attribute.VALUE]
        wrapping: Any = session.generate_key(pkcs11.KeyType.AES, 256, capabilities=pkcs11.MechanismFlag.WRAP)
        with pytest.raises(pkcs11.KeyUnextractable):
            wrapping.wrap_key(key, mechanism=pkcs11.Mechanism.AES_KEY_WRAP)


def test_a_key_that_can_be_read_out_is_no_root(made):
    import pkcs11

    origin = "ef" * 16
    with pkcs11.lib(made.module).get_token(token_label=LABEL).open(user_pin=PIN, rw=True) as session:
        session.generate_key(
            pkcs11.KeyType.AES, 256, label=f"refold {origin} 000001", store=True, template={pkcs11.Attribute.EXTRACTABLE: True}
        )
    with pytest.raises(Corrupt, match="can be read out of the token"):
        made.roots(origin).wrap(1, KEY, bound_to=BOUND)


def test_a_destroyed_root_is_gone_and_the_others_are_not(made):
    roots, others = made.roots("12" * 16), made.roots("34" * 16)
    for each in (roots, others):
        each.create(1)
    roots.create(2)
    wrapped = roots.wrap(1, KEY, bound_to=BOUND)
    assert roots.epochs() == {1, 2}
    roots.destroy(1)
    roots.destroy(1)  # one that is gone is fine
    assert (roots.epochs(), others.epochs()) == ({2}, {1})
    with pytest.raises(KeyMissing, match="not in the token"):
        roots.unwrap(1, wrapped, bound_to=BOUND)
    roots.create(1)
    with pytest.raises(KeyMissing, match="does not unwrap"):
        roots.unwrap(1, wrapped, bound_to=BOUND)


REFUSED = [
    ({"pin": "0000"}, "refuses its PIN"),
    ({"label": "another"}, "not one token"),
    ({"module": "/nowhere/lib.so"}, "cannot be used"),
    ({"module": ""}, "do not name its library"),
]


@pytest.mark.parametrize(("changed", "said"), REFUSED, ids=[next(iter(case[0].items()))[1] or "none" for case in REFUSED])
def test_a_token_that_is_away_or_refuses_is_said_without_the_pin(made, changed, said):
    with pytest.raises(KeyMissing, match=said) as refused:
        made.roots(**changed).epochs()
    assert refused.value.__cause__ is None
    assert changed.get("pin", PIN) not in str(refused.value.__dict__)


def test_threads_take_turns_at_a_token(made):
    roots, found = made.roots("56" * 16), list[bytes]()
    roots.create(1)
    wrapped = roots.wrap(1, KEY, bound_to=BOUND)
    threads = [threading.Thread(target=lambda: found.append(roots.unwrap(1, wrapped, bound_to=BOUND))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [KEY] * 8


def test_the_pin_comes_from_a_file_or_a_variable_and_is_missed_by_neither_name_nor_value(tmp_path):
    from refold.settings import Root

    kept, named = tmp_path / "pin", Root("pkcs11", "/lib.so", LABEL, "THE_PIN", "")
    kept.write_text("12 34\nthe rest is a note\n")
    assert custody.pin(named, env={"THE_PIN": "56"}) == "56"
    assert custody.pin(Root("pkcs11", "/lib.so", LABEL, "THE_PIN", str(kept)), env={"THE_PIN": "56"}) == "12 34"
    kept.write_text("")
    for path in (str(kept), str(tmp_path / "none"), ""):
        with pytest.raises(KeyMissing, match="PIN of the token"):
            custody.pin(Root("pkcs11", "/lib.so", LABEL, "THE_PIN", path), env={})


def test_a_store_whose_settings_name_no_token_is_not_begun(places, monkeypatch, tmp_path):
    (tmp_path / "own.toml").write_text('[root]\nmodule = "/lib.so"\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(tmp_path / "own.toml"))
    with pytest.raises(Usage, match="name no library and label"):
        create(places, now=now, custody="pkcs11")


def shown(capsys, places: Places, *words: str, stdin: str = "") -> tuple[int, dict]:
    where = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(getattr(places, name)))]
    code = main(["--format", "json", *where, *words])
    return code, json.loads(capsys.readouterr().out)


def test_a_person_is_erased_from_a_memory_whose_roots_are_in_a_token(made, places, capsys, tmp_path):
    """From init to the certificate; then the keyring of before is put back, and opens nothing."""
    code, said = shown(capsys, places, "init", "--custody", "pkcs11")
    assert (code, said["data"]["custody"], said["disclaimers"]) == (0, "pkcs11", [disclaimers.ROOT_TOKEN])
    assert list(places.root.iterdir()) == []
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:1#1")
        memory.add("I live in Oslo.", user_id="ruth", source="chat:1#2")
        memory.fold()
        before = shutil.copytree(places.vault / "keys", tmp_path / "before")
        plan = memory.plan_erasure(user_id="ruth")
        memory.erase(plan).verify()
        body = verify.verify(memory.erase_certificate(plan.target.request_id), vault_keys(own_vault(places))).body
        assert [fact.text for fact in memory.search("Where do they live?", user_id="ada")] == ["I live in Berlin."]
    assert body["state"] == "certified"
    assert body["root"]["custody"] == "pkcs11"
    assert disclaimers.ROOT_TOKEN in body["disclaimers"]
    assert made.roots(said["data"]["origin"]).epochs() == {2}
    assert PIN.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    status, audit = shown(capsys, places, "status")[1]["data"], shown(capsys, places, "audit", "--keys")
    assert (status["custody"], audit[0], audit[1]["data"]["custody"]) == ("pkcs11", 0, "pkcs11")

    shutil.rmtree(places.vault / "keys" / epochs.folder_name(2))
    shutil.copytree(before / epochs.folder_name(1), places.vault / "keys" / epochs.folder_name(1))
    with pytest.raises(KeyMissing, match="root of epoch 1 is not in the token"):
        open_store(places).log.row(0).payloads()
    assert shown(capsys, places, "audit", "--keys")[1]["findings"][0]["code"] == "RF-KEYS-009"


def test_a_memory_whose_token_is_away_says_so_and_its_papers_are_still_checked(made, places, capsys, monkeypatch):
    create(places, now=now).close()  # the settings say where
    monkeypatch.setenv("REFOLD_PIN", "wrong")
    code, said = shown(capsys, places, "status")
    assert (code, said["exit_class"]) == (12, "key")
    assert shown(capsys, places, "audit", "--keys")[1]["findings"][0]["code"] == "RF-KEYS-018"
    assert shown(capsys, places, "reset", "--confirm", places.origin)[0] == 12
    assert (places.vault / "signing").is_dir(), "nothing goes before the roots can"


def test_a_reset_takes_the_roots_out_of_the_token(made, places, capsys):
    create(places, now=now).close()
    assert made.roots(places.origin).epochs() == {1}
    assert shown(capsys, places, "reset", "--confirm", places.origin)[0] == 0
    assert made.roots(places.origin).epochs() == frozenset()
    assert not places.vault.exists()


def test_a_memory_whose_root_is_a_file_is_moved_to_a_token_with_its_holds(made, places, capsys, tmp_path):
    create(places, now=now, custody="file").close()
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Oslo.", user_id="ruth", source="chat:1#1")
        held = memory.erase_hold(Selector(aliases=((AliasKind.HANDLE, "ruth"),)), reason="a lawsuit")
    code, said = shown(capsys, places, "init", "--custody", "pkcs11")
    assert (code, said["findings"][0]["remediation"]) == (2, "refold help keys")

    keys, whose = tmp_path / "elsewhere" / "keys", recipient()
    (tmp_path / "public").write_bytes(whose.public)
    (tmp_path / "private").write_bytes(whose.private)
    assert shown(capsys, places, "backup", "--keys", str(keys), "--recipient", str(tmp_path / "public"))[0] == 0
    moved = Places(places.store, tmp_path / "moved", tmp_path / "moved-root", places.origin)
    assert shown(capsys, moved, "restore", "--keys", str(keys), "--identity", str(tmp_path / "private"))[0] == 0
    shutil.copytree(places.vault / "requests", moved.vault / "requests")
    for gone in (places.vault, places.root):
        shutil.rmtree(gone)
    assert not list(moved.root.rglob("root.*"))
    assert shown(capsys, moved, "audit", "--keys")[0] == 0
    with Memory.open(moved.store, vault=moved.vault, root=moved.root) as memory:
        with pytest.raises(NotAllowed, match="hold"):
            memory.erase(memory.plan_erasure(user_id="ruth"))
        memory.erase_release(held.request_id)
        memory.erase(memory.plan_erasure(user_id="ruth")).verify()
    assert made.roots(places.origin).epochs() == {2}
