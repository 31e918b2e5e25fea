"""The shipped example is read without a fault and holds what the guide through it needs."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from refold import settings
from refold.fold.ground import fold_event
from refold.fold.relations import Relations
from refold.imports.driver import import_files
from refold.imports.reader import Options
from refold.memory import Memory
from refold.model import Act, Event, Role
from refold.reading import Assertion, Standing
from refold.store import Store
from refold.times import parse

NOW = parse("2024-07-01")
RELATIONS = Relations.load(settings.text("relations.toml"))

# How the example is imported: each file with whose memory it joins, and who the user of the export is.
IMPORTS = (
    ("chat-ada.jsonl", Options(user="ada")),
    ("chat-ben.jsonl", Options(user="ben")),
    ("conversations.json", Options(user="ben", author="Ben")),
    ("offsite.md", Options()),
    ("letter-ruth.txt", Options(user="ada")),
)


@pytest.fixture
def events(store: Store) -> list[Event]:
    for name, options in IMPORTS:
        report = import_files(store, [settings.folder() / "demo" / name], options=options, now=lambda: NOW, random=os.urandom)
        assert (report.malformed, report.empty) == ((), 0)
    return [event for batch in store.log.events(0, store.log.head.size) for event in batch]


def assertions(events: list[Event]) -> list[Assertion]:
    return [each for event in events for each in fold_event(event, b"k" * 32, RELATIONS).assertions]


def said(events: list[Event], act: Act) -> set[tuple[str, str, str]]:
    return {(each.entity_text, each.relation, each.value) for each in assertions(events) if each.act is act}


def test_the_example_has_twenty_events_of_five_sources_and_three_people(events):
    assert Counter(event.source.document for event in events) == {
        "chat:ada": 9,
        "chat:ben": 3,
        "chat:lisbon": 3,
        "doc:offsite.md": 2,
        "letter:letter-ruth.txt": 3,
    }
    assert {event.author for event in events if event.author} == {"Ada", "Ben", "Ruth Brandt"}
    assert len({event.speaker for event in events if event.speaker}) == 3


def test_every_file_of_the_example_is_recognised_in_a_folder_too(store):
    report = import_files(store, [settings.folder() / "demo"], now=lambda: NOW)
    assert (report.files, report.added, report.malformed_count) == (5, 20, 0)
    assert {path.name for path in Path(settings.folder() / "demo").iterdir()} == {name for name, _ in IMPORTS}


def test_the_letter_keeps_its_own_date_and_the_document_the_date_in_its_head(events):
    times = {event.source.kind: event.said_at for event in events}
    assert (times["letter"], times["doc"]) == (parse("2024-03-03"), parse("2024-05-13"))


def test_the_other_answer_is_flagged_as_abandoned(events):
    assert [(event.source.part, event.role) for event in events if event.metadata.get("branch") == "abandoned"] == [("2", Role.ASSISTANT)]


def test_two_questions_of_its_users_state_nothing(events):
    asked = [event for event in events if event.text.endswith("?") and event.role is Role.USER]
    assert [event.source.part for event in asked] == ["4", "1"]
    assert {each.relation for each in assertions(asked)} == {"plans", "likes"}  # what stands before the question


def test_the_example_holds_a_correction_a_denial_an_ending_and_a_contradiction(events):
    stated = said(events, Act.SAY)
    assert {("Ada", "lives_in", "Berlin"), ("Ada", "lives_in", "Munich")} <= stated
    assert {("Offsite", "property", "Ada Brandt"), ("Offsite", "property", "Ruth Brandt")} <= stated
    assert ("Ben", "works_at", "Acme Robotics") in said(events, Act.DENY) & stated
    assert said(events, Act.END) == {("Ben", "owns", "motorcycle"), ("Ada", "task", "book the boathouse")}


def test_people_are_spoken_about_by_others_and_what_only_they_may_say_is_refused(events):
    assert {("Ada", "kin", "Ruth"), ("Ada", "likes", "sailing"), ("Ben", "lives_in", "Kassel")} <= said(events, Act.SAY)
    assert sum(len(fold_event(event, b"k" * 32, RELATIONS).rejections) for event in events) == 2


def test_of_the_example_twenty_one_facts_hold_and_five_have_given_way(events, store):
    memory = Memory(store, principal=settings.load({}).principal("operator"))
    memory.fold()
    standings = Counter(fact.standing for fact in memory.facts(all=True))
    assert standings[Standing.HOLDS] == 21
    assert sum(standings[each] for each in (Standing.SUPERSEDED, Standing.DENIED, Standing.ENDED)) == 5
    (home,) = memory.facts(entity="Ada", relation="lives_in")
    (owner,) = [fact for fact in memory.facts(entity="Offsite") if fact.qualifier == "Owner"]
    assert (home.value, owner.value) == ("Munich", "Ruth Brandt")
