"""What is sealed is canonical JSON of the documented fields, and comes back as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from refold import canonical
from refold.log.entry import Header
from refold.log.events import decode_events, decode_subjects, encode_event, encode_subject
from refold.model import AliasKind, Draft, EntryKind, Role, Scope, Source, SubjectId

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
EVENT, INGEST, SUBJECT = bytes(range(16)), bytes(16), SubjectId(b"s" * 16)
DRAFTS = st.builds(
    Draft,
    text=WORDS,
    author=st.none() | WORDS,
    role=st.sampled_from(Role),
    scope=st.builds(Scope, st.none() | WORDS, st.none() | WORDS, st.none() | WORDS),
    audience=st.lists(WORDS, max_size=3).map(tuple),
    metadata=st.dictionaries(WORDS, st.none() | st.booleans() | st.integers() | WORDS | st.lists(WORDS, max_size=2), max_size=3),
    key=st.none() | WORDS,
)


@given(DRAFTS, st.builds(Source, WORDS, WORDS, WORDS), st.integers(-(10**16), 10**16), st.none() | st.just(SUBJECT))
def test_an_event_is_canonical_json(draft: Draft, source: Source, said_at: int, speaker: SubjectId | None):
    expected = {
        "text": draft.text,
        "source": [source.kind, source.ref, source.part],
        "said_at": said_at,
        "author": draft.author,
        "role": draft.role.value,
        "speaker": None if speaker is None else speaker.hex(),
        "scope": [draft.scope.user, draft.scope.agent, draft.scope.run],
        "audience": sorted(set(draft.audience)),
        "metadata": draft.metadata,
        "key": draft.key,
    }
    assert encode_event(draft, source=source, said_at=said_at, speaker=speaker) == canonical.encode(expected)


def test_many_cells_are_decoded_each_for_itself():
    header = Header(1, EntryKind.EVENT, 1, 3, 1_000, EVENT, INGEST).raw
    source = Source("chat", "7", "1")
    texts = ["one", '"],[', "", "ü\u2028\x00"]
    cells = [
        (seq, header, (SUBJECT,), encode_event(Draft(text), source=source, said_at=5, speaker=SUBJECT)) for seq, text in enumerate(texts)
    ]
    events = decode_events(cells)
    assert [event.text for event in events] == texts
    assert [event.seq for event in events] == [0, 1, 2, 3]
    assert {(event.event_id, event.ingest, event.recorded_at, event.epoch, event.speaker) for event in events} == {
        (EVENT, INGEST, 1_000, 3, SUBJECT)
    }
    assert decode_events([]) == []


def test_a_subject_entry_comes_back():
    header = Header(1, EntryKind.SUBJECT, 1, 3, 1_000, EVENT, INGEST).raw
    aliases = ((AliasKind.NAME, "Ada Brandt"), (AliasKind.EMAIL, "ada@example.org"))
    (entry,) = decode_subjects([(9, header, (SUBJECT,), encode_subject(aliases))])
    assert (entry.seq, entry.subject, entry.aliases, entry.epoch, entry.recorded_at) == (9, SUBJECT, aliases, 3, 1_000)
