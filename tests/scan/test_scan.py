"""The scan finds what is planted, in every encoding, and says of what it cannot read that it cannot."""

from __future__ import annotations

import base64
import gzip
import json
import os
import pickle
import sqlite3
from contextlib import closing
from hashlib import md5, sha1, sha256

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refold.errors import Usage
from refold.scan import contained
from refold.scan.found import Scanned
from refold.scan.joined import Stretches
from refold.scan.look import Looker
from refold.scan.needles import Needles
from refold.scan.testing import assert_forgotten
from refold.scan.walk import scan
from tests.scan.encodings import AROUND, NAME, NUMBER, PLANTED, RAW, TEXT, parquet, zipped, zstd

NEEDLES = Needles.of([NAME, NUMBER])
LOOKER = Looker(NEEDLES)
ELSEWHERE = "nobody was at the boathouse, Ruthless Bohemians annually muttered"


def found_in(tmp_path, **given) -> Scanned:
    return scan([tmp_path], Needles.of([NAME, NUMBER], **given), shown=lambda path: str(path.relative_to(tmp_path)))


@pytest.mark.parametrize("encoding", PLANTED)
def test_what_is_planted_is_found(tmp_path, encoding):
    (tmp_path / "file").write_bytes(PLANTED[encoding])
    hits = found_in(tmp_path).hits
    assert {hit.path for hit in hits} == {"file"}


def test_a_text_that_only_resembles_is_not_found(tmp_path):
    (tmp_path / "file").write_text(ELSEWHERE * 50)
    assert found_in(tmp_path).is_clean


def test_a_short_name_is_not_found_inside_a_longer_word():
    looker = Looker(Needles.of(["Ann", "Li Wung"]))
    assert not looker.look(b"annual planning; Joann; li wunga").seen
    assert {each.needle for each in looker.look(b"dear ANN, said Wung_Li").seen} == {0, 1}


@pytest.mark.parametrize(
    ("name", "turned"),
    [
        ("Siobhán O'Brien-Łęcka", "O'BRIEN-ŁĘCKA, Siobhán"),
        ("Pieter van der Berg", "van der Berg, Pieter"),
        ("María José García Márquez", "García Márquez, María José"),
    ],
)
def test_a_name_of_many_words_is_found_with_its_last_name_first(name: str, turned: str):
    assert Looker(Needles.of([name])).look(f"dear {turned}:".encode()).seen
    assert not Looker(Needles.of([name])).look(f"dear {' '.join(turned.split()[:-1])}:".encode()).seen


@pytest.mark.parametrize("text", ["Li", "!!", ""])
def test_what_is_too_short_to_be_looked_for_is_refused(text):
    with pytest.raises(Usage):
        Needles.of([text])


def test_a_name_is_found_in_the_names_of_files_and_folders(tmp_path):
    (tmp_path / "notes on ruth_böhm").mkdir()
    (tmp_path / "ruth%20b%C3%B6hm.txt").write_text("x")
    assert {hit.encoding.split(" > ")[0] for hit in found_in(tmp_path).hits} == {"path name"}
    assert len(found_in(tmp_path).hits) == 2


@pytest.mark.parametrize("digest", [md5, sha1, sha256])
@pytest.mark.parametrize("written", [lambda raw: raw, lambda raw: raw.hex().encode(), lambda raw: raw.hex().upper().encode()])
def test_a_known_digest_is_found(tmp_path, digest, written):
    known = digest(RAW, usedforsecurity=False).digest()
    (tmp_path / "file").write_bytes(b"id=" + written(known) + b";")
    assert len(found_in(tmp_path, digests=[known]).hits) == 1


def test_a_database_of_sqlite_is_read_by_its_tables_and_its_log(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("pragma journal_mode = wal")
        database.execute("create table t (a blob)")
        database.commit()
        database.execute("pragma wal_checkpoint(truncate)")
        database.execute("insert into t values (?)", [gzip.compress(os.urandom(9000).hex().encode() + RAW)])
        database.commit()
        hits = found_in(tmp_path).hits
    assert {(hit.path, hit.encoding) for hit in hits} == {("a.db-wal", "sqlite > gzip > utf-8")}


def test_what_moves_from_a_log_into_its_database_meanwhile_is_met_on_its_way(tmp_path):
    """A server that runs writes its log back, and removes it, whenever it likes: here once the scan has looked at one file."""
    database = sqlite3.connect(tmp_path / "a.db")
    database.execute("pragma journal_mode = wal")
    database.execute("create table people (name text)")
    database.execute("pragma wal_checkpoint(truncate)")
    with database:
        database.execute("insert into people values (?)", (NAME,))
    found = scan([tmp_path], NEEDLES, progress=lambda files, size: database.close())
    assert not (tmp_path / "a.db-wal").exists()
    assert {hit.needle for hit in found.hits} == {0}


def test_a_database_of_duckdb_is_read_by_its_tables_and_never_called_clean(tmp_path):
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as database:
        database.execute("create table t as select range i, 'x' || range s from range(9)")
    clean = found_in(tmp_path)
    assert not clean.hits
    assert clean.undecodable
    with closing(duckdb.connect(str(tmp_path / "b.duckdb"))) as database:
        database.execute("create table u as select ? a from range(9000)", [TEXT])
    assert any(hit.path == "b.duckdb" for hit in found_in(tmp_path).hits)


def test_what_a_slice_hides_in_an_arrow_file_is_found(tmp_path):
    hidden = pa.array([TEXT, "x"]).slice(1)
    with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema([("a", pa.string())])) as file:
        file.write_batch(pa.record_batch([hidden], names=["a"]))
    (tmp_path / "b.pickle").write_bytes(pickle.dumps(hidden))
    paths = {hit.path for hit in found_in(tmp_path).hits}
    assert "b.pickle" in paths  # the file of Arrow leaves it out, the pickle does not
    assert TEXT.encode() not in (tmp_path / "a.arrow").read_bytes() or "a.arrow" in paths


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(sorted(AROUND)), min_size=1, max_size=3), st.binary(max_size=9))
@example(["gzip", "Parquet", "JSON of base64"], b"")  # more of what is decoded stands behind what ends
@example(["JSON of base64", "zstd", "base64"], b"")
def test_whatever_is_put_around_it_up_to_three_times_it_is_found(around, ahead):
    raw = ahead + b" " + RAW
    for each in around:
        raw = AROUND[each](raw)
    assert {each.needle for each in LOOKER.look(raw).seen} == {0}, around


ESCAPED = st.sampled_from(
    [rb"\n", rb"\"", rb"\/", rb"\\", rb"\u0041", rb"\u00e9", rb"\ud83d\ude00", b"%20", b"%2541", b"&amp;", b"=\n", b"=3D"]
)
SPELLED = st.sampled_from([base64.b64encode(RAW), RAW.hex().encode(), json.dumps(TEXT).encode(), NUMBER.encode(), RAW])
NOISE = st.sampled_from([b"", b" ", b"z", b"zzzzzzzzzzzz", b"00e9", b"0123456789abcdef", b"+49 ", b"\n"])


@settings(deadline=None)
@given(st.lists(st.tuples(NOISE, ESCAPED, NOISE, SPELLED, st.lists(st.tuples(st.integers(0, 60), ESCAPED), max_size=3)), max_size=3))
@example([(b"", rb"\n", b"", base64.b64encode(RAW), [(8, rb"\n"), (20, b"=\n")])])
@example([(b"", rb"\n", b"0", RAW.hex().encode(), [(9, b"=\n")]), (b"", rb"\u0041", b"z", NUMBER.encode(), [(5, b"%20")])])
def test_of_text_with_escapes_only_what_they_touch_is_decoded_again_and_nothing_is_lost(pieces):
    data = b" "
    for before, escape, after, spelled, inserted in pieces:
        for at, other in inserted:
            spelled = spelled[:at] + other + spelled[at:]
        data += before + escape + after + spelled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stretches, "_only_new", lambda self, origins, lengths: (origins, lengths))
        wanted = {each.needle for each in LOOKER.look(data).seen}
    assert {each.needle for each in LOOKER.look(data).seen} == wanted


@pytest.mark.parametrize("before", range(0, 40, 3))
def test_what_lies_across_the_edge_of_a_chunk_is_found(monkeypatch, before):
    for module in ("search", "joined"):
        monkeypatch.setattr(f"refold.scan.{module}.CHUNK_BYTES", 64)
    assert LOOKER.look(b"." * (64 - before) + RAW + b"." * 99).seen
    assert LOOKER.look(b"." * (128 - before) + b" " + RAW.hex().encode() + b" .").seen


def test_every_frame_of_a_zstd_stream_is_read_and_what_comes_behind_them_does_not_matter():
    frames = zstd(b"nothing" * 9) + zstd(RAW) + zstd(b"")
    found, *_ = contained.embedded(b"\1\2\3" + frames + b"\xff and more")
    assert found == ("zstd", b"nothing" * 9 + RAW)


UNDECODABLE = {
    "cut zstd": zstd(os.urandom(999))[:-20],
    "cut gzip": gzip.compress(os.urandom(999))[:-20],
    "cut Parquet": parquet([1, 2])[:-9],
    "encrypted": b"Salted__" + os.urandom(64),
    "ciphertext": os.urandom(4096),
    "image": b"\x89PNG\r\n\x1a\n" + bytes(99),
    "ciphertext in a zip": zipped(os.urandom(4096)),
    "cut SQLite": b"SQLite format 3\0" + bytes(4080),
    "a run of another program": b"PARE" + os.urandom(999),
}


@pytest.mark.parametrize("kind", UNDECODABLE)
def test_a_file_that_cannot_be_decoded_stops(tmp_path, kind):
    (tmp_path / "file").write_bytes(UNDECODABLE[kind])
    found = found_in(tmp_path)
    assert [path for path, _ in found.undecodable] == ["file"]
    assert not found.is_clean


def test_a_file_that_cannot_be_read_stops(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    (tmp_path / "file").write_text("x")
    monkeypatch.setattr("refold.scan.walk._read", refuse)
    assert found_in(tmp_path).undecodable == (("file", "it cannot be read (PermissionError)"),)


def test_a_missing_control_stops(tmp_path):
    (tmp_path / "file").write_text("Ada was here")
    assert found_in(tmp_path, control="Ada was").is_clean
    missing = found_in(tmp_path, control="Ben was")
    assert missing.is_control_missing
    assert not missing.is_clean


def test_a_link_is_not_followed_and_where_it_leads_is_read(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(RAW)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")
    assert scan([tmp_path / "inside"], NEEDLES).is_clean
    (tmp_path / "inside" / "other").symlink_to("/home/ruth böhm/notes")
    assert [hit.encoding for hit in scan([tmp_path / "inside"], NEEDLES).hits] == ["path name > utf-8"]


def test_the_words_are_in_nothing_that_is_said(tmp_path):
    for name, raw in PLANTED.items():
        (tmp_path / name.replace(" ", "-")).write_bytes(raw)
    said = repr(found_in(tmp_path))
    assert "ruth" not in said.lower()
    assert "5550143" not in said


def test_the_assertion_for_other_programs_says_where(tmp_path):
    (tmp_path / "file").write_text("Ada was here")
    assert_forgotten(tmp_path, [NAME], control="Ada")
    (tmp_path / "trace").write_bytes(PLANTED["zlib"])
    with pytest.raises(AssertionError, match="trace: alias 0 as zlib > utf-8"):
        assert_forgotten(tmp_path, [NAME])
    with pytest.raises(AssertionError, match="control"):
        assert_forgotten(tmp_path / "file", [NAME], control="Ben Abel")


@pytest.mark.parametrize("name", ["李明", "김철수", "Ann 👩‍🚀👩‍🚀 Lee"])
def test_a_name_of_two_letters_of_chinese_or_with_pictures_in_it_is_found(tmp_path, name):
    (tmp_path / "file").write_text(f"我昨天见了{name}在奥斯陆")
    assert [hit.needle for hit in scan([tmp_path], Needles.of([name])).hits] == [0]


def test_what_goes_while_a_folder_is_scanned_is_passed_over(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(NAME)

    def remove(files, size):
        (tmp_path / "b").unlink(missing_ok=True)

    found = scan([tmp_path], NEEDLES, progress=remove)
    assert {hit.path.rpartition("/")[2] for hit in found.hits} == {"a", "c"}
