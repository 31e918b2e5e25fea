"""Rekeyed: what was read out of events, carried from one generation to the next epoch's without reading the events again.

A row of assertions, edges or rejections is a function of its event (and of those it was told beside), the relations and the extractor.
Where none of these changed, the row under another state key differs in its tags alone. Each tag is made anew from what it stands for,
which the generation knows; what an event itself shows (its own row, its words, its aliases) is not carried but made from the event.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refold.errors import Corrupt
from refold.model import Mention, Scope
from refold.state import tables
from refold.state.generation import State
from refold.state.manifest import REBUILD
from refold.state.rows import SCOPE
from refold.state.tags import Tags

MENTIONS = {"assertions": ("mention", "value_mention", "asserted_by"), "edges": ("a", "b", "asserted_by")}


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag under the new key, and what it stands for where that is a mention."""

    new: int
    mention: Mention | None = None


def rekeyed(base: State, tags: Tags, *, without: Iterable[int]) -> dict[str, pa.Table]:
    """Return the rows of a generation that were read out of events, but for those of the seqs `without`, under another key.

    With them the mentions and values that they make findable, and no others: a name that nothing rests on any more is gone.
    Raises Corrupt where the generation does not know what one of its tags stands for.
    """
    gone = np.array(sorted(without), np.uint64)
    read = {name: _without(base.table(name), gone) for name in ("assertions", "edges", "rejections")}
    labels = _labels(base, tags)
    mentions = _mentions(base, tags)
    for name, columns in MENTIONS.items():
        for column in columns:
            read[name] = _renamed(read[name], column, mentions)
        for column in ("audience", "scope"):
            read[name] = _renamed(read[name], column, labels)
    found = {name: tables.in_order(tables.TABLES[name], rows) for name, rows in read.items()}
    return found | _names(found["assertions"], found["edges"], {tag.new: tag.mention for tag in mentions.values() if tag.mention}, tags)


def _without(rows: pa.Table, gone: np.ndarray) -> pa.Table:
    return rows.filter(pa.array(~np.isin(rows["seq"].to_numpy(), gone))) if len(gone) else rows


def _labels(base: State, tags: Tags) -> dict[int, Tag]:
    """Return the tags of all scopes and audiences."""
    found = {}
    for row in base.table("labels").to_pylist():
        value = json.loads(row["text"])
        found[row["tag"]] = Tag(tags.scope(Scope(*value)) if row["what"] == SCOPE else tags.audience(tuple(value)))
    return found


def _mentions(base: State, tags: Tags) -> dict[int, Tag]:
    """Return the tags of all mentions: of those with a name, and of the documents, which speak without one."""
    named = base.table("mentions", ["mention", "owner", "name"]).to_pydict()
    found = {tag: Mention(owner, name) for tag, owner, name in zip(*named.values(), strict=True)}
    documents = map(Mention, pc.call_function("unique", [base.table("events", ["source"])["source"]]).to_pylist())
    found.update((base.tags.mention(each), each) for each in documents)
    return {0: Tag(0), **{tag: Tag(tags.mention(mention), mention) for tag, mention in found.items()}}


def _renamed(rows: pa.Table, column: str, known: Mapping[int, Tag]) -> pa.Table:
    """Put the new tags in the place of a column's. Raises Corrupt."""
    old = np.array(sorted(known), np.uint64)
    new = np.array([known[tag].new for tag in old.tolist()], np.uint64)
    values = rows[column].to_numpy()
    places = np.minimum(np.searchsorted(old, values), max(len(old) - 1, 0))
    if len(values) and (not len(old) or not np.array_equal(old[places], values)):
        raise Corrupt("the state names something that it does not know", hint=REBUILD)
    taken = new[places] if len(values) else values
    return rows.set_column(rows.schema.get_field_index(column), rows.schema.field(column), pa.array(taken, pa.uint64()))


def _names(assertions: pa.Table, edges: pa.Table, known: Mapping[int, Mention], tags: Tags) -> dict[str, pa.Table]:
    """Return how the entities of these rows are found: by name, and by whom they are the value of."""
    rows: set[tuple[int, int, str, str | None]] = set()
    columns = [(assertions, "mention", "entity"), (assertions, "value_mention", "value"), (edges, "a", None)]
    for table, column, text in columns:
        for tag, written in _distinct(table, column, text):
            mention = known.get(tag)
            name = (mention.name or written) if mention else ""
            if mention and name:
                rows.add((tags.name(name), tag, mention.owner, mention.name))
    valued = assertions.select(["value_mention", "mention"]).filter(pa.array(assertions["value_mention"].to_numpy() != 0))
    return {
        "mentions": tables.in_order(tables.MENTIONS, _table(tables.MENTIONS, rows)),
        "valued": tables.in_order(tables.VALUED, valued.cast(tables.VALUED.schema)),
    }


def _distinct(table: pa.Table, column: str, text: str | None) -> Iterable[tuple[int, str]]:
    keys = [column] if text is None else [column, text]
    found = table.group_by(keys, use_threads=False).aggregate([]).to_pydict()
    return zip(found[column], found[text] if text else [""] * len(found[column]), strict=True)


def _table(table: tables.Table, rows: Iterable[tuple[object, ...]]) -> pa.Table:
    columns = [*zip(*rows, strict=True)] or [[]] * len(table.schema)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, table.schema, strict=True)], schema=table.schema)
