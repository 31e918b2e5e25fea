"""Publishing swaps one pointer: whoever was faster wins, nobody reads what is half there, and what is replaced goes in the end."""

from __future__ import annotations

import os

import pytest

from refold import files, journal
from refold.errors import Corrupt, Locked
from refold.search_recipe import shipped
from refold.state.builder import GRACE, Builder, Moved
from refold.state.generation import Absence, State, is_current, reading
from refold.state.manifest import CURRENT, RUNS, numbers
from refold.state.segments import newest_to_merge
from refold.store import open_store
from tests.state.made import NOW, RELATIONS, add, builder, fold, rows, say, told, until


def runs_of(store):
    return set(files.names(store.places.store / "state" / RUNS))


def generations(store):
    return numbers(files.names(store.places.store / "state"))


def chat(store, count, start=0):
    add(store, [say("ada", f"tea number {at}", at=str(at)) for at in range(start, start + count)])


def test_publishing_costs_what_is_new(store):
    chat(store, 64)
    base = fold(store).state
    before = runs_of(store)
    chat(store, 4, start=64)
    published = fold(store, base)
    assert published.merged_rows == 0
    assert before < runs_of(store)
    assert published.rows < base.counts["events"]


def test_a_publish_does_not_wait_for_ever_for_who_changes_the_store(store, monkeypatch):
    monkeypatch.setattr("refold.state.builder.PUBLISH_WAIT_SECONDS_MAX", 0.05)
    chat(store, 2)
    with files.lock(store.places.vault / journal.LOCK), pytest.raises(Locked) as caught:
        fold(store)
    assert caught.value.hint == "refold recover"
    assert runs_of(store) == set()
    assert fold(store).events == 2


def test_small_segments_are_merged_and_reported(store):
    state = None
    for start in range(0, 60, 6):
        chat(store, 6, start)
        published = fold(store, state)
        state = published.state
        assert len(state.manifest.segments) <= 4
    assert state is not None
    assert state.table("events").num_rows == 60


@pytest.mark.parametrize(
    ("sizes", "count"), [([], 0), ([5], 0), ([400, 100], 0), ([399, 100], 2), ([1000, 40, 11], 2), ([1000, 200, 40, 11], 4), ([9, 3, 1], 3)]
)
def test_segments_grow_geometrically(sizes, count):
    assert newest_to_merge(sizes) == count


def test_the_second_of_two_folds_from_one_base_has_to_plan_again(store):
    chat(store, 10)
    base = fold(store, end=5).state
    slow = builder(store, base)
    for events, subjects in store.log.entries(5):
        slow.add(events, subjects=subjects)
    fast = fold(store, base)
    with pytest.raises(Moved):
        slow.publish(store.log.head, now=lambda: NOW)
    assert runs_of(store) == fast.state.manifest.runs  # the loser has taken its runs away
    assert rows(State.open(store)) == rows(fast.state)


def test_a_fold_that_ends_under_another_epoch_publishes_nothing(store):
    chat(store, 4)
    slow = builder(store)
    slow.add([event for batch in store.log.events() for event in batch])
    new_epoch(store)
    with pytest.raises(Moved):
        slow.publish(store.log.head, now=lambda: NOW)
    assert State.open(store).absent is Absence.NEVER


def test_relations_or_recipe_that_changed_need_a_full_fold(store):
    chat(store, 4)
    base = fold(store, end=2).state
    with pytest.raises(Moved):
        Builder(store, base, relations=bytes([1]) * 32, recipe=shipped())


def test_unpublished_runs_are_never_read_and_go_when_they_are_old(store):
    chat(store, 4)
    stale = builder(store, flush_events=1)
    stale.add([event for batch in store.log.events() for event in batch])
    debris = runs_of(store)
    assert debris
    assert State.open(store).absent is Absence.NEVER
    published = fold(store)
    assert debris < runs_of(store)  # it may be a fold at work
    chat(store, 1, start=4)
    for name in debris:
        os.utime(store.places.store / "state" / RUNS / name, (NOW / 1e6, NOW / 1e6))
    later = fold(store, published.state, later=GRACE + 1)
    assert later.swept_files >= len(debris)
    assert not debris & runs_of(store)


def test_older_generations_and_their_runs_are_removed(store):
    chat(store, 20)
    first = fold(store)
    second = fold(store)
    assert generations(store) == [second.state.number]
    assert runs_of(store) == second.state.manifest.runs
    assert not first.state.manifest.runs & runs_of(store)


def test_nothing_is_removed_while_a_query_runs_and_the_next_publish_does(store, places):
    chat(store, 20)
    first = fold(store)
    with open_store(places) as other, reading(other, State.open(other)) as reader:
        second = fold(store)
        assert second.swept_files == 0
        assert reader.table("events").num_rows == 20
    third = fold(store)
    assert runs_of(store) == third.state.manifest.runs
    assert not first.state.manifest.runs & runs_of(store)


def test_a_reader_is_given_the_newer_state(store):
    chat(store, 3)
    old = fold(store, end=2).state
    new = fold(store).state
    assert not is_current(store, old)
    with reading(store, old) as state:
        assert (state.number, state.size) == (new.number, store.log.head.size)
        with reading(store, state) as same:
            assert same is state


def test_a_state_that_another_thread_reads_stays_open_until_it_is_done(store):
    chat(store, 5)
    old = fold(store, end=4).state
    with reading(store, old) as mine:
        assert mine is old
        fold(store)
        with reading(store, old) as newer:
            assert newer.number > old.number
        assert mine.table("events").num_rows == 3  # of four entries the first declares Ada
    assert not mine._runs


def test_a_run_whose_bytes_do_not_open_stops_the_merge(store):
    chat(store, 8)
    base = fold(store, end=6).state
    victim = store.places.store / "state" / RUNS / base.manifest.segments[0].runs["events"].name
    flip(victim, 200)
    chat(store, 8, start=8)
    with pytest.raises(Corrupt) as caught:
        fold(store, base)
    assert victim.name in (caught.value.path or "")
    assert State.open(store).number == base.number


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("written", range(0, 13, 2))
def test_a_publish_that_is_killed_anywhere_leaves_the_old_state_or_the_new_one(store, monkeypatch, written):
    chat(store, 12)
    base = fold(store, end=6).state
    old = rows(base)
    left, write = written, files._write_new

    def write_until_killed(path, data, **how):
        nonlocal left
        if not left:
            raise Killed
        left -= 1
        write(path, data, **how)

    monkeypatch.setattr(files, "_write_new", write_until_killed)
    with pytest.raises(Killed):
        fold(store, base)
    monkeypatch.undo()
    with open_store(store.places) as again:
        assert rows(State.open(again)) == old
        assert rows(fold(again, State.open(again)).state) == rows(fold(again).state)


def flip(path, at):
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def new_epoch(store):
    """Make the next epoch live, as an erasure of nobody would."""
    store.log.fence(now=lambda: NOW, random=os.urandom)
    secrets = store.keyring.succeed([], random=os.urandom)
    store.vault.prepare(secrets, random=os.urandom)
    store.vault.seal(secrets.epoch)
    store.log.lift(now=lambda: NOW, random=os.urandom)


def test_after_a_new_epoch_the_old_state_is_absent_and_a_fold_replaces_it(store):
    add(store, [say("ada", "tea", at="1")])
    old = fold(store).state
    new_epoch(store)
    with reading(store, old) as state:
        assert state.absent is Absence.EPOCH
    again = fold(store, None)
    assert State.open(store).absent is None
    assert again.state.number > old.number


def test_a_pointer_that_its_manifest_does_not_bear_out_is_damage(store):
    chat(store, 4)
    state = fold(store, end=3).state
    pointer = state.manifest.pointer
    for size, last_hash in ((3, bytes(32)), (99, pointer.last_hash), (2, until(store, 2).last_hash)):
        forged = type(pointer)(pointer.number, pointer.epoch, size, last_hash)
        files.replace(store.places.store / "state" / CURRENT, forged.raw)
        assert State.open(store).absent is Absence.DAMAGED
    assert state.manifest.relations == RELATIONS


def test_the_profiles_of_a_generation_are_those_that_were_put_last_and_stay_until_others_are(store):
    def said():
        return State.open(store).table("profiles")["text"].to_pylist()

    add(store, [say("ada", "one", at="1")])
    first = fold(store, profiles=told((7, "Ada counts."), (9, "Ben sleeps."))).state
    assert said() == ["Ada counts.", "Ben sleeps."]
    kept = first.manifest.profiles
    for at in range(2, 12):  # often enough that segments are merged
        add(store, [say("ada", "more", at=str(at))])
        fold(store, State.open(store), later=at)
    assert State.open(store).manifest.profiles == kept
    add(store, [say("ada", "last", at="12")])
    fold(store, State.open(store), profiles=told((7, "Ada rests.")), later=12)
    assert said() == ["Ada rests."]
    assert kept is not None
    assert not (store.places.store / "state" / RUNS / kept.name).exists()
    add(store, [say("ada", "very last", at="13")])
    fold(store, State.open(store), profiles=told(), later=13)
    assert (said(), State.open(store).manifest.profiles) == ([], None)
