"""No text, name or source is in any file of the store but inside a sealed cell; no secret is in the store at all."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from refold import ingest
from refold.model import AliasKind, Draft, Role, Scope, Source
from refold.store import Store
from tests.conftest import now
from tests.log import blank, heard, say

WORDS = ("qwertzcanary", "aliascanary", "sourcecanary", "partcanary", "agentcanary", "runcanary", "labelcanary", "metacanary", "keycanary")


@pytest.fixture
def full(store: Store) -> Store:
    """Return a store in which every field carries a word that can be found again."""
    text, alias, ref, part, agent, run, label, meta, key = WORDS
    draft = Draft(
        f"My {text} lives in Berlin.",
        Source("chat", ref, part),
        author=alias,
        role=Role.USER,
        scope=Scope(alias, agent, run),
        audience=(label,),
        subjects=(f"{alias} too",),
        metadata={meta: meta},
        key=key,
    )
    ingest.add(store, [draft], now=now, random=os.urandom)
    ingest.subject_add(store, [(AliasKind.EMAIL, f"{alias}@example.org")], now=now, random=os.urandom)
    for number in range(5):
        say(store, f"{text} {number}", user=alias)
    blank(store, [store.log.head.size - 1])
    store.log.compact(now=now, random=os.urandom, parts_max=2)
    return store


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        yield path, path.name.encode()
        if path.is_file():
            yield path, path.read_bytes()


def written(word: str) -> list[bytes]:
    raw = word.encode()
    return [raw, raw.upper(), raw.hex().encode(), base64.b64encode(raw)[:-4], word.encode("utf-16-le")]


def test_the_scan_finds_a_planted_word(tmp_path: Path):
    """The control: what the next test looks for is found where it is."""
    for word in WORDS:
        for number, form in enumerate(written(word)):
            (tmp_path / f"{number}").write_bytes(b"..." + form + b"...")
        found = [path for path, raw in contents(tmp_path) if any(form in raw for form in written(word))]
        assert len(found) == len(written(word))


def test_no_word_is_in_the_store_or_the_vault(full: Store):
    forms = [form for word in WORDS for form in written(word)]
    for folder in (full.places.store, full.places.vault, full.places.root):
        assert [path for path, raw in contents(folder) if any(form in raw for form in forms)] == []


def test_the_words_can_be_read_with_the_keys(full: Store):
    assert WORDS[0] in heard(full)[0].text


def test_no_secret_of_the_keyring_is_in_the_store(full: Store):
    keyring = full.keyring
    secrets = [keyring.state_key, keyring.attest_key, keyring.idem_key, keyring.suppress_key]
    secrets += [keyring.event_key(1, event.event_id, event.subjects) for event in heard(full)]
    secrets += [path.read_bytes() for path in full.places.root.iterdir()]
    secrets += [path.read_bytes() for path in (full.places.vault / "signing").iterdir()]
    raw = b"".join(raw for _, raw in contents(full.places.store))
    assert not any(secret in raw or secret.hex().encode() in raw for secret in secrets)


def test_no_digest_of_a_text_is_in_the_store(full: Store):
    """A digest of plaintext answers guesses."""
    import hashlib

    raw = b"".join(raw for _, raw in contents(full.places.store))
    for event in heard(full):
        for digest in (hashlib.sha256(event.text.encode()), hashlib.md5(event.text.encode())):
            assert digest.digest() not in raw
            assert digest.hexdigest().encode() not in raw


def test_everything_is_private_to_its_owner(full: Store):
    for folder in (full.places.store, full.places.vault, full.places.root):
        for path in (folder, *folder.rglob("*")):
            expected = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_a_generous_umask_changes_nothing(places):
    from refold.store import create

    before = os.umask(0)
    try:
        with create(places, now=now) as store:
            say(store, "hello")
            test_everything_is_private_to_its_owner(store)
    finally:
        os.umask(before)
