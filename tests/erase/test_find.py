"""Finding somebody: every planted variant, nobody's declared events twice, and what may be the same person."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refold.erase import who as whom
from refold.erase.aliases import spaced
from refold.erase.find import find, reviewer
from refold.erase.letters import is_near, plain
from refold.erase.letters import words as spelled
from refold.erase.mentions import Matcher
from refold.erase.model import Found, Selector
from refold.erase.relations import Relation, Relations
from refold.erase.who import _read
from refold.errors import Usage
from refold.memory import Memory
from refold.model import AliasKind, Source, SubjectId
from tests.erase.corpus import Corpus, corpus
from tests.erase.score import folded, found_of, score

ADA = ((AliasKind.NAME, "Ada Brandt"), (AliasKind.EMAIL, "ada.brandt@example.org"), (AliasKind.PHONE, "+49 170 555 1000"))


# People of many languages: their aliases, texts that mention them, and texts that only look like it. Written apart from the code.
WRITTEN = {
    person["who"]: ([*_read((AliasKind(kind), alias) for kind, alias in person["aliases"])], person["mentions"], person["others"])
    for person in map(json.loads, (Path(__file__).parent.parent / "data" / "mentions.jsonl").read_text(encoding="utf-8").splitlines())
}


@pytest.fixture(scope="module")
def made() -> Corpus:
    return corpus(700, count=10)


@pytest.fixture(scope="module")
def filled(made: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, list[int]]]:
    memory, seqs = folded(tmp_path_factory.mktemp("found"), made)
    with memory:
        yield memory, seqs


def searched(memory: Memory, selector: Selector) -> Found:
    with memory._reading() as state:
        return find(memory.store, state, selector)


def test_every_planted_variant_is_found_and_few_others_are(made: Corpus, filled: tuple[Memory, list[int]]):
    reached = score(filled[0], made, filled[1])
    assert not reached.missed
    assert reached.precision > 0.9


def test_what_is_declared_is_counted_and_no_candidate(made: Corpus, filled: tuple[Memory, list[int]]):
    memory, seqs = filled
    person = made.people[0]
    found = found_of(memory, person)
    own = {seqs[at] for at in made.own(person.user)}
    assert found.declared == len(own)
    assert not own & {one.seq for one in found.candidates}


def test_a_span_is_where_the_mention_stands(made: Corpus, filled: tuple[Memory, list[int]]):
    memory, _ = filled
    for person in made.people[:4]:
        for one in found_of(memory, person).candidates:
            words = memory.store.log.event(one.seq).text[slice(*one.span)]
            assert bool(words) == (" in the " not in one.variant)
            if one.variant == "name":
                assert {each[0] for each in spelled(words)} <= {each[0] for each in spelled(person.name)}


def test_events_are_selected_by_where_they_come_from(made: Corpus, filled: tuple[Memory, list[int]]):
    memory, seqs = filled
    draft = made.drafts[5]
    assert draft.source is not None
    by_source = searched(memory, Selector(sources=(Source(draft.source.kind, draft.source.ref),)))
    document = {seqs[at] for at, one in enumerate(made.drafts) if one.source and one.source.document == draft.source.document}
    assert by_source.events == {memory.store.log.event(seq).event_id for seq in document}
    event = memory.store.log.event(seqs[5])
    assert searched(memory, Selector(events=(event.event_id,))).events == {event.event_id}
    assert len(searched(memory, Selector(before=made.drafts[50].said_at)).events) == 50


def test_what_comes_after_is_reviewed_too(filled: tuple[Memory, list[int]]):
    memory, seqs = filled
    with memory._reading() as state:
        holds = reviewer(memory.store, state, Selector(aliases=(ADA[0],)))
    about = [memory.store.log.event(seq) for seq in seqs[:200]]
    ada = bytes.fromhex(made_of(memory))
    assert holds([one for one in about if "Ada" in one.text and ada not in one.subjects])
    assert not holds([one for one in about if "Oslo" in one.text and "A" not in one.text])


def made_of(memory: Memory) -> str:
    """Return the id of Ada."""
    return next(subject.hex() for subject, entries in memory.subjects().items() if entries[0].aliases[0][1] == "ada")


def test_an_id_of_nobody_is_refused(filled: tuple[Memory, list[int]]):
    with pytest.raises(Usage, match="nobody is known"):
        searched(filled[0], Selector(subjects=(SubjectId(bytes(16)),)))


@pytest.mark.parametrize("is_known", [False, True])
def test_who_goes_by_another_name_as_somebody_said_is_found_by_that_too(tmp_path: Path, is_known: bool):
    said = (
        "Ruth Kern, also known as Bunny, called.",
        "Bunny likes tea.",
        "Everyone calls Bunny just Rex.",
        "Rex moved to Oslo.",
        "I like tea.",
    )
    with Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as memory:
        for text in said:
            memory.add(text, user_id="ada")
        if is_known:
            memory.subject_add([(AliasKind.HANDLE, "ruth"), (AliasKind.NAME, "Ruth Kern")])
        selector = Selector(aliases=((AliasKind.NAME, "Ruth Kern"),))
        assert {memory.store.log.event(one.seq).text for one in searched(memory, selector).candidates} == {said[0]}
        memory.fold()
        assert {memory.store.log.event(one.seq).text for one in searched(memory, selector).candidates} == set(said[:4])


def test_however_many_speak_of_somebody_all_names_that_are_joined_to_theirs_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(whom, "JOINED_MAX", 2)
    with Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as memory:
        for user in ("ada", "ben", "eve"):
            memory.add("Ruth Kern, also known as Bunny, called.", user_id=user)
        memory.add("Bunny likes tea.", user_id="ada")
        memory.fold()
        found = searched(memory, Selector(aliases=((AliasKind.NAME, "Ruth Kern"),)))
        assert "Bunny likes tea." in {memory.store.log.event(one.seq).text for one in found.candidates}


def test_another_person_with_a_like_name_is_named(tmp_path: Path):
    with Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root") as memory:
        memory.add("I live in Berlin.", user_id="ada")
        memory.add("I live in Oslo.", user_id="ben", author="Ada Brandt")
        memory.subject_add([(AliasKind.HANDLE, "ada"), (AliasKind.NAME, "Ada Brandt-Kern")])
        found = searched(memory, Selector(aliases=((AliasKind.HANDLE, "ada"),)))
        assert len(found.alike) == 1
        assert [one.variant for one in found.candidates] == ["name in the author"]


@pytest.mark.parametrize(
    "text",
    [
        "Canada is large.",
        "The brand is new.",
        "adapt it by Tuesday",
        "Call +49 170 555 1001.",
        "write to ada.brandt@example.com.evil.net",
        "ABC and GAB",
        "We saw a branded coat.",
    ],
)
def test_what_only_looks_a_little_like_it_is_left(text: str):
    found = Matcher(ADA).find(text)
    assert [variant for _, variant in found if variant != "name"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ask Ada Maria Brandt about it.", "Ada Maria Brandt"),
        ("Ada, Brandt and I", "Ada, Brandt"),
        ("for A. M. Brandt", "Brandt"),
        ("Adas Rad", "Adas"),
        ("ada's car", "ada"),
        ("mail Ada.Brandt+x@Example.org", "Ada.Brandt+x@Example.org"),
        ("call (0170) 5551000 now", "(0170) 5551000"),
        ("A-B wrote", "A-B"),
    ],
)
def test_a_mention_is_found_where_it_stands(text: str, words: str):
    assert words in [text[slice(*span)] for span, _ in Matcher(ADA).find(text)]


@pytest.mark.parametrize("handle", ["will", "jo", "test"])
def test_a_handle_that_is_a_word_or_very_short_is_found_where_it_names_somebody(handle: str):
    matcher = Matcher(_read([(AliasKind.HANDLE, handle)]))
    for text in (f"ask @{handle} about it", handle, f"I met {handle.title()} in Oslo.", f"#{handle}"):
        assert matcher.find(text), text
    assert not matcher.find(f"and {handle} goes on")


@pytest.mark.parametrize("who", WRITTEN)
def test_people_of_many_languages_are_found_and_words_that_are_names_are_left(who: str):
    aliases, mentions, others = WRITTEN[who]
    matcher = Matcher(aliases)
    assert [text for text in mentions if not matcher.find(text)] == []
    assert [(text, matcher.find(text)) for text in others if matcher.find(text)] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mail J%C3%B6rg now", "J%C3%B6rg"),
        ("on 2024-01-10 +49 (0)30 123-4567 2x", "+49 (0)30 123-4567"),
        ("ask j.mueller+x@mail.amt.de, please", "j.mueller+x@mail.amt.de"),
        ("Herrn Mül\u00adlers Haus", "Mül\u00adlers"),
        ("with Jörg B. Müller today", "Jörg B. Müller"),
        ("by J\\u00f6rg M.", "J\\u00f6rg"),
    ],
)
def test_a_mention_is_found_where_it_stands_however_it_is_written(text: str, words: str):
    assert words in [text[slice(*span)] for span, _ in Matcher(WRITTEN["json"][0]).find(text)]


@pytest.mark.parametrize("name", ["12345", "李明", "김철수", "👩‍🚀", "jo>>>=li", "-_-"])
@pytest.mark.parametrize("text", ["I met {} in Oslo.", "{}: hello", "({})"])
def test_a_number_a_name_without_spaces_and_one_of_signs_are_found(name: str, text: str):
    (found,) = Matcher(_read([(AliasKind.HANDLE, name)])).find(text.format(name))
    assert text.format(name)[slice(*found[0])] == name


def test_a_name_of_a_script_without_spaces_is_found_within_a_sentence():
    assert [span for span, _ in Matcher([(AliasKind.NAME, "李明")]).find("我昨天见了李明在奥斯陆")] == [(5, 7)]


def test_a_relation_is_a_mention_of_whom_a_fact_names():
    speaker, other = SubjectId(b"s" * 16), SubjectId(b"o" * 16)
    matcher = Matcher(ADA, [Relation(("ben",), "manager", frozenset({speaker}))])
    assert matcher.find("My manager called.", speaker=speaker)
    assert not matcher.find("My manager called.", speaker=other)
    assert matcher.find("I met Ben's manager.", speaker=other)


NAMED = ("Ben", "Ben Abel", "Benno", "Al", "ada-17", "Ann-Lee Ö", "de la Cruz", "ю")
SAID = st.lists(st.sampled_from([*NAMED, "'s", "s", " ", "-", "sister", "step-sister", "my", "our", "x", "."]), max_size=9).map("".join)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(NAMED), st.sampled_from(["sister", "step sister"])), max_size=6), SAID)
@example([("de la Cruz", "sister")], "delaCruz sister")
@example([("Ben", "sister"), ("Ben Abel", "sister")], "x Ben Abel's sister and bens  sister")
def test_of_many_relations_each_is_found_as_by_itself(pairs: list[tuple[str, str]], text: str):
    """A pattern is only tried where a name may begin: what each finds by itself is found, and nothing else."""
    said = plain(text).text
    alone = set[tuple[int, int]]()
    for name, what in pairs:
        pattern = rf"(?<![^\W_])(?:{spaced(name)}(?:['’]s|s|['’])?)\s+{spaced(what)}(?![^\W_])"
        alone |= {match.span() for match in re.finditer(pattern, said)}
    found = set(Relations([Relation((name,), what) for name, what in pairs]).find(said, None))
    assert found <= alone
    assert all(any(start < end and one[0] <= start and end <= one[1] for one in found) for start, end in alone)


@given(st.text(max_size=40))
def test_a_span_of_the_plain_form_leads_back_into_the_text(text: str):
    said = plain(text)
    for at in range(len(said.text)):
        start, end = said.span(at, at + 1)
        assert 0 <= start <= end <= len(text)


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(0, 2))
def test_nearness_is_the_same_both_ways_and_within_the_lengths(a: str, b: str, most: int):
    assert is_near(a, b, most) == is_near(b, a, most)
    assert is_near(a, a, 0)
    assert not is_near(a, b, most) or abs(len(a) - len(b)) <= most
