"""Tags find again what they were made of, and tell nothing without their key."""

from __future__ import annotations

import hashlib
import hmac
from random import Random

import pytest

from refold.keys.keyring import Keyring, Secrets
from refold.keys.subjects import alias_tag, content_tag, key_tag
from refold.model import Role, Scope, Source


@pytest.fixture
def keyring() -> Keyring:
    return Keyring(Secrets.fresh(random=Random(1).randbytes))


def test_an_alias_tag_is_the_formula(keyring: Keyring):
    label = hashlib.sha256(b"refold/alias/v1").digest()
    assert alias_tag(keyring, "  Ada  BRANDT ") == hmac.digest(keyring.state_key, label + b"ada brandt", "sha256")[:16]


def test_aliases_that_differ_in_case_width_or_spaces_share_a_tag(keyring: Keyring):
    assert alias_tag(keyring, "Ada Brandt") == alias_tag(keyring, "ADA  brandt") == alias_tag(keyring, "Ａda Brandt")
    assert alias_tag(keyring, "Ada Brandt") != alias_tag(keyring, "Ada Brand")


def test_tags_of_another_epoch_are_others(keyring: Keyring):
    after = Keyring(keyring.succeed([], random=Random(2).randbytes))
    assert alias_tag(after, "ada") != alias_tag(keyring, "ada")
    assert key_tag(after, "k", Scope("ada")) != key_tag(keyring, "k", Scope("ada"))


def test_every_field_of_a_record_changes_its_tag(keyring: Keyring):
    base = (Source("chat", "7", "1"), Scope("ada"), Role.USER, "ada", "hello")
    changed = [
        (Source("mail", "7", "1"), Scope("ada"), Role.USER, "ada", "hello"),
        (Source("chat", "8", "1"), Scope("ada"), Role.USER, "ada", "hello"),
        (Source("chat", "7", "2"), Scope("ada"), Role.USER, "ada", "hello"),
        (Source("chat", "7", "1"), Scope("ben"), Role.USER, "ada", "hello"),
        (Source("chat", "7", "1"), Scope("ada", run="1"), Role.USER, "ada", "hello"),
        (Source("chat", "7", "1"), Scope("ada"), Role.ASSISTANT, "ada", "hello"),
        (Source("chat", "7", "1"), Scope("ada"), Role.USER, "ben", "hello"),
        (Source("chat", "7", "1"), Scope("ada"), Role.USER, "ada", "hello!"),
    ]
    tags = {content_tag(keyring, *fields) for fields in [base, *changed]}
    assert len(tags) == 9


def test_a_key_counts_within_its_scope(keyring: Keyring):
    scopes = [Scope(), Scope("ada"), Scope("ben"), Scope("ada", "x"), Scope("ada", None, "x"), Scope(None, "ada"), Scope("")]
    assert len({key_tag(keyring, "1", scope) for scope in scopes}) == len(scopes)
    assert key_tag(keyring, "1", Scope("ada")) == key_tag(keyring, "1", Scope("ada"))


def test_no_field_can_reach_into_the_next(keyring: Keyring):
    one = content_tag(keyring, Source("chat", "71", ""), Scope("ada"), Role.USER, None, "hello")
    assert one != content_tag(keyring, Source("chat", "7", "1"), Scope("ada"), Role.USER, None, "hello")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((Source("ab", "c", "d"), Scope("ada"), "x"), (Source("a", "bc", "d"), Scope("ada"), "x")),
        ((Source("a", "bc", "d"), Scope("ada"), "x"), (Source("a", "b", "cd"), Scope("ada"), "x")),
        ((Source("a", "b", "c"), Scope(None), "x"), (Source("a", "b", "c"), Scope(""), "x")),
        ((Source("a", "b", "c"), Scope("a", None), "x"), (Source("a", "b", "c"), Scope(None, "a"), "x")),
        ((Source("a", "b", "c"), Scope(None, "a"), "x"), (Source("a", "b", "c"), Scope(None, None, "a"), "x")),
    ],
)
def test_records_that_read_alike_in_a_row_are_told_apart(keyring: Keyring, one: tuple, other: tuple):
    tags = {content_tag(keyring, source, scope, Role.USER, author, "text") for source, scope, author in (one, other)}
    assert len(tags) == 2


def test_a_paragraph_that_moved_is_the_same_record(keyring: Keyring):
    moved = [content_tag(keyring, Source("doc", "1", part), Scope("ada"), Role.DOCUMENT, None, "text") for part in ("p4", "p9")]
    assert moved[0] == moved[1]
