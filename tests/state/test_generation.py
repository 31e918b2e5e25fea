"""What is published is read again, whole and in pieces; what does not belong to the log or the epoch is absent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.errors import RefoldError
from refold.model import Act, Mention, Scope, SubjectId, View
from refold.state.generation import Absence, State
from refold.state.tables import TABLES
from tests.state.made import a_store, add, every_claim, fold, mentions_each_word, rows, say

PEOPLE = ("Ada", "Ruth", "Ömer")
TEXTS = st.sampled_from(["I live in Berlin", "no more Tea now", "Who knows?", "Ruth likes Tea", "nothing", "Ada Ada now"])


def chats(store, count=30):
    add(
        store,
        [
            say(PEOPLE[at % 3], f"Word{at % 7} and tea number {at}", at=str(at), audience=("family",) * (at % 2), day=at)
            for at in range(count)
        ],
    )


def test_a_store_without_a_fold_has_an_empty_state_that_says_so(store):
    state = State.open(store)
    assert (state.absent, state.size, state.number) == (Absence.NEVER, 0, 0)
    assert all(state.table(name).num_rows == 0 for name in TABLES)


def test_what_was_published_is_read_again(store):
    chats(store)
    published = fold(store, by=mentions_each_word)
    opened = State.open(store)
    assert opened.absent is None
    assert opened.size == store.log.head.size
    assert rows(opened) == rows(published.state)
    assert opened.counts["events"] == published.events == 30


def test_folding_in_pieces_gives_the_rows_of_one_full_fold(store):
    chats(store, 60)
    state = None
    for end in (7, 8, 30, 61, store.log.head.size):
        state = fold(store, state, end=end, by=mentions_each_word).state
    assert state is not None
    assert len(state.manifest.segments) < 5
    assert rows(state) == rows(fold(store, by=mentions_each_word, flush_events=11).state)


@settings(max_examples=12, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=12), cuts=st.lists(st.integers(1, 12), max_size=3), flush=st.integers(1, 9))
def test_any_batches_give_the_same_rows(texts, cuts, flush):
    with a_store() as store:
        add(store, [say(PEOPLE[at % 3], text, at=str(at)) for at, text in enumerate(texts)])
        state = None
        for end in sorted({min(cut, store.log.head.size) for cut in cuts}):
            state = fold(store, state, end=end, by=mentions_each_word, batch=2).state
        state = fold(store, state, by=mentions_each_word).state
        assert rows(state) == rows(fold(store, by=mentions_each_word, flush_events=flush, batch=flush).state)


@pytest.mark.parametrize("kind", ["assertions", "edges"])
def test_e25_what_rests_on_nothing_that_was_said_becomes_no_fact(store, kind):
    chats(store, 3)

    def reading(event):
        said = mentions_each_word(event)
        return replace(said, **{kind: tuple(replace(one, spans=()) for one in getattr(said, kind))})

    with pytest.raises(RefoldError, match="rests on nothing"):
        fold(store, by=reading)
    assert State.open(store).absent is not None


def test_a_lookup_gives_what_reading_everything_and_filtering_gives(store):
    chats(store)
    state = fold(store, by=mentions_each_word, flush_events=10).state
    for name, table in TABLES.items():
        every = state.table(name).to_pylist()
        for keys in ({row[table.key] for row in every[::3]}, {every[0][table.key]} if every else set()):
            found = state.lookup(name, list(keys)).to_pylist()
            assert sorted(map(str, found)) == sorted(str(row) for row in every if row[table.key] in keys)


def test_claims_come_by_mention_relation_and_id(store):
    chats(store)
    state = fold(store, by=mentions_each_word).state
    [(tag, mention)] = state.mentions_named("ADA").items()
    assert mention.is_first_person
    every = state.claims([tag])
    assert {claim.entity for claim in every} == {"Ada"}
    assert [claim for claim in every if claim.relation == "likes"] == state.claims([tag], ["likes"])
    assert state.claims_with_id(every[0].fact_id) == [every[0]]
    assert every[0] in state.claims_with_id(every[0].fact_id[:15])
    assert [tag] in state.mentions_valuing(state.mentions_named("Word3")).values()
    assert state.mentions_valuing([tag]) == {tag: []}
    assert len(every_claim(state)) == state.counts["assertions"]


def test_alias_statements_are_found_from_both_ends(store):
    add(store, [say("Ada", "Ruth")])
    state = fold(store, by=mentions_each_word).state
    [ada], [ruth] = state.mentions_named("ada"), state.mentions_named("ruth")
    [there], [back] = state.edges_of([ada]), state.edges_of([ruth])
    assert (there.a, there.b, there.first_a, there.first_b, there.act) == (ada, ruth, True, False, Act.SAY)
    assert (back.a, back.b) == (ruth, ada)
    assert state.mentions_named("ruth")[ruth] == Mention(state.mentions_named("ada")[ada].owner, "ruth")


def test_visible_tags_follow_scope_and_labels(store):
    chats(store)
    state = fold(store).state
    table = state.table("events").to_pylist()
    ada = state.visible(View(Scope(user="Ada")))
    assert {row["speaker_name"] for row in table if ada.admits(row["scope"], row["audience"])} == {"Ada"}
    open_to_all = state.visible(View(labels=frozenset()))
    assert [row["seq"] for row in table if open_to_all.admits(row["scope"], row["audience"])] == [r["seq"] for r in table[::2]]
    assert not state.visible(View(Scope(user="Nobody"))).scopes


def test_the_state_answers_for_the_log_below_it(store):
    chats(store)
    state = fold(store).state
    aliases = state.table("aliases").to_pylist()
    assert {row["text"] for row in aliases} == set(PEOPLE)
    tags = {row["alias_tag"]: row["subject"] for row in aliases}
    assert state.subjects_of(list(tags)) == tags
    assert state.knows([*map(SubjectId, tags.values()), SubjectId(bytes(16))]) == set(tags.values())
    seen = state.table("seen").to_pylist()
    assert state.seen([row["tag"] for row in seen] + [bytes(16)]) == {row["tag"]: row["seq"] for row in seen}


def test_adding_the_same_again_is_recognised_through_the_state(store):
    from refold import ingest

    drafts = [say("Ada", "I live in Berlin", at="1")]
    add(store, drafts)
    state = fold(store).state
    store.log.tail._restart(store.keyring, store.log.head.size)
    [again] = ingest.add(store, drafts, index=state, ingest=bytes(16), now=lambda: 1_750_000_000_000_009, random=bytes)
    assert not again.new
