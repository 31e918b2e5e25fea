"""The corpus is what it says: the same every time, with everything planted for everybody."""

from __future__ import annotations

import os

from refold.store import Store
from tests.erase.corpus import EVENTS, FIELDS, IN_METADATA, IN_SOURCE, PEOPLE, RELATION, START, STEP, VARIANTS, corpus, fill
from tests.log import heard


def test_the_same_arguments_make_the_same_corpus():
    assert corpus() == corpus()
    assert (len(corpus().drafts), len(corpus().people)) == (EVENTS, PEOPLE)
    assert corpus(seed=2) != corpus()


def test_everybody_is_mentioned_in_every_variant_that_their_name_has():
    made = corpus()
    for person in made.people:
        has = {variant for variant, written in VARIANTS.items() if written(person)}
        assert set(made.mentioned(person.user).values()) == has | {RELATION, IN_METADATA, IN_SOURCE}


def test_a_mention_is_declared_nowhere_and_no_canary_is_in_anybody_elses_event(store: Store):
    made = corpus(400, count=6)
    fill(store, made, now=lambda: START + EVENTS * STEP, random=os.urandom)
    events = heard(store)
    assert len(events) == len(made.drafts)
    for person in made.people:
        own = set(made.own(person.user))
        assert not own & made.mentioned(person.user).keys()
        for at, event in enumerate(events):
            said = repr((event.text, str(event.source), event.author, event.metadata, event.key, event.audience))
            found = [name for name in FIELDS if person.canary(name) in said]
            assert at in own or not found
        assert any(person.canary("key") == events[at].key for at in own)
