"""Segments: reading one table across all of them, and merging the newest ones into one.

Merging is geometric: a segment that has less than four times the rows of all newer ones together joins them. So a publish costs what
is new, and a lookup meets few runs however often was published.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refold.state import tables
from refold.state.runs import Run
from refold.state.tables import Table

RATIO = 4
MERGED_ROWS = 1 << 20  # rows that a merge holds in memory at once


def newest_to_merge(sizes: Sequence[int], ratio: int = RATIO) -> int:
    """Return how many of the newest segments, given their rows, are to become one: 0, or at least 2."""
    count, total = 1, sizes[-1] if sizes else 0
    while count < len(sizes) and sizes[-count - 1] < ratio * total:
        total += sizes[-count - 1]
        count += 1
    return count if count > 1 else 0


def lookup(runs: Sequence[Run], table: Table, keys: Sequence[Any], columns: Sequence[str] | None = None) -> pa.Table:
    """Return the rows whose key is among `keys`, oldest segment first, reading only row groups that can hold one."""
    wanted = key_array(table, keys)
    found = [_among(run.read(run.groups_for(wanted), _with_key(table, columns)), table, wanted) for run in runs]
    return _joined(table, found, columns)


def lookup_where(runs: Sequence[Run], table: Table, keys: Sequence[Any], column: str, values: Collection[str]) -> pa.Table:
    """Return the rows whose key is among `keys` and whose `column` is among `values`.

    Of a wide table this is cheaper than to look up and filter: two columns tell which row groups are worth reading whole.
    """
    wanted, among = key_array(table, keys), pc.SetLookupOptions(pa.array(sorted(values), table.schema.field(column).type))

    def fitting(rows: pa.Table) -> pa.Table:
        rows = _among(rows, table, wanted)
        return rows.filter(pc.call_function("is_in", [rows[column]], among)) if rows.num_rows else rows

    found = []
    for run in runs:
        narrow = ((group, run.read([group], [table.key, column])) for group in run.groups_for(wanted))
        found.append(fitting(run.read([group for group, rows in narrow if fitting(rows).num_rows])))
    return _joined(table, found, None)


def having(runs: Sequence[Run], table: Table, column: str, values: Collection[int], columns: Sequence[str]) -> pa.Table:
    """Return the rows whose `column`, of tags, is among `values`, oldest segment first. Reads that column, and the others where one is."""
    found, wanted = [], np.array(sorted(values), np.uint64)
    for run in runs:
        for group in range(run.groups):
            there = np.isin(run.read([group], [column])[column].to_numpy(), wanted)
            if there.any():
                found.append(run.read([group], list(columns)).filter(pa.array(there)))
    return _joined(table, found, columns)


def between(runs: Sequence[Run], table: Table, low: int, high: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the rows whose key is in [low, high), oldest segment first."""
    found = [_within(run.read(run.groups_between(low, high), _with_key(table, columns)), table, low, high) for run in runs]
    return _joined(table, found, columns)


def whole(runs: Sequence[Run], table: Table, columns: Sequence[str] | None = None) -> pa.Table:
    """Return all rows of a table in its order, and once each where it is a set."""
    needed = None if columns is None or table.is_set else list(dict.fromkeys((*table.order, *columns)))
    rows = _sorted(table, _joined(table, [run.read(columns=needed) for run in runs], needed))
    return rows if columns is None else rows.select(list(columns))


def merged(runs: Sequence[Run], table: Table) -> Iterator[pa.Table]:
    """Yield all rows of a table in its order, a bounded number at a time."""
    if not pa.types.is_integer(table.schema.field(table.key).type):
        yield whole(runs, table)
        return
    cuts = _cuts(runs)
    for low, high in zip([0, *cuts], [*cuts, 1 << 64], strict=True):
        yield _sorted(table, between(runs, table, low, high))


def key_array(table: Table, keys: Sequence[Any]) -> np.ndarray:
    """Return distinct keys, sorted as the table is."""
    if pa.types.is_integer(table.schema.field(table.key).type):
        return np.unique(np.array(keys, np.uint64))
    distinct = np.empty(len(set(keys)), object)
    distinct[:] = sorted(set(keys))
    return distinct


def _cuts(runs: Sequence[Run]) -> list[int]:
    """Return keys at which a merge may be cut so that no piece has many more than MERGED_ROWS rows."""
    starts = sorted((least, rows) for run in runs for least, rows in run.starts())
    cuts, held = [], 0
    for least, rows in starts:
        if held + rows > MERGED_ROWS and least > (cuts[-1] if cuts else 0):
            cuts.append(least)
            held = 0
        held += rows
    return cuts


def _sorted(table: Table, rows: pa.Table) -> pa.Table:
    """Sort the rows of runs that are sorted already, oldest first."""
    if table.key == "seq" and not table.is_read:
        seqs = rows["seq"].to_numpy()
        return rows if not len(seqs) or (seqs[1:] >= seqs[:-1]).all() else tables.in_order(table, rows)  # what a model answered late
    if table.order[1:] != ("seq",) or not pa.types.is_integer(table.schema.field(table.key).type):
        return tables.in_order(table, rows)
    # Older segments hold lower sequence numbers, so a stable sort by the key alone does it, and finds the runs in place.
    return rows.take(pa.array(np.argsort(rows[table.key].to_numpy(), kind="stable")))


def _among(rows: pa.Table, table: Table, keys: np.ndarray) -> pa.Table:
    if not rows.num_rows:
        return rows
    if keys.dtype == object:
        wanted = pa.array(keys.tolist(), table.schema.field(table.key).type)
        return rows.filter(pc.call_function("is_in", [rows[table.key]], pc.SetLookupOptions(wanted)))
    column = rows[table.key].to_numpy()
    if len(keys) == 1:
        first, after = np.searchsorted(column, keys[0]), np.searchsorted(column, keys[0], side="right")
        return rows.slice(first, after - first)
    return rows.filter(pa.array(np.isin(column, keys)))


def _within(rows: pa.Table, table: Table, low: int, high: int) -> pa.Table:
    if not rows.num_rows:
        return rows
    column = rows[table.key].to_numpy()
    first = int(np.searchsorted(column, np.uint64(low)))
    after = len(column) if high > int(column[-1]) else int(np.searchsorted(column, np.uint64(high)))
    return rows.slice(first, after - first)


def _with_key(table: Table, columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(dict.fromkeys((table.key, *columns)))


def _joined(table: Table, found: Sequence[pa.Table], columns: Sequence[str] | None) -> pa.Table:
    rows = pa.concat_tables(found) if found else table.empty
    return rows if columns is None else rows.select(list(columns))
