"""Where the end of a log is damaged, a copy of an end that was given up never takes its place, and a good one always can."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refold import settings
from refold.copies.backup import backup
from refold.copies.mirror import mirror
from refold.copies.restore import restore
from refold.heads.configured import sign
from refold.recover import repair as repairs
from refold.recover.repair import Repaired, Sources, plan
from refold.recover.sources import known
from refold.store import Places, open_store
from refold.verdict import Kind
from tests.conftest import now
from tests.journal import unsynced
from tests.log import say, texts


@pytest.fixture(autouse=True)
def quick() -> Any:
    with unsynced():
        yield


@pytest.fixture
def copies(places: Places, tmp_path: Path) -> Path:
    """Return a folder with `wrong`, a mirror of an end that a restore gave up unawares, and `right`, one of what came after it."""
    copies = tmp_path / "copies"
    backup(places, copies / "backup", now=now, random=os.urandom)
    with open_store(places) as store:
        say(store, "Before.")
    mirror(places, copies / "wrong")
    shutil.rmtree(places.store)
    restore(places, copies / "backup", confirm=places.origin[:8], seen=[], now=now, random=os.urandom)
    with open_store(places) as store:
        say(store, "After.")
    mirror(places, copies / "right")
    return copies


def seen(places: Places) -> None:
    with open_store(places) as store:
        sign(store)


def spoil_end(places: Places) -> None:
    max((places.store / "log/commits").iterdir()).write_bytes(b"")


def sources(places: Places, *copies: Path) -> Sources:
    return known(places, settings.load({}), copies)


def repaired(places: Places, *copies: Path) -> Repaired:
    return repairs.repair(places, sources(places, *copies), confirm=places.origin[:8], now=now, random=os.urandom)


def said(places: Places) -> list[str]:
    with open_store(places) as store:
        return texts(store)


KNOWN: dict[str, Callable[[Places], object]] = {"a head that was seen": seen, "parts that lie there": lambda places: None}


@pytest.mark.parametrize("what", KNOWN)
def test_the_end_that_was_given_up_is_refused_and_the_right_one_still_heals(what, places, copies):
    KNOWN[what](places)
    spoil_end(places)
    damaged = {path.name: path.read_bytes() for path in (places.store / "log/commits").iterdir()}
    done = repaired(places, copies / "wrong")
    assert (done.healed, [path for path, _ in done.refused]) == ((), [str(copies / "wrong")])
    assert "refold restore DIR --store NEW" in done.refused[0][1]
    assert {path.name: path.read_bytes() for path in (places.store / "log/commits").iterdir()} == damaged
    assert repaired(places, copies / "right").after.kind is Kind.INTACT
    assert said(places)[-1] == "After."


@pytest.mark.parametrize("order", [("right", "wrong"), ("wrong", "right")])
def test_of_two_ends_the_one_that_was_seen_is_taken_in_any_order(order, places, copies):
    seen(places)
    spoil_end(places)
    done = repaired(places, *(copies / each for each in order))
    assert (done.after.kind, said(places)[-1]) == (Kind.INTACT, "After.")


def test_where_nothing_tells_two_ends_apart_none_is_taken(places, copies):
    spoil_end(places)
    shutil.rmtree(places.store / "log/parts")
    found = plan(places, sources(places, copies / "right", copies / "wrong"))
    assert not [good.path for good in found.healing.goods if "/commits/" in good.path]
    assert all("nothing tells that this is the right one" in message for _, message in found.healing.refused)
    assert len(found.healing.refused) == 2


def test_an_older_commit_of_another_end_is_not_put_under_a_newer_one(places, copies):
    with open_store(places) as store:
        say(store, "Later.")
    commits = sorted((places.store / "log/commits").iterdir())
    commits[-2].write_bytes(b"")
    assert repaired(places, copies / "wrong").healed == ()
    assert repaired(places, copies / "right").after.kind is Kind.INTACT


def test_a_mirror_of_an_end_that_was_given_up_is_named_and_condemns_no_healthy_log(places, copies, run):
    found = plan(places, sources(places, copies / "wrong"))
    assert (found.verdict.kind, [path for path, _ in found.healing.refused]) == (Kind.INTACT, [str(copies / "wrong")])
    told = run("recover", "--log", "--from", str(copies / "wrong"), "--confirm", places.origin[:8])
    assert (told.code, told.data["verdict"]["kind"]) == (0, "WAL_INTACT")
    assert [each["path"] for each in told.data["refused"]] == [str(copies / "wrong")]


def test_what_did_nothing_does_not_say_that_it_was_done(places, copies, run):
    spoil_end(places)
    assert "to do it" not in run("recover", "--log", "--from", str(copies / "wrong")).out
    told = run("recover", "--log", "--from", str(copies / "wrong"), "--confirm", places.origin[:8])
    assert (told.code, told.data["done"]) == (10, False)
