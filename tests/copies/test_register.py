"""The register of copies says what is elsewhere, also after an erasure, and what an erasure itself has darkened."""

from __future__ import annotations

import os

import pytest

from refold import register
from refold.erase import prove
from refold.errors import Corrupt, Usage
from refold.memory import Memory
from refold.receipts import certificate
from refold.recover.reset import OURS, Place
from refold.register import PATH, Kind, Owner, Standing
from refold.scan.testing import assert_forgotten
from refold.store import Store, open_store
from tests.conftest import now
from tests.erase.small import approved, erase, filled, ruth

SECRET = "the drawer of Wilhelmina Tetzlaff"


@pytest.fixture
def store(tmp_path):
    with open_store(filled(tmp_path)) as store:
        yield store


def note(store: Store, kind: Kind, place: str, **rest: object) -> register.Copy:
    return register.add(store, kind, place, now=now, random=os.urandom, **rest)  # ty: ignore[invalid-argument-type]


def test_what_is_added_is_listed_the_first_due_first(store):
    assert register.copies(store) == []
    later, sooner = note(store, Kind.EXPORT, "a", due=20), note(store, Kind.PROVIDER, "b", due=10, owner=Owner.PROVIDER)
    assert register.copies(store) == [sooner, later]


def test_the_register_outlives_an_erasure_which_darkens_copies_of_ciphertext_and_no_others(store):
    kept = {kind: note(store, kind, str(kind)) for kind in (Kind.BACKUP, Kind.MIRROR, Kind.ESCROW, Kind.EXPORT)}
    reached = erase(store, ruth(store))
    after = {one.kind: one.standing(store.keyring.epoch) for one in register.copies(store)}
    assert after == {Kind.BACKUP: "dark", Kind.MIRROR: "dark", Kind.ESCROW: "open", Kind.EXPORT: "open"}
    assert {one.copy_id for one in prove.concerned(store, reached)} == {one.copy_id for one in kept.values()}
    note(store, Kind.BACKUP, "made after it")
    assert len(prove.concerned(store, reached)) == 4


def test_to_confirm_takes_evidence_and_an_id_that_is_one_copy(store):
    made = note(store, Kind.EXPORT, "a")
    done = register.confirm(store, made.copy_id[:6], Standing.DONE, evidence="shredded", now=now, random=os.urandom)
    assert register.copies(store) == [done]
    for prefix, evidence in ((made.copy_id, " "), ("zz", "x"), ("", "x")):
        with pytest.raises(Usage):
            register.confirm(store, prefix, Standing.DONE, evidence=evidence, now=now, random=os.urandom)


def test_a_copy_that_still_lies_at_its_place_is_not_confirmed_to_be_gone(store, tmp_path):
    there = tmp_path / "export.csv"
    there.write_text("x")
    made = note(store, Kind.EXPORT, str(there))
    with pytest.raises(Usage, match="not gone"):
        register.confirm(store, made.copy_id, Standing.DONE, evidence="deleted", now=now, random=os.urandom)
    register.confirm(store, made.copy_id, Standing.BEYOND_USE, evidence="locked away", now=now, random=os.urandom)
    there.unlink()
    there.mkdir()  # where a disk was mounted
    assert register.confirm(store, made.copy_id, Standing.DONE, evidence="deleted", now=now, random=os.urandom).state is Standing.DONE


def test_a_copy_that_turns_up_again_is_open_for_whoever_was_erased_since_it_was_made(store):
    made = note(store, Kind.EXPORT, "a drawer")
    reached = erase(store, ruth(store))
    for state in (Standing.DONE, Standing.OPEN):
        register.confirm(store, made.copy_id, state, evidence="seen", now=now, random=os.urandom)
    assert prove._standings(store, reached.epoch_before)[made.copy_id] == "open"
    assert [one.state for one in prove.concerned(store, reached)] == ["open"]


def test_a_register_that_is_lost_while_certificates_name_copies_is_missed_until_it_begins_anew(store):
    places = store.places
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        note(memory.store, Kind.ESCROW, "a safe")
        memory.erase_run(approved(memory))
        (memory.store.vault.path / PATH).unlink()
        with pytest.raises(Corrupt, match="is lost"):
            register.copies(memory.store)
        with pytest.raises(Corrupt, match="is lost"):
            memory.plan_erasure(user_id="ben")
        made = note(memory.store, Kind.ESCROW, "a safe")
        assert register.copies(memory.store) == [made]


def test_a_copy_that_is_made_anew_is_open_again_under_its_id(store):
    made = note(store, Kind.ESCROW, "a")
    register.confirm(store, made.copy_id, Standing.DONE, evidence="destroyed", now=now, random=os.urandom)
    assert [(one.copy_id, one.state) for one in (note(store, Kind.ESCROW, "a"), *register.copies(store))] == [(made.copy_id, "open")] * 2


def test_the_register_is_sealed_and_a_changed_one_is_refused(store):
    note(store, Kind.OTHER, SECRET, evidence=SECRET)
    assert_forgotten(store.vault.path, [SECRET])
    path = store.vault.path / PATH
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(Corrupt):
        register.copies(store)


def test_a_reset_knows_the_register():
    assert OURS[Place.VAULT].fullmatch(PATH.as_posix())


def test_a_certificate_knows_every_kind_state_and_owner_of_the_register():
    assert tuple(Kind) == certificate.COPY_KINDS
    assert tuple(Standing) == certificate.COPY_STATES
    assert tuple(Owner) == certificate.OWNERS
