"""Compaction: fewer files, the same entries, while readers and writers go on; nothing is removed that may still be needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from refold import files, ingest
from refold.errors import Corrupt, Locked
from refold.log import append
from refold.log.compact import Compacted, groups_of
from refold.log.parts import Part
from refold.model import Draft, Scope
from refold.store import Store, open_store
from tests.conftest import now
from tests.log import Disk, before_link, blank, heard, say, texts

HOUR = 3600 * 1_000_000


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "TURN_SECONDS_MAX", 0.05)


@pytest.fixture
def many(store: Store) -> Store:
    for number in range(12):
        say(store, f"line {number}", user=f"user {number % 3}")
    return store


def compact(store: Store, *, hours: int = 0, parts_max: int = 4) -> Compacted:
    return store.log.compact(now=lambda: now() + hours * HOUR, random=os.urandom, parts_max=parts_max)


def raw_rows(store: Store) -> list[tuple]:
    return [row for rows in store.log.rows() for row in zip(rows.headers(), rows.payloads(), rows.commits(), rows.hashes(), strict=True)]


def test_entries_are_copied_byte_for_byte_and_the_chain_stays(many: Store):
    before, size, last = raw_rows(many), many.log.head.size, many.log.head.last_hash
    assert compact(many) == Compacted(12, 1, 0)
    assert raw_rows(many) == before
    assert (many.log.head.size, many.log.head.last_hash, len(many.log.head.parts)) == (size, last, 1)
    with open_store(many.places) as other:
        assert raw_rows(other) == before


def test_few_parts_are_left_alone(many: Store):
    version = many.log.head.version
    assert compact(many, parts_max=12) == Compacted(0, 0, 0)
    assert many.log.head.version == version


def test_a_replacement_carries_the_full_list(many: Store):
    compact(many)
    assert many.log.head.commit.live is not None
    assert many.log.head.commit.parts == ()


def test_erased_entries_stay_erased(many: Store):
    blank(many, [1, 3])
    before = raw_rows(many)
    compact(many)
    assert raw_rows(many) == before
    assert sum(payload is None for _, payload, _, _ in raw_rows(many)) == 2


def test_a_reader_with_an_older_list_finds_the_erasure_that_excuses_a_missing_payload(store: Store):
    """The part without the payload stays, being full; the one with the erasure entry is merged away."""
    drafts = [Draft(f"line {number}", scope=Scope("ada")) for number in range(8_200)]
    ingest.add(store, drafts, now=now, random=os.urandom)
    blank(store, [5])
    say(store, "after")
    with open_store(store.places) as reader:
        assert compact(store, parts_max=1).merged
        assert compact(store, hours=25).swept
        assert [event.text for events in reader.log.events(4, 7) for event in events] == ["line 3", "line 5"]


def test_a_reader_with_an_older_list_finds_the_new_parts(many: Store):
    with open_store(many.places) as reader:
        batches = reader.log.events()
        first = next(batches)
        compact(many)
        assert compact(many, hours=25).swept == 12
        rest = [event.text for events in batches for event in events]
        assert [event.text for event in first] + rest == [f"line {number}" for number in range(12)]
        assert reader.log.event(1).text == "line 0"


def test_writers_go_on_while_parts_are_merged(many: Store, monkeypatch: pytest.MonkeyPatch):
    with open_store(many.places) as writer:
        before_link(monkeypatch, lambda: say(writer, "meanwhile", user="user 0"))
        assert compact(many) == Compacted(12, 1, 0)
    assert texts(many) == [*(f"line {number}" for number in range(12)), "meanwhile"]
    assert len(many.log.head.parts) == 2


def test_a_compaction_whose_parts_were_replaced_meanwhile_is_dropped(many: Store, monkeypatch: pytest.MonkeyPatch):
    """An erasure replaced one of the parts: bringing its bytes back would undo it."""
    with open_store(many.places) as eraser:
        before_link(monkeypatch, lambda: blank(eraser, [1]))
        assert compact(many) == Compacted(0, 0, 0)
    many.log.refresh()
    assert raw_rows(many)[1][1] is None
    names = {path.name for path in many.log.debris()}
    assert len(names) == 1  # the part that the erasure replaced; nothing of the compaction


def test_under_a_fence_nothing_is_merged(many: Store, monkeypatch: pytest.MonkeyPatch):
    with open_store(many.places) as eraser:
        before_link(monkeypatch, lambda: eraser.log.fence(now=now, random=os.urandom))
        with pytest.raises(Locked):
            compact(many)
        with pytest.raises(Locked):
            compact(many)
    assert many.log.debris() == []
    assert len(heard(many)) == 12


def test_a_compaction_waits_for_no_other_change(many: Store):
    with files.lock(many.vault.mutate_lock), pytest.raises(Locked):
        compact(many)


def test_old_parts_stay_for_a_day(many: Store):
    compact(many)
    assert compact(many, hours=23).swept == 0
    assert len(many.log.debris()) == 12
    assert compact(many, hours=25).swept == 12
    assert many.log.debris() == []
    assert len(texts(many)) == 12


def test_old_parts_are_swept_even_if_every_night_compacts(many: Store, monkeypatch: pytest.MonkeyPatch):
    """Each part's grace is its own: a younger replacement does not prolong it."""
    compact(many)
    for number in range(6):
        say(many, f"next day {number}", user="user 0")
    assert compact(many, hours=20).into
    many.log.refresh()
    assert compact(many, hours=25).swept >= 12
    assert len(texts(many)) == 18


def test_a_lost_old_commit_is_named(many: Store):
    compact(many)
    lost = many.places.store / "log" / "commits" / f"{7:020d}.json"
    lost.unlink()
    with pytest.raises(Corrupt, match="commit 7 is missing") as raised:
        compact(many)
    assert raised.value.path == str(lost)


def test_the_grace_begins_when_a_part_is_replaced(many: Store):
    """However old the part itself is."""
    assert compact(many, hours=30).merged == 12
    assert compact(many, hours=31).swept == 0
    assert compact(many, hours=55).swept == 12


def test_a_young_stray_part_is_left_alone(many: Store):
    stray = many.places.store / "log" / "parts" / f"{1:020d}-{'cd' * 8}.parquet"
    stray.write_bytes(b"")
    young = (now() + 2 * HOUR) / 1e6
    os.utime(stray, (young, young))
    assert compact(many, hours=25, parts_max=99).swept == 0
    assert compact(many, hours=27, parts_max=99).swept == 1


def test_what_a_sleeping_writer_may_still_link_is_not_swept(many: Store):
    """A part for the very next seq: its writer may be paused between part and commit."""
    folder = many.places.store / "log" / "parts"
    future = folder / f"{many.log.head.size:020d}-{'ab' * 8}.parquet"
    past = folder / f"{1:020d}-{'cd' * 8}.parquet"
    left = [many.places.store / "log" / "commits" / f"{files.TEMPORARY}1", folder / "notes.txt"]
    for path in (future, past, *left):
        path.write_bytes(b"")
    assert compact(many, hours=25, parts_max=99).swept == 2
    assert future.exists()
    assert not past.exists()
    assert not left[0].exists()
    assert left[1].exists()


def test_a_killed_compaction_leaves_debris_and_the_next_one_works(many: Store, monkeypatch: pytest.MonkeyPatch):
    class Killed(BaseException):
        pass

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(files, "os", Disk(step, calls=("link",)))
        with pytest.raises(Killed):
            compact(many)
    assert len(many.log.debris()) == 2
    assert compact(many) == Compacted(12, 1, 0)
    assert len(texts(many)) == 12


def test_a_damaged_part_stops_its_compaction(many: Store):
    path = many.log.place.folder / many.log.head.parts[3].path
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Corrupt):
        compact(many)
    assert len(many.log.head.parts) == 12


def test_readers_and_writers_in_threads_notice_nothing(store: Store):
    wrong: list[object] = []
    done = threading.Event()

    def write() -> None:
        for number in range(40):
            say(store, f"line {number}")
        done.set()

    def read() -> None:
        with open_store(store.places) as reader:
            while not done.is_set():
                said = texts(reader)
                if said != [f"line {number}" for number in range(len(said))]:
                    wrong.append(said)

    threads = [threading.Thread(target=write), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    with open_store(store.places) as compacter:
        while not done.is_set():
            compact(compacter)
    for thread in threads:
        thread.join()
    assert wrong == []
    assert texts(store) == [f"line {number}" for number in range(40)]


def part(first: int, count: int, size: int = 2_000) -> Part:
    return Part("", size, "", first, count)


@pytest.mark.parametrize(
    ("live", "groups"),
    [
        ([part(0, 1), part(1, 1)], [2]),
        ([part(0, 8_192), part(8_192, 1)], []),
        ([part(0, 8_000), part(8_000, 192), part(8_192, 1), part(8_193, 1)], [2, 2]),
        ([part(0, 1, 8 << 20), part(1, 1, 8 << 20)], []),
        ([part(0, 1)], []),
        ([], []),
    ],
)
def test_neighbours_are_merged_up_to_the_size_of_a_part(live: list[Part], groups: list[int]):
    assert [len(group) for group in groups_of(tuple(live))] == groups
