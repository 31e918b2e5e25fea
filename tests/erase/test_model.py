"""With a model: what it read beside what goes is read again, and nothing else; what it was sent and said of the person goes with them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from refold.calls.mode import Mode
from refold.calls.recordings import Recorded, Recordings
from refold.errors import ModelFailed, Usage
from refold.extractors import Choice
from refold.fold.recipe import ModelRecipe
from refold.model import Draft, Scope, Source
from refold.recover.verify import verify
from refold.state.digest import state_hash
from refold.state.generation import State
from refold.state.tables import TABLES
from refold.store import Store
from tests.conftest import now
from tests.erase.small import erase, everything_under, say, target
from tests.fold_model.asked import content, fact
from tests.fold_model.scripted import asking, fold, told
from tests.openai_server import Asked, Reply, Server, answer, failure

CANARY = "zyxcanary"


def turn(author: str, part: int, text: str, chat: str = "7") -> Draft:
    """Return one turn of a chat of several people, which is one session."""
    return Draft(text, Source("chat", chat, str(part)), said_at=1_700_000_000_000_000, author=author, scope=Scope(agent="desk"))


def copies(asked: Asked) -> Reply:
    """Answer with all that is told: each event as a value, of an entity that is the whole text of an event before it."""
    facts = []
    lines = told(asked)
    for at, (alias, text) in enumerate(lines):
        if alias.startswith("e"):
            before, entity = lines[max(0, at - 1)]
            facts.append(fact(text, text, event=alias, entity=entity, entity_in=before))
    return answer(content(*facts))


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(copies) as running:
        yield running


@pytest.fixture
def by(server: Server) -> ModelRecipe:
    return asking(server, parts=2, context=2)


@pytest.fixture
def chatting(store: Store, by: ModelRecipe) -> Store:
    """Return a memory of two chats; Ruth speaks in the first alone."""
    say(
        store,
        turn("ada", 1, "Rye bread again"),
        turn("ben", 2, "Sour cherries"),
        turn("ruth", 3, f"Call me {CANARY}"),
        turn("ada", 4, "Trail running"),
        turn("ben", 5, "Old maps"),
        turn("ada", 6, "Oat milk"),
        turn("ben", 7, "Chess at noon"),
        turn("ada", 8, "Sailing soon"),
        turn("ada", 1, "Jazz at night", chat="8"),
        turn("ben", 2, "Swimming", chat="8"),
    )
    fold(store, by)
    return store


def recorded(store: Store) -> dict[int, Recorded]:
    return {one.seq: one for one in Recordings(store, now=now, random=os.urandom).all()}


def influenced(store: Store) -> set[int]:
    """Return the recordings of calls in which a model was sent something of Ruth's."""
    return {seq for seq, one in recorded(store).items() if CANARY.encode() in one.recording.request}


def words(state: State) -> str:
    return str([state.table(name).to_pylist() for name in TABLES])


def test_e24_of_a_model_that_copies_all_that_it_is_told_no_word_of_the_person_is_left(chatting: Store, server: Server, by: ModelRecipe):
    assert words(State.open(chatting)).count(CANARY) > 1
    changed, before = len(influenced(chatting)), server.count
    assert 1 < changed < before
    done = erase(chatting, target(chatting, "ruth"), choice=Choice(by))
    state = State.open(chatting)
    assert CANARY not in words(state)
    assert state.pending == ()
    assert server.count - before == done.calls_made <= changed
    assert done.calls == changed
    assert not any(CANARY in asked.text for asked in server.asked[before:])
    assert CANARY.encode() not in everything_under(chatting.places)
    kept = state_hash(state)
    fold(chatting, by, full=True, mode=Mode.REPLAY)
    assert state_hash(State.open(chatting)) == kept


def test_e21_the_recordings_that_go_are_those_that_saw_the_person_and_no_others(chatting: Store, by: ModelRecipe):
    gone, before = influenced(chatting), recorded(chatting)
    erase(chatting, target(chatting, "ruth"), choice=Choice(by))
    assert chatting.calls is not None
    payloads = [payload for rows in chatting.calls.rows() for payload in rows.payloads()]
    assert {seq for seq, payload in enumerate(payloads) if payload is None} == gone
    after = recorded(chatting)
    assert {seq: one for seq, one in after.items() if seq in before} == {seq: one for seq, one in before.items() if seq not in gone}
    assert chatting.calls.head.epoch == 2
    assert verify(chatting.places, deep=True).is_whole


def test_where_the_model_does_not_answer_nothing_is_changed(chatting: Store, server: Server, by: ModelRecipe):
    before = State.open(chatting).current
    server.script = lambda asked: failure(500)
    with pytest.raises(ModelFailed):
        erase(chatting, target(chatting, "ruth"), choice=Choice(by))
    assert (chatting.vault.live_epoch(), State.open(chatting).current) == (1, before)
    assert chatting.log.refresh()[0].fence is False
    server.script = copies
    assert erase(chatting, target(chatting, "ruth"), choice=Choice(by)).epoch_after == 2


def test_what_nobody_asked_the_model_about_yet_stays_for_the_next_fold(chatting: Store, server: Server, by: ModelRecipe):
    say(chatting, turn("ada", 3, "Crosswords", chat="8"))
    erase(chatting, target(chatting, "ruth"), choice=Choice(by))
    assert "Crosswords" not in words(State.open(chatting))
    fold(chatting, by)
    assert "Crosswords" in words(State.open(chatting))


def test_a_memory_that_a_model_read_is_not_erased_from_by_the_patterns(chatting: Store, by: ModelRecipe):
    with pytest.raises(Usage, match="another recipe"):
        erase(chatting, target(chatting, "ruth"), choice=Choice())
    assert chatting.vault.live_epoch() == 1
    assert not (chatting.vault.keys / "epoch-000002").exists()
