"""Reading by range and by seq, headers as columns, and a cache that stays within its bound."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from refold.errors import Corrupt, Usage
from refold.keys.keyring import fact_key
from refold.log.read import Reader
from refold.store import Store, open_store
from tests.log import heard, pass_a_fence, say, texts


@pytest.fixture
def many(store: Store) -> Store:
    for number in range(6):
        say(store, *(f"{number}-{line}" for line in range(3)))
    return store


def test_a_range_begins_and_ends_where_it_says(many: Store):
    everything = [event.text for event in heard(many)]
    seqs = [event.seq for event in heard(many)]
    for first in range(0, many.log.head.size + 1, 2):
        for end in range(first, many.log.head.size + 1, 3):
            read = [event.text for events in many.log.events(first, end) for event in events]
            assert read == [text for text, seq in zip(everything, seqs, strict=True) if first <= seq < end]


@pytest.mark.parametrize(("first", "end"), [(-1, 2), (0, 99), (5, 4)])
def test_a_range_outside_of_the_log_is_a_mistake(many: Store, first: int, end: int):
    with pytest.raises(Usage):
        list(many.log.events(first, end))


@pytest.mark.parametrize("seq", [-1, 19, 10**9])
def test_a_seq_outside_of_the_log_is_a_mistake(many: Store, seq: int):
    with pytest.raises(Usage, match=f"no entry {seq}"):
        many.log.event(seq)


def test_a_subject_entry_is_not_an_event(many: Store):
    with pytest.raises(Usage, match="entry 0 is not an event"):
        many.log.event(0)


def test_columns_show_the_headers_and_nothing_else(many: Store):
    table = many.log.columns(0, 3)
    assert table.schema.names == ["seq", "kind", "epoch", "recorded_at", "event_id", "ingest", "size", "erased"]
    events = heard(many)[:2]
    assert table["seq"].to_pylist() == [0, 1, 2]
    assert table["kind"].to_pylist() == [2, 1, 1]
    assert table["epoch"].to_pylist() == [1, 1, 1]
    assert table["event_id"].to_pylist()[1:] == [event.event_id for event in events]
    assert table["ingest"].to_pylist()[1:] == [event.ingest for event in events]
    epoch = datetime.datetime(1970, 1, 1)
    assert table["recorded_at"].to_pylist()[1] == epoch + datetime.timedelta(microseconds=events[0].recorded_at)
    (rows,) = many.log.rows(0, 3)
    assert table["size"].to_pylist() == [len(payload or b"") for payload in rows.payloads()]


def test_columns_of_an_empty_log_have_their_types(store: Store):
    table = store.log.columns()
    assert (table.num_rows, table.schema.field("recorded_at").type) == (0, pa.timestamp("us"))


def test_columns_over_many_parts_are_one_table(many: Store):
    assert many.log.columns()["seq"].to_pylist() == list(range(many.log.head.size))


def test_a_fact_key_is_that_of_the_events_own_epoch(many: Store):
    event = heard(many)[0]
    before = many.log.fact_key(event)
    assert before == fact_key(many.keyring.event_key(1, event.event_id, event.subjects))
    pass_a_fence(many)
    assert many.log.fact_key(event) == before


def test_a_part_that_was_read_by_seq_is_kept_verified(many: Store):
    many.log.event(1)
    for path in (many.places.store / "log" / "parts").iterdir():
        path.unlink()
    assert many.log.event(2).text == "0-1"


def test_the_cache_keeps_to_its_bound(many: Store):
    bound = 2 * max(rows.batch.nbytes for rows in many.log.rows()) + 10
    reader = Reader(many.log, cache_bytes_max=bound)
    for part in many.log.head.parts:
        reader.event(part.end - 1)
        assert 0 < reader.cache.bytes <= bound
    assert reader.event(many.log.head.parts[-1].first).text == "5-0"


def test_the_cache_keeps_what_was_used_last(many: Store):
    bound = 2 * max(rows.batch.nbytes for rows in many.log.rows()) + 10
    reader = Reader(many.log, cache_bytes_max=bound)
    first, second, third = (part.end - 1 for part in many.log.head.parts[:3])
    for seq in (first, second, first, third):
        reader.event(seq)
    for path in (many.places.store / "log" / "parts").iterdir():
        path.unlink()
    assert reader.event(first).text == "0-2"
    with pytest.raises(Corrupt):
        reader.event(second)


def test_a_part_larger_than_the_cache_is_still_read(many: Store):
    reader = Reader(many.log, cache_bytes_max=1)
    assert [reader.event(seq).text for seq in (1, 5, 1)] == ["0-0", "1-1", "0-0"]


def test_closing_drops_keys_and_everything_that_was_kept(many: Store):
    many.log.event(1)
    many.log.tail.follow(many.log.head, many.keyring, None)
    keyring, reader, tail = many.keyring, many.log._reader, many.log.tail
    assert keyring._nodes
    assert keyring._living
    assert reader.cache.bytes
    assert tail._subjects
    many.close()
    many.close()
    assert not any((keyring._nodes, keyring._living, keyring._carried, tail._subjects, tail._seen, tail._living))
    assert (reader.cache.bytes, many.log._keyring, many.log._signer) == (0, None, None)


@pytest.mark.parametrize(
    "use",
    [
        lambda store: say(store, "too late"),
        lambda store: store.log.refresh(),
        lambda store: store.log.recheck_keys(),
        lambda store: store.log.event(1),
        lambda store: [*store.log.events()],
        lambda store: store.log.signer(),
        lambda store: store.keyring,
    ],
)
def test_what_is_closed_answers_no_more(many: Store, use: Callable[[Store], object]):
    many.close()
    with pytest.raises(Usage, match="this memory is closed"):
        use(many)


def test_the_intermediate_secrets_of_an_epoch_go_with_it(many: Store):
    heard(many)
    before = many.keyring
    assert before._living
    pass_a_fence(many)
    many.log.refresh()
    assert many.keyring is not before
    assert not before._living
    assert not before._nodes


def test_reading_goes_on_while_others_write(many: Store):
    batches = many.log.events()
    first = next(batches)
    with open_store(many.places) as other:
        say(other, "meanwhile")
    rest = [event.text for events in batches for event in events]
    assert len(first) + len(rest) == 18
    assert texts(many)[-1] == "meanwhile"


def test_a_store_of_a_hundred_commits_opens_at_every_one_of_them(places, store: Store, tmp_path: Path):
    """The walk back meets full lists, and heads between them."""
    from refold.log.head import at

    for number in range(135):
        say(store, f"line {number}")
    for version in (0, 1, 127, 128, 129, 135):
        head = at(store.log.place, version)
        assert head.version == version
        assert head.size == (version + 1 if version else 0)
        assert sum(part.count for part in head.parts) == head.size
