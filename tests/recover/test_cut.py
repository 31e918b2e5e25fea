"""A log that is cut below what its vault has seen is built on by nobody: no number is given twice, and every answer says so."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refold.copies.backup import backup
from refold.copies.mirror import mirror
from refold.errors import Corrupt
from refold.heads.checkpoint import checkpoint
from refold.heads.configured import sign, witnesses
from refold.heads.rotation import rotate
from refold.memory import Memory
from refold.settings import load
from refold.store import Places, Store, open_store
from tests.conftest import now
from tests.journal import unsynced
from tests.log import say
from tests.recover.damage import place_of


@pytest.fixture(autouse=True)
def quick() -> Any:
    with unsynced():
        yield


@pytest.fixture
def cut(places: Places) -> Places:
    """Return a memory whose last event nobody folded, and whose newest commit is gone after its head was seen."""
    with open_store(places) as store:
        say(store, "I like tea.")
        checkpoint(store, witnesses(store.vault, load({}).witness))
    max((places.store / "log/commits").iterdir()).unlink()
    for each in (places.store / "checkpoints").glob("*"):
        each.unlink()  # whoever cuts a log can take what lies beside it
    return places


def add(store: Store, folder: Path) -> None:
    say(store, "I like rum.")


def fold(store: Store, folder: Path) -> None:
    with Memory.open(store.places.store, vault=store.places.vault, root=store.places.root) as memory:
        memory.fold()


BUILDS: dict[str, Callable[[Store, Path], object]] = {
    "add": add,
    "fold": fold,
    "mirror": lambda store, folder: mirror(store.places, folder / "copy"),
    "backup": lambda store, folder: backup(store.places, folder / "copy", now=now, random=os.urandom),
    "rotate": lambda store, folder: rotate(store, random=os.urandom),
}


@pytest.mark.parametrize("verb", BUILDS)
def test_nothing_is_built_on_a_log_that_lost_its_end(verb, cut, tmp_path):
    with open_store(cut) as store:
        size = store.log.head.size
        with pytest.raises(Corrupt, match="has lost entries") as refused:
            BUILDS[verb](store, tmp_path)
        assert refused.value.hint == "refold recover --log"
        assert store.log.refresh()[0].size == size


def test_every_answer_about_a_log_that_lost_its_end_says_so(cut, run):
    questions = (["facts", "--user", "ada"], ["search", "Berlin", "--user", "ada"], ["context", "Berlin", "--user", "ada"], ["status"])
    for question in questions:
        said = run(*question)
        assert (said.code, "RF-CUT-001" in said.codes) == (0, True), question


def test_where_the_end_was_given_up_everything_goes_on(cut, run):
    assert run("recover", "--log", "--give-up-end", "--confirm", cut.origin[:8]).code == 0
    assert run("add", "I like rum.", "--user", "ada").code == 0
    assert "RF-CUT-001" not in run("status").codes


def test_a_log_that_another_process_added_to_and_signed_since_is_not_taken_for_one_that_lost_its_end(places):
    for ask in (lambda log: log.lost, lambda log: log.require_reached()):
        with open_store(places) as store, open_store(places) as other:
            say(other, "I like rum.")
            sign(other, full=False, random=os.urandom)
            assert ask(store.log) is None


def test_a_file_that_only_claims_to_be_a_longer_head_blocks_nobody(places):
    (places.vault / "witness/heads" / f"{99:020d}.note").write_bytes(b"longer")
    with open_store(places) as store:
        assert store.log.lost is None
        say(store, "I like rum.")


def test_status_says_that_nothing_is_added_until_a_verification_finds_the_log_whole(places, run):
    commit = place_of(places).commit(2)
    good = commit.read_bytes()
    commit.write_bytes(b"")
    assert run("recover", "--log", "--confirm", places.origin[:8]).code == 10
    last = max((places.vault / "cache").iterdir())
    commit.write_bytes(good)
    last.write_bytes(last.read_bytes().replace(good_digest(good), b"0" * 64))  # damage that the files do not show to be mended
    said = run("status")
    assert (said.code, "RF-STATUS-004" in said.codes) == (0, True)
    assert run("recover", "--log", "--confirm", places.origin[:8]).code == 0
    assert "RF-STATUS-004" not in run("status").codes


def good_digest(raw: bytes) -> bytes:
    return hashlib.sha256(raw).hexdigest().encode()
