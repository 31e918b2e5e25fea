"""Ingest: people are declared by being named, nothing is said twice, and what cannot be an event is refused."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refold import ingest, times
from refold.errors import RefoldError, SubjectErased, Usage
from refold.ingest import Added
from refold.keys.subjects import alias_tag, seen_tags
from refold.log import tail as tails
from refold.log.append import Sealable
from refold.log.persons import everybody
from refold.model import AliasKind, Draft, EntryKind, EventId, Role, Scope, Source, SubjectId
from refold.store import Store, open_store
from tests.conftest import now
from tests.log import heard, say

DAY = 24 * 3600 * 1_000_000
IMPORT = bytes(range(16))


def add(store: Store, *drafts: Draft, ingest_id: bytes | None = None, index: ingest.Index | None = None) -> list[Added]:
    return ingest.add(store, drafts, ingest=ingest_id, index=index, now=now, random=os.urandom)


def names(store: Store) -> list[tuple[SubjectId, str]]:
    return [(entry.subject, text) for entry in store.log.subjects() for _, text in entry.aliases]


FULL = Draft(
    "I live in Berlin.",
    Source("chat", "7", "1"),
    said_at=1_700_000_000_000_000,
    author="Ada",
    role=Role.USER,
    scope=Scope("ada", "helper", "run-1"),
    audience=("team", "family", "team"),
    subjects=("Ruth",),
    metadata={"b": [1, 2.5, None], "a": "ü"},
    key="k-1",
)


def test_every_field_comes_back(store: Store):
    (added,) = add(store, FULL)
    (event,) = heard(store)
    assert added == Added(event.event_id, event.seq, True)
    assert (event.text, event.source, event.said_at, event.author, event.role) == (FULL.text, FULL.source, FULL.said_at, "Ada", Role.USER)
    assert (event.scope, event.audience, event.metadata, event.key) == (FULL.scope, ("family", "team"), FULL.metadata, "k-1")
    people = dict(map(reversed, names(store)))
    assert event.speaker == people["ada"]
    assert event.subjects == tuple(sorted({people["ada"], people["Ruth"]}))


def test_an_event_without_time_or_source_gets_both(store: Store):
    say(store, "hello")
    (event,) = heard(store)
    assert event.said_at == event.recorded_at
    assert event.source == Source("note", event.event_id.hex())


def test_one_event_is_read_by_its_seq(store: Store):
    first, second = say(store, "one", "two")
    assert store.log.event(second.seq).text == "two"
    assert store.log.event(first.seq) == heard(store)[0]


def test_a_user_and_an_author_of_one_name_are_one_subject(store: Store):
    add(store, Draft("hello", author="ADA ", scope=Scope("ada")), Draft("again", author="Ada"))
    assert len(names(store)) == 1
    assert {event.speaker for event in heard(store)} == {names(store)[0][0]}


def test_a_subject_is_declared_in_the_commit_of_its_first_use(store: Store):
    say(store, "hello")
    say(store, "again")
    assert store.log.head.size == 3
    assert [entry.seq for entry in store.log.subjects()] == [0]


def test_an_assistant_is_no_data_subject_and_its_user_is(store: Store):
    add(store, Draft("Noted.", role=Role.ASSISTANT, author="helper-bot", scope=Scope("ada")))
    (event,) = heard(store)
    assert [text for _, text in names(store)] == ["ada"]
    assert event.speaker is None
    assert event.subjects == (names(store)[0][0],)


def test_a_document_speaks_for_its_author_or_nobody(store: Store):
    add(store, Draft("Owner: Ada", role=Role.DOCUMENT, scope=Scope("ben")), Draft("Dear all", role=Role.DOCUMENT, author="Ruth"))
    nobody, ruth = heard(store)
    people = dict(map(reversed, names(store)))
    assert nobody.speaker is None
    assert ruth.speaker == people["Ruth"]


def test_an_event_that_names_nobody_has_no_subjects(store: Store):
    add(store, Draft("The market opens at nine.", role=Role.DOCUMENT))
    assert heard(store)[0].subjects == ()


def test_ids_are_minted_at_random(store: Store, tmp_path):
    """The same name gets another id in another log: an id tells nothing."""
    from refold.store import create, places

    say(store, "hello")
    with create(places(tmp_path / "2s", tmp_path / "2v", tmp_path / "2r", env={}), now=now) as other:
        say(other, "hello")
        assert names(other)[0][0] != names(store)[0][0]


def test_ten_thousand_subjects_are_possible(store: Store):
    add(store, Draft("The whole town came.", subjects=tuple(f"person {number}" for number in range(10_000))))
    assert len(heard(store)[0].subjects) == 10_000


@pytest.mark.parametrize(
    ("draft", "about"),
    [
        (Draft(""), "empty"),
        (Draft(" \n\t"), "empty"),
        (Draft("x" * ((16 << 20) + 1)), "bytes"),
        (Draft("broken \ud800"), "surrogate"),
        (Draft("hello", author="\udfff"), "surrogate"),
        (Draft("hello", Source("chat", "\ud800")), "surrogate"),
        (Draft("hello", subjects=("\ud800",)), "surrogate"),
        (Draft("hello", key="\ud800"), "surrogate"),
        (Draft("hello", audience=("\ud800",)), "surrogate"),
        (Draft("hello", metadata={"a": "\ud800"}), "surrogate"),
        (Draft("hello", metadata={"a": float("nan")}), "JSON"),
        (Draft("hello", metadata={"a": object()}), "JSON"),
        (Draft("hello", said_at=now() + 2 * DAY), "ahead"),
        (Draft("hello", said_at=times.FIRST - 1), "the year 1"),
        (Draft("hello", author="  "), "name"),
        (Draft("hello", scope=Scope("x" * 1_001)), "name"),
    ],
)
def test_what_cannot_be_an_event_is_refused_and_nothing_of_its_batch_is_added(store: Store, draft: Draft, about: str):
    with pytest.raises(Usage, match=about) as error:
        add(store, Draft("before"), draft)
    assert store.log.head.size == 0
    assert "hello" not in str(error.value)


def test_a_time_within_a_day_ahead_is_accepted(store: Store):
    add(store, Draft("The train leaves at nine.", said_at=now() + DAY // 2))
    assert len(heard(store)) == 1


@pytest.mark.parametrize(
    "text", ["\x00\x07 control", "\u202eright to left", 'o\'Brien "x"; DROP TABLE log; --', "👩‍👩‍👧", "x" * (10 << 20)]
)
def test_odd_text_comes_back_as_it_was(store: Store, text: str):
    say(store, text, user="o'Brien \"\u202e")
    assert heard(store)[0].text == text


def test_the_same_key_and_content_is_one_event(store: Store):
    (first,) = add(store, FULL)
    (again,) = add(store, replace(FULL, audience=("family", "team")))
    assert again == Added(first.event_id, first.seq, False)
    assert len(heard(store)) == 1


def test_a_retry_may_leave_out_what_was_filled_in(store: Store):
    (first,) = say(store, "hello", key="k")
    (again,) = say(store, "hello", key="k")
    assert again.seq == first.seq


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "I live in Oslo."},
        {"source": Source("chat", "7", "2")},
        {"said_at": 1_700_000_000_000_001},
        {"author": "Ben"},
        {"role": Role.DOCUMENT},
        {"audience": ()},
        {"subjects": ()},
        {"subjects": ("Ruth", "Ben")},
        {"subjects": ("Ben",)},
        {"metadata": {}},
    ],
)
def test_the_same_key_with_other_content_is_a_mistake(store: Store, changes: dict):
    add(store, FULL)
    with pytest.raises(Usage, match="key was used before"):
        add(store, replace(FULL, **changes))
    with pytest.raises(Usage, match="key was used before"):
        add(store, replace(FULL, key="k-2"), replace(FULL, key="k-2", **changes))
    assert len(heard(store)) == 1


@pytest.mark.parametrize("scope", [Scope("ada"), Scope("ben", "helper", "run-1"), Scope("ada", "helper", "run-2"), Scope()])
def test_a_key_counts_within_its_scope(store: Store, scope: Scope):
    add(store, FULL)
    say(store, "somebody else's", key="1", user="ben")
    assert [one.new for one in add(store, replace(FULL, scope=scope), replace(FULL, text="other", key="1"))] == [True, True]


def test_a_retry_may_name_the_same_people_in_other_letters(store: Store):
    (first,) = add(store, FULL)
    assert add(store, replace(FULL, subjects=("RUTH", "ada"))) == [Added(first.event_id, first.seq, False)]


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, False),
        ({"audience": ("team",)}, True),
        ({"audience": ()}, True),
        ({"subjects": ("Ruth", "Ben")}, True),
        ({"subjects": ()}, False),
    ],
)
def test_an_import_says_where_what_is_there_differs(store: Store, changes: dict, differs: bool):
    line = replace(FULL, key=None)
    add(store, line, ingest_id=IMPORT)
    (again,) = add(store, replace(line, **changes), ingest_id=IMPORT)
    assert (again.new, again.differs) == (False, differs)
    fresh = replace(line, text="I like tea.")
    _, twice = add(store, fresh, replace(fresh, **changes), ingest_id=IMPORT)
    assert (twice.new, twice.differs) == (False, differs)
    assert len(names(store)) == 2


def test_a_key_is_known_to_a_process_that_opens_the_store_later(store: Store):
    (first,) = add(store, FULL)
    with open_store(store.places) as other:
        assert add(other, FULL) == [Added(first.event_id, first.seq, False)]


def test_a_key_twice_in_one_batch_is_one_event(store: Store):
    first, again = add(store, FULL, FULL)
    assert (first.new, again.new) == (True, False)
    assert first.seq == again.seq
    assert len(heard(store)) == 1


def test_the_same_words_without_a_key_are_two_events(store: Store):
    say(store, "hello")
    say(store, "hello")
    assert len(heard(store)) == 2


def test_importing_again_adds_nothing_and_a_change_adds_what_changed(store: Store):
    lines = [Draft(f"line {part}", Source("chat", "7", str(part)), scope=Scope("ada")) for part in range(5)]
    first = add(store, *lines, ingest_id=IMPORT)
    again = add(store, *lines[:3], replace(lines[3], text="other"), lines[4], ingest_id=bytes(16))
    assert [one.new for one in first] == [True] * 5
    assert [one.new for one in again] == [False, False, False, True, False]
    assert [one.seq for one in again[:3]] == [one.seq for one in first[:3]]
    assert len(heard(store)) == 6


def test_an_import_knows_what_was_added_by_hand(store: Store):
    line = Draft("hello", Source("chat", "7", "1"), scope=Scope("ada"))
    add(store, line)
    assert [one.new for one in add(store, line, ingest_id=IMPORT)] == [False]


def test_an_import_knows_what_was_added_before_and_between_its_parts(store: Store):
    drafts = [Draft(f"note {number}", Source("doc", "1", f"p{number}"), author="Ada") for number in range(6)]
    by_hand = [added for at in (0, 1, 3) for added in add(store, drafts[at] if at else replace(drafts[at], key="k"))]
    first = add(store, *drafts[:3], ingest_id=IMPORT)
    by_hand += add(store, drafts[4])
    assert [one.seq for one in first if not one.new] == [by_hand[0].seq, by_hand[1].seq]
    assert [one.new for one in add(store, *drafts, ingest_id=IMPORT)] == [False] * 5 + [True]


def test_events_carry_the_id_of_their_import(store: Store):
    add(store, Draft("hello", scope=Scope("ada")), ingest_id=IMPORT)
    assert heard(store)[0].ingest == IMPORT
    assert set(store.log.columns()["ingest"].to_pylist()) == {IMPORT}


def test_nothing_new_makes_no_commit(store: Store):
    add(store, FULL)
    version = store.log.head.version
    add(store, FULL)
    assert add(store) == []
    assert store.log.head.version == version


class Partial:
    """An index over a prefix of the log, as a state has one, which records what it is asked."""

    def __init__(self, store: Store, size: int) -> None:
        self.size, self.epoch = size, store.keyring.epoch
        self.asked = 0
        self._subjects: dict[bytes, SubjectId] = {}
        self._seen: dict[bytes, int] = {}
        for events, entries in store.log.entries(0, size):
            self._seen |= {tag: event.seq for event in events for tag in seen_tags(store.keyring, event)}
            self._subjects |= {alias_tag(store.keyring, alias): entry.subject for entry in entries for _, alias in entry.aliases}

    def subjects_of(self, alias_tags):
        self.asked += 1
        return {tag: self._subjects[tag] for tag in alias_tags if tag in self._subjects}

    def seen(self, tags):
        self.asked += 1
        return {tag: self._seen[tag] for tag in tags if tag in self._seen}

    def knows(self, subjects):
        return set(subjects) & set(self._subjects.values())


def test_an_index_answers_for_what_lies_below_it_and_the_tail_for_the_rest(store: Store):
    add(store, FULL)
    index = Partial(store, store.log.head.size)
    add(store, replace(FULL, key="k-2"))
    with open_store(store.places) as other:
        assert [one.new for one in add(other, FULL, index=index)] == [False]
        assert [one.new for one in add(other, replace(FULL, key="k-2"), index=index)] == [False]
        assert [one.new for one in add(other, replace(FULL, key="k-3"), index=index)] == [True]
    assert index.asked
    assert len(names(store)) == 2


BEN = Draft("more", scope=Scope("ben"), key="k-2")
CLEO = Draft("and more", scope=Scope("cleo"), key="k-3")


@pytest.mark.parametrize("size", range(5))
def test_an_index_that_ends_before_one_seen_earlier_leaves_no_gap(store: Store, size: int):
    """Another thread still holds an older state, or the state was lost: what it knew is read from the log again."""
    add(store, FULL)
    add(store, BEN)
    newer, older = Partial(store, store.log.head.size), Partial(store, size)
    with open_store(store.places) as other:
        assert [one.new for one in add(other, FULL, BEN, index=newer)] == [False, False]
        assert [one.new for one in add(other, FULL, BEN, index=older)] == [False, False]
        add(other, replace(BEN, key="k-4"), index=older)
    store.log.refresh()
    assert len(names(store)) == 3


def test_an_index_that_ends_behind_the_tail_leaves_no_gap(store: Store):
    add(store, FULL)
    with open_store(store.places) as other:
        assert [one.new for one in add(other, FULL)] == [False]
        add(store, BEN)
        index = Partial(store, store.log.head.size)
        add(store, CLEO)
        assert [one.new for one in add(other, FULL, BEN, CLEO, index=index)] == [False] * 3


def test_the_tail_forgets_most_of_what_the_index_knows(store: Store, monkeypatch: pytest.MonkeyPatch):
    add(store, FULL, BEN, CLEO, ingest_id=IMPORT)
    index = Partial(store, store.log.head.size)
    assert _kept(store) == 8
    add(store, FULL, index=index)
    assert _kept(store) == 8
    monkeypatch.setattr(tails, "SHARED_MAX", 2)
    add(store, FULL, index=index)
    assert _kept(store) == 0


def _kept(store: Store) -> int:
    """Return how many tags of records the tail holds: one each for what an event says and for its key, two where it has labels."""
    return len(store.log.tail._seen)


def test_an_index_of_another_epoch_is_not_asked(store: Store):
    add(store, FULL)
    index = Partial(store, store.log.head.size)
    index.epoch = 7
    add(store, FULL, index=index)
    assert not index.asked


def test_a_known_id_without_a_living_entry_is_refused(store: Store):
    """Neither a secret of its own nor an entry of the live epoch: the person was erased, whatever an index says."""

    class Stale(Partial):
        def knows(self, subjects):
            return set()

    say(store, "hello")
    index = Stale(store, store.log.head.size)
    with open_store(store.places) as other, pytest.raises(SubjectErased):
        ingest.add(other, [Draft("again", scope=Scope("ada"))], index=index, now=now, random=os.urandom)


def test_subject_add_gives_one_person_several_names(store: Store):
    handles = [(AliasKind.NAME, "Ada Brandt"), (AliasKind.EMAIL, "ada@example.org")]
    subject = ingest.subject_add(store, handles, now=now, random=os.urandom)
    again = ingest.subject_add(store, [(AliasKind.EMAIL, "ADA@example.org"), (AliasKind.HANDLE, "ada")], now=now, random=os.urandom)
    assert subject == again
    say(store, "hello", user="Ada")
    assert heard(store)[0].speaker == subject
    (entries,) = everybody([*store.log.subjects()]).values()
    assert [alias for entry in entries for alias in entry.aliases] == [*handles, (AliasKind.HANDLE, "ada")]


def named(*aliases: str) -> list[tuple[AliasKind, str]]:
    return [(AliasKind.NAME, alias) for alias in aliases]


@pytest.mark.parametrize("order", [("Ada", "Ben", "Cleo"), ("Cleo", "Ben", "Ada"), ("Ben", "Cleo", "Ada")])
def test_people_who_turn_out_to_be_one_are_joined_once(store: Store, order: tuple[str, ...]):
    ids = [ingest.subject_add(store, named(name), now=now, random=os.urandom) for name in ("Ada", "Ben", "Cleo")]
    other = ingest.subject_add(store, named("Dora"), now=now, random=os.urandom)
    assert len(everybody([*store.log.subjects()])) == 4
    assert ingest.subject_add(store, named(*order), now=now, random=os.urandom) == ids[0]
    people = everybody([*store.log.subjects()])
    assert list(people) == [ids[0], other]
    assert {entry.subject for entry in people[ids[0]]} == set(ids)
    size = store.log.head.size
    assert ingest.subject_add(store, named(*order), now=now, random=os.urandom) == ids[0]
    assert store.log.head.size == size


def test_people_are_one_over_any_number_of_steps(store: Store):
    ids = [ingest.subject_add(store, named(name), now=now, random=os.urandom) for name in ("Ada", "Ben", "Cleo", "Dora")]
    for pair in (("Cleo", "Dora"), ("Ben", "Cleo"), ("Dora", "Ada")):
        ingest.subject_add(store, named(*pair), now=now, random=os.urandom)
    (entries,) = everybody([*store.log.subjects()]).values()
    assert {entry.subject for entry in entries} == set(ids)


def test_subject_add_of_known_names_adds_nothing(store: Store):
    ingest.subject_add(store, [(AliasKind.NAME, "Ada")], now=now, random=os.urandom)
    size = store.log.head.size
    ingest.subject_add(store, [(AliasKind.NAME, "ada")], now=now, random=os.urandom)
    assert store.log.head.size == size


@pytest.mark.parametrize("aliases", [[], [(AliasKind.NAME, " ")], [(AliasKind.NAME, "x" * 1_001)]])
def test_a_subject_needs_a_name(store: Store, aliases):
    with pytest.raises(Usage):
        ingest.subject_add(store, aliases, now=now, random=os.urandom)


def test_a_subject_entry_is_sealed_under_the_subjects_own_secret(store: Store):
    subject = ingest.subject_add(store, [(AliasKind.NAME, "Ada")], now=now, random=os.urandom)
    ((_, _, ids, _),) = next(store.log.opened())
    assert ids == (subject,)


def test_more_subjects_than_an_entry_can_hold_are_refused(store: Store):
    subjects = tuple(SubjectId(number.to_bytes(16, "big")) for number in range(65_536))
    one = Sealable(EntryKind.EVENT, EventId(bytes(16)), subjects, b"{}", now(), bytes(16))
    with pytest.raises(Usage, match="65536 subjects"):
        store.log.append(lambda head, keyring: [one], now=now, random=os.urandom)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
NAMES = WORDS.filter(lambda word: bool(word.strip()))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    drafts=st.lists(
        st.builds(
            Draft,
            text=NAMES,
            source=st.none() | st.builds(Source, WORDS, WORDS, WORDS),
            author=st.none() | NAMES,
            role=st.sampled_from(Role),
            scope=st.builds(Scope, st.none() | NAMES, st.none() | WORDS, st.none() | WORDS),
            audience=st.lists(WORDS, max_size=2).map(tuple),
            metadata=st.dictionaries(
                WORDS, st.none() | st.integers() | WORDS | st.floats(allow_nan=False, allow_infinity=False), max_size=2
            ),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_whatever_is_accepted_is_read_back_alike(store: Store, drafts: list[Draft]):
    try:
        added = add(store, *drafts)
    except RefoldError:
        return
    for draft, one in zip(drafts, added, strict=True):
        event = store.log.event(one.seq)
        assert (event.text, event.author, event.role, event.scope, event.metadata) == (
            draft.text, draft.author, draft.role, draft.scope, draft.metadata,
        )  # fmt: skip
        assert draft.source in (None, event.source)
        assert event.audience == tuple(sorted(set(draft.audience)))
