"""The log room. What its tests share: short ways to say and hear something, and a disk that can be told to fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from refold import files, ingest
from refold.keys.keyring import Keyring
from refold.log import append, entry, parts
from refold.log.commit import Replacement
from refold.log.entry import Header
from refold.log.head import Head
from refold.log.parts import Rows
from refold.model import Draft, EntryKind, Event, Scope
from refold.store import Store
from tests.conftest import now

CALLS = ("open", "write", "fsync", "link", "unlink", "rename", "mkdir", "close")


class Disk:
    """Stands where `refold.files` finds `os`: counts the system calls, and lets a test step in before or instead of one.

    Opening a file to read it (which never follows a link) is not counted: it changes nothing.
    """

    def __init__(self, step: Callable[[int, str, Callable[[], Any]], Any], calls: tuple[str, ...] = CALLS) -> None:
        self.count = 0
        self._step = step
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self.counted(name, real) if name in self._calls else real

    def counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that is counted and stepped in before."""

        def called(*args: Any, **kwargs: Any) -> Any:
            if name == "open" and args[1] & os.O_NOFOLLOW:
                return real(*args, **kwargs)
            self.count += 1
            return self._step(self.count, name, lambda: real(*args, **kwargs))

        return called


def failing(at: int, error: int) -> Callable[[int, str, Callable[[], Any]], Any]:
    """Return a step that fails the `at`-th call with an errno."""

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        if number == at:
            raise OSError(error, os.strerror(error))
        return call()

    return step


def before_link(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let `act` happen once, right before a commit is linked: the writer was paused there for however long."""
    done: list[bool] = []

    def step(number: int, name: str, call: Callable[[], Any]) -> Any:
        if not done:
            done.append(True)
            act()
        return call()

    monkeypatch.setattr(files, "os", Disk(step, calls=("link",)))


def say(store: Store, *texts: str, user: str = "ada", **fields: Any) -> list[ingest.Added]:
    """Add one commit with these texts of a user."""
    drafts = [Draft(text, scope=Scope(user=user), **fields) for text in texts]
    return ingest.add(store, drafts, now=now, random=os.urandom)


def heard(store: Store) -> list[Event]:
    """Return all events of the log."""
    store.log.refresh()
    return [event for events in store.log.events() for event in events]


def texts(store: Store) -> list[str]:
    """Return the texts of all events."""
    return [event.text for event in heard(store)]


def pass_a_fence(store: Store, *, keep: Callable[[bytes], bool] = lambda subject: True) -> None:
    """Do by hand what an erasure does around its work: fence, next epoch without some subjects, lift."""
    store.log.fence(now=now, random=os.urandom)
    next_epoch(store, keep=keep)
    store.log.lift(now=now, random=os.urandom)


def next_epoch(store: Store, *, keep: Callable[[bytes], bool] = lambda subject: True) -> None:
    """Write and seal the keyring of the next epoch, with the secrets of those who stay."""
    known = {entry.subject for entry in store.log.subjects()}
    secrets = store.keyring.succeed(known, dark={one for one in known if not keep(one)}, random=os.urandom)
    store.vault.prepare(secrets, random=os.urandom)
    store.vault.seal(secrets.epoch)


def blank(store: Store, seqs: list[int], *, said: list[int] | None = None) -> None:
    """Replace the parts that hold `seqs` by parts without their payloads, under an erasure entry that names `said`."""
    folder = store.log.place.folder

    def propose(head: Head, keyring: Keyring) -> append.Proposal:
        old = [part for part in head.parts if any(part.first <= seq < part.end for seq in seqs)]
        new = []
        for part in old:
            rows = parts.read(folder, part)
            kept = [None if rows.first + at in seqs else payload for at, payload in enumerate(rows.payloads())]
            after = Rows.of(rows.first, rows.headers(), kept, rows.commits(), rows.hashes())
            raw = parts.encode(after)
            new.append(parts.describe(parts.name(rows.first, os.urandom(8)), raw, after))
            files.create(folder / new[-1].path, raw)
        change = Replacement(tuple(part.path for part in old), tuple(new))
        kind = EntryKind.ERASURE
        header = Header(1, kind, 0, keyring.epoch, now(), os.urandom(16), os.urandom(16)).raw
        payload = entry.control_payload({"seqs": seqs if said is None else said})
        return append.Proposal([header], [payload], keyring.epoch, head.fence, ((0, kind),), change)

    append.run(store.log, propose, now=now, random=os.urandom)
