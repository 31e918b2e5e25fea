"""R3: the disk is full at any write of a fold or a compaction; nothing that was there is lost, and the next run works."""

from __future__ import annotations

import errno
import os

from refold import files
from refold.errors import WriteFailed
from refold.state.generation import State
from tests.conftest import now
from tests.log import Disk, failing, texts
from tests.state.made import add, fold, rows, say

CALLS = ("write", "link", "rename")


def until_it_works(monkeypatch, work) -> int:
    """Do something while ever later writes find the disk full; return how often it failed."""
    failed = 0
    while True:
        with monkeypatch.context() as patched:
            patched.setattr(files, "os", Disk(failing(failed + 1, errno.ENOSPC), calls=CALLS))
            try:
                work()
                return failed
            except WriteFailed:
                failed += 1


def test_r3_a_full_disk_at_any_write_of_a_fold_leaves_the_state_as_it_was(store, monkeypatch):
    add(store, [say("ada", f"tea number {at}", at=str(at)) for at in range(4)])
    base = fold(store, end=3).state
    was = rows(base)

    def again() -> None:
        state = State.open(store)
        assert rows(state) == was
        fold(store, state)

    assert until_it_works(monkeypatch, again) >= 5
    assert State.open(store).size == store.log.head.size


def test_r3_a_full_disk_at_any_write_of_a_compaction_loses_no_entry(store, monkeypatch):
    for at in range(4):
        add(store, [say("ada", f"tea number {at}", at=str(at))])
    said, parts = texts(store), len(store.log.head.parts)
    failed = until_it_works(monkeypatch, lambda: store.log.compact(now=now, random=os.urandom, parts_max=2))
    assert failed >= 2
    assert texts(store) == said
    assert len(store.log.head.parts) < parts
