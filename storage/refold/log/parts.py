"""Partitions: immutable Parquet files of entries. What a signed commit lists is what is read, or nothing is.

Columns: header fixed[47], payload binary (NULL once erased), payload_commit fixed[32], entry_hash fixed[32]. No
dictionary, statistics, page index or key-value metadata: they would keep values that an erasure has to reach.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from refold import files
from refold.errors import Corrupt

ROWS_MAX = 8_192
BYTES_MAX = 8 << 20
THREADS_FROM = 256  # rows; below, starting threads takes longer than reading
SCHEMA = pa.schema(
    [
        pa.field("header", pa.binary(47), nullable=False),
        pa.field("payload", pa.binary()),
        pa.field("payload_commit", pa.binary(32), nullable=False),
        pa.field("entry_hash", pa.binary(32), nullable=False),
    ]
)
PATH = re.compile(r"parts/[0-9]{20}-[0-9a-f]{16}\.parquet")


@dataclass(frozen=True, slots=True)
class Part:
    """A partition as a commit lists it: rows [first, first + count)."""

    path: str
    size: int
    sha256: str
    first: int
    count: int

    @property
    def end(self) -> int:
        return self.first + self.count


@dataclass(frozen=True, slots=True)
class Rows:
    """Entries [first, first + len), as Arrow columns. An erased payload is NULL."""

    first: int
    batch: pa.RecordBatch

    @classmethod
    def of(
        cls, first: int, headers: Sequence[bytes], payloads: Sequence[bytes | None], commits: Sequence[bytes], hashes: Sequence[bytes]
    ) -> Rows:
        columns = [_packed(headers, 47), pa.array(payloads, pa.binary()), _packed(commits, 32), _packed(hashes, 32)]
        return cls(first, pa.RecordBatch.from_arrays(columns, schema=SCHEMA))

    def __len__(self) -> int:
        return self.batch.num_rows

    @property
    def end(self) -> int:
        return self.first + self.batch.num_rows

    def headers(self) -> list[bytes]:
        return _fixed(self.batch.column(0))

    def payloads(self) -> list[bytes | None]:
        return self.batch.column(1).to_pylist()

    def commits(self) -> list[bytes]:
        return _fixed(self.batch.column(2))

    def hashes(self) -> list[bytes]:
        return _fixed(self.batch.column(3))

    def cut(self, first: int, end: int) -> Rows:
        """Return the rows that lie in [first, end)."""
        low, high = max(first, self.first), min(end, self.end)
        return self if high - low == len(self) else Rows(low, self.batch.slice(low - self.first, max(high - low, 0)))


def _packed(values: Sequence[bytes], width: int) -> pa.FixedSizeBinaryArray:
    raw = b"".join(values)
    assert len(raw) == width * len(values)
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(values), [None, pa.py_buffer(raw)])


def _fixed(column: pa.FixedSizeBinaryArray) -> list[bytes]:
    """Return the values of a column without NULLs, four times as fast as `to_pylist`."""
    width = column.type.byte_width
    raw = column.buffers()[1].to_pybytes()
    start = column.offset * width
    return [raw[at : at + width] for at in range(start, start + len(column) * width, width)]


def split(payload_sizes: Sequence[int]) -> Iterator[slice]:
    """Cut rows into parts of at most 8,192 rows and, unless one row is larger, about 8 MiB."""
    start = size = 0
    for row, more in enumerate(payload_sizes):
        if row > start and (row - start >= ROWS_MAX or size + more > BYTES_MAX):
            yield slice(start, row)
            start, size = row, 0
        size += more
    if start < len(payload_sizes):
        yield slice(start, len(payload_sizes))


def encode(rows: Rows) -> bytes:
    """Return the bytes of a part."""
    sink = pa.BufferOutputStream()
    writer = pq.ParquetWriter(
        sink,
        SCHEMA,
        compression="none",
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
        store_schema=False,
    )
    writer.write_batch(rows.batch, row_group_size=len(rows))
    writer.close()
    return sink.getvalue().to_pybytes()


def describe(path: str, raw: bytes, rows: Rows) -> Part:
    """Return how a commit lists these bytes."""
    return Part(path, len(raw), hashlib.sha256(raw).hexdigest(), rows.first, len(rows))


def name(first: int, random: bytes) -> str:
    """Return a new part's path within the log's folder. The first seq in it tells when the file can be debris."""
    return f"parts/{first:020d}-{random.hex()}.parquet"


def read(folder: Path, part: Part) -> Rows:
    """Read a part, tier 1: the bytes that were signed, parsed from the buffer that was hashed. Raises Corrupt.

    FileNotFoundError passes: a reader with an older list re-reads the head once first.
    """
    path = folder / part.path
    raw = files.read(path)
    if len(raw) != part.size:
        raise _damage(f"has {len(raw)} bytes instead of {part.size}", path, part)
    if hashlib.sha256(raw).hexdigest() != part.sha256:
        raise _damage("is not what was signed", path, part)
    try:
        table = pq.ParquetFile(pa.BufferReader(raw)).read(use_threads=part.count > THREADS_FROM)
    except (pa.ArrowException, OSError, ValueError, KeyError):
        table = None
    if table is None or table.schema != SCHEMA or table.num_rows != part.count:
        raise _damage("was signed, but is not a part of a log", path, part)
    return Rows(part.first, table.combine_chunks().to_batches()[0])


def missing(folder: Path, part: Part) -> Corrupt:
    """Return the error for a part that the newest head lists and that is not there."""
    return _damage("is missing", folder / part.path, part)


def _damage(what: str, path: Path, part: Part) -> Corrupt:
    place: dict[str, int | str] = {"first": part.first, "end": part.end}
    message = f"the part with entries {part.first} to {part.end - 1} {what}"
    return Corrupt(message, path=path, hint="refold help damage", details=place)
