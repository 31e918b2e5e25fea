"""What memory would be without some events: what it is where they were never said, told without a change and without a call."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from refold.erase.model import Selector
from refold.errors import NotRecorded, Usage
from refold.extractors import Choice
from refold.memory import Memory
from refold.model import AliasKind, Draft, Scope, Source
from refold.state.generation import State
from refold.store import Store, create
from refold.store import places as find_places
from tests.conftest import now
from tests.erase.test_plan import known, told
from tests.fold_model import scripted
from tests.openai_server import Server

STATEMENTS = (
    ("ada", "7", "I live in Berlin."),
    ("ada", "7", "My sister is called Ruth."),
    ("ada", "8", "I moved to Munich."),
    ("ben", "9", "I like tea."),
    ("ben", "9", "I don't like tea any more."),
    ("ada", "7", "Ruth works at Acme."),
)


def filled(store: Store, *, without: str = "") -> Memory:
    memory = Memory(store, now=now, random=os.urandom)
    for part, (user, chat, text) in enumerate(STATEMENTS):
        source = Source("chat", chat, str(part))
        if without not in (str(source), source.document, user):
            memory.add_many([Draft(text, source, said_at=1_700_000_000_000_000 + part, scope=Scope(user=user))])
    memory.fold()
    return memory


def listing(places) -> dict[Path, bytes]:
    folders = (places.store, places.vault, places.root)
    return {
        path: path.read_bytes() for folder in folders for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock"
    }


@pytest.mark.parametrize(
    ("what", "selector"),
    [
        ("chat:8", Selector(sources=(Source("chat", "8"),))),
        ("chat:9#4", Selector(sources=(Source("chat", "9", "4"),))),
        ("ada", Selector(aliases=((AliasKind.HANDLE, "ada"),))),
    ],
)
def test_it_is_what_memory_is_where_it_was_never_said(store: Store, tmp_path: Path, what: str, selector: Selector):
    with filled(store) as memory:
        before, held = listing(memory.places), known(store)
        found = memory.fold_without(selector)
        assert listing(memory.places) == before
        after = held - Counter(map(told, found.diff.gone)) + Counter(map(told, found.diff.again))
    places = find_places(tmp_path / "other/s", tmp_path / "other/v", tmp_path / "other/r", env={})
    with create(places, now=now, random=os.urandom) as other, filled(other, without=what):
        assert after == known(other) != held


def test_of_nothing_nothing_can_be_said(store: Store):
    with filled(store) as memory:
        with pytest.raises(Usage):
            memory.fold_without(Selector())
        found = memory.fold_without(Selector(sources=(Source("chat", "none"),)))
        assert (found.events, found.diff.gone, found.diff.again) == (0, (), ())


def test_what_others_say_undeclared_stays_and_is_counted(store: Store):
    with filled(store) as memory:
        memory.add("Ada was late.", user_id="ben")
        assert memory.fold_without(Selector(aliases=((AliasKind.HANDLE, "ada"),))).mentions == 1


def test_a_model_is_not_asked_but_what_it_answered_before_is_read(store: Store):
    with Server(scripted.reads) as server:
        by = scripted.asking(server, parts=2, context=2)
        for part, town in enumerate(("Berlin", "Munich"), 2):
            scripted.add(store, scripted.says("ada", part, f"I live in {town}."))
            scripted.fold(store, by)
        asked = len(server.asked)
        with Memory(store, now=now, random=os.urandom) as memory:
            choice = Choice(by, said=("openai", "", ""))
            found = memory.fold_without(Selector(sources=(Source("chat", "ada", "3"),)), by=choice)
            assert [fact.value for fact in found.diff.gone] == ["Munich"]
            assert [fact.value for fact in found.diff.again] == ["Berlin"]
            assert found.reread == 1
            with pytest.raises(NotRecorded):  # nobody asked about the later one alone
                memory.fold_without(Selector(sources=(Source("chat", "ada", "2"),)), by=choice)
            with pytest.raises(Usage, match="another recipe"):
                memory.fold_without(Selector(sources=(Source("chat", "ada", "2"),)))
            assert (len(server.asked), State.open(store).number) == (asked, 2)
