"""The tables of a generation: their columns, the order of their rows, and how they are cut into row groups.

All u64 tags are keyed (see tags.py). `events`, `assertions` and the rest hold one row per logical fact, so that the same
log gives the same rows however it was folded; `postings` alone is derived from them and the texts. `profiles` is the one table that a
generation holds whole, in one run: what a model says of an entity is replaced, not added to. `vectors` has rows
where the search recipe asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from refold.model import Role

ROLES = tuple(Role)  # a role is stored as its place here

_U64, _U32, _U16, _U8, _TIME, _TEXT = pa.uint64(), pa.uint32(), pa.uint16(), pa.uint8(), pa.int64(), pa.string()
_ID, _FLAG = pa.binary(16), pa.bool_()
_SPANS, _IDS = (pa.list_(pa.field("element", kind, nullable=False)) for kind in (_U32, _ID))


@dataclass(frozen=True, slots=True)
class Table:
    """The form of one table."""

    name: str
    schema: pa.Schema
    order: tuple[str, ...]  # what its rows are sorted by; rows are looked up by the first
    empty: pa.Table = field(compare=False, repr=False)  # made once: every append looks into a state that may have no runs yet
    group_rows: int = 8_192  # rows of one row group, the least that is read: fewer where rows are wide, more where they are narrow
    is_set: bool = False  # the same row may come again in a later run, and counts once
    is_read: bool = False  # what was read out of events: reading an event again voids its rows in older segments

    @property
    def key(self) -> str:
        return self.order[0]


def _table(
    name: str,
    columns: Mapping[str, pa.DataType],
    order: str,
    *,
    optional: tuple[str, ...] = (),
    is_set: bool = False,
    is_read: bool = False,
    group_rows: int = 8_192,
) -> Table:
    schema = pa.schema([pa.field(column, kind, nullable=column in optional) for column, kind in columns.items()])
    return Table(name, schema, tuple(order.split()), schema.empty_table(), group_rows, is_set, is_read)


EVENTS = _table(
    "events",
    {
        "seq": _U64,
        "event_id": _ID,
        "recorded_at": _TIME,
        "said_at": _TIME,
        "scope": _U64,
        "audience": _U64,
        "session": _U64,
        "place": _U64,  # the first bytes of the part's sort key: where in the session
        "source": _TEXT,
        "part": _TEXT,
        "role": _U8,
        "speaker": _U64,
        "speaker_name": _TEXT,
        "ingest": _ID,
        "words": _U16,
        "cues": _U8,
    },
    "seq",
)

ASSERTIONS = _table(
    "assertions",
    {
        "mention": _U64,
        "relation": _TEXT,
        "qualifier": _TEXT,
        "value": _TEXT,
        "value_mention": _U64,
        "act": _U8,
        "modality": _U8,
        "asserted_by": _U64,
        "rank": _U8,
        "entity": _TEXT,
        "said_at": _TIME,
        "source": _TEXT,
        "part": _TEXT,
        "seq": _U64,
        "recorded_at": _TIME,  # of the newest event that it rests on
        "spans": _SPANS,
        "span_start": _U32,
        "span_end": _U32,
        "audience": _U64,
        "scope": _U64,
        "fact_id": _ID,
        "valid_from": _TIME,
        "valid_to": _TIME,
        "valid_precision": _U8,
        "valid_words": _TEXT,
        "extractor": _TEXT,
        "event_id": _ID,  # this and what follows is the event's: a fact is told without looking up each of its events
        "speaker": _TEXT,
        "subjects": _IDS,
        "call_id": _ID,  # of the model's answer that it was read from
        "named_seq": _U64,  # the event that names the entity, where it is another, and the place there
        "named_start": _U32,
        "named_end": _U32,
        "named_id": _ID,
    },
    "mention relation seq span_start fact_id",
    optional=("valid_from", "valid_to", "valid_precision", "call_id", "named_seq", "named_start", "named_end", "named_id"),
    is_read=True,
    group_rows=2_048,
)

EDGES = _table(
    "edges",
    {
        "a": _U64,
        "b": _U64,
        "act": _U8,
        "asserted_by": _U64,
        "said_at": _TIME,
        "source": _TEXT,
        "part": _TEXT,
        "seq": _U64,
        "recorded_at": _TIME,
        "audience": _U64,
        "scope": _U64,
        "first_a": _FLAG,
        "first_b": _FLAG,
        "spans": _SPANS,
    },
    "a b seq act",
    is_read=True,
    group_rows=2_048,
)

MENTIONS = _table(
    "mentions",
    {"name_tag": _U64, "mention": _U64, "owner": _TEXT, "name": _TEXT},
    "name_tag mention",
    optional=("name",),
    is_set=True,
    group_rows=1_024,
)
VALUED = _table("valued", {"value_mention": _U64, "mention": _U64}, "value_mention mention", is_set=True)
LABELS = _table("labels", {"tag": _U64, "what": _U8, "text": _TEXT}, "tag what", is_set=True)
ALIASES = _table(
    "aliases",
    {"alias_tag": _ID, "subject": _ID, "kind": _TEXT, "text": _TEXT, "seq": _U64, "epoch": _U32},
    "alias_tag subject seq kind text",
)
SUBJECTS = _table("event_subjects", {"seq": _U64, "subject": _ID}, "seq subject")
SEEN = _table("seen", {"tag": _ID, "seq": _U64}, "tag seq")
REJECTIONS = _table("rejections", {"seq": _U64, "relation": _TEXT, "code": _U8}, "seq relation code", is_read=True)
PROFILES = _table(
    "profiles",
    {
        "mention": _U64,  # that stands for the entity among what the scope and the labels see
        "scope": _U64,
        "audience": _U64,
        "place": _U16,  # in the answer
        "fate": _U8,
        "text": _TEXT,  # "" unless it stands
        "entity": _TEXT,
        "premises": _IDS,
        "fact_id": _ID,  # of the sentence; zeros unless it stands
        "told": _U16,  # facts that the model was told
        "held": _U32,  # of so many
        "seq": _U64,  # of the newest event under any of them
        "recorded_at": _TIME,
        "extractor": _TEXT,
        "call_id": _ID,
    },
    "mention scope audience place",
    optional=("call_id",),
    group_rows=2_048,
)
VECTORS = _table("vectors", {"seq": _U64, "vector": pa.binary()}, "seq")  # of an event's own words; the neighbours' are mixed in at read
POSTINGS = _table("postings", {"term": _U64, "seq": _U64, "x": _U16, "y": _U16}, "term seq", group_rows=32_768)

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (EVENTS, ASSERTIONS, EDGES, MENTIONS, VALUED, LABELS, ALIASES, SUBJECTS, SEEN, REJECTIONS, PROFILES, VECTORS, POSTINGS)
}


def in_order(table: Table, rows: pa.Table) -> pa.Table:
    """Return the rows in the table's order, each once where it is a set. The rows may stand in any order."""
    if rows.num_rows < 2:
        return rows
    if table.is_set:
        rows = rows.group_by(table.schema.names, use_threads=False).aggregate([]).cast(table.schema)
    return rows.sort_by([(name, "ascending") for name in table.order])
