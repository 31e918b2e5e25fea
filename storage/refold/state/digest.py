"""The state hash: a digest of the logical rows of a generation, whatever its files look like.

Over all tables but the postings, which follow from the rest and the texts. It is computed where states are compared, and leaves the
machine only under the epoch's attest key: without that key it would let anyone test a guess at the whole state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from refold.keys import crypto
from refold.state import tables
from refold.state.generation import State
from refold.state.tables import POSTINGS, PROFILES, TABLES, VECTORS

LABEL = "refold/state/v1"


def state_hash(state: State) -> bytes:
    """Return SHA-256 over the rows of all tables but the postings, in order; the same for the same log, relations and recipe."""
    digest = hashlib.sha256(crypto.label(LABEL))
    optional = {name for name in (PROFILES.name, VECTORS.name) if not state.runs(name)}  # none: as before there were any
    for name in sorted(TABLES.keys() - optional - {POSTINGS.name}):
        digest.update(_table(name, _living(state, name)))
    return digest.digest()


def _living(state: State, name: str) -> pa.Table:
    """Return the rows of a table. Of names and values, those that something rests on: reading again may leave others."""
    rows = state.table(name)
    if name == tables.VALUED.name:
        stated = state.table("assertions", ["value_mention", "mention"])
        return tables.in_order(tables.VALUED, stated.filter(pa.array(stated["value_mention"].to_numpy() != 0)).cast(tables.VALUED.schema))
    if name == tables.MENTIONS.name:
        spoken = state.table("events", ["speaker"])["speaker"]
        stated, edges = state.table("assertions", ["mention", "value_mention"]), state.table("edges", ["a"])
        living = pa.concat_arrays([chunk for column in (spoken, *stated.columns, edges["a"]) for chunk in column.chunks])
        return rows.filter(pc.call_function("is_in", [rows["mention"]], pc.SetLookupOptions(living)))
    return rows


def attested(state: State) -> bytes:
    """Return the form of the state hash that may be published: it tells nothing without the epoch's attest key."""
    return crypto.mac(state.store.keyring.attest_key, crypto.label(LABEL) + state_hash(state))


def _table(name: str, rows: pa.Table) -> bytes:
    digest = hashlib.sha256(name.encode() + b"\0" + rows.num_rows.to_bytes(8, "big"))
    for field in rows.schema:
        column = hashlib.sha256(f"{field.name}\0{field.type}\0".encode())
        for buffer in _canonical(rows[field.name]):
            column.update(buffer)
        digest.update(column.digest())
    return digest.digest()


def _canonical(column: pa.ChunkedArray) -> Iterator[bytes | pa.Buffer]:
    """Yield a column as bytes that depend on its values alone: what is NULL, then lengths, then contents."""
    array = pa.concat_arrays([chunk for chunk in column.chunks if len(chunk)] or [pa.array([], column.type)])
    yield array.is_valid().cast(pa.uint8()).buffers()[1]
    if pa.types.is_list(array.type):
        yield from _canonical(pa.chunked_array([array.value_lengths()]))
        yield from _canonical(pa.chunked_array([array.flatten()]))
    elif pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        text = array.cast(pa.binary()).fill_null(b"")
        lengths = [len(value) for value in text.to_pylist()]
        yield pa.array(lengths, pa.uint64()).buffers()[1]
        yield b"".join(text.to_pylist())
    elif pa.types.is_fixed_size_binary(array.type):
        yield b"".join(value or b"" for value in array.to_pylist())
    else:
        fixed = array.cast(pa.uint8()) if pa.types.is_boolean(array.type) else array
        yield fixed.fill_null(0).to_numpy(zero_copy_only=False).tobytes()
