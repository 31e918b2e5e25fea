"""Reranking by a model: it orders what was found and nothing else, each call is recorded, and every erasure darkens it."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refold import recipes, search_recipe, settings
from refold.calls import answers
from refold.calls.closure import Breach, breaches
from refold.calls.keys import Input, material, query_key
from refold.calls.recording import Fault, Form, Tokens
from refold.cli import main
from refold.cli.vector_fold import unranked
from refold.erase.model import Mode, Selector
from refold.errors import Blocked, KeyMissing, Locked, NotAllowed, Undeclared, Usage
from refold.fold import reranking
from refold.fold.request import Declared, EventRef, Message, Query, Request, Segment, Task, Template, Voice, canonical_form, render
from refold.fold.reranking import RerankRecipe
from refold.memory import Memory
from refold.model import AliasKind, EventId
from refold.settings import Principal
from refold.store import Places
from tests.conftest import now
from tests.journal import unsynced
from tests.openai_server import Asked, Reply, Server, failure, scores, slow
from tests.recover.spoils import unfinished
from tests.search import by_rerank

SAID = ("The tea was green.", "Green tea is what I like best.", "Tea again, and tea once more.")  # in the order that words give
ASKED = "green tea"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with by_rerank.asked(tmp_path / "own", changes=(("weight = 0.5", "weight = 30"),)) as running:
        running.script = backwards
        yield running


@pytest.fixture
def memory(places: Places) -> Iterator[Memory]:
    with unsynced(), Memory.create(places.store, vault=places.vault, root=places.root, now=now, random=os.urandom) as made:
        yield made


def say(memory: Memory, *texts: str, user: str = "ada", first: int = 1) -> None:
    for at, text in enumerate(texts, first):
        memory.add(text, user_id=user, source=f"chat:{user}-{at}#1")


def backwards(asked: Asked) -> Reply:
    """Find best what search found last."""
    return scores(range(len(asked.json["documents"])))


def found(memory: Memory, **named: Any) -> list[str]:
    return [hit.text for hit in memory.search(ASKED, user_id="ada", **named)]


def test_what_was_found_first_stands_in_the_order_of_the_model(memory: Memory, server: Server):
    say(memory, *SAID)
    answer = memory.find(ASKED, user_id="ada", explain=True)
    [asked] = server.asked
    body = {"model": "BAAI/bge-reranker-v2-m3", "query": ASKED, "documents": asked.json["documents"]}
    assert (asked.path, asked.body) == ("/v1/rerank", json.dumps(body, separators=(",", ":")).encode())
    assert sorted(asked.json["documents"]) == sorted(SAID)
    assert [hit.text for hit in answer.hits] == asked.json["documents"][::-1]
    assert [hit.explain.get("reranked", 0) for hit in answer.hits] == [30, 15, 0]
    assert [hit.score for hit in answer.hits] == [pytest.approx(sum(hit.explain.values())) for hit in answer.hits]
    assert answer.unranked == ""
    assert found(memory, limit=1) == [answer.hits[0].text]
    assert asyncio.run(memory.asearch(ASKED, user_id="ada")) == memory.search(ASKED, user_id="ada")
    lines = memory.context(ASKED, user_id="ada").text
    assert sorted(SAID, key=lines.index) == [hit.text for hit in answer.hits]


def test_only_the_order_of_the_first_changes(memory: Memory, tmp_path: Path):
    say(memory, *SAID, "The green car.", "A green hat.")
    before = found(memory)
    with by_rerank.asked(tmp_path / "own", changes=(("weight = 0.5", "weight = 30"), ("candidates = 20", "candidates = 2"))) as server:
        server.script = backwards
        assert found(memory) == [before[1], before[0], *before[2:]]
        assert server.asked[0].json["documents"] == before[:2]


def test_one_event_is_in_order_without_a_model(memory: Memory, server: Server):
    say(memory, SAID[0])
    assert (found(memory), memory.find("nothing of it", user_id="ada").hits, server.count) == ([SAID[0]], [], 0)


def test_each_call_is_recorded_like_any_and_none_answers_for_another(memory: Memory, server: Server, capsys: pytest.CaptureFixture[str]):
    say(memory, *SAID)
    assert found(memory) == found(memory)
    calls = memory.calls()
    assert (len(calls), server.count) == (2, 2)
    made = calls[0].recording
    assert (made.task, made.form, made.tokens, made.fault, len(calls[0].inputs)) == (Task.RERANK, Form.WIRE, Tokens(7, 0), None, 3)
    assert (made.request, made.host) == (server.asked[0].body, server.url.split("/")[2])
    assert memory.recordings().totals().calls == memory.status().calls.calls == 2
    assert memory.recordings().get(calls[0].call_id) == calls[0]
    assert sorted(event.text for event in memory.recordings().events_of(calls[0]).values()) == sorted(SAID)
    places = [f"--{name}={getattr(memory.places, name)}" for name in ("store", "vault", "root")]
    assert main(["calls", "list", *places]) == main(["calls", "show", calls[0].call_id.hex(), *places]) == main(["status", *places]) == 0
    printed = capsys.readouterr().out
    [line] = [line for line in printed.splitlines() if line.startswith(calls[0].call_id.hex()[:8])]
    assert line.split()[3:6] == ["BAAI/bge-reranker-v2-m3", "order", "3"]
    assert f"query     {ASKED}" in printed
    assert "the words of queries and of what they find are sent there" in printed
    assert main(["audit", "--closure", *places]) == 0


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (failure(503), Fault.SERVER_ERROR),
        (failure(400), Fault.REFUSED),
        (scores([1.0, 2.0]), Fault.MALFORMED),  # one is missing
        (scores([1.0, 2.0, 3.0, 4.0]), Fault.MALFORMED),
        (Reply(b'{"results": []}'), Fault.MALFORMED),
        (slow(scores([1.0, 2.0, 3.0]), 0.2), Fault.TIMEOUT),
    ],
    ids=["failed", "refused", "missing", "many", "nothing", "slow"],
)
def test_without_a_whole_answer_the_order_is_that_of_search_and_it_says_so(memory: Memory, tmp_path: Path, reply: Reply, fault: Fault):
    say(memory, *SAID)
    before = found(memory)
    with by_rerank.asked(tmp_path / "own", changes=(("query_seconds = 5", "query_seconds = 0.05"),)) as server:
        server.script = lambda asked: reply
        answer = memory.find(ASKED, user_id="ada")
        assert ([hit.text for hit in answer.hits], answer.unranked) == (before, fault.value)
        assert memory.context(ASKED, user_id="ada").unranked == fault.value
    assert {call.recording.fault for call in memory.calls()} == {fault}
    [warning] = unranked(answer.unranked)
    assert (warning.severity, fault.value in warning.message) == ("warning", True)


def test_an_evaluation_says_how_often_the_model_did_not_help(
    memory: Memory, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    say(memory, *SAID)
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps([{"question": ASKED, "evidence": ["chat:ada-1#1"], "user": "ada"}]))
    assert memory.evaluate(questions).unaided == 0
    server.script = lambda asked: failure(503)
    assert memory.evaluate(questions).unaided == 2  # the first is asked once before it is timed
    assert main(["eval", str(questions), *(f"--{name}={getattr(memory.places, name)}" for name in ("store", "vault", "root"))]) == 0
    assert "did not help in 2 searches" in capsys.readouterr().err


def test_where_no_recording_could_be_written_nothing_is_sent(memory: Memory, server: Server, places: Places):
    say(memory, *SAID)
    recipe = recipes.search().rerank
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("REFOLD_CONFIG")
        before = found(memory)
    assert recipe is not None
    (places.store / "calls").write_bytes(b"")  # nobody can make a folder here
    answer = memory.find(ASKED, user_id="ada")
    assert ([hit.text for hit in answer.hits], answer.unranked) == (before, Usage.code)
    (places.store / "calls").unlink()
    memory.store.log.fence(now=now, random=os.urandom)
    assert memory.find(ASKED, user_id="ada").unranked == Locked.code
    memory.store.log.lift(now=now, random=os.urandom)
    unfinished(places)
    assert memory.find(ASKED, user_id="ada").unranked == Blocked.code
    assert (server.count, memory.calls()) == (0, [])


def test_an_answer_that_cannot_be_recorded_is_not_used(memory: Memory, server: Server, places: Places):
    say(memory, *SAID)
    after = found(memory)

    def fenced(asked: Asked) -> Reply:
        with Memory.open(places.store, vault=places.vault, root=places.root) as other:
            other.store.log.fence(now=now, random=os.urandom)
        return backwards(asked)

    server.script = fenced
    answer = memory.find(ASKED, user_id="ada")
    assert ([hit.text for hit in answer.hits], answer.unranked) == (after[::-1], Locked.code)
    assert (server.count, len(memory.calls())) == (2, 1)


def test_a_limited_principal_sends_and_learns_only_of_what_it_sees(tmp_path: Path, server: Server):
    """The second world holds, between those that are visible, what carries another label and says most."""
    results = []
    for hidden in (False, True):
        at = tmp_path / str(hidden)
        with unsynced(), Memory.create(at / "store", vault=at / "vault", root=at / "root", now=now, random=os.urandom) as memory:
            for place, text in enumerate(SAID):
                memory.add(text, user_id="ada", source=f"chat:a#{2 * place}", said_at="2024-01-10")
                if hidden:
                    secret = f"green tea, green tea {place}"
                    memory.add(secret, user_id="ada", source=f"chat:a#{2 * place + 1}", said_at="2024-01-10", audience=["secret"])
                    memory.add(secret, user_id="ruth", source=f"chat:r#{place}", said_at="2024-01-10")
            seen = memory.seen_by(Principal("ada", frozenset(), ("ada",)))
            answer = seen.find(ASKED, explain=True)
            results.append(([(hit.text, hit.score, dict(hit.explain)) for hit in answer.hits], answer.unranked, server.asked[-1].body))
            with pytest.raises(NotAllowed):
                seen.calls()
    assert results[0][0]
    assert results[0] == results[1]


@pytest.mark.parametrize("mode", [Mode.SHRED, Mode.KEEP_CIPHERTEXT])
def test_every_erasure_darkens_what_was_asked_also_about_events_that_stay(memory: Memory, server: Server, mode: Mode):
    say(memory, *SAID)
    say(memory, "I am called Ruth Albrecht.", user="ruth")
    memory.find("Does Ruth Albrecht like green tea?", user_id="ada")
    [before] = memory.calls()
    assert b"Ruth Albrecht like" in before.recording.request
    assert set(before.inputs) == {hit.event_id for hit in memory.search(ASKED, user_id="ada")}
    old = memory.store.keyring.epoch
    assert query_key(memory.store.keyring, old)
    request = memory.erase_request(Selector((), ((AliasKind.HANDLE, "ruth"),)), mode=mode)
    memory.erase_find(request.request_id)
    done = memory.erase(memory.erase_plan(request.request_id))
    assert done.verify()
    tally: Counter[str] = Counter()
    assert list(memory.recordings().all(tally=tally)) == []
    assert tally["erased" if mode is Mode.SHRED else "dark"] == 2
    calls = memory.store.calls
    assert calls is not None
    sealed = [payload for rows in calls.rows() for header, payload in zip(rows.headers(), rows.payloads(), strict=True) if header[1] == 3]
    assert [payload is None for payload in sealed] == [mode is Mode.SHRED] * 2
    with pytest.raises(KeyMissing):
        query_key(memory.store.keyring, old)
    assert found(memory) == found(memory)
    assert len(memory.calls()) == 2


def test_an_erasure_darkens_what_its_events_were_ranked_with(memory: Memory, server: Server):
    say(memory, *SAID)
    found(memory)
    [event] = [hit.event_id for hit in memory.search(ASKED, user_id="ada") if hit.text == SAID[1]]
    memory.erase(memory.plan_erasure(event=event))
    assert (memory.calls(), memory.status().calls.calls) == ([], 2)
    assert SAID[1] not in found(memory)


def test_the_closure_of_a_recorded_order_is_judged_by_its_events(memory: Memory, server: Server):
    say(memory, *SAID)
    found(memory)
    [call] = memory.calls()
    events = {event.event_id: event for each in memory.store.log.events() for event in each}
    digest = {event_id: memory.store.log.row(event.seq).commits()[0] for event_id, event in events.items()}
    joined = material(memory.store.keyring, [Input.of(event) for event in events.values()])
    assert breaches(call, declared=lambda one: (events[one], digest[one]), joined=joined) == []
    assert breaches(call, declared=lambda one: None, joined=joined) == [Breach.UNDECLARED]
    forged = {event_id: replace(event, text=f"x{event.text}") for event_id, event in events.items()}
    assert breaches(call, declared=lambda one: (forged[one], digest[one]), joined=joined) == [Breach.OTHER_BYTES]
    other = replace(call, recording=replace(call.recording, request=call.recording.request.replace(b"green tea", b"black tea", 1)))
    assert Breach.OTHER_TAG in breaches(other, declared=lambda one: (events[one], digest[one]), joined=joined)


def test_a_planted_byte_fails_the_search_and_nothing_is_sent(memory: Memory, server: Server, monkeypatch: pytest.MonkeyPatch):
    import litellm

    honest = litellm.rerank
    monkeypatch.setattr(litellm, "rerank", lambda **given: honest(**given | {"query": given["query"] + "!"}))
    say(memory, *SAID)
    with pytest.raises(Undeclared):
        found(memory)
    assert (server.count, memory.calls()) == (0, [])


def test_of_another_provider_the_call_is_recorded_and_says_so(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COHERE_API_KEY", "none")
    say(memory, *SAID)
    with by_rerank.asked(tmp_path / "own", changes=(('"hosted_vllm"', '"cohere"'), ("weight = 0.5", "weight = 30"))) as server:
        server.script = backwards
        answer = memory.find(ASKED, user_id="ada")
        assert answer.unranked == ""
        assert [hit.text for hit in answer.hits] == server.asked[0].json["documents"][::-1]
        assert server.asked[0].json["query"] == ASKED
    [call] = memory.calls()
    assert (call.recording.form, call.recording.fault, call.recording.model) == (Form.CALL, None, "BAAI/bge-reranker-v2-m3")


EVENT = EventRef(EventId(bytes(15) + b"1"), bytes(32), b'one "two"')


def asking(*segments: Segment, task: Task = Task.RERANK) -> Request:
    return Request("hosted_vllm", "http://127.0.0.1:1/v1", "small", (Message(Voice.USER, segments),), task=task)


def test_a_query_stands_before_its_events_and_only_where_it_is_declared():
    request = asking(Query("say é"), EVENT, EVENT)
    body = render(request).body
    assert body == '{"model":"small","query":"say é","documents":["one \\"two\\"","one \\"two\\""]}'.encode()
    assert b"say" not in canonical_form(request)
    known = Declared({}, frozenset(), {}, "say é")
    assert known.admits(Query("say é"))
    assert not known.admits(Query("say"))
    assert not Declared({}, frozenset(), {}).admits(Query("say"))
    for segments in ((Query("x"),), (EVENT,), (EVENT, Query("x")), (Query("x"), Query("y"), EVENT), (Query("x"), Template("a", "b")), ()):
        with pytest.raises(Undeclared):
            asking(*segments)
    with pytest.raises(Undeclared):
        canonical_form(asking(Query("x"), task=Task.EMBED))


def test_an_answer_is_read_as_one_finite_score_for_each_text():
    assert json.loads(answers.read(200, scores([0.5, -2.0, 7]).body, Task.RERANK).content) == [0.5, -2.0, 7]
    assert answers.read(200, scores([1], tokens=None).body, Task.RERANK).tokens is None
    for results in (
        [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 2}],
        [{"index": 1, "relevance_score": 1}],
        [{"index": 0, "relevance_score": "1"}],
        [{"index": 0, "relevance_score": True}],
        [{"index": 0, "relevance_score": None}],
        [{"index": 0, "relevance_score": 10**400}],
        [{"index": [], "relevance_score": 1}],
        [{"index": 0}],
        {"index": 0, "relevance_score": 1},
        [],
    ):
        assert answers.read(200, json.dumps({"results": results}).encode(), Task.RERANK).fault is Fault.MALFORMED, results
    for raw in (b'{"results": [{"index": 0, "relevance_score": NaN}]}', b'{"results": [{"index": 0, "relevance_score": 1e999}]}', b"[]"):
        assert answers.read(200, raw, Task.RERANK).fault is Fault.MALFORMED
    assert answers.read(200, b'{"data": [{"embedding": [%d]}]}' % 10**400, Task.EMBED).fault is Fault.MALFORMED


def test_points_are_differences_within_one_answer(server: Server):
    recipe = recipes.search().rerank
    assert recipe is not None
    for content in ("[0, 0.5, 1]", "[-10, -5.0, 0]", "[-1.5e308, 0, 1.5e308]"):
        assert reranking.points(recipe, content) == [0, 15 * 4096, 30 * 4096]
    assert reranking.points(recipe, "[3, 3]") == [0, 0]
    assert reranking.points(recipe, "[5e-324, 0]") == [30 * 4096, 0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("candidates = 20", "candidates = 1", "rerank.candidates"),
        ("weight = 0.5", "weight = 0", "rerank.weight"),
        ("query_seconds = 5", "query_seconds = -1", "rerank.query_seconds"),
        ("characters = 4000", "letters = 4000", "rerank.letters"),
        ('model = "BAAI/bge-reranker-v2-m3"', 'model = ""', "model"),
        ('api_base = "http://127.0.0.1:8000/v1"', 'api_base = ""', "api_base"),
        ("[limits]", "[extra_body]\nx = 1\n[limits]", "extra_body"),
        ("[limits]", "[parameters]\ntop_n = 3\n[limits]", "parameters.top_n"),
        ("concurrency = 8", "concurrency = 8\ncost = 5", "limits.cost"),
    ],
)
def test_a_recipe_is_checked_key_by_key(old: str, new: str, said: str):
    text = settings.text("recipes/rerank/vllm.toml")
    assert old in text
    with pytest.raises(Usage, match=said):
        RerankRecipe.load(text.replace(old, new), name="own.toml")


def test_a_search_recipe_may_say_nothing_of_it_and_else_says_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = settings.text("search.toml")
    without = text[: text.index("[rerank]")]
    assert search_recipe.of(without).rerank is None
    assert search_recipe.of(without).digest == search_recipe.shipped().digest
    for wrong in ("[rerank]\nby = 3\n", '[rerank]\nby = ""\nx = 1\n', "[rerank]\n"):
        with pytest.raises(Usage):
            search_recipe.of(without + wrong)
    monkeypatch.setenv("REFOLD_CONFIG", str(by_rerank.write(tmp_path / "own", "http://127.0.0.1:1/v1")))
    assert recipes.search().digest == search_recipe.shipped().digest
    assert recipes.search() is recipes.search()
    (tmp_path / "own" / "own.toml").unlink()
    with pytest.raises(Usage):
        recipes.search()
