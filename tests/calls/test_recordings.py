"""Recordings: sealed under the keys of what the model saw, found again by them, dark without any one of them."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from refold.calls.index import Index
from refold.calls.keys import Input, call_key, material, replay_tag
from refold.calls.recording import Fault, Form, Recording, Tokens, decode, encode
from refold.calls.recordings import Recorded, Recordings, Unrecorded
from refold.calls.totals import Totals
from refold.errors import Corrupt, KeyMissing, Locked, Usage
from refold.keys.crypto import derive, mac
from refold.model import EntryKind, Event, EventId
from refold.recover.reset import reset
from refold.store import Store, open_store
from tests.conftest import now
from tests.log import heard, pass_a_fence, say

CANARY = b"the canary sings at noon"
FORM = b'{"messages":[["user",[["template","words","00"]]]]}'


def recordings(store: Store) -> Recordings:
    return Recordings(store, now=now, random=os.urandom)


def attempt(store: Store, *events: Event, body: bytes = CANARY, draw: int = 0, fault: Fault | None = None) -> Unrecorded:
    inputs = tuple(map(Input.of, events))
    joined = material(store.keyring, inputs)
    return Unrecorded(
        inputs,
        Recording(
            replay_tag=replay_tag(joined, FORM, body, draw),
            draw=draw,
            attempt=1,
            form=Form.WIRE,
            host="localhost",
            model="m",
            answered_by="m",
            status=200,
            fault=fault,
            finish_reason="stop",
            started_at=1,
            ended_at=2,
            tokens=Tokens(3, 4),
            cost=5,
            currency="USD",
            canonical_form=FORM,
            spans=((0, len(body), -1),),
            request=body,
            wire=b"",
            answer=b"\xff\x00answer",
        ),
    )


def found(store: Store, *events: Event, body: bytes = CANARY) -> list[Recording]:
    return [one.recording for one in looked_up(store, *events, body=body)]


def looked_up(store: Store, *events: Event, body: bytes = CANARY, through: Recordings | None = None) -> list[Recorded]:
    inputs, through = tuple(map(Input.of, events)), through or recordings(store)
    through.follow()
    return through.find(inputs, material(store.keyring, inputs), FORM, body)


@pytest.fixture
def two(store: Store) -> tuple[Event, Event]:
    say(store, "one", user="ada")
    say(store, "two", user="ben")
    one, other = heard(store)
    return one, other


def test_a_recording_is_read_as_it_was_written(store: Store, two: tuple[Event, Event]):
    one = attempt(store, *two)
    (call_id,) = recordings(store).record([one], run=bytes(16))
    assert call_id is not None
    read = recordings(store).get(call_id)
    assert read.recording == one.recording
    assert (read.call_id, read.seq, read.run) == (call_id, 0, bytes(16))
    assert read.inputs == tuple(sorted(event.event_id for event in two))
    assert decode(encode(one.recording)) == one.recording


def test_the_keys_are_those_of_the_format(store: Store, two: tuple[Event, Event]):
    keys = sorted(store.keyring.event_key(event.epoch, event.event_id, event.subjects) for event in two)
    joined = b"".join(len(key).to_bytes(4, "big") + key for key in keys)
    inputs = [Input.of(event) for event in (*two, *two)]
    assert material(store.keyring, inputs) == material(store.keyring, inputs[::-1]) == joined
    assert call_key(joined, b"i" * 16) == derive(joined, b"refold/call/v1" + b"i" * 16)
    message = b"\0\0\0\x01c\0\0\0\x02bb" + bytes(7) + b"\x09"
    assert replay_tag(joined, b"c", b"bb", 9) == mac(derive(joined, "refold/replay/v1"), message)


def test_parts_of_a_request_cannot_trade_bytes(store: Store, two: tuple[Event, Event]):
    joined = material(store.keyring, [Input.of(two[0])])
    assert replay_tag(joined, b"ab", b"c", 0) != replay_tag(joined, b"a", b"bc", 0)


def test_it_is_found_by_exactly_its_request(store: Store, two: tuple[Event, Event]):
    one, other = two
    recordings(store).record([attempt(store, one), attempt(store, one, other), attempt(store, one, draw=1)], run=bytes(16))
    assert [kept.draw for kept in found(store, one)] == [0, 1]
    assert len(found(store, other, one)) == 1
    assert found(store, other) == found(store, one, body=b"another") == []


def test_it_survives_a_new_epoch_and_the_log_of_the_calls_follows(store: Store, two: tuple[Event, Event]):
    recordings(store).record([attempt(store, *two)], run=bytes(16))
    pass_a_fence(store)
    assert len(found(store, *two)) == 1
    recordings(store).record([attempt(store, *two, draw=1)], run=bytes(16))
    assert store.calls is not None
    assert (store.calls.head.epoch, store.calls.head.fence, store.log.head.epoch) == (2, False, 2)
    assert [kept.draw for kept in found(store, *two)] == [0, 1]
    pass_a_fence(store)
    pass_a_fence(store)
    recordings(store).record([attempt(store, *two, draw=2)], run=bytes(16))
    with open_store(store.places) as fresh:
        assert [kept.draw for kept in found(fresh, *two)] == [0, 1, 2]
        assert fresh.calls is not None
        assert fresh.calls.head.epoch == 4


def test_a_first_call_may_come_late(store: Store, two: tuple[Event, Event]):
    pass_a_fence(store)
    assert store.calls is None
    recordings(store).record([attempt(store, *two)], run=bytes(16))
    assert len(found(store, *two)) == 1


@pytest.mark.parametrize("gone", [0, 1])
def test_it_dies_with_any_event_that_it_saw(store: Store, two: tuple[Event, Event], gone: int):
    ids = recordings(store).record([attempt(store, *two), attempt(store, two[1 - gone])], run=bytes(16))
    erased = two[gone].subjects[0]
    copies = {path: path.read_bytes() for path in (store.places.store / "calls").rglob("*.parquet")}
    pass_a_fence(store, keep=lambda subject: subject != erased)
    with pytest.raises(KeyMissing):
        found(store, *two)
    with pytest.raises(KeyMissing, match="dark"):
        recordings(store).get(ids[0] or b"")
    tally: Counter[str] = Counter()
    assert [one.call_id for one in recordings(store).all(tally=tally)] == [ids[1]]
    assert tally["dark"] == 1
    assert copies == {path: path.read_bytes() for path in copies}, "the old copies are as they were, and dark"


def test_what_went_dark_before_it_could_be_written_is_not_written(store: Store, two: tuple[Event, Event]):
    late = [attempt(store, *two), attempt(store, two[0])]
    erased = two[1].subjects[0]
    pass_a_fence(store, keep=lambda subject: subject != erased)
    gone, kept = recordings(store).record(late, run=bytes(16))
    assert gone is None
    assert [(one.inputs, one.call_id) for one in recordings(store).all()] == [((two[0].event_id,), kept)]
    assert [*recordings(store).every()] == [*recordings(store).all()]


def test_under_a_fence_nothing_is_recorded(store: Store, two: tuple[Event, Event]):
    store.log.fence(now=now, random=os.urandom)
    with pytest.raises(Locked):
        recordings(store).record([attempt(store, *two)], run=bytes(16))


def test_no_word_of_it_lies_open_in_the_store(store: Store, two: tuple[Event, Event]):
    recordings(store).record([attempt(store, *two)], run=bytes(16))
    raw = b"".join(path.read_bytes() for path in store.places.store.rglob("*") if path.is_file())
    assert not [word for word in (CANARY, b"answer", b"localhost", b"USD", b"template", FORM) if word in raw]
    assert all(event.event_id in raw for event in two), "the ids of its events stand in front of its payload"


def test_a_flipped_bit_is_found(store: Store, two: tuple[Event, Event]):
    recordings(store).record([attempt(store, *two)], run=bytes(16))
    (path,) = (store.places.store / "calls" / "parts").iterdir()
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with open_store(store.places) as fresh, pytest.raises(Corrupt):
        found(fresh, *two)


def test_a_part_of_the_log_is_none_of_the_calls(store: Store, two: tuple[Event, Event]):
    recordings(store).record([attempt(store, *two)], run=bytes(16))
    newest = max((store.places.store / "calls" / "commits").iterdir())
    other = store.places.store / "log" / "commits" / newest.name
    newest.write_bytes(other.read_bytes())
    with open_store(store.places) as fresh, pytest.raises(Exception, match="format"):
        found(fresh, *two)


def test_several_writers_share_the_log_of_the_calls(store: Store, two: tuple[Event, Event]):
    with open_store(store.places) as other:
        mine, theirs = recordings(store), recordings(other)
        for draw in range(3):
            mine.record([attempt(store, *two, draw=2 * draw)], run=bytes(16))
            theirs.record([attempt(other, *two, draw=2 * draw + 1)], run=bytes(16))
        assert [one.recording.draw for one in looked_up(store, *two, through=mine)] == list(range(6))
        assert [one.recording.draw for one in looked_up(other, *two, through=theirs)] == list(range(6))


def test_an_id_that_begins_no_call_or_several_is_refused(store: Store, two: tuple[Event, Event]):
    with pytest.raises(Usage, match="no call"):
        recordings(store).get(b"\0")
    recordings(store).record([attempt(store, *two), attempt(store, two[0])], run=bytes(16))
    with pytest.raises(Usage, match="several"):
        recordings(store).get(b"")


def test_the_index_finds_all_however_it_grew(store: Store, two: tuple[Event, Event], monkeypatch: pytest.MonkeyPatch):
    from refold.calls import index

    monkeypatch.setattr(index, "LOOSE_MAX", 3)
    one, other = two
    for draw in range(5):
        recordings(store).record([attempt(store, one, draw=draw), attempt(store, one, other, draw=draw)], run=bytes(16))
    log = store.calls
    assert log is not None
    read = Index()
    read.follow(log)
    assert read.find((one.event_id,)) == [0, 3, 6, 9, 12]
    assert read.find(tuple(sorted((one.event_id, other.event_id)))) == [1, 4, 7, 10, 13]
    assert read.find((EventId(bytes(16)),)) == []
    assert {header[1] for rows in log.rows() for header in rows.headers()} == {EntryKind.CALL, EntryKind.TOTALS}


def test_the_totals_are_those_of_all_writers_and_outlive_what_they_count(store: Store, two: tuple[Event, Event]):
    assert recordings(store).totals() == Totals()
    with open_store(store.places) as other:
        mine, theirs = recordings(store), recordings(other)
        mine.record([attempt(store, *two), attempt(store, *two, draw=1)], run=bytes(16))
        theirs.record([attempt(other, *two, draw=2, fault=Fault.CUT_OFF)], run=bytes(16))
        mine.record([replace(one, recording=replace(one.recording, tokens=None)) for one in [attempt(store, *two, draw=3)]], run=bytes(16))
        sums = Totals(calls=4, failed=1, prompt_tokens=9, completion_tokens=12, uncounted=1, cost={"USD": 20})
        assert mine.totals() == theirs.totals() == sums
    erased = two[0].subjects[0]
    pass_a_fence(store, keep=lambda subject: subject != erased)
    assert recordings(store).totals() == sums
    recordings(store).record([attempt(store, two[1])], run=bytes(16))
    assert recordings(store).totals().calls == 5


def test_a_request_without_an_event_has_no_key(store: Store):
    with pytest.raises(Usage, match="no event behind it"):
        material(store.keyring, [])


def test_reset_takes_the_calls_along(store: Store, two: tuple[Event, Event]):
    recordings(store).record([attempt(store, *two)], run=bytes(16))
    places = store.places
    assert (places.store / "calls" / "turn").exists()
    store.close()
    reset(places, confirm=places.origin)
    assert not Path(places.store).exists()


def test_an_old_record_of_a_later_version_is_named(store: Store, two: tuple[Event, Event], monkeypatch: pytest.MonkeyPatch):
    from refold.calls import recording

    monkeypatch.setattr(recording, "VERSION", 2)
    recordings(store).record([replace(attempt(store, *two))], run=bytes(16))
    monkeypatch.undo()
    with pytest.raises(Exception, match="does not know"):
        list(recordings(store).all())
