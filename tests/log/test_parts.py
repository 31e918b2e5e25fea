"""Parts hold the four columns and nothing that an erasure could not reach, and are believed only as signed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.errors import Corrupt
from refold.log import parts
from refold.log.parts import Part, Rows
from refold.store import Store
from tests.log import say


def rows(count: int = 3, first: int = 10) -> Rows:
    return Rows.of(
        first,
        [bytes([row]) * 47 for row in range(count)],
        [None if row == 1 else b"payload" * row for row in range(count)],
        [bytes([row]) * 32 for row in range(count)],
        [bytes([row + 100]) * 32 for row in range(count)],
    )


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Part]:
    (tmp_path / "parts").mkdir()
    raw = parts.encode(rows())
    part = parts.describe(parts.name(10, bytes(8)), raw, rows())
    (tmp_path / part.path).write_bytes(raw)
    return tmp_path, part


def test_a_part_is_read_as_it_was_written(written: tuple[Path, Part]):
    read = parts.read(*written)
    assert read.batch.equals(rows().batch)
    assert (read.first, read.end, len(read)) == (10, 13, 3)


def test_a_part_is_named_by_its_first_seq(written: tuple[Path, Part]):
    assert written[1].path == "parts/00000000000000000010-0000000000000000.parquet"
    assert parts.PATH.fullmatch(written[1].path)


def test_the_columns_are_the_four_of_the_format(written: tuple[Path, Part]):
    folder, part = written
    schema = pq.read_schema(folder / part.path)
    assert [(field.name, field.type, field.nullable) for field in schema] == [
        ("header", pa.binary(47), False),
        ("payload", pa.binary(), True),
        ("payload_commit", pa.binary(32), False),
        ("entry_hash", pa.binary(32), False),
    ]


def test_the_footer_of_every_part_keeps_no_value(store: Store):
    """No statistics, dictionary, page index, bloom filter or key-value metadata."""
    say(store, "I live in Berlin", "I like rye bread")
    for part in store.log.head.parts:
        metadata = pq.read_metadata(store.log.place.folder / part.path)
        assert metadata.metadata is None
        assert metadata.num_row_groups == 1
        for number in range(metadata.num_columns):
            column = metadata.row_group(0).column(number)
            assert column.path_in_schema in {"header", "payload", "payload_commit", "entry_hash"}
            assert column.statistics is None
            assert not column.has_dictionary_page
            assert not column.has_offset_index
            assert not column.has_column_index
            assert set(column.encodings) <= {"PLAIN", "RLE", "BIT_PACKED"}


@pytest.mark.parametrize("damage", ["flip", "cut", "zero tail", "empty", "grown"])
def test_damage_names_the_file_and_its_range(written: tuple[Path, Part], damage: str):
    folder, part = written
    path = folder / part.path
    raw = path.read_bytes()
    harm = {
        "flip": raw[:200] + bytes([raw[200] ^ 1]) + raw[201:],
        "cut": raw[:-1],
        "zero tail": raw[:-512] + bytes(512),
        "empty": b"",
        "grown": raw + b"\0",
    }
    path.write_bytes(harm[damage])
    with pytest.raises(Corrupt) as error:
        parts.read(folder, part)
    assert error.value.path == str(path)
    assert error.value.details == {"first": 10, "end": 13}
    assert ("bytes instead of" in error.value.message) == (damage in ("cut", "empty", "grown"))
    assert "10 to 12" in error.value.message
    assert error.value.exit_code == 13


def test_every_prefix_of_a_part_is_found(written: tuple[Path, Part]):
    folder, part = written
    raw = (folder / part.path).read_bytes()
    for length in range(len(raw)):
        (folder / part.path).write_bytes(raw[:length])
        with pytest.raises(Corrupt):
            parts.read(folder, part)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"other": [1, 2, 3]}),
        pa.table({name: rows().batch.column(name) for name in ("header", "payload", "payload_commit")}),
        pa.Table.from_batches([rows(2).batch]),
    ],
)
def test_what_was_signed_and_is_no_part_is_damage(tmp_path: Path, table: pa.Table):
    (tmp_path / "parts").mkdir()
    part = Part(parts.name(10, bytes(8)), 0, "", 10, 3)
    pq.write_table(table, tmp_path / part.path)
    raw = (tmp_path / part.path).read_bytes()
    with pytest.raises(Corrupt, match="not a part"):
        parts.read(tmp_path, parts.describe(part.path, raw, rows()))


@given(st.lists(st.integers(0, 12 << 20), max_size=40))
def test_a_split_covers_all_rows_in_order_and_keeps_its_bounds(sizes: list[int]):
    cuts = list(parts.split(sizes))
    assert [row for cut in cuts for row in range(cut.start, cut.stop)] == list(range(len(sizes)))
    for cut in cuts:
        assert cut.stop - cut.start == 1 or sum(sizes[cut]) <= parts.BYTES_MAX


def test_a_split_keeps_to_8192_rows():
    assert [cut.stop - cut.start for cut in parts.split([1] * 20_000)] == [8_192, 8_192, 3_616]


def test_a_column_of_another_width_is_our_own_mistake():
    with pytest.raises(AssertionError):
        Rows.of(0, [bytes(46)], [b""], [bytes(32)], [bytes(32)])


def test_a_cut_of_rows_keeps_their_seqs():
    cut = rows().cut(11, 12)
    assert (cut.first, cut.headers()) == (11, [bytes([1]) * 47])
    assert rows().cut(0, 100) is not None
    assert len(rows().cut(13, 20)) == 0
