"""A fold that a model reads, over HTTP to a server of our own: what is asked, what becomes of the answers, and what is left for later."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from refold import asking as asked_in_turn
from refold import folding, recipes
from refold.asking import Model
from refold.calls.mode import Mode
from refold.calls.recordings import Recordings
from refold.errors import NotRecorded, WorkerFailed
from refold.folding import Fold, Reason
from refold.memory import Memory
from refold.model import Role, View
from refold.recover.audit import Area, audit
from refold.recover.closure import Checked
from refold.state import everybody
from refold.state.digest import state_hash
from refold.state.generation import State
from refold.state.sight import Sight
from refold.store import open_store
from tests.conftest import now
from tests.fold_model.scripted import add, asked_about, asking, facts, fold, gateway, many, reads, says
from tests.openai_server import answer, failure
from tests.state.made import every_claim


def test_a_block_is_asked_about_once_and_its_facts_lead_to_the_call(store, server):
    add(store, says("ada", 1, "I live in Berlin."), says("ada", 2, "Noted.", Role.ASSISTANT), says("ada", 3, "I live in Munich."))
    report = fold(store, asking(server))
    assert asked_about(server) == [["I live in Berlin.", "(Noted.)", "I live in Munich."]]
    assert facts(store) == ["ada lives_in Berlin", "ada lives_in Munich"]
    assert (report.assertions, report.rejected, report.pending, report.extractor) == (2, 0, 0, "openai/small")
    (call,) = {claim.call_id for claim in every_claim(State.open(store))}
    assert call is not None


def test_earlier_turns_of_the_same_session_are_told_as_context(store, server):
    add(store, says("ada", 1, "My sister Ruth called."), says("ada", 2, "She lives in Oslo."), says("bob", 1, "I live in Kiel."))
    fold(store, asking(server, parts=1, context=1))
    assert sorted(asked_about(server)) == [
        ["(My sister Ruth called.)", "She lives in Oslo."],
        ["I live in Kiel."],
        ["My sister Ruth called."],
    ]
    (ruth,) = [claim for claim in every_claim(State.open(store)) if claim.entity == "Ruth"]
    assert store.log.event(ruth.named_seq).text == "My sister Ruth called."


def test_a_fold_of_nothing_new_asks_nothing(store, server):
    add(store, *many(["ada"], 3))
    fold(store, asking(server))
    assert fold(store, asking(server)).plan.reason is Reason.NOTHING
    assert server.count == 1


def test_a_full_fold_asks_nothing_again_and_gives_the_same_state(store, server):
    add(store, *many(["ada", "bob"], 12))
    fold(store, asking(server))
    before, asked = state_hash(State.open(store)), server.count
    report = fold(store, asking(server), full=True)
    assert server.count == asked
    assert state_hash(State.open(store)) == before
    assert report.spent is not None
    assert (report.spent.calls, report.spent.reused) == (0, asked)


def test_a_replay_makes_no_call_and_misses_where_nothing_was_recorded(store, server):
    add(store, *many(["ada"], 3))
    fold(store, asking(server))
    assert fold(store, asking(server), full=True, mode=Mode.REPLAY).assertions == 3
    add(store, says("ada", 20, "I live in Rome."))
    with pytest.raises(NotRecorded):
        fold(store, asking(server), mode=Mode.REPLAY)
    assert server.count == 1


def test_a_fresh_fold_asks_all_again(store, server):
    add(store, *many(["ada", "bob"], 2))
    fold(store, asking(server))
    fold(store, asking(server), full=True, mode=Mode.REFRESH)
    assert server.count == 4


@pytest.mark.parametrize("order", [range(12), (3, 1, 0, 2, 9, 4, 11, 5, 10, 6, 8, 7)])
def test_folding_as_events_come_gives_what_folding_all_of_them_gives(store, server, order):
    for part in order:
        add(store, says("ada", part, f"My sister Ruth{part}. She lives in Town{part % 5}. I live in Place{part}."))
        add(store, says("bob", part, f"She lives in Town{part}."))
        if part % 2:
            fold(store, asking(server, parts=4, context=2))
    fold(store, asking(server, parts=4, context=2))
    found, hashed = facts(store), state_hash(State.open(store))
    fold(store, asking(server, parts=4, context=2), full=True)
    assert facts(store) == found
    assert state_hash(State.open(store)) == hashed


def test_a_late_event_asks_again_about_its_block_and_its_followers_and_no_others(store, server):
    add(store, *(says("ada", part, "She lives in Oslo.") for part in (10, 11, 20, 30)), says("bob", 1, "I live in Kiel."))
    fold(store, asking(server, parts=5, context=1))
    assert facts(store) == ["bob lives_in Kiel"]
    server.asked.clear()
    add(store, says("ada", 12, "Hello from my sister Ruth."))
    fold(store, asking(server, parts=5, context=1))
    assert sorted(asked_about(server)) == [
        ["(Hello from my sister Ruth.)", "She lives in Oslo."],
        ["She lives in Oslo.", "She lives in Oslo.", "Hello from my sister Ruth."],
    ]
    assert facts(store) == ["Ruth lives_in Oslo", "bob lives_in Kiel"]


def test_a_model_that_fails_leaves_its_events_pending_and_the_next_fold_asks_only_about_them(store, server):
    add(store, *many(["ada", "bob"], 2))
    server.script = lambda asked: reads(asked) if '"speaker":"bob"' in asked.text else failure(500)
    report = fold(store, asking(server))
    assert (report.pending, report.faults) == (2, {"server-error": 1})
    assert {store.log.event(seq).author or store.log.event(seq).scope.user for seq in State.open(store).pending} == {"ada"}
    memory = Memory(store, now=now)
    assert (memory.unfolded(user_id="ada"), memory.unfolded(user_id="bob")) == (2, 0)  # whoever asks for facts is told
    assert len(facts(store)) == 2
    server.script = reads
    server.asked.clear()
    again = fold(store, asking(server))
    assert again.plan.reason is Reason.PENDING
    assert asked_about(server) == [["I live in Town0.", "I live in Town1."]]
    assert State.open(store).pending == ()
    assert len(facts(store)) == 4


def test_a_block_that_fails_when_it_is_asked_again_keeps_what_was_read_of_it(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    fold(store, asking(server))
    add(store, says("ada", 2, "I live in Munich."))
    server.script = lambda asked: failure(500)
    assert fold(store, asking(server)).pending == 2
    assert facts(store) == ["ada lives_in Berlin"]
    server.script = reads
    fold(store, asking(server))
    assert facts(store) == ["ada lives_in Berlin", "ada lives_in Munich"]


def test_an_answer_in_another_form_is_asked_for_again_and_then_counted(store, server):
    add(store, says("ada", 1, "I live in Berlin."), says("bob", 1, "I live in Kiel."))
    server.script = lambda asked: answer("I would say") if '"speaker":"bob"' in asked.text else reads(asked)
    report = fold(store, asking(server))
    assert server.count == 4
    assert (report.rejected, report.pending) == (1, 0)
    assert facts(store) == ["ada lives_in Berlin"]
    fold(store, asking(server), full=True)
    assert server.count == 4


def test_another_recipe_asks_exactly_what_it_changes(store, server):
    add(store, says("ada", 1, "I live in Berlin."), says("ada", 9, "I live in Munich."), says("bob", 1, "I live in Kiel."))
    fold(store, asking(server, context=0))
    server.asked.clear()
    report = fold(store, asking(server, context=1))
    assert report.plan.reason is Reason.RECIPE
    assert asked_about(server) == [["(I live in Berlin.)", "I live in Munich."]]
    priced = replace(asking(server, context=1), answer_tokens=1)
    assert fold(store, priced).plan.reason is Reason.NOTHING


def test_a_block_whose_texts_are_too_long_is_asked_event_by_event(store, server):
    add(store, says("ada", 1, "I live in Berlin."), says("ada", 2, "I live in Munich."))
    fold(store, asking(server, characters=20, context=1))
    assert sorted(asked_about(server)) == [["(I live in Berlin.)", "I live in Munich."], ["I live in Berlin."]]


def test_what_a_model_makes_up_is_rejected_and_counted(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    server.script = lambda asked: answer('{"facts":[{"event":"e1"}],"aliases":[]}')
    report = fold(store, asking(server))
    assert (report.assertions, report.rejected) == (0, 1)


def test_folding_by_patterns_again_reads_everything_anew(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    fold(store, asking(server))
    report = folding.fold(store, State.open(store), relations=recipes.relations(), recipe=recipes.search(), now=now)
    assert report.plan.reason is Reason.RECIPE
    assert [claim.extractor for claim in every_claim(State.open(store))] == ["symbolic/en-1"]


def test_a_fresh_fold_keeps_what_it_asked_where_another_fold_was_faster(store, server):
    add(store, says("ada", 1, "I live in Berlin."), says("bob", 1, "I live in Kiel."))
    fold(store, asking(server))
    faster = iter([True])

    def meanwhile(asked):
        if next(faster, False):
            with open_store(store.places) as other:
                folding.fold(other, State.open(other), relations=recipes.relations(), recipe=recipes.search(), full=True, now=now)
        return reads(asked)

    server.script = meanwhile
    report = fold(store, asking(server), full=True, mode=Mode.REFRESH)
    assert report.generation == 3
    assert report.spent is not None
    assert (server.count, report.spent.calls, report.spent.reused) == (4, 2, 2)


def test_a_fresh_fold_asks_again_as_often_as_the_first_one_where_answers_are_in_another_form(store, server):
    add(store, says("ada", 1, "I live in Berlin."))
    server.script = lambda asked: answer("I would say")
    fold(store, asking(server))
    fold(store, asking(server), full=True, mode=Mode.REFRESH)
    assert server.count == 6
    server.script = lambda asked: reads(asked) if asked.number == 7 else answer("I would say")
    assert fold(store, asking(server), full=True, mode=Mode.REFRESH).assertions == 1
    assert server.count == 8


def test_a_fact_counts_from_when_the_event_that_names_its_entity_came(store, server):
    add(store, says("ada", 2, "She lives in Oslo."))
    add(store, says("ada", 1, "My sister Ruth called."))
    fold(store, asking(server, parts=1, context=1))
    first, last = (event for events in store.log.events() for event in events)
    state, relations = State.open(store), recipes.relations()
    (said,) = every_claim(state)

    def seen(view: View) -> tuple[bool, int]:
        return Sight(state, view, relations).sees(said), sum(everybody.counts(state, view, relations).values())

    assert (said.seq, said.named_seq) == (first.seq, last.seq)
    for earlier, later in (
        (View(as_of_seq=first.seq), View(as_of_seq=last.seq)),
        (View(as_of_time=first.recorded_at), View(as_of_time=last.recorded_at)),
    ):
        assert seen(earlier) == (False, 0)
        assert seen(later) == (True, 1)


def test_no_batch_waits_for_the_answers_about_the_one_before(store, server, monkeypatch):
    monkeypatch.setattr(folding, "BATCH_ENTRIES_MIN", 2)
    monkeypatch.setattr(folding, "BATCHES_MAX", 100)
    add(store, *many(["ada", "bob", "cleo"], 2))
    both_are_out = threading.Event()

    def together(asked):
        if server.count > 2:
            both_are_out.set()
        assert both_are_out.wait(20), "the third request waits for the answer to the first"
        return reads(asked)

    server.script = together
    report = fold(store, asking(server))
    assert len(report.plan.batches) > 2
    assert len(facts(store)) == 6
    assert server.count == 3


def test_a_fold_that_fails_keeps_every_answer_that_was_paid_for(store, server, monkeypatch):
    monkeypatch.setattr(asked_in_turn, "JOB_ANSWERS", 1)
    add(store, *many([f"user{number}" for number in range(8)], 1))

    def fails(job: bytes) -> bytes:
        raise WorkerFailed("the closed worker failed")

    by = asking(server)
    by = replace(by, limits=replace(by.limits, concurrency=1))
    with gateway(store, by) as to:
        work = Fold(store, State.open(store), relations=recipes.relations(), recipe=recipes.search(), model=Model(by, to, fails))
        with pytest.raises(WorkerFailed):
            work.batch(*work.plan.batches[0])
    asked = server.count
    assert asked > 1
    assert Recordings(store, now=now, random=bytes).totals().calls == asked
    assert len(facts(store)) == 0
    fold(store, by)
    assert server.count == 8


def test_p3_every_call_of_a_fold_stands_an_audit_of_the_closure(store, server):
    add(
        store,
        says("ada", 1, "My sister Ruth called\u2028."),
        says("ada", 2, "Noted.", Role.ASSISTANT),
        says("ada", 3, "She lives in Oslo."),
    )
    add(store, *many(["bob"], 3), says("cleo", 1, "I live in Kiel, " + "and " * 2_000 + "so on."))
    server.script = lambda asked: answer("I would say") if '"speaker":"bob"' in asked.text else reads(asked)
    fold(store, asking(server, parts=2, context=1))
    fold(store, asking(server, parts=1, context=2))
    done = audit(store.places, (Area.CLOSURE,))
    assert (done.findings, done.checked) == ((), Checked(calls=server.count))
    assert server.count > 8
