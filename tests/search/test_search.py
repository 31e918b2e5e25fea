"""Search finds what a plain program finds, and what a view may not see takes no part in it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.errors import Usage
from refold.model import Draft, Role, Scope, Source, View
from refold.search_recipe import Recipe, shipped
from refold.state.generation import State
from refold.state.search import find, search
from refold.store import Store
from tests.search.reference import ranking
from tests.state.made import DAY, NOW, a_store, add, fold, say, with_vectors

OPERATOR = View()
QUERIES = (
    "where does Ada live?",
    "when did Ruth buy tea in Berlin",
    "green tea",
    "what did Ada Brandt say on 7 May 2023?",
    "berlin berlin ruth ada",
    "2022",
    "the of and",
    "what is in the chat about tea",
)
TEXTS = (
    "I live in Berlin since 2021.",
    "Ruth bought green tea yesterday",
    "Do you like tea?",
    "green green green tea",
    "Ada went to Berlin with Ruth on Monday, and they drank tea for an hour",
    "ok",
    "Wir trinken grünen Tee in Berlin",
    "お茶が好き",
    "a chat about tea",
)


def tail_of(store: Store, state: State) -> list:
    return [event for batch in store.log.events(state.size) for event in batch]


def everything(store: Store) -> list:
    return [event for batch in store.log.events() for event in batch]


def results(store: Store, state: State, view: View, query: str, recipe: Recipe | None = None) -> list[tuple[int, int]]:
    hits = search(state, tail_of(store, state), store.log, view, query, limit=1000, recipe=recipe)
    return [(hit.seq, round(hit.score * 4096)) for hit in hits]


drafts = st.lists(
    st.builds(
        lambda text, user, chat, part, day, labels, author, role, caption: Draft(
            text,
            source=Source("chat", chat, part),
            said_at=NOW - 1000 * DAY + day * DAY,
            author=author,
            role=role,
            scope=Scope(user=user),
            audience=labels,
            metadata={"caption": caption} if caption else {},
        ),
        text=st.sampled_from(TEXTS),
        user=st.sampled_from(["u1", "u2"]),
        chat=st.sampled_from(["a", "b"]),
        part=st.sampled_from(["", "2", "10", "section-1", "section-12", "section-2"]),
        day=st.integers(0, 400),
        labels=st.sampled_from([(), ("family",), ("work",), ("family", "work")]),
        author=st.sampled_from([None, "Ada Brandt", "Ruth"]),
        role=st.sampled_from([Role.USER, Role.ASSISTANT, Role.DOCUMENT]),
        caption=st.sampled_from([None, "a cup of tea"]),
    ),
    min_size=1,
    max_size=25,
)
views = st.builds(
    View,
    scope=st.sampled_from([Scope(), Scope(user="u1")]),
    labels=st.sampled_from([None, frozenset(), frozenset({"family"}), frozenset({"family", "work"})]),
    as_of_seq=st.sampled_from([None, None, 5, 12]),
)


@settings(max_examples=60, deadline=None)
@given(
    said=drafts,
    view=views,
    query=st.sampled_from(QUERIES),
    folded=st.integers(0, 30),
    flush=st.integers(1, 30),
    candidates=st.sampled_from([3, 200]),
    base=st.sampled_from([shipped(), with_vectors()]),
)
def test_search_is_what_a_plain_program_over_the_visible_events_finds(said, view, query, folded, flush, candidates, base):
    recipe = replace(base, query=replace(base.query, candidates=candidates))
    with a_store() as store:
        add(store, said)
        state = fold(store, end=min(folded, store.log.head.size), flush_events=flush, batch=flush, recipe=recipe).state
        seen = [
            event
            for event in everything(store)
            if view.scope.admits(event.scope)
            and (view.labels is None or set(event.audience) <= view.labels)
            and (view.as_of_seq is None or event.seq <= view.as_of_seq)
        ]
        assert results(store, state, view, query, recipe) == ranking(seen, query, recipe)


@settings(max_examples=15, deadline=None)
@given(said=drafts, query=st.sampled_from(QUERIES), cuts=st.lists(st.integers(1, 25), min_size=1, max_size=4))
def test_it_does_not_matter_how_much_is_folded_or_when_the_tail_came(said, query, cuts):
    with a_store() as store:
        state = State.open(store)
        for first, end in itertools.pairwise(sorted({0, *cuts, len(said)})):
            add(store, said[first:end])
            before = results(store, state, OPERATOR, query)  # the same searcher meets a growing tail
        assert before == results(store, fold(store).state, OPERATOR, query)


def test_what_was_just_said_is_found_before_any_fold_and_marked(store):
    add(store, [say("ada", "I live in Berlin", at="1")])
    state = fold(store).state
    add(store, [say("ada", "I moved to Munich", at="2")])
    [first, second] = search(state, tail_of(store, state), store.log, View(Scope(user="ada")), "where did ada move, Munich or Berlin?")
    assert {(first.text, first.folded), (second.text, second.folded)} == {("I live in Berlin", True), ("I moved to Munich", False)}


def test_hidden_events_change_no_score_of_others(store):
    shown = [say("ada", text, at=str(at), audience=("family",)) for at, text in enumerate(TEXTS)]
    hidden = [say("ada", f"{text} Berlin tea Ruth", at=str(at), audience=("secret",)) for at, text in enumerate(TEXTS * 3)]
    view = View(Scope(user="ada"), labels=frozenset({"family"}))
    with a_store() as without:
        add(without, shown)
        expected = [
            [(hit.text, hit.score) for hit in search(fold(without).state, [], without.log, view, query, limit=99)] for query in QUERIES
        ]
    add(store, [draft for pair in itertools.zip_longest(shown, hidden) for draft in pair if draft])
    state = fold(store).state
    assert [[(hit.text, hit.score) for hit in search(state, [], store.log, view, query, limit=99)] for query in QUERIES] == expected


def test_a_hidden_event_of_the_tail_changes_no_score(store):
    add(store, [say("ada", text, at=str(at)) for at, text in enumerate(TEXTS)])
    state, view = fold(store).state, View(labels=frozenset())
    before = [results(store, state, view, query) for query in QUERIES]
    add(store, [say("ada", f"{text} tea in Berlin", at=str(at), audience=("secret",)) for at, text in enumerate(TEXTS)])
    assert [results(store, state, view, query) for query in QUERIES] == before


def test_a_user_sees_no_other_users_events(store):
    add(store, [say("ada", "green tea"), say("ruth", "green tea too")])
    state = fold(store).state
    assert [hit.speaker for hit in search(state, [], store.log, View(Scope(user="ruth")), "tea")] == ["ruth"]


def test_explain_parts_add_up_to_the_score(store):
    add(store, [say("ada", text, at=str(at), day=at) for at, text in enumerate(TEXTS)])
    found = find(fold(store).state, [], store.log, OPERATOR, "when did ada drink green tea on 19 September 2022?", explain=True)
    assert found.hits
    for hit in found.hits:
        assert sum(hit.explain.values()) == pytest.approx(hit.score)
    assert {"coverage", "context", "length", "speaker", "when", "date"} <= set().union(*(hit.explain for hit in found.hits))


def test_what_nobody_said_does_not_outrank_what_people_said_as_relevantly(store):
    system = "You are a helpful assistant for travel plans. Always mention the passport and the passport office when a passport is needed."
    drafts = [
        Draft(system, source=Source("chat", "ada", "1"), role=Role.SYSTEM, scope=Scope(user="ada")),
        say("ada", "My passport runs out in May.", at="2"),
        Draft(
            "Your passport runs out in May, so go soon.", source=Source("chat", "ada", "3"), role=Role.ASSISTANT, scope=Scope(user="ada")
        ),
        Draft("passport: expires in May", source=Source("chat", "ada", "4"), role=Role.TOOL, scope=Scope(user="ada")),
    ]
    add(store, drafts)
    for state in (State.open(store), fold(store).state):
        hits = search(state, tail_of(store, state), store.log, View(Scope(user="ada")), "when does the passport run out?")
        assert (hits[0].role, len(hits)) == (Role.USER, 4)


def test_the_name_of_a_document_is_nobodys_name(store):
    add(store, [Draft("a chat about tea", source=Source("chat", "a", part), role=Role.DOCUMENT) for part in "12"])
    found = find(fold(store).state, [], store.log, OPERATOR, "chat", explain=True)
    assert len(found.hits) == 2
    assert not any("speaker" in hit.explain for hit in found.hits)


def test_what_was_left_out_is_counted_within_the_view_alone(store):
    add(store, [say("ada", "green tea", at=str(at)) for at in range(5)] + [say("ruth", "green tea", at=str(at)) for at in range(9)])
    found = find(fold(store).state, [], store.log, View(Scope(user="ada"), as_of_seq=4), "the tea of unicorns", limit=2)
    assert found.left_out == {"matched": 3, "beyond_limit": 1, "stop_words": 2, "unknown_words": 1, "later": 2, "unreadable": 0}


def test_a_word_in_a_very_long_text_is_found(store):
    add(store, [say("ada", "ox " * 600_000 + "needle")])
    [hit] = search(fold(store).state, [], store.log, OPERATOR, "needle")
    assert hit.text.endswith("needle")


def test_a_query_of_stop_words_finds_nothing(store):
    add(store, [say("ada", "the cat of and")])
    assert search(fold(store).state, [], store.log, OPERATOR, "the of and") == []


def test_a_limit_below_one_is_refused(store):
    with pytest.raises(Usage):
        search(State.open(store), [], store.log, OPERATOR, "tea", limit=0)
