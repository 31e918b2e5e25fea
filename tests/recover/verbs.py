"""The verbs that change a store of a few facts, what must hold of whatever stops one of them, and what must hold once it has ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from refold.copies.mirror import mirror
from refold.errors import RefoldError
from refold.heads import checkpoint as checkpoints
from refold.heads.configured import witnesses
from refold.memory import Memory
from refold.recover import heads
from refold.recover import repair as repairs
from refold.recover.repair import Sources
from refold.recover.verify import verify
from refold.settings import load
from refold.state.generation import State
from refold.store import Places, open_store
from refold.verdict import Kind
from tests.conftest import now
from tests.log import say, texts
from tests.recover.damage import path_with
from tests.state.made import every_claim

TEXTS = ["I live in Berlin.", "I've been living in Munich since 2023.", "My sister is called Ruth."]
MORE = "I work at Siemens."


@dataclass(frozen=True)
class Verb:
    """A change, what must hold of whatever a crash in it leaves, and what must hold once it has ended."""

    prepare: Callable[[Places], object]
    run: Callable[[Places], object]
    check: Callable[[Places], object]  # after a crash anywhere
    ended: Callable[[Places], object]  # and once the call has returned, or was made again
    at_most: int = 16  # states tried at one point


def intact(places: Places) -> None:
    seen, signed = heads.known(places, load({})).seen, heads.checkpoints(places)
    assert verify(places, deep=True, seen=seen, checkpoints=signed).kind is Kind.INTACT


# Append


def append(places: Places) -> None:
    with open_store(places) as store:
        say(store, MORE, key="once")


def appended_or_not(places: Places) -> None:
    intact(places)
    assert said(places) in (TEXTS, [*TEXTS, MORE])


def appended(places: Places) -> None:
    intact(places)
    assert said(places) == [*TEXTS, MORE]


def said(places: Places) -> list[str]:
    with open_store(places) as store:
        return texts(store)


# Compact


def compact(places: Places) -> None:
    with open_store(places) as store:
        store.log.compact(now=now, random=os.urandom, parts_max=1)


def all_there(places: Places) -> None:
    intact(places)
    assert said(places) == TEXTS


def compacted(places: Places) -> None:
    all_there(places)
    with open_store(places) as store:
        assert len(store.log.head.parts) == 1


# Publish


def publish(places: Places) -> None:
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        fold_alone(memory)


def fold_alone(memory: Memory) -> None:
    """Fold and publish; the checkpoint that comes after has a test of its own."""
    from refold import recipes
    from refold.folding import Fold

    state = State.open(memory.store)
    work = Fold(memory.store, state, relations=recipes.relations(), recipe=recipes.search())
    for first, end in work.plan.batches:
        work.batch(first, end)
    work.publish(now=now)


def readable(places: Places) -> None:
    """The state is the one before or the one after, whole."""
    with open_store(places) as store:
        state = State.open(store)
        assert state.absent is None
        assert len(every_claim(state)) == {4: 3, 5: 4}[state.size]


def published(places: Places) -> None:
    readable(places)
    with open_store(places) as store:
        assert State.open(store).size == 5


# Checkpoint


def checkpoint(places: Places) -> None:
    with open_store(places) as store:
        checkpoints.checkpoint(store, witnesses(store.vault, load({}).witness))


def witnessed(places: Places) -> None:
    intact(places)
    size = max(each.size for each in heads.known(places, load({})).seen)
    assert size == 5
    assert max(each.head.size for each in heads.signed(places)) == size


# Recover


def damage(places: Places) -> None:
    """Lose a part of which a mirror has the bytes."""
    mirror(places, places.store.parent / "copy")
    path_with(places, 2).write_bytes(b"lost")


def recover(places: Places) -> None:
    sources = Sources(copies=[places.store.parent / "copy"])
    repairs.repair(places, sources, confirm=places.origin, now=now, random=os.urandom)


def never_wrong(places: Places) -> None:
    """What is served was said; damage is refused; the damaged bytes are where they were, in quarantine, or kept by the transaction."""
    with suppress(RefoldError):
        assert said(places) == TEXTS
    found = [
        *(places.store / "log/parts").iterdir(),
        *(places.vault / "quarantine").glob("*"),
        *(places.vault / "journal").glob("*/artifacts"),
    ]
    assert any(b"lost" in path.read_bytes() for path in found)


def recovered(places: Places) -> None:
    all_there(places)
    assert [path.read_bytes() for path in (places.vault / "quarantine").iterdir()] == [b"lost"]
    assert [path.read_bytes()[:8] for path in (places.store / "receipts").glob("boundary-*")] == [b'{"body":']


def nothing(places: Places) -> None:
    """Leave it as it is."""


def add_one(places: Places) -> None:
    with open_store(places) as store:
        say(store, MORE)


VERBS = {
    "append": Verb(nothing, append, appended_or_not, appended),
    "compact": Verb(nothing, compact, all_there, compacted),
    "publish": Verb(add_one, publish, readable, published, at_most=5),
    "checkpoint": Verb(add_one, checkpoint, intact, witnessed),
    "recover": Verb(damage, recover, never_wrong, recovered, at_most=6),
}
