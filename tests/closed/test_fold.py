"""The fold in a closed worker gives what it gives in process, and what is asked for is what is had, or the fold is refused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold import Memory, recipes
from refold import settings as config
from refold.closed import fold as closed
from refold.closed.closure import Level
from refold.closed.worker import Worker
from refold.errors import NotAllowed, Usage, WorkerFailed
from refold.fold import forms
from refold.fold.ground import Told, fold_batch
from refold.fold.job import Answered, Job, decode_result, encode_job, needed
from refold.fold.relations import Relations
from refold.fold.worker import answering
from refold.ingest import add
from refold.model import Event, Role
from refold.reading import Folded
from refold.state.digest import state_hash
from refold.state.generation import State
from refold.store import Places
from tests.benchmarks.fold_extract import TURNS
from tests.conftest import now
from tests.facts.world import say
from tests.fold.said import FACT_KEY, event, shipped
from tests.fold.score import LABELLED


def labelled() -> list[tuple[Event, bytes]]:
    texts = [json.loads(line)["text"] for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    roles = (Role.USER, Role.DOCUMENT)
    return [(event(text, seq=seq, role=roles[seq % 8 == 7], metadata={"heading": "Ada"}), FACT_KEY) for seq, text in enumerate(texts)]


def test_a_closed_fold_of_all_that_is_labelled_gives_the_same_rows():
    events = labelled()
    with closed.folding(shipped(), require=Level.TRIPWIRE) as (fold_events, level):
        assert level in (Level.TRIPWIRE, Level.KERNEL)
        folded = fold_events(events)
        assert folded == fold_batch(events, shipped())
        assert len(folded.assertions) > 100

        @settings(max_examples=40, deadline=None)
        @given(st.lists(st.sampled_from(TURNS) | st.text(st.characters(exclude_categories=("Cs",))), max_size=5))
        def of_any_text(texts: list[str]) -> None:
            said = [(event(" ".join(texts)), FACT_KEY)]
            assert fold_events(said) == fold_batch(said, shipped())

        of_any_text()


def test_the_answers_of_a_model_are_read_in_a_closed_worker_as_in_process():
    fact = {"event": "e1", "relation": "lives_in", "act": "say", "modality": "asserted", "entity": None, "entity_in": "e1"}
    fact |= {"value": "Munich", "qualifier": None, "words": "living in Munich", "when": "since 2023"}
    told = Told(event("I have been living in Munich since 2023."), FACT_KEY)
    contents = (json.dumps({"facts": [fact], "aliases": []}), "no json {")
    answers = tuple(Answered(bytes([number] * 16), {"e1": told}, content) for number, content in enumerate(contents))
    job, relations = encode_job(Job("model/x", 4_000, answers)), config.text("relations.toml").encode()
    answer = answering(relations)
    with Worker("refold.fold.worker:answering", given=relations, require=Level.TRIPWIRE) as worker:
        assert worker.ask(job) == answer(job)
        assert worker.ask(job) == answer(job)
    assert [len(reading.folded.assertions) for reading in decode_result(answer(job))] == [1, 0]


def test_a_closed_fold_gives_the_state_of_one_in_process(places: Places):
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        for at, text in enumerate(TURNS):
            add(memory.store, [say("ada", text, on=at)], index=State.open(memory.store), now=now, random=os.urandom)
        assert memory.fold(full=True).closure_level is Level.DECLARED
        in_process = state_hash(State.open(memory.store))
        report = memory.fold(full=True, require_closure="tripwire")
        assert report.closure_level in (Level.TRIPWIRE, Level.KERNEL)
        assert report.assertions > 3
        assert state_hash(State.open(memory.store)) == in_process


def test_the_settings_may_ask_for_a_closed_fold(places: Places, tmp_path, monkeypatch):
    own = tmp_path / "settings.toml"
    own.write_text('[fold]\nrequire_closure = "tripwire"\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(own))
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Berlin.", user_id="ada")
        assert memory.fold().closure_level in (Level.TRIPWIRE, Level.KERNEL)
        assert memory.fold(full=True, require_closure="declared").closure_level is Level.DECLARED


def test_a_fold_is_refused_where_less_holds_than_is_required(places: Places, monkeypatch):
    monkeypatch.setattr(closed, "Worker", partial(Worker, up_to=Level.TRIPWIRE))
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Berlin.", user_id="ada")
        with pytest.raises(NotAllowed, match="seccomp"):
            memory.fold(require_closure="kernel")
        assert memory.unfolded(user_id="ada") == 1
        with pytest.raises(Usage, match="declared, tripwire, kernel"):
            memory.fold(require_closure="iron")


def test_a_worker_is_told_nothing_that_no_statement_depends_on():
    said = replace(event("I live in Berlin."), audience=("family",), key="k", ingest=b"\x01" * 16)
    raw = forms.encode(closed.Batch, ((needed(said), FACT_KEY),))
    assert b"family" not in raw
    assert (b"\x01" * 16).hex().encode() not in raw


@pytest.mark.parametrize("answered", [b"", b"null", b"[]", b"[[],[]]", b"[[1],[],[]]", b'[[],[],[["1","",1]]]', b"[[],[],[[1,2,1]]]"])
def test_what_a_worker_answers_is_read_only_as_its_type_says(answered: bytes):
    with Worker("tests.closed.targets:always", given=answered) as worker, pytest.raises(WorkerFailed, match="another form"):
        closed._folded(worker, [])


def test_values_are_read_as_they_were_written():
    relations = recipes.relations()
    read = forms.decode(Relations, forms.encode(Relations, relations))
    assert vars(read) == {name: vars(relations)[name] for name in vars(read)}
    assert list(read.by_name) == list(relations.by_name)
    folded = fold_batch(labelled(), relations)
    assert forms.decode(Folded, forms.encode(Folded, folded)) == folded
    for said, _ in labelled():
        assert forms.decode(Event, forms.encode(Event, said)) == said


def test_a_type_without_a_form_is_refused():
    with pytest.raises(TypeError, match="has no form"):
        forms.encode(complex, 1j)
