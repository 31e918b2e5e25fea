"""The verdict that is kept: an append refuses while the log is damaged, and the hint alone is never believed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from refold.errors import Blocked
from refold.log import append, stored
from refold.model import EntryKind
from refold.recover.remember import remember_verdict
from refold.recover.reset import reset
from refold.store import Places, open_store
from refold.verdict import Kind
from tests.conftest import now
from tests.verify import change, flipped, forge, part_path, verify, with_value


def say_more(places: Places) -> None:
    """Append without reading what is there, as a store with a state does: so no damage is met on the way."""
    with open_store(places) as store:
        store.log.append(lambda head, keyring: (), now=now, random=os.urandom, txn=os.urandom(16).hex())


def hint(places: Places) -> Path:
    return places.vault / "cache/verdict"


def spoil(places: Places) -> bytes:
    raw = part_path(places, 1).read_bytes()
    change(places, 1, with_value(0, "payload", flipped(60)))
    return raw


def test_r17_nothing_is_added_while_the_log_is_not_intact(places: Places):
    spoil(places)
    say_more(places)  # the damage is not met by adding
    assert remember_verdict(places, verify(places))
    with pytest.raises(Blocked) as refused:
        say_more(places)
    assert (refused.value.hint, refused.value.path) == ("refold recover --log", str(part_path(places, 1)))


def test_a_file_that_was_put_back_lets_appends_go_on_at_once(places: Places):
    raw = spoil(places)
    remember_verdict(places, verify(places))
    part_path(places, 1).write_bytes(raw)
    say_more(places)


def test_a_file_that_changed_but_is_not_what_was_signed_does_not(places: Places):
    raw = spoil(places)
    remember_verdict(places, verify(places))
    for other in (raw[:-1], b"", None):
        part_path(places, 1).unlink(missing_ok=True)
        if other is not None:
            part_path(places, 1).write_bytes(other)
        with pytest.raises(Blocked):
            say_more(places)


def test_a_verdict_that_finds_nothing_clears_it(places: Places):
    raw = spoil(places)
    remember_verdict(places, verify(places))
    part_path(places, 1).write_bytes(raw)
    assert remember_verdict(places, verify(places), now=lambda: 5)
    assert stored.read(places.vault) == stored.Stored("WAL_INTACT", True, False, 7, verify(places).digest.hex(), at=5)


def test_a_verdict_that_looked_less_closely_does_not_clear_it(places: Places):
    forge(places, 1, with_value(0, "payload", flipped(60)))
    remember_verdict(places, verify(places, deep=True))
    shallow = verify(places)
    assert shallow.kind is Kind.INTACT
    assert not remember_verdict(places, shallow)
    assert not remember_verdict(places, replace(shallow, is_deep=True, verified_from=5))
    with pytest.raises(Blocked):
        say_more(places)
    assert remember_verdict(places, replace(shallow, is_deep=True))
    say_more(places)


@pytest.mark.parametrize("raw", [b"", b"{}", b'{"format":"refold.verdict/1"}', b"\xff"])
def test_a_hint_that_is_damaged_is_not_taken_for_good_news(raw: bytes, places: Places):
    hint(places).parent.mkdir(mode=0o700)
    hint(places).write_bytes(raw)
    with pytest.raises(Blocked, match="damaged"):
        say_more(places)
    assert remember_verdict(places, verify(places))
    say_more(places)


def test_what_a_recovery_adds_is_not_refused(places: Places):
    spoil(places)
    remember_verdict(places, verify(places))
    with open_store(places) as store:
        gap = append.controlling(EntryKind.GAP, {"seqs": [3]}, fence=lambda head, keyring: False, now=now, random=os.urandom)
        assert append.run(store.log, gap, now=now, random=os.urandom)


def test_a_reset_takes_the_hint_along(places: Places):
    remember_verdict(places, verify(places))
    assert hint(places).stat().st_mode & 0o777 == 0o600
    reset(places, confirm=places.origin)
    assert not places.vault.exists()
