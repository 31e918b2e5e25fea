"""What SQL sees: the log's headers and every table of the state, with scopes, audiences, kinds and roles in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from refold import recipes
from refold.fold.relations import Relations
from refold.log.log import Log
from refold.log.read import COLUMNS
from refold.model import EntryKind, View
from refold.reading import Fate, RejectionCode, Standing
from refold.state import everybody, views
from refold.state.generation import State
from refold.state.rows import SCOPE
from refold.state.tables import ROLES, TABLES

ADDED = ("standing", "contested", "beaten_by", "sayings")  # to an assertion, in `facts`
_SCOPED = {"user": 0, "agent": 1, "run": 2}  # the place of each in the text of a scope


def sql(state: State, log: Log, query: str, *, relations: Relations | None = None) -> pa.Table:
    """Answer one statement that only reads: for the operator, who sees everything. Raises Usage, and what reading raises.

    Tables: `log`, `facts` (what everybody in the state is told of, in every standing), and the tables of the state. `text(seq)` is the
    text of an event, opened from the log row by row.
    """
    relations = relations or recipes.relations()
    sources: dict[str, views.Source] = {name: partial(_stored, state, name) for name in TABLES}
    sources |= {"log": lambda: _in_words(log.columns(), "kind", _kinds()), "facts": lambda: _facts(state, relations)}
    return views.ask(query, sources=sources, log=log)


def columns() -> dict[str, list[str]]:
    """Return the columns of each table as SQL sees them, without a store."""
    told = {name: _readable_names(table.schema.names) for name, table in TABLES.items()}
    return {"log": COLUMNS.names, "facts": [*told["assertions"], *ADDED], **told}


def _readable_names(names: Sequence[str]) -> list[str]:
    if not {"scope", "audience"} <= set(names):
        return list(names)
    return [*(name for name in names if name not in ("scope", "audience")), *_SCOPED, "labels"]


def _kinds() -> dict[int, str]:
    return {kind.value: kind.name.lower() for kind in EntryKind}


def _stored(state: State, name: str) -> pa.Table:
    """Return a table of the state as SQL sees it."""
    return _readable(state, state.table(name))


def _readable(state: State, rows: pa.Table) -> pa.Table:
    if "role" in rows.column_names:
        rows = _in_words(rows, "role", dict(enumerate(str(role) for role in ROLES)))
    if "code" in rows.column_names:
        rows = _in_words(rows, "code", {code.value: code.name.lower() for code in RejectionCode})
    if "fate" in rows.column_names:
        rows = _in_words(rows, "fate", {fate.value: fate.name.lower() for fate in Fate})
    if {"scope", "audience"} <= set(rows.column_names):
        rows = _labelled(state, rows)
    return rows


def _in_words(rows: pa.Table, column: str, words: Mapping[int, str]) -> pa.Table:
    """Replace a column of small numbers by what they mean."""
    place = rows.column_names.index(column)
    return rows.set_column(place, column, _mapped(rows[column], words, pa.string()))


def _labelled(state: State, rows: pa.Table) -> pa.Table:
    """Replace the tags of scope and audience by user, agent and run, and by the list of labels."""
    labels = state.table("labels").to_pylist()
    scopes = {label["tag"]: json.loads(label["text"]) for label in labels if label["what"] == SCOPE}
    audiences = {label["tag"]: json.loads(label["text"]) for label in labels if label["what"] != SCOPE}
    for name, place in _SCOPED.items():
        rows = rows.append_column(name, _mapped(rows["scope"], {tag: scope[place] for tag, scope in scopes.items()}, pa.string()))
    rows = rows.append_column("labels", _mapped(rows["audience"], audiences, pa.list_(pa.string())))
    return rows.drop_columns(["scope", "audience"])


def _mapped(column: pa.ChunkedArray, words: Mapping[int, object], kind: pa.DataType) -> pa.Array:
    """Return for each key of a column what it stands for."""
    keys = np.array(sorted(words), np.uint64)
    meant = pa.array([words[int(key)] for key in keys], kind)
    return meant.take(pa.array(np.searchsorted(keys, column.to_numpy().astype(np.uint64))))


def _facts(state: State, relations: Relations) -> pa.Table:
    """Return what is told of everybody: the columns of `assertions`, the standing, and how many sayings a fact rests on."""
    rows, stances = everybody.told(state, View(), relations, standings=list(Standing))
    ids = rows["fact_id"]
    added: Sequence[Callable[[], pa.Array | pa.ChunkedArray]] = (
        lambda: stances["standing"],
        lambda: stances["contested"],
        lambda: ids.take(stances["beaten_by"]),
        lambda: pa.array([len(said) for said in stances["rows"].to_pylist()], pa.int64()),
    )
    shown = _readable(state, rows.take(stances["shown"]))
    for name, column in zip(ADDED, added, strict=True):
        shown = shown.append_column(name, column())
    return shown
