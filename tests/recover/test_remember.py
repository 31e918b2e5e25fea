"""What a checkpoint or a night found damaged is remembered: nothing is added until it is better."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from refold import files, settings
from refold.errors import Blocked, Corrupt, NotAllowed
from refold.memory import Memory
from refold.recover.remember import judged
from refold.store import Places
from refold.verdict import Kind
from tests.journal import unsynced
from tests.recover.damage import flip_payload, path_with


@pytest.fixture(autouse=True)
def quick() -> Any:
    with unsynced():
        yield


def opened(places: Places) -> Memory:
    return Memory.open(places.store, vault=places.vault, root=places.root)


def signed(places: Places) -> list[str]:
    return sorted(path.name for path in (places.store / "checkpoints").iterdir())


def test_a_checkpoint_of_a_damaged_log_signs_nothing_and_from_then_on_nothing_is_added(places):
    path = path_with(places, 1)
    whole, before = path.read_bytes(), signed(places)
    flip_payload(places, 1)
    os.utime(path, ns=(0, 0))  # the disk turned a bit, so the file's time tells nothing
    with opened(places) as memory:
        memory.add("I like tea.", user_id="ada")  # nobody knows of it yet
        with pytest.raises(Corrupt, match="is not signed") as raised:
            memory.checkpoint()
        assert raised.value.hint == "refold recover --log"
        assert signed(places) == before
        with pytest.raises(Blocked, match="found damaged"):
            memory.add("I like milk.", user_id="ada")
        path.write_bytes(whole)
        memory.add("I like milk.", user_id="ada")  # the file is what was signed again
        assert memory.checkpoint().head.size == memory.store.log.head.size


@pytest.mark.parametrize("is_damaged", [True, False])
def test_a_verdict_that_the_vault_does_not_take_is_said_where_the_refusal_is(is_damaged, places, monkeypatch):
    if is_damaged:
        flip_payload(places, 1)
    real = files.replace

    def replace(path: Path, raw: bytes) -> None:
        if path.name == "verdict":
            raise NotAllowed("a file could not be written (EROFS)", path=path)
        real(path, raw)

    monkeypatch.setattr(files, "replace", replace)
    with pytest.raises(NotAllowed, match="cannot be kept in the vault") as refused:
        judged(places, settings.load())
    assert ("nothing refuses additions" in refused.value.message) == is_damaged
    assert refused.value.hint == "refold audit --log"


@pytest.mark.parametrize("deep", [False, True])
def test_a_verdict_of_the_night_is_kept_for_those_who_append(places, deep):
    assert judged(places, settings.load(), deep=deep).is_deep is deep
    flip_payload(places, 1)
    assert judged(places, settings.load(), deep=deep).kind is not Kind.INTACT
    with opened(places) as memory, pytest.raises(Blocked):
        memory.add("I like milk.", user_id="ada")
