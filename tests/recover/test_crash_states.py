"""Whatever a disk may hold after a crash, nothing acknowledged is lost, nothing wrong is served, and the same call again works.

And none of the syncs is there for nothing: without any one of them, some state of the disk breaks one of these.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from refold.errors import RefoldError
from refold.journal.record import Identity
from refold.store import Places
from tests.journal import unsynced
from tests.recover.alice import EXHAUSTIVE, Event, crashes, recorded, syncs
from tests.recover.verbs import VERBS, Verb

HINTS = re.compile(r"[.]frontier$|/cache(/verdict)?$|/prefect$")  # never trusted alone: whether they last decides nothing
AGAIN_EVERY = 6  # states after which the same call is made again


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Any:
    # A folder is the same after a crash, while here each state is put into new folders: the journal would take them for others.
    monkeypatch.setattr(Identity, "of", classmethod(lambda cls, seen: cls(0, 0)))
    with unsynced():
        yield


@pytest.fixture
def base(places: Places, tmp_path: Path) -> Path:
    """A memory in a folder of its own, with every lock already there."""
    folder = tmp_path / "base"
    folder.mkdir()
    for name in ("store", "vault", "root"):
        shutil.move(tmp_path / name, folder / name)
    return folder


def at(folder: Path, like: Places) -> Places:
    return Places(folder / "store", folder / "vault", folder / "root", like.origin)


def trace(verb: Verb, base: Path, tmp_path: Path, like: Places) -> tuple[Path, list[Event]]:
    """Return a folder as it was before a verb, and what the verb then does to it."""
    verb.prepare(at(base, like))
    before = tmp_path / "before"
    shutil.copytree(base, before)
    events = recorded(lambda: verb.run(at(base, like)))
    moved = [tuple(each.replace(str(base), str(before)) if isinstance(each, str) else each for each in event) for event in events]
    return before, moved


def broken(
    verb: Verb, before: Path, events: list[Event], like: Places, *, without: frozenset[int] = frozenset(), end_only: bool = False
) -> str | None:
    """Return what breaks in some state that a crash may leave; None where nothing does."""
    last = len(events) - len(without)
    target = before.with_name("crashed")
    for number, crash in enumerate(crashes(before, events, without=without, at_most=verb.at_most, end_only=end_only)):
        crash.put(target)
        where = at(target, like)
        try:
            verb.check(where)
            if crash.point == last:
                verb.ended(where)
            if not end_only and (EXHAUSTIVE or number % AGAIN_EVERY == 0):
                verb.run(where)  # as whoever finds a crash would
                verb.ended(where)
        except (AssertionError, RefoldError, FileNotFoundError, KeyError) as error:
            return f"state {number} at event {crash.point}: {type(error).__name__}: {error}"
        finally:
            shutil.rmtree(target)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_no_state_of_the_disk_loses_what_was_acknowledged_or_serves_what_is_wrong(name: str, base: Path, tmp_path: Path, places: Places):
    before, events = trace(VERBS[name], base, tmp_path, places)
    assert len(syncs(events)) >= 4
    assert broken(VERBS[name], before, events, places) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_without_any_one_of_its_syncs_some_state_is_wrong(name: str, base: Path, tmp_path: Path, places: Places):
    before, events = trace(VERBS[name], base, tmp_path, places)
    named = {Path(name): at for name, at in syncs(events).items()}
    # A file that the verb itself takes away again, because it was merged into another, need not have lasted. Nor need a hint.
    tried = [path for path in named if (base / path.relative_to(before)).exists() and not HINTS.search(str(path))]
    spared = []
    for path in tried:
        ways = ({"end_only": True}, {})  # most are caught once the verb has returned
        if all(broken(VERBS[name], before, events, places, without=named[path], **way) is None for way in ways):
            spared.append(path.name)
    assert spared == []
