"""Keys follow from a few secrets by fixed formulas, and what was left out of a new epoch is gone."""

from __future__ import annotations

import hashlib
import hmac
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.errors import KeyMissing
from refold.keys import keyring as keyrings
from refold.keys.keyring import Keyring, Secrets, fact_key
from refold.keys.records import Records
from refold.model import EventId, SubjectId

DRAW = Random(7)
IDS = [EventId(DRAW.randbytes(16)) for _ in range(40)]
HALF = st.sampled_from([bytes(8), bytes(7) + b"\1", b"\x7f" + bytes(7), b"\x80" + bytes(7), b"\xff" * 8])
ID = st.tuples(HALF, HALF).map(b"".join)  # many of which begin alike
ADA, BEN, CLEO = (SubjectId(DRAW.randbytes(16)) for _ in range(3))


def hm(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


@pytest.fixture
def secrets() -> Secrets:
    return Secrets.fresh(random=Random(1).randbytes)


def test_an_event_key_is_the_formula(secrets: Secrets):
    """event_key = HMAC(HMAC(HMAC(HMAC(batch_seed, byte 0), byte 1), id), T(label) ‖ suite ‖ id ‖ secrets in the order of their ids)."""
    event = IDS[0]
    batch_secret = hm(hm(secrets.batch_seed, event[:1]), event[1:2])
    subjects = tuple(sorted([ADA, BEN]))
    subject_secrets = b"".join(hm(secrets.subject_seed, subject) for subject in subjects)
    label = hashlib.sha256(b"refold.cell/key/v1").digest()
    expected = hm(hm(batch_secret, event), label + b"\x01" + event + subject_secrets)
    assert Keyring(secrets).event_key(1, event, subjects) == expected


def test_an_event_without_subjects_has_its_share_alone(secrets: Secrets):
    event = IDS[0]
    share = hm(hm(hm(secrets.batch_seed, event[:1]), event[1:2]), event)
    label = hashlib.sha256(b"refold.cell/key/v1").digest()
    assert Keyring(secrets).event_key(1, event, ()) == hm(share, label + b"\x01" + event)


def test_every_input_changes_the_key(secrets: Secrets):
    keyring = Keyring(secrets)
    keys = {
        keyring.event_key(1, IDS[0], (ADA,)),
        keyring.event_key(1, IDS[1], (ADA,)),
        keyring.event_key(1, IDS[0], (BEN,)),
        keyring.event_key(1, IDS[0], ()),
        keyring.event_key(1, IDS[0], tuple(sorted([ADA, BEN]))),
        keyring.event_key(1, IDS[0], (ADA,), 2),
    }
    assert len(keys) == 6


def test_a_fact_key_is_hkdf_of_the_event_key():
    assert fact_key(bytes(32)) == hm(hm(bytes(32), bytes(32)), b"refold/fact/v1\x01")


def test_the_next_epoch_opens_older_events_of_those_it_carries(secrets: Secrets):
    first = Keyring(secrets)
    key = first.event_key(1, IDS[0], (ADA,))
    second = Keyring(first.succeed([ADA], random=Random(2).randbytes))
    assert second.event_key(1, IDS[0], (ADA,)) == key
    third = Keyring(second.succeed([ADA], random=Random(3).randbytes))
    assert third.event_key(1, IDS[0], (ADA,)) == key


def test_a_subject_left_out_darkens_every_event_it_shares(secrets: Secrets):
    first = Keyring(secrets)
    second = Keyring(first.succeed([ADA], random=Random(2).randbytes))
    with pytest.raises(KeyMissing):
        second.event_key(1, IDS[0], tuple(sorted([ADA, BEN])))
    with pytest.raises(KeyMissing):
        second.event_key(1, IDS[1], (BEN,))


def test_an_id_used_anew_after_its_erasure_has_another_secret(secrets: Secrets):
    """What the seed of the new epoch gives opens nothing of the old one."""
    first = Keyring(secrets)
    second = Keyring(first.succeed([], random=Random(2).randbytes))
    second.event_key(2, IDS[1], (ADA,))
    with pytest.raises(KeyMissing):
        second.event_key(1, IDS[0], (ADA,))


def test_state_and_attest_keys_are_never_carried_and_the_suppress_key_is(secrets: Secrets):
    after = Keyring(secrets).succeed([ADA], random=Random(2).randbytes)
    fresh = [
        (getattr(secrets, name), getattr(after, name)) for name in ("batch_seed", "subject_seed", "state_key", "attest_key", "idem_key")
    ]
    assert all(old != new for old, new in fresh)
    assert len({new for _, new in fresh}) == 5
    assert after.suppress_key == secrets.suppress_key


def test_an_explicit_secret_stays_the_subjects_in_the_new_epoch(secrets: Secrets):
    first = Keyring(secrets)
    second = Keyring(first.succeed([ADA], random=Random(2).randbytes))
    assert second.has_explicit(ADA)
    assert not second.has_explicit(BEN)
    third = Keyring(second.succeed([ADA], random=Random(3).randbytes))
    assert third.event_key(2, IDS[3], (ADA,)) == second.event_key(2, IDS[3], (ADA,))


def test_whoever_is_not_dark_keeps_the_secret_that_was_carried_over(secrets: Secrets):
    second = Keyring(Keyring(secrets).succeed([ADA, BEN], random=Random(2).randbytes))
    third = Keyring(second.succeed([ADA], dark=[BEN], random=Random(3).randbytes))
    assert third.event_key(1, IDS[0], (ADA,)) == second.event_key(1, IDS[0], (ADA,))
    assert not third.has_explicit(BEN)


@given(there=st.sets(ID), new=st.sets(ID), gone=st.sets(ID))
def test_records_change_as_a_mapping_does_and_stay_sorted_by_id(there: set[bytes], new: set[bytes], gone: set[bytes]):
    records = {one: bytes(32) for one in there}
    added = {one: one + bytes(16) for one in new - there}
    left = {one: secret for one, secret in records.items() if one not in gone}
    asked = Records.listing([*new, *new], 16)
    assert asked.ids() == sorted(new)
    lacking = Records.of(records, 16).lacking(asked)
    assert lacking.ids() == sorted(added)
    given = lacking.with_secrets([one + bytes(16) for one in lacking.ids()])
    changed = Records.of(records, 16).without(gone).joined(given)
    assert changed.raw == Records.of({**left, **added}, 16).raw
    assert all(changed.get(one) == secret for one, secret in {**left, **added}.items())
    assert dict(changed.among(asked).items()) == {one: secret for one, secret in {**left, **added}.items() if one in new}


def test_what_is_derived_once_is_what_is_derived_anew(secrets: Secrets, monkeypatch: pytest.MonkeyPatch):
    """An erasure asks three times, each time for nearly the same people, and derives nobody's secret twice."""
    derived = list[bytes]()

    def macs(key: bytes, ids: list[bytes]) -> list[bytes]:
        derived.extend(ids)
        return [hm(key, one) for one in ids]

    monkeypatch.setattr(keyrings, "macs", macs)
    keyring = Keyring(secrets)
    for subjects, dark in (([ADA, BEN], []), ([ADA, BEN, CLEO], []), ([ADA, BEN, CLEO], [BEN])):
        held = keyring.succeed(subjects, dark=dark, random=Random(2).randbytes).subjects
        assert dict(held.items()) == {one: hm(secrets.subject_seed, one) for one in subjects if one not in dark}
    assert sorted(derived) == sorted([ADA, BEN, CLEO])
    keyring.forget()
    assert not len(keyring._derived)


def test_single_events_go_dark_and_their_neighbours_do_not(secrets: Secrets):
    """The seed is punctured: siblings on the path are explicit, the survivors of the batch have explicit shares."""
    first = Keyring(secrets)
    neighbour = EventId(IDS[0][:2] + bytes(14))
    cousin = EventId(IDS[0][:1] + bytes([IDS[0][1] ^ 1]) + bytes(14))
    everyone = [*IDS, neighbour, cousin]
    keys = {event: first.event_key(1, event, ()) for event in everyone}

    def survivors(epoch: int, batch: bytes) -> list[EventId]:
        return [event for event in everyone if event[:2] == batch]

    second = Keyring(first.succeed([], gone={1: [IDS[0]]}, survivors=survivors, random=Random(2).randbytes))
    with pytest.raises(KeyMissing):
        second.event_key(1, IDS[0], ())
    assert {event: second.event_key(1, event, ()) for event in everyone if event != IDS[0]} == {
        event: key for event, key in keys.items() if event != IDS[0]
    }
    third = Keyring(second.succeed([], gone={1: [neighbour, IDS[5]]}, survivors=survivors, random=Random(3).randbytes))
    for event in (IDS[0], IDS[5], neighbour):
        with pytest.raises(KeyMissing):
            third.event_key(1, event, ())
    assert third.event_key(1, cousin, ()) == keys[cousin]


def test_no_node_above_a_destroyed_event_is_left(secrets: Secrets):
    """Nothing in the new secrets gives the share of the event that went: not the seed, nor a node on its path, nor its own share."""
    event = IDS[0]
    path = [secrets.batch_seed, hm(secrets.batch_seed, event[:1])]
    path.append(hm(path[-1], event[1:2]))
    path.append(hm(path[-1], event))
    after = Keyring(secrets).succeed([], gone={1: [event]}, survivors=lambda epoch, batch: [event], random=Random(2).randbytes)
    kept = after.batches.raw + after.shares.raw + after.subjects.raw + after.batch_seed + after.subject_seed
    assert not any(secret in kept for secret in path)


def test_a_crowd_has_the_same_key_every_time_and_is_not_kept_in_memory(secrets: Secrets):
    keyring = Keyring(secrets)
    crowd = tuple(SubjectId(number.to_bytes(16, "big")) for number in range(500))
    assert keyring.event_key(1, IDS[0], crowd) == keyring.event_key(1, IDS[0], crowd)
    assert crowd not in keyring._living
    keyring.event_key(1, IDS[0], (ADA,))
    assert (ADA,) in keyring._living


def test_the_secrets_that_are_kept_have_a_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keyrings, "KEPT_MAX", 8)
    keyring = Keyring(Secrets.fresh(random=Random(1).randbytes))
    keys = [keyring.event_key(1, bytes([at]) * 16, (bytes([at]) * 16,)) for at in range(40)]
    assert len(keyring._nodes) <= 8
    assert len(keyring._living) <= 8
    assert keys == [keyring.event_key(1, bytes([at]) * 16, (bytes([at]) * 16,)) for at in range(40)]
