"""Fences and epochs: no append crosses an erasure unseen, and old keys are dropped from memory."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from refold.errors import Blocked, Corrupt, KeyMissing, Locked, SubjectErased, Usage
from refold.log import append
from refold.model import EntryKind
from refold.store import Store, open_store
from tests.conftest import now
from tests.log import before_link, blank, heard, next_epoch, pass_a_fence, say, texts


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "TURN_SECONDS_MAX", 0.05)


def of(store: Store, user: str) -> bytes:
    return next(entry.subject for entry in store.log.subjects() if entry.aliases[0][1] == user)


def test_under_a_fence_nothing_is_added(store: Store):
    say(store, "before")
    with open_store(store.places) as other:
        store.log.fence(now=now, random=os.urandom)
        for writer in (store, other):
            with pytest.raises(Locked, match="fence"):
                say(writer, "during")
    assert texts(store) == ["before"]


def test_a_lift_without_a_new_epoch_goes_back_to_review(store: Store):
    say(store, "before")
    store.log.fence(now=now, random=os.urandom)
    store.log.lift(now=now, random=os.urandom)
    say(store, "after")
    assert (store.log.head.epoch, texts(store)) == (1, ["before", "after"])


def test_after_a_fence_the_next_epoch_is_written_and_all_is_read(store: Store):
    say(store, "before", user="ada")
    pass_a_fence(store)
    say(store, "after", user="ada")
    assert [(event.text, event.epoch) for event in heard(store)] == [("before", 1), ("after", 2)]
    assert store.log.head.epoch == 2
    assert len({event.subjects for event in heard(store)}) == 1
    assert [entry.aliases[0][1] for entry in store.log.subjects()] == ["ada"]


def test_a_writer_that_slept_through_an_erasure_seals_anew_and_drops_the_old_keys(store: Store, monkeypatch: pytest.MonkeyPatch):
    say(store, "warm", user="ada")
    with open_store(store.places) as other:
        old = store.keyring
        before_link(monkeypatch, lambda: pass_a_fence(other))
        (added,) = say(store, "late", user="ada")
    assert store.log.event(added.seq).epoch == 2
    assert store.keyring is not old
    assert store.keyring.epoch == 2
    with open_store(store.places) as fresh:
        assert texts(fresh) == ["warm", "late"]


def test_a_writer_that_slept_does_not_write_under_an_open_fence(store: Store, monkeypatch: pytest.MonkeyPatch):
    say(store, "warm", user="ada")
    with open_store(store.places) as other:
        before_link(monkeypatch, lambda: other.log.fence(now=now, random=os.urandom))
        with pytest.raises(Locked):
            say(store, "late", user="ada")
    assert texts(store) == ["warm"]


def test_a_person_erased_while_a_writer_slept_does_not_come_back_by_it(store: Store, monkeypatch: pytest.MonkeyPatch):
    """The event was about a known person; minting that person anew would undo the erasure."""
    say(store, "warm", user="ada")
    say(store, "hers", user="ruth")
    ruth = of(store, "ruth")
    with open_store(store.places) as other:
        before_link(monkeypatch, lambda: pass_a_fence(other, keep=lambda subject: subject != ruth))
        with pytest.raises(SubjectErased):
            say(store, "late", user="ruth")
    assert texts(store) == ["warm"]


def test_events_of_a_subject_left_out_are_dark_for_everyone(store: Store):
    say(store, "shared", user="ada", subjects=("ruth",))
    (hers,) = say(store, "hers", user="ruth")
    say(store, "his", user="ada")
    ruth = of(store, "ruth")
    pass_a_fence(store, keep=lambda subject: subject != ruth)
    assert texts(store) == ["his"]
    tally: Counter[str] = Counter()
    assert [event.text for events in store.log.events(tally=tally) for event in events] == ["his"]
    assert tally == {"dark": 2, "subject": 2, "control": 2}
    with pytest.raises(KeyMissing):
        store.log.event(hers.seq)


def test_the_keys_of_an_older_epoch_are_enough_for_nothing_new(store: Store):
    """Who kept the old keyring in memory cannot read what is written after the erasure."""
    say(store, "before", user="ada")
    old = store.keyring
    pass_a_fence(store)
    (added,) = say(store, "after", user="ada")
    event = store.log.event(added.seq)
    for subjects in (event.subjects, ()):
        with pytest.raises(KeyMissing):
            old.event_key(2, event.event_id, subjects)


def test_a_sealed_epoch_without_a_fence_blocks_writers(store: Store):
    say(store, "before")
    next_epoch(store)
    with open_store(store.places) as other, pytest.raises(Blocked, match="epoch 2"):
        say(other, "after")


def test_a_log_of_a_later_epoch_than_the_vault_says_that_keys_are_missing(store: Store):
    """The vault was put back from an old copy."""
    say(store, "before")
    pass_a_fence(store)
    for path in sorted((store.places.vault / "keys" / "epoch-000002").iterdir()):
        path.unlink()
    with pytest.raises(KeyMissing, match="epoch 1"):
        open_store(store.places)


def test_a_second_fence_waits_for_the_first(store: Store):
    store.log.fence(now=now, random=os.urandom)
    with pytest.raises(Locked):
        store.log.fence(now=now, random=os.urandom)


def test_there_is_nothing_to_lift_without_a_fence(store: Store):
    with pytest.raises(Usage):
        store.log.lift(now=now, random=os.urandom)


def test_a_fence_is_copied_forward_while_it_stands(store: Store):
    say(store, "one", "two")
    store.log.fence(now=now, random=os.urandom)
    blank(store, [1])
    assert store.log.head.fence == 2
    store.log.lift(now=now, random=os.urandom)
    assert store.log.head.fence is False


def test_idempotency_keys_are_known_across_epochs(store: Store):
    (first,) = say(store, "once", key="k")
    pass_a_fence(store)
    (again,) = say(store, "once", key="k")
    assert (again.seq, again.new) == (first.seq, False)


def test_many_epochs_later_everything_is_still_read(store: Store):
    for epoch in range(1, 5):
        say(store, f"in epoch {epoch}", user=f"user {epoch % 2}")
        pass_a_fence(store)
    assert texts(store) == [f"in epoch {epoch}" for epoch in range(1, 5)]
    assert store.keyring.epoch == 5


def test_an_erased_entry_is_counted_and_named(store: Store):
    one, two = say(store, "one", "two")
    blank(store, [one.seq])
    tally: Counter[str] = Counter()
    assert [event.text for events in store.log.events(tally=tally) for event in events] == ["two"]
    assert tally == {"erased": 1, "subject": 1, "control": 1}
    assert store.log.head.erasures == (3,)
    assert store.log.columns()["erased"].to_pylist() == [False, True, False, False]
    assert store.log.event(two.seq).text == "two"
    with pytest.raises(KeyMissing, match="erased"):
        store.log.event(one.seq)


def test_an_erasure_is_known_to_a_process_that_opens_the_log_long_after(store: Store):
    one, _ = say(store, "one", "two")
    blank(store, [one.seq])
    for number in range(140):
        say(store, f"line {number}")
    with open_store(store.places) as other:
        assert texts(other)[0] == "two"


def test_a_missing_payload_without_an_erasure_entry_is_damage(store: Store):
    one, two = say(store, "one", "two")
    blank(store, [one.seq], said=[two.seq])
    with pytest.raises(Corrupt, match=f"entry {one.seq} is missing"):
        texts(store)
    with pytest.raises(Corrupt, match=f"entry {one.seq} is missing"):
        store.log.event(two.seq)


def test_a_control_entry_is_in_the_list_of_its_commit(store: Store):
    done = store.log.fence(now=now, random=os.urandom)
    assert store.log.head.commit.control == ((done.first, EntryKind.FENCE),)
    assert store.log.head.fence == 2
