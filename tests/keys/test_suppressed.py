"""What was erased does not come back by an import, or by being named; only an operator readmits somebody, under a new id."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from refold import ingest
from refold.errors import SubjectErased
from refold.keys import epochs
from refold.keys.subjects import suppressed_alias, suppressed_source
from refold.model import AliasKind, Draft, Scope, Source
from refold.store import Store, open_store
from tests.conftest import now


def suppressing(store: Store, tags: list[bytes]) -> Store:
    """Return the store again, with a first epoch that suppresses tags: as an erasure would have left it."""
    key, _ = epochs.export(store.vault.keys, 1, origin=store.origin, public_keys=store.vault.public_keys, roots=store.vault.roots)
    secrets = store.keyring.succeed([], suppressed=tags, random=os.urandom)
    added = epochs.encrypted(replace(secrets, epoch=1), key, origin=store.origin, random=os.urandom)
    place = store.vault.keys / "epoch-000001"
    (place / "suppressed").write_bytes(added["suppressed"])
    (place / "SEALED").unlink()
    store.vault.seal(1)
    return open_store(store.places)


def draft(user: str, part: str) -> Draft:
    return Draft("I live in Oslo.", scope=Scope(user=user), source=Source("chat", "7", part))


def add(store: Store, *drafts: Draft, ingest_id: bytes | None = None) -> list[ingest.Added]:
    return ingest.add(store, drafts, ingest=ingest_id, now=now, random=os.urandom)


@pytest.fixture
def suppressed(store: Store) -> Store:
    tags = [suppressed_alias(store.keyring, "Ruth"), suppressed_source(store.keyring, Source("chat", "7", "3"))]
    return suppressing(store, tags)


def test_who_was_erased_is_not_made_known_anew_by_being_named(suppressed: Store):
    with pytest.raises(SubjectErased):
        add(suppressed, draft("RUTH", "9"))
    with pytest.raises(SubjectErased):
        add(suppressed, replace(draft("ada", "9"), subjects=("ruth",)))
    with pytest.raises(SubjectErased):
        ingest.subject_add(suppressed, [(AliasKind.NAME, "Ruth")], now=now, random=os.urandom)
    assert add(suppressed, draft("ada", "9"))[0].new


def test_e7_an_import_of_the_same_source_leaves_out_what_was_erased_and_takes_the_rest(suppressed: Store):
    done = add(suppressed, draft("ada", "1"), draft("ruth", "2"), draft("ada", "3"), draft("ada", "4"), ingest_id=bytes(16))
    assert [one.new for one in done] == [True, False, False, True]
    assert [one.suppressed for one in done] == [False, True, True, False]
    assert [event.source.part for events in suppressed.log.events() for event in events] == ["1", "4"]


def test_only_an_operator_readmits_somebody(suppressed: Store):
    subject = ingest.subject_add(suppressed, [(AliasKind.NAME, "Ruth")], readmit=True, now=now, random=os.urandom)
    assert add(suppressed, draft("ruth", "9"))[0].new
    (event,) = [event for events in suppressed.log.events() for event in events]
    assert event.speaker == subject
