"""Tokens: shown once, kept as a digest, bound to a principal, gone when they are revoked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refold.errors import Corrupt, NotAllowed, Usage
from refold.keys import tokens
from refold.memory import Memory
from refold.recover import reset
from refold.settings import Principal
from refold.store import Places, Store
from tests.conftest import now


def minted(vault: Path, name: str = "laptop", principal: str = "operator") -> str:
    return tokens.mint(vault, name, principal, now=now, random=os.urandom)


def test_a_token_opens_as_its_principal_until_it_is_revoked(store: Store):
    vault = store.vault.path
    first, second = minted(vault), minted(vault, "phone", "ada")
    assert [(found := tokens.bearer(vault, text)) and (found.name, found.principal) for text in (first, second)] == [
        ("laptop", "operator"),
        ("phone", "ada"),
    ]
    tokens.revoke(vault, "laptop")
    assert tokens.bearer(vault, first) is None
    assert [token.name for token in tokens.tokens(vault)] == ["phone"]


def test_what_was_never_made_opens_nothing(store: Store):
    vault = store.vault.path
    assert tokens.bearer(vault, "refold_" + "A" * 43) is None
    text = minted(vault)
    for wrong in ("", text[:-1], text + "=", text.upper(), "\ud800", tokens.tokens(vault)[0].digest):
        assert tokens.bearer(vault, wrong) is None


def test_no_file_holds_a_token(places: Places, store: Store):
    text = minted(store.vault.path)
    kept = b"".join(path.read_bytes() for place in (places.store, places.vault, places.root) for path in place.rglob("*") if path.is_file())
    assert b"laptop" in kept
    assert text.encode() not in kept
    assert text.removeprefix(tokens.PREFIX).encode() not in kept


def test_a_name_is_given_once_and_is_a_plain_word(store: Store):
    vault = store.vault.path
    minted(vault)
    with pytest.raises(Usage, match="already"):
        minted(vault)
    for name in ("", "../x", "Laptop", "a" * 33, "a b", "-a"):
        with pytest.raises(Usage, match="lower case"):
            minted(vault, name)
        with pytest.raises(Usage, match="lower case"):
            tokens.revoke(vault, name)
    with pytest.raises(Usage, match="no token"):
        tokens.revoke(vault, "phone")


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw[:-1],
        lambda raw: raw.replace(b"operator", b"operator\x00"),
        lambda raw: raw.replace(b"laptop", b"phone"),
        lambda raw: raw.replace(b'{"', b'{"x":1,"'),
        lambda raw: raw.replace(b"token/1", b"token/2"),
        lambda raw: b"[]",
    ],
)
def test_a_changed_file_is_damage_and_opens_nothing(store: Store, change):
    text = minted(store.vault.path)
    path = store.vault.path / "tokens" / "laptop.json"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(Corrupt, match="token"):
        tokens.bearer(store.vault.path, text)


def test_damage_to_one_token_leaves_the_others_open_and_claims_nothing_of_any_else(store: Store):
    vault = store.vault.path
    first, last = minted(vault, "a"), minted(vault, "z")
    minted(vault)
    (vault / "tokens" / "laptop.json").write_bytes(b"[]")
    assert [(found := tokens.bearer(vault, text)) and found.name for text in (first, last)] == ["a", "z"]
    with pytest.raises(Corrupt, match="token"):
        tokens.bearer(vault, "refold_" + "A" * 43)


def test_only_who_may_see_everything_makes_tokens(store: Store):
    limited = Memory(store, principal=Principal("ada", frozenset(), ("ada",)), now=now)
    for verb in (lambda: limited.token_add("x", principal="operator"), limited.tokens, lambda: limited.token_revoke("x")):
        with pytest.raises(NotAllowed):
            verb()
    with pytest.raises(NotAllowed):
        limited.seen_by(Principal("operator", None))


def test_a_token_is_for_a_principal_that_stands_in_the_settings(store: Store):
    with pytest.raises(Usage, match="no principal"):
        Memory(store, now=now).token_add("x", principal="nobody")
    assert tokens.tokens(store.vault.path) == []


def test_a_reset_takes_tokens_away(places: Places, store: Store):
    minted(store.vault.path)
    store.close()
    assert reset.survey(places).unexpected == ()
