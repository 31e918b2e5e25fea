"""Many writers: one wins each number, nothing is lost, and what a race changes is written anew."""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refold import files, ingest
from refold.errors import Usage, WriteFailed
from refold.log import append
from refold.model import AliasKind, Draft, Scope
from refold.store import Places, Store, open_store
from tests.conftest import now
from tests.log import Disk, before_link, heard, say, texts


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A held turn is waited for briefly; poison does not outlive a test."""
    monkeypatch.setattr(append, "TURN_SECONDS_MAX", 0.05)
    monkeypatch.setattr(files, "_poisoned", None)


def warm(store: Store) -> Store:
    """Let a store have appended, so that its probe of the file system lies behind it."""
    say(store, "warm", user="warm")
    return store


def test_a_paused_writer_loses_its_number_and_takes_the_next(store: Store, monkeypatch: pytest.MonkeyPatch):
    with open_store(store.places) as other:
        warm(store)
        before_link(monkeypatch, lambda: say(other, "first", user="ben"))
        (added,) = say(store, "second")
    assert [text for text in texts(store) if text != "warm"] == ["first", "second"]
    assert store.log.event(added.seq).text == "second"


def test_a_loser_leaves_no_part_behind(store: Store, monkeypatch: pytest.MonkeyPatch):
    with open_store(store.places) as other:
        warm(store)
        before_link(monkeypatch, lambda: say(other, "first"))
        say(store, "second")
    assert store.log.debris() == []


def test_a_loser_links_again_without_sealing_again(store: Store, monkeypatch: pytest.MonkeyPatch):
    """The place in the chain is not bound into a cell: the same ciphertext is committed at the next seq."""
    written: list[bytes] = []
    with open_store(store.places) as other:
        warm(store)
        say(store, "known", user="ada")

        def look() -> None:
            newest = max((store.places.store / "log" / "parts").iterdir(), key=lambda path: path.name)
            written.append(newest.read_bytes())
            say(other, "first", user="warm")

        before_link(monkeypatch, look)
        (added,) = say(store, "second", user="ada")
    (rows,) = store.log.rows(added.seq, added.seq + 1)
    payload = rows.payloads()[0]
    assert payload is not None
    assert payload in written[0]


def test_two_writers_that_meet_the_same_new_person_agree_on_one_id(store: Store, monkeypatch: pytest.MonkeyPatch):
    with open_store(store.places) as other:
        warm(store)
        before_link(monkeypatch, lambda: say(other, "first", user="zoe"))
        say(store, "second", user="Zoe")
    first, second = (event for event in heard(store) if event.text != "warm")
    assert first.subjects == second.subjects
    assert first.speaker == second.speaker
    assert sum(1 for entry in store.log.subjects() if entry.subject == first.speaker) == 1


def test_a_subject_added_by_another_meanwhile_is_adopted(store: Store, monkeypatch: pytest.MonkeyPatch):
    with open_store(store.places) as other:
        warm(store)
        before_link(monkeypatch, lambda: say(other, "first", user="zoe"))
        subject = ingest.subject_add(store, [(AliasKind.HANDLE, "zoe"), (AliasKind.NAME, "Zoe Lind")], now=now, random=os.urandom)
    assert subject in heard(store)[-1].subjects


def test_a_key_that_another_writer_just_used_adds_nothing(store: Store, monkeypatch: pytest.MonkeyPatch):
    with open_store(store.places) as other:
        warm(store)
        theirs: list[ingest.Added] = []
        before_link(monkeypatch, lambda: theirs.extend(say(other, "once", key="k")))
        (ours,) = say(store, "once", key="k")
    assert (ours.seq, ours.new) == (theirs[0].seq, False)
    assert texts(store).count("once") == 1


def test_a_key_that_another_writer_just_used_for_something_else_is_a_mistake(store: Store, monkeypatch: pytest.MonkeyPatch):
    with open_store(store.places) as other:
        warm(store)
        before_link(monkeypatch, lambda: say(other, "theirs", key="k"))
        with pytest.raises(Usage, match="key was used before"):
            say(store, "ours", key="k")
    assert texts(store)[1:] == ["theirs"]


def test_an_error_after_the_link_is_a_success_that_is_looked_up(store: Store, monkeypatch: pytest.MonkeyPatch):
    """The server answers with a time-out although it did it."""

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        call()
        raise OSError(errno.ETIMEDOUT, "timed out")

    warm(store)
    with monkeypatch.context() as patched:
        patched.setattr(files, "os", Disk(step, calls=("link",)))
        (added,) = say(store, "once", user="warm")
    assert (added.new, texts(store)) == (True, ["warm", "once"])
    say(store, "next", user="warm")
    assert texts(store) == ["warm", "once", "next"]


def test_exists_can_mean_that_our_own_link_was_repeated(store: Store, monkeypatch: pytest.MonkeyPatch):
    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        call()
        raise FileExistsError(errno.EEXIST, "exists")

    warm(store)
    monkeypatch.setattr(files, "os", Disk(step, calls=("link",)))
    (added,) = say(store, "once", user="warm")
    assert (added.new, texts(store)) == (True, ["warm", "once"])


def test_an_error_before_the_link_adds_nothing_and_deletes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch):
    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        raise OSError(errno.EIO, "input/output error")

    warm(store)
    with monkeypatch.context() as patched:
        patched.setattr(files, "os", Disk(step, calls=("link",)))
        with pytest.raises(WriteFailed):
            say(store, "lost", user="warm")
    assert len(store.log.debris()) == 2
    say(store, "kept", user="warm")
    assert texts(store) == ["warm", "kept"]


def test_a_file_system_whose_link_replaces_files_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch):
    class Careless:
        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def link(self, source: Path, target: Path) -> None:
            target.unlink(missing_ok=True)
            os.link(source, target)

    monkeypatch.setattr(files, "os", Careless())
    with pytest.raises(Usage, match="link"):
        say(store, "lost")


def test_a_writer_that_holds_the_turn_and_sleeps_stops_nobody(store: Store):
    with files.lock(store.places.store / "log" / "turn"):
        say(store, "anyway")
    assert texts(store) == ["anyway"]


def test_threads_that_share_a_store_lose_nothing(store: Store):
    def work(number: int) -> None:
        for step in range(15):
            say(store, f"{number}-{step}", user=f"user {number % 3}")

    run(threading.Thread(target=work, args=(number,)) for number in range(6))
    assert Counter(texts(store)) == Counter(f"{number}-{step}" for number in range(6) for step in range(15))
    assert [event.seq for event in heard(store)] == sorted(event.seq for event in heard(store))
    assert len({entry.subject for entry in store.log.subjects()}) == 3


def test_what_a_thread_was_told_is_true_when_it_is_told(store: Store):
    """Read your own write, while others write: the seq that came back holds what was said."""
    wrong: list[str] = []

    def work(number: int) -> None:
        for step in range(10):
            (added,) = say(store, f"{number}-{step}", user=f"user {number}")
            if store.log.event(added.seq).text != f"{number}-{step}":
                wrong.append(f"{number}-{step}")

    run(threading.Thread(target=work, args=(number,)) for number in range(4))
    assert wrong == []


def work_alone(places: Places, number: int, commits: int, together: Any) -> None:
    with open_store(places) as store:
        together.wait()
        for step in range(commits):
            say(store, f"{number}-{step}", user=f"user {step % 5}")


@pytest.mark.slow
def test_eight_processes_write_dense_and_complete(store: Store):
    """No number twice, none missing, one id for each person whoever met them first. That nobody starves is a row of the benchmarks."""
    processes, commits = 8, 50
    context = multiprocessing.get_context("fork")  # a new Python would import for longer than it writes
    together = context.Barrier(processes)
    run(context.Process(target=work_alone, args=(store.places, number, commits, together)) for number in range(processes))
    said = heard(store)
    assert Counter(event.text for event in said) == Counter(f"{number}-{step}" for number in range(processes) for step in range(commits))
    entries = list(store.log.subjects())
    assert sorted([event.seq for event in said] + [entry.seq for entry in entries]) == list(range(store.log.head.size))
    assert len(entries) == 5
    assert store.log.debris() == []


def run(workers: Any) -> None:
    started = list(workers)
    for worker in started:
        worker.start()
    for worker in started:
        worker.join()
    assert all(getattr(worker, "exitcode", 0) == 0 for worker in started)


def test_a_batch_larger_than_a_part_is_one_commit(store: Store):
    drafts = [Draft(f"line {number}", scope=Scope("ada")) for number in range(9_000)]
    added = ingest.add(store, drafts, now=now, random=os.urandom)
    assert store.log.head.version == 1
    assert [part.count for part in store.log.head.parts] == [8_192, 809]
    assert [one.seq for one in added] == list(range(1, 9_001))
    assert texts(store) == [draft.text for draft in drafts]
