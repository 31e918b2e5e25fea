"""Vectors: the same bytes for the same text whenever and wherever it is folded, nothing hidden in them, and gone with what was erased."""

from __future__ import annotations

import hashlib
import logging
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from refold import folding, recipes, settings
from refold.errors import Usage
from refold.model import Role, Scope, View
from refold.search_recipe import shipped
from refold.state import embedding
from refold.state.builder import Moved
from refold.state.digest import state_hash
from refold.state.embedding import NOTHING, embedder
from refold.state.generation import State
from refold.state.search import find, search
from refold.store import Store, open_store
from tests.erase import small
from tests.search.test_search import QUERIES, TEXTS, drafts, results
from tests.state.made import Draft, Source, a_store, add, fold, say, with_vectors

OPERATOR = View()
VECTORS = with_vectors()
ASKED = (*QUERIES, "does anybody have a vehicle?")


@pytest.fixture
def switched_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a search recipe with vectors beside the user's own settings."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "refold.toml").write_text("")
    (own / "search.toml").write_text(settings.text("search.toml").replace("use = false", "use = true"))
    monkeypatch.setenv("REFOLD_CONFIG", str(own / "refold.toml"))
    return own / "search.toml"


def test_a_text_has_the_same_vector_on_every_machine():
    vectors = [embedder().vector(text.split()) for text in ("green tea", "i live in berlin", "お茶 が 好き", "1 euro")]
    assert hashlib.sha256(b"".join(vectors)).hexdigest() == "f91c8f1c15273a3d9e0c5322f014b3853df5b017c1fb6db65a355b9ac8d58036"
    assert embedder().vector([]) == NOTHING


def test_what_shares_no_word_with_the_query_is_found_by_what_it_is_about(store: Store):
    add(store, [say("ruth", "I bought a new car."), *(say("ada", text, at=str(at)) for at, text in enumerate(TEXTS, 9))])
    state = fold(store, recipe=VECTORS).state
    [hit] = search(state, [], store.log, OPERATOR, "Which vehicle was purchased?", recipe=VECTORS, explain=True)
    assert hit.text == "I bought a new car."
    assert VECTORS.vectors is not None
    assert hit.explain["likeness"] > VECTORS.vectors.least
    assert "coverage" not in hit.explain
    assert sum(hit.explain.values()) == pytest.approx(hit.score)
    assert find(state, [], store.log, OPERATOR, "Which vehicle was purchased?", recipe=VECTORS).left_out["matched"] == 1
    assert search(state, [], store.log, OPERATOR, "Which vehicle was purchased?", recipe=shipped()) == []


def test_a_query_of_stop_words_is_like_nothing(store: Store):
    add(store, [say("ada", "It was him and her.")])
    assert search(fold(store, recipe=VECTORS).state, [], store.log, OPERATOR, "it was him and her", recipe=VECTORS) == []


def test_hidden_neighbours_change_no_likeness(store: Store):
    """The turns between those that are visible stand beside them in the same chat: of another person's scope, or with another label."""
    view = View(Scope(user="ada"), labels=frozenset({"family"}))
    shown = [say("ada", text, at=str(10 * at), audience=("family",)) for at, text in enumerate(TEXTS)]
    hidden = [say("ada", f"a vehicle, {text}", at=str(10 * at + 5), audience=("secret",)) for at, text in enumerate(TEXTS)]
    with a_store() as without:
        add(without, shown)
        expected = _told(without, view)
    add(store, [draft for pair in zip(shown, hidden, strict=True) for draft in pair])
    assert _told(store, view) == expected


def test_what_came_after_the_time_that_is_asked_for_changes_no_likeness(store: Store):
    """Here the next turn is of the same chat and the same people, and only later: the one case in which a session is seen in part."""
    add(store, [say("ada", text, at=str(10 * at)) for at, text in enumerate(TEXTS)])
    view = View(as_of_seq=store.log.head.size - 1)
    expected = _told(store, view)
    add(store, [say("ada", f"a vehicle, {text}", at=str(10 * at + 5)) for at, text in enumerate(TEXTS)])
    assert _told(store, view) == expected


def _told(store: Store, view: View) -> list[tuple[str, float, dict[str, float]]]:
    """Fold, ask everything, and return what was found with what each score is made of."""
    state = fold(store, recipe=VECTORS).state
    asked = [search(state, [], store.log, view, query, limit=99, explain=True, recipe=VECTORS) for query in ASKED]
    return [(hit.text, hit.score, dict(hit.explain)) for hits in asked for hit in hits]


@hypothesis_settings(max_examples=4)
@given(said=drafts)
def test_it_does_not_matter_how_much_is_folded_or_in_which_pieces(said: list[Draft]):
    with a_store() as store:
        add(store, said)
        base = fold(store, end=store.log.head.size // 2, recipe=VECTORS).state
        query = "green tea with Ruth"
        before = results(store, base, OPERATOR, query, VECTORS)
        pieces = _seen(fold(store, base, batch=2, recipe=VECTORS).state, store, query)
        assert pieces == _seen(fold(store, recipe=VECTORS).state, store, query)
        assert before == pieces[-1]


def _seen(state: State, store: Store, query: str) -> tuple[object, ...]:
    return state.table("vectors").to_pylist(), state_hash(state), results(store, state, OPERATOR, query, VECTORS)


def test_the_state_hash_is_over_the_vectors(store: Store):
    add(store, [say("ada", text, at=str(at)) for at, text in enumerate(TEXTS)])
    assert state_hash(fold(store, recipe=VECTORS).state) != state_hash(fold(store).state)


def test_speakers_names_are_in_no_vector(store: Store):
    add(
        store,
        [
            Draft(f"{name} likes tea", Source("chat", name, "1"), author=name, role=Role.USER, scope=Scope(user="u"))
            for name in ("Ada", "Ruth")
        ],
    )
    first, second = fold(store, recipe=VECTORS).state.table("vectors")["vector"].to_pylist()
    assert first == second == embedder().vector(["likes", "tea"])


def test_nothing_is_kept_where_the_recipe_asks_for_no_vectors(store: Store):
    add(store, [say("ada", "green tea")])
    state = fold(store).state
    assert state.table("vectors").num_rows == 0
    assert "vectors" not in dict(state.manifest.listed)


def test_a_state_without_vectors_is_not_searched_for_likeness_and_says_what_to_do(store: Store):
    add(store, [say("ada", "green tea")])
    state = fold(store).state
    with pytest.raises(Usage, match="folded by another search recipe") as refused:
        search(state, [], store.log, OPERATOR, "tea", recipe=VECTORS)
    assert refused.value.hint == "refold fold --full"
    with pytest.raises(Moved, match="search recipe changed"):
        fold(store, state, recipe=VECTORS)


def test_switched_on_beside_the_settings_the_next_fold_is_a_full_one(store: Store, switched_on: Path):
    assert recipes.search() == VECTORS
    small.say(store, small.draft("ada", "1", "I live in Berlin."))
    switched_on.rename(switched_on.with_name("aside"))
    assert small.fold(store).table("vectors").num_rows == 0
    switched_on.with_name("aside").rename(switched_on)
    plan = folding.make_plan(store.log.head, State.open(store), relations=recipes.relations(), recipe=recipes.search())
    assert (plan.reason, plan.full) == (folding.Reason.RECIPE, True)
    assert small.fold(store).table("vectors").num_rows == 1


def test_after_an_erasure_the_vectors_are_those_of_what_is_left(tmp_path: Path, switched_on: Path):
    with open_store(small.filled(tmp_path)) as store:
        heard, aim = small.Heard.of(store), small.ruth(store)
        gone = heard.reached(aim)
        before = dict(zip(*State.open(store).table("vectors").to_pydict().values(), strict=True))
        small.erase(store, aim)
        found = State.open(store)
        left = dict(zip(*found.table("vectors").to_pydict().values(), strict=True))
        assert left == {seq: vector for seq, vector in before.items() if seq not in gone}
        assert before.keys() - left.keys()
        digest = state_hash(found)
        assert state_hash(small.folded_without(store, heard, gone)) == digest


def test_no_vector_lies_readable_on_disk(store: Store):
    add(store, [say("ada", text, at=str(at)) for at, text in enumerate(TEXTS)])
    vectors = fold(store, recipe=VECTORS).state.table("vectors")["vector"].to_pylist()
    found = b"".join(path.read_bytes() for path in store.places.store.rglob("*") if path.is_file())
    assert not any(vector[:16] in found for vector in vectors)


@pytest.fixture
def loaded_anew() -> Iterator[None]:
    embedder.cache_clear()
    yield
    embedder.cache_clear()


def test_a_missing_extra_is_named(store: Store, monkeypatch: pytest.MonkeyPatch, loaded_anew: None):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(Usage, match="is not installed") as refused:
        fold(store, recipe=VECTORS)
    assert refused.value.hint == "pip install 'refold[embed]'"


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, loaded_anew: None):
    monkeypatch.setattr(embedding, "WEIGHTS", "0" * 64)
    with pytest.raises(Usage, match="weights"):
        embedder()


def test_loading_the_weights_sets_up_no_logging(monkeypatch: pytest.MonkeyPatch, loaded_anew: None):
    """It imports a package that would let every library's messages out, and what they quote."""
    for name in [name for name in sys.modules if name.split(".")[0] == "wordllama" and name.endswith(("wordllama", "inference"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.WARNING)
    embedder()
    assert (logging.root.handlers, logging.root.level) == ([], logging.WARNING)


def test_the_weights_come_from_the_wheel_and_no_network(monkeypatch: pytest.MonkeyPatch, loaded_anew: None):
    def reach(*anywhere: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", reach)
    monkeypatch.setattr(socket.socket, "connect", reach)
    assert embedder().vector(["tea"]) != NOTHING
