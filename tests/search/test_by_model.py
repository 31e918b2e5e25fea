"""Vectors by a model: each event is asked about alone, once, under its own key; a query is sent and kept nowhere; nothing hidden counts."""

from __future__ import annotations

import base64
import json
import os
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refold import recipes, settings
from refold.calls import answers
from refold.calls.closure import Breach, breaches
from refold.calls.keys import Input, material
from refold.calls.recording import Fault, Tokens
from refold.cli import main
from refold.cli.vector_fold import unmeant
from refold.errors import NotRecorded, Undeclared, Usage
from refold.extractors import Choice
from refold.fold import embedding
from refold.fold.embedding import EmbeddingRecipe
from refold.fold.request import Declared, EventRef, Message, Query, Request, Segment, Task, Template, Voice, render
from refold.memory import Memory
from refold.model import EventId
from refold.state.digest import state_hash
from refold.state.generation import State
from refold.store import Places
from tests.conftest import now
from tests.journal import unsynced
from tests.openai_server import Server, failure, vector
from tests.search import by_model

SAID = ("I bought a new car.", "The tea is green.", "We walked along the river.")
ASKED = "Which vehicle was purchased?"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with by_model.asked(tmp_path / "own") as running:
        yield running


@pytest.fixture
def memory(places: Places) -> Iterator[Memory]:
    with unsynced(), Memory.create(places.store, vault=places.vault, root=places.root, now=now, random=os.urandom) as made:
        yield made


def say(memory: Memory, *texts: str, user: str = "ada", first: int = 1) -> None:
    for at, text in enumerate(texts, first):
        memory.add(text, user_id=user, source=f"chat:{user}-{at}#1")


def hashed(memory: Memory) -> bytes:
    return state_hash(State.open(memory.store))


def test_each_event_is_asked_about_alone_and_never_again(memory: Memory, server: Server):
    say(memory, *SAID)
    report = memory.fold()
    assert Counter(asked.path for asked in server.asked) == {"/v1/embeddings": 3}
    assert sorted(asked.text for asked in server.asked) == sorted(SAID)
    assert server.asked[0].body == (
        b'{"model":"text-embedding-3-small","input":"%s","dimensions":256,"encoding_format":"float"}' % server.asked[0].text.encode()
    )
    assert report.vectors is not None
    assert (report.vectors.spent.calls, report.vectors.spent.prompt_tokens, report.pending) == (3, 9, 0)
    calls = memory.calls()
    assert sorted(len(call.inputs) for call in calls) == [1, 1, 1]
    assert {call.recording.host for call in calls} == {server.url.split("/")[2]}
    before = hashed(memory)
    again = memory.fold(full=True)
    assert (server.count, again.vectors and again.vectors.spent.reused) == (3, 3)
    assert hashed(memory) == before
    say(memory, "One more.", first=9)
    memory.fold()
    assert server.count == 4


def test_a_plan_says_what_would_be_asked_and_sends_nothing(memory: Memory, server: Server):
    say(memory, *SAID)
    estimate = memory.fold_plan().vectors
    assert estimate is not None
    assert (estimate.calls, estimate.reused, server.count) == (3, 0, 0)
    memory.fold()
    estimate = memory.fold_plan(full=True).vectors
    assert estimate is not None
    assert (estimate.calls, estimate.reused, server.count) == (0, 3, 3)


def test_what_shares_no_word_is_found_and_of_the_query_nothing_is_kept(memory: Memory, server: Server):
    say(memory, *SAID)
    memory.fold()
    calls, total, head = memory.calls(), memory.recordings().totals(), memory.store.log.refresh()[0].size
    found = memory.find(ASKED, user_id="ada", explain=True)
    assert found.hits[0].text == SAID[0]
    assert found.hits[0].explain["likeness"] > 0
    assert found.unmeant == ""
    assert (server.asked[-1].path, server.asked[-1].text) == ("/v1/embeddings", ASKED)
    assert "new car" in memory.context(ASKED, user_id="ada").text
    assert (memory.calls(), memory.recordings().totals(), memory.store.log.refresh()[0].size) == (calls, total, head)
    stored = b"".join(path.read_bytes() for path in memory.places.store.rglob("*") if path.is_file())
    assert b"vehicle" not in stored


def test_a_query_without_an_answer_is_searched_by_words_and_says_so(memory: Memory, server: Server):
    say(memory, *SAID)
    memory.fold()
    server.script = lambda asked: failure(503)
    found = memory.find("green tea", user_id="ada", explain=True)
    assert [hit.text for hit in found.hits] == [SAID[1]]
    assert found.unmeant == Fault.SERVER_ERROR.value
    assert memory.context(ASKED, user_id="ada").unmeant == Fault.SERVER_ERROR.value
    assert memory.find(ASKED, user_id="ada").hits == []
    [warning] = unmeant(found.unmeant)
    assert warning.severity == "warning"


def test_an_event_without_an_answer_is_pending_and_asked_about_by_the_next_fold(memory: Memory, server: Server):
    say(memory, *SAID)
    server.script = lambda asked: failure(503) if "car" in asked.text else by_model.tells(asked)
    report = memory.fold()
    assert (report.pending, report.faults, memory.status().pending) == (1, {"server-error": 1}, 1)
    assert [hit.text for hit in memory.search("the car", user_id="ada")] == [SAID[0]]
    assert memory.search(ASKED, user_id="ada") == []
    server.script = by_model.tells
    asked = server.count
    assert memory.fold().pending == 0
    assert [one.text for one in server.asked[asked:]] == [SAID[0]]
    assert memory.search(ASKED, user_id="ada")[0].text == SAID[0]
    late = hashed(memory)
    memory.fold(full=True)
    assert hashed(memory) == late


def test_what_no_fold_has_read_is_found_by_words_and_sent_nowhere(memory: Memory, server: Server):
    say(memory, SAID[0])
    assert [hit.text for hit in memory.search("a new car", user_id="ada")] == [SAID[0]]
    assert [one.text for one in server.asked] == ["a new car"]


def test_an_erasure_asks_nobody_and_what_it_takes_goes_dark(memory: Memory, server: Server):
    say(memory, *SAID)
    say(memory, "My car is red.", user="ruth")
    memory.fold()
    say(memory, "It was folded by nobody.", first=9)
    asked = server.count
    memory.erase(memory.plan_erasure(user_id="ruth"))
    assert server.count == asked
    tally: Counter[str] = Counter()
    kept = list(memory.recordings().all(tally=tally))
    assert sorted(json.loads(one.recording.request)["input"] for one in kept) == sorted(SAID)
    rows = State.open(memory.store).table("vectors")
    assert rows.num_rows == 3
    assert memory.status().pending == 1
    memory.fold()
    assert [one.text for one in server.asked[asked:]] == ["It was folded by nobody."]
    carried = hashed(memory)
    memory.fold(full=True, by=Choice.of(calls="replay"))
    assert hashed(memory) == carried
    assert server.count == asked + 1


def test_a_fold_by_recordings_alone_asks_nothing(memory: Memory, server: Server):
    say(memory, *SAID)
    with pytest.raises(NotRecorded):
        memory.fold(by=Choice.of(calls="replay"))
    assert server.count == 0


def test_hidden_events_change_no_score(tmp_path: Path, server: Server):
    """The turns between those that are visible carry another label, and are about what is asked."""
    found = []
    for hidden in (False, True):
        place = tmp_path / str(hidden)
        with unsynced(), Memory.create(place / "store", vault=place / "vault", root=place / "root", now=now, random=os.urandom) as memory:
            for at, text in enumerate(SAID):
                memory.add(text, user_id="ada", source=f"chat:a#{2 * at}", said_at="2024-01-10")
                if hidden:
                    memory.add(
                        f"a vehicle, {text}", user_id="ada", source=f"chat:a#{2 * at + 1}", said_at="2024-01-10", audience=["secret"]
                    )
            memory.fold()
            hits = memory.find(ASKED, user_id="ada", explain=True).hits
            found.append([(hit.text, hit.score, dict(hit.explain)) for hit in hits])
    assert found[0]
    assert found[0] == found[1]


def test_the_closure_of_a_recorded_request_is_judged_by_its_event(memory: Memory, server: Server):
    say(memory, SAID[0])
    memory.fold()
    [call] = memory.calls()
    [event] = [event for events in memory.store.log.events() for event in events]
    digest = memory.store.log.row(event.seq).commits()[0]
    joined = material(memory.store.keyring, [Input.of(event)])
    assert breaches(call, declared=lambda one: (event, digest), joined=joined) == []
    assert breaches(call, declared=lambda one: None, joined=joined) == [Breach.UNDECLARED]
    forged = replace(event, text="I sold a new car.")
    assert breaches(call, declared=lambda one: (forged, digest), joined=joined) == [Breach.OTHER_BYTES]
    body = call.recording.request.replace(b'"input"', b'"other"')
    other = replace(call, recording=replace(call.recording, request=body))
    assert Breach.OTHER_FRAME in breaches(other, declared=lambda one: (event, digest), joined=joined)


def test_vectors_of_other_components_than_the_recipe_says_are_refused(memory: Memory, server: Server):
    say(memory, SAID[0])
    server.script = lambda asked: vector([1.0, 2.0])
    with pytest.raises(Usage, match="gives vectors of 2 components, and the recipe says 256"):
        memory.fold()


def test_a_planted_byte_fails_the_run_and_nothing_is_sent(memory: Memory, server: Server, monkeypatch: pytest.MonkeyPatch):
    import litellm

    honest = litellm.embedding
    monkeypatch.setattr(litellm, "embedding", lambda **given: honest(**given | {"input": given["input"] + "!"}))
    say(memory, SAID[0])
    with pytest.raises(Undeclared, match="the body"):
        memory.fold()
    with pytest.raises(Undeclared, match="the body"):
        memory.search("x", user_id="ada")
    assert server.count == 0


EVENT = EventRef(EventId(bytes(16)), bytes(32), b"one")


def asking(*segments: Segment, task: Task = Task.EMBED) -> Request:
    return Request("openai", "http://127.0.0.1:1/v1", "small", (Message(Voice.USER, segments),), task=task)


def test_a_query_goes_alone_and_no_run_declares_it():
    assert render(asking(Query('say "hi"'))).body == b'{"model":"small","input":"say \\"hi\\""}'
    assert not Declared({}, frozenset(), {}).admits(Query("x"))
    for segments, task in (
        ((EVENT, Query("x")), Task.EMBED),
        ((Query("x"),), Task.CHAT),
        ((Template("a", "b"),), Task.EMBED),
        ((), Task.EMBED),
    ):
        with pytest.raises(Undeclared):
            asking(*segments, task=task)


def read(embedded: Any) -> answers.Said:
    return answers.read(200, vector(embedded).body, Task.EMBED)


def test_an_answer_is_read_as_numbers_or_as_base64():
    floats = [0.5, -1.0, 0.25]
    assert json.loads(read(floats).content) == floats
    assert json.loads(read(base64.b64encode(struct.pack("<3f", *floats)).decode()).content) == floats
    assert read(floats).tokens == Tokens(3, 0)
    for broken in ([], ["x"], [True], None, "###", "AAA=", [1e999], [10**400], {"a": 1}):
        assert read(broken).fault is Fault.MALFORMED
    assert answers.read(200, b'{"data": []}', Task.EMBED).fault is Fault.MALFORMED
    assert answers.read(200, vector(floats).body, Task.CHAT).fault is Fault.MALFORMED


def test_every_product_of_two_vectors_is_an_exact_integer(server: Server):
    own = recipes.search().vectors
    assert own is not None
    assert own.model is not None
    for components in (1, 3, 256, 4_096):
        recipe = replace(own.model, components=components)
        for numbers in ([1e-300] * components, [1e300] * components, [1.0] * (components - 1) + [-3.0]):
            made = np.frombuffer(embedding.vector(recipe, json.dumps(numbers)), np.int8).astype(np.int64)
            assert 0 < int(made @ made) < 1 << 24
            assert np.sign(made).tolist() == np.sign(numbers).tolist()
    assert embedding.vector(replace(own.model, components=2), "[0, 0]") == bytes(2)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("components = 256", "components = 0", "vector.components"),
        ("components = 256", "components = 5000", "vector.components"),
        ("query_seconds = 5", "query_seconds = 0", "vector.query_seconds"),
        ('model = "text-embedding-3-small"', 'model = ""', "model"),
        ("characters = 8000", "letters = 8000", "vector.letters"),
        ("[parameters]", '[parameters]\ninput = "x"', "parameters.input"),
    ],
)
def test_a_recipe_is_checked_key_by_key(old: str, new: str, said: str):
    text = settings.text("recipes/vectors/openai.toml")
    assert old in text
    with pytest.raises(Usage, match=said):
        EmbeddingRecipe.load(text.replace(old, new), name="own.toml")


def test_another_model_is_another_search_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    digests = []
    for name, changes in (
        ("one", ()),
        ("two", (("text-embedding-3-small", "other"),)),
        ("three", (("query_seconds = 60", "query_seconds = 61"),)),
    ):
        monkeypatch.setenv("REFOLD_CONFIG", str(by_model.write(tmp_path / name, "http://127.0.0.1:1/v1", changes=changes)))
        digests.append(recipes.search().digest)
        assert recipes.search() is recipes.search()
    assert digests[0] == digests[2] != digests[1]


def test_a_call_for_a_vector_is_listed_as_one(memory: Memory, server: Server, places: Places, capsys: pytest.CaptureFixture[str]):
    say(memory, SAID[0])
    memory.fold()
    assert main(["calls", "list", *(f"--{name}={getattr(places, name)}" for name in ("store", "vault", "root"))]) == 0
    assert "  vector  " in capsys.readouterr().out
