"""The log room. What its tests share: short ways to say and hear something, and a disk that can be told to fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from refold import ingest
from refold.model import Draft, Event, Scope
from refold.store import Store
from tests.conftest import now

CALLS = ("open", "write", "fsync", "link", "unlink", "rename", "mkdir", "close")


class Disk:
    """Stands where `refold.files` finds `os`: counts the system calls, and lets a test step in before or instead of one."""

    def __init__(self, step: Callable[[int, str, Callable[[], Any]], Any], calls: tuple[str, ...] = CALLS) -> None:
        self.count = 0
        self._step = step
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self._calls:
            return real

        def called(*args: Any, **kwargs: Any) -> Any:
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
