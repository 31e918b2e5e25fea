"""Reading an event again takes the place of what was read of it before, in however many runs that lies; and what is pending is known."""

from __future__ import annotations

import random as chances
from collections.abc import Callable
from dataclasses import replace

import pytest

from refold.model import Event, EventId, Mention
from refold.reading import Folded, Rejection, RejectionCode
from refold.state.builder import Builder
from refold.state.digest import state_hash
from refold.state.generation import State
from tests.state.made import NOW, add, builder, every_claim, fold, joined, mentions_each_word, nothing, rows, say

WORDS = ("tea{}", "Ruth{} is well", "no{} now", "is it{}?", "Munich{}")


def first_word(event: Event) -> Folded:
    """A second way of reading: the first word alone."""
    read = mentions_each_word(event)
    return Folded(tuple(replace(one, extractor="words/2") for one in read.assertions[:1]))


def refuses(event: Event) -> Folded:
    return Folded(rejections=(Rejection(event.seq, "likes", RejectionCode.BAD_SHAPE),))


READERS = (nothing, mentions_each_word, first_word, refuses)


def chat(store, count: int, start: int) -> None:
    add(store, [say("ada", WORDS[at % len(WORDS)].format(at), at=str(at)) for at in range(start, start + count)])


def read_again(store, build: Builder, reader, seqs: list[int]) -> None:
    events = [store.log.event(seq) for seq in seqs]
    build.add_folded(events, joined(map(reader, events)), voids=seqs)


def told(state: State) -> tuple[object, ...]:
    """Return all that a state tells, in a form that outlives its files."""
    names = ("assertions", "edges", "rejections", "events")
    found = rows(state)
    return state_hash(state), {name: found[name] for name in names}, {name: state.counts[name] for name in names}


def extended(store, base: State | None, chance: chances.Random, read_by: dict[int, Callable[[Event], Folded]]) -> State:
    """Fold what is new, and read some of the old events again in another way."""
    build = builder(store, base, flush_events=3)
    known = sorted(read_by)
    for seq in chance.sample(known, min(3, len(known))):
        reader = chance.choice(READERS)
        read_by[seq] = reader
        read_again(store, build, reader, [seq])
    for events, subjects in store.log.entries(base.size if base else 0, store.log.head.size):
        for event in events:
            read_by[event.seq] = mentions_each_word
            build.add([event], mentions_each_word(event), subjects=subjects)
            subjects = []
    return build.publish(store.log.head, now=lambda: NOW).state


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_read_again_the_state_is_that_of_the_last_reading(store, seed):
    chance, read_by, state = chances.Random(seed), {}, None
    for at in range(8):
        chat(store, chance.choice((1, 1, 2, 9)), 10 * at)
        state = extended(store, state, chance, read_by)
    assert state is not None
    found = told(State.open(store))
    assert found == told(fold(store, by=lambda event: read_by[event.seq](event)).state)


def test_a_lookup_never_finds_what_was_read_again(store):
    chat(store, 5, 0)
    base = fold(store, by=mentions_each_word).state
    chat(store, 1, 5)
    build = builder(store, base)
    seqs = [event.seq for events, _ in store.log.entries() for event in events][:5]
    read_again(store, build, nothing, seqs)
    for events, subjects in store.log.entries(base.size):
        build.add(events, subjects=subjects)
    state = build.publish(store.log.head, now=lambda: NOW).state
    assert every_claim(base)
    claim = every_claim(base)[0]
    assert state.claims([claim.mention]) == []
    assert state.claims([claim.mention], {claim.relation}) == []
    assert state.claims_with_id(claim.fact_id) == []
    assert state.all_edges() == []


def test_a_claim_tells_the_call_it_was_read_from_and_the_event_that_names_its_entity(store):
    chat(store, 1, 0)

    def by(event: Event) -> Folded:
        (one,) = mentions_each_word(event).assertions
        return Folded(
            (
                replace(
                    one,
                    entity=Mention(one.entity.owner, "ruth"),
                    call_id=b"c" * 16,
                    named_seq=event.seq,
                    named_span=(0, 4),
                    named_id=EventId(b"e" * 16),
                ),
                one,
            )
        )

    said, plain = sorted(every_claim(fold(store, by=by).state), key=lambda claim: claim.call_id is None)
    assert (said.call_id, said.named_seq, said.named_span, said.named_id) == (b"c" * 16, said.seq, (0, 4), b"e" * 16)
    assert (plain.call_id, plain.named_seq, plain.named_span, plain.named_id) == (None, None, None, None)


def test_what_is_pending_is_known_until_another_fold_says_otherwise(store):
    chat(store, 4, 0)
    build = builder(store)
    for events, subjects in store.log.entries():
        build.add(events, subjects=subjects)
    build.leave_pending([3, 1, 2])
    build.publish(store.log.head, now=lambda: NOW)
    state = State.open(store)
    assert state.pending == (1, 2, 3)
    builder(store, state).publish(store.log.head, now=lambda: NOW)
    assert State.open(store).pending == ()
