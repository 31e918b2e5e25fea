"""The recorded calls are a log like the other: they are verified, copied, come back with a restore, and are healed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from refold import settings
from refold.copies.backup import backup
from refold.copies.mirror import mirror
from refold.copies.restore import restore
from refold.errors import Corrupt
from refold.recover import repair as repairs
from refold.recover.audit import Area, audit, options
from refold.recover.repair import Sources, plan
from refold.recover.reset import survey
from refold.store import Places, Store, open_store
from refold.verdict import Kind
from tests.calls.test_recordings import attempt, found, recordings
from tests.conftest import now
from tests.copies.conftest import whole
from tests.log import heard, say
from tests.recover.damage import flip


@pytest.fixture
def asked(store: Store) -> Store:
    for text in ("one", "two"):
        say(store, text)
        recordings(store).record([attempt(store, heard(store)[-1])], run=bytes(16))
    return store


def calls_of(folder: Path) -> dict[str, bytes]:
    return {name: raw for name, raw in whole(folder / "calls").items() if name != "turn"}


def blamed(places: Places) -> set[str]:
    done = audit(places, [Area.LOG], deep=True, log=options(places, settings.load({})))
    assert done.verdict is not None
    assert done.verdict.kind is Kind.INTACT, "the log itself is whole"
    return {each.path.relative_to(places.store).as_posix() for each in done.findings if each.path}


HURTS = {
    "a part": lambda places: next(iter(sorted((places.store / "calls/parts").iterdir()))),
    "the newest commit": lambda places: max((places.store / "calls/commits").iterdir()),
    "a commit in the middle": lambda places: sorted((places.store / "calls/commits").iterdir())[1],
}


@pytest.mark.parametrize("hurt", HURTS)
def test_what_is_damaged_of_the_calls_is_found_there_and_healed_from_a_copy(hurt: str, asked: Store, there: Path):
    places = asked.places
    mirror(places, there)
    assert calls_of(there) == calls_of(places.store)
    before, path = calls_of(places.store), HURTS[hurt](places)
    asked.close()
    assert blamed(places) == set()
    flip(path, 60)
    name = path.relative_to(places.store).as_posix()
    assert blamed(places) == {name}
    sources = Sources(copies=[there])
    assert [good.path for good in plan(places, sources).healing.goods] == [name]
    done = repairs.repair(places, sources, confirm=places.origin[:6], now=now, random=os.urandom)
    assert done.healed == (name,)
    assert calls_of(places.store) == before
    assert done.calls is not None
    assert done.calls.kind is Kind.INTACT
    assert blamed(places) == set()
    assert survey(places).unexpected == ()


def test_the_calls_come_back_with_a_restore_and_a_damaged_copy_of_them_does_not(asked: Store, there: Path, tmp_path: Path):
    places, events = asked.places, heard(asked)
    backup(places, there, now=now, random=os.urandom)
    shutil.copytree(there, tmp_path / "spoilt")
    flip(next(iter((tmp_path / "spoilt/calls/parts").iterdir())), 60)
    asked.close()
    shutil.rmtree(places.store)
    with pytest.raises(Corrupt):
        restore(places, tmp_path / "spoilt", confirm=places.origin[:6], seen=[], now=now, random=os.urandom)
    restore(places, there, confirm=places.origin[:6], seen=[], now=now, random=os.urandom)
    with open_store(places) as again:
        assert all(found(again, event) for event in events)
        recordings(again).record([attempt(again, events[0], draw=1)], run=bytes(16))
