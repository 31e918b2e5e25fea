"""Views: SQL over the log and the state. The only owner of DuckDB.

DuckDB gets Arrow tables and nothing else: no files, no extensions, no spilling to disk, and its configuration is locked before it sees
a statement. What it says about a failure may quote data, so that none of it is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling

from refold.errors import KeyMissing, RefoldError, Usage
from refold.log.log import Log

MEMORY_MAX = "4GB"
ROWS_MAX = 1_000_000  # of an answer
BYTES_MAX = 256 << 20
BATCH_ROWS = 65_536
HINT = "refold help sql"
_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",  # what does not fit in memory fails: a spill file is plain text, and outlives a killed process
}
# Last, for they forbid the rest. Without external access the name of a table is no file, and no variable of ours either.
_LOCKS = ("SET enable_external_access = false", "SET lock_configuration = true")
# What went wrong, said without DuckDB's words; the first that fits.
_FAULTS: tuple[tuple[type[duckdb.Error], str], ...] = (
    (duckdb.ParserException, "the statement is not SQL"),
    (duckdb.CatalogException, "the statement names a table or function that is not there"),
    (duckdb.BinderException, "the statement names a column that is not there, or mixes types"),
    (duckdb.PermissionException, "the statement reaches for a file or a setting, which this database has not"),
    (duckdb.ConversionException, "a value cannot be turned into the type that the statement asks for"),
    (duckdb.OutOfRangeException, "a value lies outside the range of its type"),
    (duckdb.OutOfMemoryException, "the statement needs more memory than it may have"),
)

Source = Callable[[], pa.Table]


def answer(query: str, *, tables: Mapping[str, pa.Table], values: Mapping[str, Any]) -> pa.Table:
    """Answer a statement of our own over some tables; of `values`, those that it names are used."""
    with connection() as database:
        for name, table in tables.items():
            database.register(name, table)
        used = {name: value for name, value in values.items() if re.search(rf"\${name}\b", query)}
        return database.sql(query, params=used or None).to_arrow_table()


def ask(
    query: str,
    *,
    sources: Mapping[str, Source],
    log: Log,
    memory_max: str = MEMORY_MAX,
    rows_max: int = ROWS_MAX,
    bytes_max: int = BYTES_MAX,
) -> pa.Table:
    """Answer a statement of somebody else's. Only the tables that it names are read. Raises Usage, and what reading raises.

    An answer of more than `rows_max` rows or `bytes_max` bytes is refused: it is taken from DuckDB piece by piece, and no further.
    """
    with connection(memory_max=memory_max) as database:
        failed: list[RefoldError] = []
        database.create_function("text", _reader(log, failed), ["BIGINT"], "VARCHAR", null_handling=FunctionNullHandling.SPECIAL)
        named = [name for name in sources if re.search(rf"\b{name}\b", query, re.IGNORECASE)]
        for name in named or sources:
            table = sources[name]()
            database.from_arrow(table).project(", ".join(map(_projected, table.schema))).create_view(name)
        try:
            statements = database.extract_statements(query)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise Usage("one statement that only reads was expected: SELECT, FROM, VALUES, WITH, DESCRIBE or SHOW", hint=HINT)
            database.execute(f"EXPLAIN {query}")  # names the line of a fault, which `sql` does not
            return _bounded(database.sql(query).to_arrow_reader(BATCH_ROWS), rows_max, bytes_max)
        except duckdb.Error as error:
            if failed:
                raise failed[0] from None
            raise Usage(_said(error), hint=HINT) from None


def _bounded(answer: pa.RecordBatchReader, rows_max: int, bytes_max: int) -> pa.Table:
    """Take an answer, as far as the bounds. Raises Usage."""
    taken: list[pa.RecordBatch] = []
    rows = size = 0
    with answer:
        for batch in answer:
            rows, size = rows + batch.num_rows, size + batch.nbytes
            for found, limit, unit in ((rows, rows_max, "rows"), (size, bytes_max, "bytes")):
                if found > limit:
                    message = f"the answer has at least {found} {unit}; at most {limit} are given"
                    raise Usage(message, hint="add LIMIT to the statement", details={"found": found, "limit": limit})
            taken.append(batch)
        return pa.Table.from_batches(taken, answer.schema)


@contextmanager
def connection(*, memory_max: str = MEMORY_MAX) -> Generator[duckdb.DuckDBPyConnection]:
    """Give a database in memory that reaches nothing outside itself."""
    opened = duckdb.connect(":memory:", config=_CONFIG | {"memory_limit": memory_max})
    try:
        for lock in _LOCKS:
            opened.execute(lock)
        yield opened
    finally:
        opened.close()


def _reader(log: Log, failed: list[RefoldError]) -> Callable[[int | None], str | None]:
    """Return the function text(seq): NULL for what is no event, or dark. DuckDB would quote an error, so it is kept aside."""

    def text(seq: int | None) -> str | None:
        try:
            return None if seq is None else log.event(seq).text
        except (Usage, KeyMissing):
            return None
        except RefoldError as error:
            failed.append(error)
            raise

    return text


def _said(error: duckdb.Error) -> str:
    """Return what went wrong, and in which line of the statement, without a word of what DuckDB says."""
    fault = next((words for kind, words in _FAULTS if isinstance(error, kind)), "the statement cannot be carried out")
    line = re.search(r"^LINE (\d+):", str(error), re.MULTILINE)
    return f"{fault}, at line {line.group(1)}" if line else fault


_NAMED = {
    "act": ("say", "deny", "end"),
    "modality": ("asserted", "planned", "hedged", "reported"),
    "valid_precision": ("day", "month", "year"),
}
_TIMES = {"recorded_at", "said_at", "valid_from", "valid_to"}


def _projected(field: pa.Field) -> str:
    """Return how a column is shown: ids as hex, times as timestamps, small numbers by their names, sequence numbers signed."""
    name = field.name
    if pa.types.is_fixed_size_binary(field.type) or pa.types.is_binary(field.type):
        return f'lower(hex("{name}")) AS "{name}"'
    if name in _TIMES and pa.types.is_integer(field.type):
        return f'make_timestamp("{name}") AS "{name}"'
    if name in _NAMED:
        return f'{list(_NAMED[name])}["{name}" + 1] AS "{name}"'
    return f'"{name}"::BIGINT AS "{name}"' if name == "seq" else f'"{name}"'
