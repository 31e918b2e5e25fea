"""Databases: every value of every table of a database file, as bytes. Read where it lies, changed nowhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from mmap import mmap
from pathlib import Path

Data = bytes | memoryview | mmap

PAGE_AT = 16
JOURNAL_MODE_AT = slice(18, 20)
WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
WAL_HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
ROWS_A_TIME = 1_000


def sqlite_values(data: Data) -> Iterator[tuple[str, bytes]]:
    """Yield what an SQLite database says: its schema, and every value of every table."""
    raw = bytearray(data)
    raw[JOURNAL_MODE_AT] = b"\1\1"  # one that is read from memory has no write-ahead log
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(bytes(raw))
        database.text_factory = bytes
        schema = database.execute("select name, type, sql from sqlite_master").fetchall()
        yield "sqlite", b"\n".join(sql for _, _, sql in schema if sql)
        for name, kind, sql in schema:
            if kind == b"table" and not (sql or b"").lower().startswith(b"create virtual"):
                yield from _rows("sqlite", database.execute(f'select * from "{name.decode().replace(chr(34), chr(34) * 2)}"'))


def with_wal(database: bytes, wal: bytes) -> bytes:
    """Return a database with the committed pages of its write-ahead log in place (https://sqlite.org/walformat.html)."""
    if wal[:4] not in WAL_MAGIC or len(wal) < WAL_HEADER_BYTES:
        return database
    size = int.from_bytes(wal[8:12], "big")
    salts = wal[16:24]
    pages: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    count = len(database) // size if size else 0
    for at in range(WAL_HEADER_BYTES, len(wal) - FRAME_HEADER_BYTES - size + 1, FRAME_HEADER_BYTES + size):
        header = wal[at : at + FRAME_HEADER_BYTES]
        if header[8:16] != salts:
            break
        pending[int.from_bytes(header[:4], "big")] = wal[at + FRAME_HEADER_BYTES : at + FRAME_HEADER_BYTES + size]
        if committed := int.from_bytes(header[4:8], "big"):
            pages.update(pending)
            pending, count = {}, committed
    whole = bytearray(database.ljust(count * size, b"\0"))
    for number, page in pages.items():
        whole[(number - 1) * size : number * size] = page
    return bytes(whole[: count * size])


def duckdb_values(data: Data) -> Iterator[tuple[str, bytes]]:
    """Refuse what needs a file to be opened: a scan of a folder reads DuckDB files by `duckdb_file`."""
    raise ValueError("inside something else")
    yield


def duckdb_file(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what a DuckDB database says: its schema, and every value of every table. Opened read-only."""
    import duckdb

    with closing(duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"})) as database:
        found = database.execute("select schema_name, table_name, sql from duckdb_tables()").fetchall()
        views = database.execute("select sql from duckdb_views() where not internal").fetchall()
        yield "duckdb", "\n".join([str(sql) for *_, sql in found] + [str(sql) for (sql,) in views]).encode()
        for schema, name, _ in found:
            quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name))
            yield from _fetched("duckdb", database.execute(f"select * from {quoted}").fetchmany)


def _rows(name: str, cursor: sqlite3.Cursor) -> Iterator[tuple[str, bytes]]:
    yield from _fetched(name, cursor.fetchmany)


def _fetched(name: str, fetch: Callable[[int], list[tuple]]) -> Iterator[tuple[str, bytes]]:
    """Yield rows as text, and each blob by itself, because it may be something compressed."""
    while rows := fetch(ROWS_A_TIME):
        values = [value for row in rows for value in row if value is not None]
        yield name, b"\n".join(value if isinstance(value, bytes) else str(value).encode(errors="surrogateescape") for value in values)


def duckdb_error() -> type[Exception]:
    """Return what DuckDB raises."""
    import duckdb

    return duckdb.Error
