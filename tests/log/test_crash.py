"""Crashes: what was acknowledged is there, what was not can be said again, and the next append works."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from refold import files
from refold.errors import WriteFailed
from refold.store import Store, open_store
from tests.log import Disk, failing, heard, say, texts


@pytest.fixture(autouse=True)
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_poisoned", None)


@pytest.mark.slow
def test_killed_at_any_system_call_of_an_append_nothing_is_lost_or_doubled(store: Store):
    """Every attempt is killed one call later than the one before; each is then retried with the same key."""
    say(store, "before", user="user 0")
    done = subprocess.run(
        [sys.executable, "-m", "tests.log.crash", str(store.places.store.parent)], capture_output=True, text=True, timeout=300, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    killed = [line for line in lines if line[1] == "killed"]
    retried = {line[0]: (int(line[2]), line[3]) for line in lines if line[1] == "retried"}
    assert len(killed) >= 15
    said = Counter(texts(store))
    assert set(said.values()) == {1}
    assert set(said) == {"before", *(f"event {number}" for number in retried)}
    by_seq = {event.seq: event.text for event in heard(store)}
    assert all(by_seq[seq] == f"event {number}" for number, (seq, _) in retried.items())
    assert {new for _, new in retried.values()} == {"True", "False"}  # some had committed before they were killed
    assert store.log.debris() != []


CALLS_OF_AN_APPEND = 40


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_write_that_fails_anywhere_acknowledges_nothing_and_the_next_append_works(
    store: Store, monkeypatch: pytest.MonkeyPatch, code: int
):
    say(store, "before")
    failed = 0
    for at in range(1, CALLS_OF_AN_APPEND):
        disk = Disk(failing(at, code), calls=("open", "write", "link", "unlink"))
        with monkeypatch.context() as patched:
            patched.setattr(files, "os", disk)
            try:
                say(store, f"event {at}", key=f"key {at}")
            except WriteFailed:
                failed += 1
            else:
                assert disk.count < at or f"event {at}" in texts(store)
                if disk.count < at:
                    break
        monkeypatch.setattr(files, "_poisoned", None)
        with open_store(store.places) as again:
            say(again, f"event {at}", key=f"key {at}")
    assert failed >= 5
    assert Counter(texts(store)) == Counter(["before", *(f"event {number}" for number in range(1, at + 1))])


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_failed_fsync_is_fatal_to_the_process_and_to_nothing_else(store: Store, monkeypatch: pytest.MonkeyPatch, at: int):
    """Part, its folder, commit, its folder: whichever fails, this process acknowledges nothing any more."""
    say(store, "before")
    with monkeypatch.context() as patched:
        patched.setattr(files, "os", Disk(failing(at, errno.EIO), calls=("fsync",)))
        with pytest.raises(WriteFailed):
            say(store, "unsure", key="k")
    with pytest.raises(WriteFailed, match="earlier fsync"):
        say(store, "later")
    monkeypatch.setattr(files, "_poisoned", None)
    with open_store(store.places) as another_process:
        say(another_process, "unsure", key="k")
        assert texts(another_process) == ["before", "unsure"]


def test_an_append_syncs_the_part_and_its_name_before_the_commit_and_the_commits_name_after_the_link(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    say(store, "before")
    order: list[str] = []

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        order.append(name)
        return call()

    monkeypatch.setattr(files, "os", Disk(step, calls=("write", "fsync", "link", "unlink")))
    say(store, "hello")
    assert order == ["write", "fsync", "fsync", "write", "fsync", "link", "unlink", "fsync"]
