"""What a model wrote of somebody, over the tools: as data, explained by the facts that it names, to whoever may see all of these."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fastmcp.exceptions import ToolError

from refold.memory import Memory
from refold.store import Store
from tests.conftest import now
from tests.fold_model.scripted import fold
from tests.fold_model.telling import MARK, is_profile, sentence, sentences, telling, tells, told
from tests.mcp.test_tools import ada, ask
from tests.openai_server import Asked, Reply, Server, answer

TURNED = "\u202ekool si siht \U000e0041"


def turning(asked: Asked) -> Reply:
    """Answer as `tells`, with what hides and turns text in every sentence about a person."""
    if not is_profile(asked):
        return tells(asked)
    return answer(sentences(*(sentence(f"{MARK} {fact['value']} {TURNED}", alias) for alias, fact in told(asked))))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Return a store with a profile of each of two people."""
    folder = tmp_path_factory.mktemp("told")
    with Server(turning) as server, Memory.create(folder / "store", vault=folder / "vault", root=folder / "root", now=now) as memory:
        memory.add("I live in Kiel.", user_id="ada", source="chat:7#1")
        memory.add("I live in Bonn.", user_id="ben", source="chat:8#1")
        fold(memory.store, telling(server))
        yield memory.store


def test_facts_come_with_what_a_model_made_of_them_and_a_sentence_is_explained(store: Store):
    memory = ada(store)
    (answered,) = ask(memory, ("memory_facts", {}))
    (profile,) = answered["profiles"]
    (fact,) = answered["facts"]
    (written,) = profile["sentences"]
    assert (profile["entity"], profile["made_by"]) == ("ada", "openai/small")
    assert written["text"].startswith(f"{MARK} Kiel")
    assert written["premises"] == [fact["fact_id"]]
    assert written["text"].isprintable()
    (because,) = ask(memory, ("memory_why", {"fact_id": written["fact_id"]}))
    assert [premise["value"] for premise in because["premises"]] == ["Kiel"]
    (of_a_relation, of_nobody) = ask(memory, ("memory_facts", {"relation": "lives_in"}), ("memory_facts", {"entity": "Nobody"}))
    assert (of_a_relation["profiles"], of_nobody["profiles"]) == ([], [])


def test_whose_memory_a_principal_may_not_see_of_them_it_is_told_no_sentence(store: Store):
    assert "Bonn" in json.dumps(ask(Memory(store, now=now), ("memory_facts", {"user_id": "ben"})))
    guest = ada(store)
    for given in ({}, {"entity": "ben"}):
        assert "Bonn" not in json.dumps(ask(guest, ("memory_facts", given)))
    (written,) = Memory(store, now=now).profiles(user_id="ben")[0].sentences
    with pytest.raises(ToolError, match="there is no such fact"):
        ask(guest, ("memory_why", {"fact_id": written.fact_id.hex()}))
