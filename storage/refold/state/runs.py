"""Runs: sorted Parquet files of one table, each encrypted whole; the only code that encrypts Parquet.

Parquet modular encryption with AES-256-GCM, footer included. The key of a run is HMAC(state key, T("refold/run/v1") ‖ name) and
its AAD prefix is the name, which stands nowhere in the file: a run under another name, or a page at another place, does not open.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

from refold.errors import Corrupt, VerificationIncomplete
from refold.keys import crypto
from refold.recent import Recent
from refold.state.tables import Table

GROUPS_KEPT_MAX = 4  # of one read: what asks for more reads on and on, and would drive everything else out
Groups = Recent[tuple[str, int, tuple[str, ...]], pa.Table]  # by run, row group and columns
MAGIC = b"PARE"  # how a file with an encrypted footer begins and ends; only the end is looked at where one is read
# What says, in clear before the encrypted footer, how it is encrypted: three structures with 8 random bytes in them, and their ends. Of an
# end half the bits mean nothing to a reader, so whoever looks for damage compares them.
FRAME = re.compile(rb"\x1c\x1c\x28\x08.{8}\x11\x00\x00\x00", re.DOTALL)
FOOT_BYTES = 8  # the length of the footer, and MAGIC
DAMAGED = "the state can be folded again from the log: refold fold --full"


def run_name(random: bytes) -> str:
    """Return the name of a run made of 16 random bytes."""
    return random.hex()


def is_framed(raw: bytes) -> bool:
    """Whether what stands in clear in the file of a run is what was written there: a reader passes over some of it."""
    footer = len(raw) - FOOT_BYTES - int.from_bytes(raw[-FOOT_BYTES : -len(MAGIC)], "little")
    return raw.startswith(MAGIC) and footer > 0 and FRAME.match(raw, footer) is not None


def encrypted(state_key: bytes, name: str, table: Table, rows: Iterable[pa.Table]) -> tuple[bytes, int]:
    """Return the file of a run and its number of rows: the rows, already in the table's order, cut into row groups."""
    sink = pa.BufferOutputStream()
    integers = [field.name for field in table.schema if pa.types.is_integer(field.type) and field.name != table.key]
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        write_statistics=[table.key],  # in the encrypted footer: which row groups can match
        use_dictionary=texts,
        column_encoding={column: "DELTA_BINARY_PACKED" for column in integers if table.schema.field(column).type.bit_width >= 32},
        store_schema=False,
        encryption_properties=pe.create_encryption_properties(_key(state_key, name), aad_prefix=name.encode(), store_aad_prefix=False),
    ) as writer:
        count = 0
        for batch in rows:
            if batch.num_rows:  # a row group without rows would have no least key
                count += batch.num_rows
                writer.write_table(batch, row_group_size=table.group_rows)
    return sink.getvalue().to_pybytes(), count


class Run:
    """One run, open for reading. Its footer is decrypted once; row groups are read when something may match."""

    def __init__(
        self, path: Path, *, state_key: bytes, table: Table, voided: np.ndarray | None = None, recent: Groups | None = None
    ) -> None:
        """Open a run; row groups that `recent` keeps are not read again.

        Of a table that is read out of events, rows of the `voided` seqs are never given.
        """
        self.path = path
        self.table = table
        self._recent = recent
        self._voided = voided if table.is_read and voided is not None and len(voided) else None
        with _reading(path):
            properties = pe.create_decryption_properties(_key(state_key, path.name), aad_prefix=path.name.encode())
            self._file = pq.ParquetFile(path, decryption_properties=properties)
            metadata = self._file.metadata
            ends = [metadata.row_group(group).column(0).statistics for group in range(metadata.num_row_groups)]
            self._least = _keys([end.min for end in ends], table)
            self._greatest = _keys([end.max for end in ends], table)
            self._has = frozenset(self._file.schema_arrow.names)
        self.rows: int = metadata.num_rows

    @property
    def groups(self) -> int:
        return len(self._least)

    def groups_for(self, keys: np.ndarray) -> list[int]:
        """Return the row groups that can hold one of the sorted keys."""
        if not len(keys) or not self.groups:
            return []
        first = np.searchsorted(keys, self._least)
        after = np.searchsorted(keys, self._greatest, side="right")
        return np.flatnonzero(first < after).tolist()

    def groups_between(self, low: Any, high: Any) -> list[int]:
        """Return the row groups that can hold a key in [low, high)."""
        return [
            group
            for group, (least, greatest) in enumerate(zip(self._least.tolist(), self._greatest.tolist(), strict=True))
            if greatest >= low and least < high
        ]

    def starts(self) -> list[tuple[Any, int]]:
        """Return the least key and the number of rows of each row group."""
        rows = [self._file.metadata.row_group(group).num_rows for group in range(self.groups)]
        return list(zip(self._least.tolist(), rows, strict=True))

    def read(self, groups: Sequence[int] | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return row groups (all where None), in order. Raises Corrupt, VerificationIncomplete."""
        wanted = range(self.groups) if groups is None else groups
        names = self.table.schema.names if columns is None else list(columns)
        if not wanted:
            return pa.schema([self.table.schema.field(name) for name in names]).empty_table()
        voided = self._voided
        needed = names if voided is None or "seq" in names else [*names, "seq"]
        with _reading(self.path):
            rows = self._stored(wanted, [name for name in needed if name in self._has])
        if voided is not None:
            rows = rows.filter(pa.array(~np.isin(rows["seq"].to_numpy(), voided)))
        return rows if rows.column_names == names else self._as(rows, names)

    def _stored(self, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
        if self._recent is None or len(groups) > GROUPS_KEPT_MAX:
            return self._file.read_row_groups(list(groups), columns=columns, use_threads=len(groups) > GROUPS_KEPT_MAX)
        return pa.concat_tables([self._group(group, columns, self._recent) for group in groups])

    def _group(self, group: int, columns: Sequence[str], recent: Groups) -> pa.Table:
        key = (self.path.name, group, tuple(columns))
        rows = recent.get(key)
        if rows is None:
            rows = self._file.read_row_groups([group], columns=columns, use_threads=False)
            recent.put(key, rows, rows.nbytes)
        return rows

    def _as(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return columns in an order. Those that came later than this run was written hold nothing."""
        schema = pa.schema([self.table.schema.field(name) for name in names])
        columns = [rows[name] if name in self._has else pa.nulls(rows.num_rows, schema.field(name).type) for name in names]
        return pa.table(columns, schema=schema)

    def close(self) -> None:
        self._file.close(force=True)


def _key(state_key: bytes, name: str) -> bytes:
    return crypto.mac(state_key, crypto.label("refold/run/v1") + name.encode())


def _keys(values: list[Any], table: Table) -> np.ndarray:
    is_number = pa.types.is_integer(table.schema.field(table.key).type)
    keys = np.empty(len(values), np.uint64 if is_number else object)
    keys[:] = values
    return keys


@contextmanager
def _reading(path: Path) -> Generator[None]:
    """Turn what a damaged or missing run raises into one of our errors, which never quotes pyarrow."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) or error.errno is None:
            raise Corrupt("a run of the state is missing or not what was sealed", path=path, hint=DAMAGED) from None
        reason = errno.errorcode.get(error.errno, "an unknown error")
        raise VerificationIncomplete(f"a run of the state could not be read ({reason})", path=path) from None
    except (pa.ArrowException, ValueError, KeyError, UnicodeDecodeError):
        raise Corrupt("a run of the state is not what was sealed", path=path, hint=DAMAGED) from None
