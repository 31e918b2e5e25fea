"""Damage of any file of the state is found, named and never repaired; nothing readable lies in the files."""

from __future__ import annotations

import os
from random import Random

import pyarrow.parquet as pq
import pytest

from refold import files
from refold.errors import Corrupt, UnsupportedVersion
from refold.recover.audit import Area, audit
from refold.state.generation import Absence, State
from refold.state.manifest import CURRENT, FORMAT, RUNS, Manifest, file_name
from refold.state.runs import Run
from refold.state.tables import TABLES
from tests.state.made import add, fold, mentions_each_word, rows, say, told, with_vectors

ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
PLANTED = ("Wolkenschaf", "Ada Quitte", "chat", "zimmer-42", "hausarzt")
PROFILES = told((7, "Ada Quitte likes a Wolkenschaf."), (9, "The Wolkenschaf likes her."))


@pytest.fixture
def folder(store):
    add(
        store,
        [say("Ada Quitte", f"Wolkenschaf {at} and now?", at=f"zimmer-42.{at}", audience=("hausarzt",)) for at in range(30)],
    )
    fold(store, by=mentions_each_word, profiles=PROFILES, recipe=with_vectors())
    return store.places.store / "state"


def spoil(path, how):
    raw = bytearray(path.read_bytes())
    if how == "flipped":
        raw[len(raw) // 3] ^= 4
    elif how == "cut":
        raw = raw[: len(raw) // 2]
    elif how == "emptied":
        raw = bytearray()
    path.write_bytes(raw)
    if how == "missing":
        path.unlink()


def every_file(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("how", ["flipped", "cut", "emptied"])
def test_a_damaged_pointer_makes_the_state_absent_and_removes_nothing(store, folder, how):
    spoil(folder / CURRENT, how)
    before = every_file(folder)
    state = State.open(store)
    assert state.absent is Absence.DAMAGED
    assert isinstance(state.finding, Corrupt)
    assert str(folder / CURRENT) == state.finding.path
    assert every_file(folder) == before


@pytest.mark.parametrize("how", ["flipped", "cut", "emptied", "missing"])
def test_a_damaged_manifest_makes_the_state_absent(store, folder, how):
    spoil(folder / file_name(1), how)
    state = State.open(store)
    assert state.absent is Absence.DAMAGED
    assert state.finding is not None
    assert state.finding.hint == "refold fold --full"


@pytest.mark.parametrize("how", ["cut", "emptied", "missing"])
@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_run_that_is_short_or_missing_is_seen_at_opening(store, folder, table, how):
    name = dict(State.open(store).manifest.listed)[table].name
    spoil(folder / RUNS / name, how)
    state = State.open(store)
    assert state.absent is Absence.DAMAGED
    assert name in str(state.finding.path if state.finding else "")


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_flipped_bit_in_a_run_is_found_when_it_is_read(store, folder, table):
    state = State.open(store)
    path = folder / RUNS / dict(state.manifest.listed)[table].name
    whole, expected, draw = path.read_bytes(), state.table(table), Random(table)
    found = []
    for _ in range(60):
        raw = bytearray(whole)
        raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
        path.write_bytes(raw)
        found.append(table_or_path(store, table))
    assert all(one == str(path) or one == expected for one in found)  # a few bytes say nothing, such as the version of the footer
    assert found.count(str(path)) > 50


def table_or_path(store, table):
    """Return a table, or where the damage is that keeps it from being read."""
    try:
        return State.open(store).table(table)
    except Corrupt as error:
        return error.path


def put_instead(path, how, aside):
    """Put something else in the place of a file, which goes `aside`."""
    path.rename(aside)
    if how == "folder":
        path.mkdir()
    elif how == "link":
        path.symlink_to(aside)
    else:
        os.mkfifo(path)


@pytest.mark.parametrize("how", ["folder", "link", "pipe"])
@pytest.mark.parametrize("which", ["run", "manifest"])
def test_what_is_no_file_makes_the_state_absent_and_a_fold_leaves_it_where_it_is(store, folder, tmp_path, which, how):
    path = folder / RUNS / State.open(store).manifest.segments[0].runs["events"].name if which == "run" else folder / file_name(1)
    put_instead(path, how, tmp_path / "aside")
    state = State.open(store)
    assert state.absent is Absence.DAMAGED
    assert state.finding is not None
    assert state.finding.path == str(path)
    add(store, [say("ada", "more", at="2")])
    published = fold(store, by=mentions_each_word)
    assert (published.events, State.open(store).absent) == (31, None)
    assert how != "folder" or path.is_dir()


@pytest.mark.parametrize("how", ["folder", "link"])
def test_a_pointer_that_is_no_file_stops_a_fold_before_it_publishes(store, folder, tmp_path, how):
    put_instead(folder / CURRENT, how, tmp_path / "aside")
    before = every_file(folder)
    with pytest.raises(Corrupt, match="stands where a file should be"):
        fold(store, by=mentions_each_word)
    assert every_file(folder) == before


def test_an_old_folder_among_the_runs_is_not_swept(store, folder):
    strange = folder / RUNS / ("ab" * 16)
    strange.mkdir()
    os.utime(strange, (1, 1))
    add(store, [say("ada", "more", at="2")])
    assert fold(store, State.open(store), by=mentions_each_word, recipe=with_vectors()).events == 1
    assert strange.is_dir()


def test_a_run_under_another_name_does_not_open(store, folder):
    state = State.open(store)
    run = folder / RUNS / state.manifest.segments[0].runs["events"].name
    Run(run, state_key=store.keyring.state_key, table=TABLES["events"])
    other = run.with_name("0" * 32)
    other.write_bytes(run.read_bytes())
    with pytest.raises(Corrupt):
        Run(other, state_key=store.keyring.state_key, table=TABLES["events"])


def test_an_older_manifest_under_the_number_of_a_newer_one_does_not_open(store, folder):
    old = (folder / file_name(1)).read_bytes()
    state = fold(store, by=mentions_each_word).state
    (folder / file_name(state.number)).write_bytes(old)
    assert State.open(store).absent is Absence.DAMAGED


def test_a_manifest_opens_only_under_its_own_number_and_key(store, folder):
    path, key = folder / file_name(1), store.keyring.state_key
    raw = path.read_bytes()
    assert Manifest.unseal(raw, key, number=1, path=path).pointer.number == 1
    for number, other in ((2, key), (1, bytes(32))):
        with pytest.raises(Corrupt):
            Manifest.unseal(raw, other, number=number, path=path)


def test_a_full_fold_over_damage_gives_the_same_rows(store, folder):
    expected = rows(State.open(store))
    spoil(folder / file_name(1), "flipped")
    spoil(folder / CURRENT, "emptied")
    fold(store, by=mentions_each_word, profiles=PROFILES, recipe=with_vectors())
    assert rows(State.open(store)) == expected


def test_a_state_of_a_later_format_is_refused_by_name(store, folder):
    raw = (folder / CURRENT).read_bytes().replace(FORMAT.encode(), b"refold.state/9")
    (folder / CURRENT).write_bytes(raw)
    with pytest.raises(UnsupportedVersion):
        State.open(store)


def test_nothing_that_was_said_is_readable_in_the_files(store, folder):
    needles = [
        form for word in PLANTED for form in (word.encode(), word.lower().encode(), word.encode("utf-16-le"), word.encode().hex().encode())
    ]
    state = State.open(store)
    subjects = {row["subject"] for row in rows(state)["aliases"]}
    terms = {term.to_bytes(8, "little") for term in state.table("postings")["term"].to_pylist()}
    for name, raw in every_file(folder).items():
        for needle in [*needles, *subjects, *terms]:
            assert needle not in raw, name
        assert ZSTD_FRAME not in raw, name  # a page that was compressed and not encrypted would start with it


def test_a_run_has_no_readable_metadata(store, folder):
    for name in files.names(folder / RUNS):
        raw = (folder / RUNS / name).read_bytes()
        assert raw[:4] == raw[-4:] == b"PARE"  # the mark of an encrypted footer
        assert name.encode() not in raw
        with pytest.raises(OSError, match="encrypt"):
            pq.read_metadata(folder / RUNS / name)


def test_every_bit_that_says_how_a_run_is_encrypted_is_looked_at_by_a_deep_audit(store, folder):
    """A reader passes over half the bits of the ends of the structures there."""
    path = next(iter((folder / RUNS).iterdir()))
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    for bit in range(8 * 16):
        spoilt = bytearray(raw)
        spoilt[footer + bit // 8] ^= 1 << bit % 8
        path.write_bytes(spoilt)
        found = audit(store.places, [Area.STATE], deep=True).findings
        assert [each.path for each in found] == [path], bit
