"""Damage stops the reader where it lies, is named, and changes nothing; what cannot be read is not called damage."""

from __future__ import annotations

import builtins
import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from refold import files
from refold.errors import Corrupt, NotAllowed, RefoldError, UnsupportedVersion, VerificationIncomplete
from refold.keys import crypto
from refold.log import append
from refold.log import commit as commits
from refold.log.head import at
from refold.store import Places, Store, create, open_store, places
from tests.conftest import now
from tests.log import say, texts


@pytest.fixture
def three(store: Store) -> Store:
    """Return a store with three commits of two events each."""
    for number in range(3):
        say(store, f"{number} a", f"{number} b")
    return store


def test_an_entry_of_a_later_version_is_refused_by_name_even_if_it_opens(store: Store, monkeypatch: pytest.MonkeyPatch):
    say(store, "as ever")
    monkeypatch.setattr(append, "VERSION", 2)
    say(store, "from the future")
    with pytest.raises(UnsupportedVersion, match="entry 2 has version 2"):
        texts(store)


def part_of(store: Store, number: int) -> Path:
    return store.log.place.folder / store.log.head.parts[number].path


def newest(store: Store) -> Path:
    return store.log.place.commit(store.log.head.version)


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def snapshot(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_a_damaged_part_stops_the_read_at_it(three: Store):
    flip(part_of(three, 1), 100)
    batches = three.log.events()
    assert [event.text for event in next(batches)] == ["0 a", "0 b"]
    with pytest.raises(Corrupt) as error:
        next(batches)
    assert error.value.path == str(part_of(three, 1))
    assert error.value.details == {"first": 3, "end": 5}
    assert error.value.hint


def test_entries_beyond_the_damage_can_still_be_asked_for(three: Store):
    flip(part_of(three, 1), 100)
    assert [event.text for events in three.log.events(5) for event in events] == ["2 a", "2 b"]


def test_a_missing_part_is_damage(three: Store):
    part_of(three, 1).unlink()
    with pytest.raises(Corrupt, match="3 to 4 is missing"):
        texts(three)


def test_swapped_parts_are_damage(three: Store):
    one, two = part_of(three, 1), part_of(three, 2)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    with pytest.raises(Corrupt):
        texts(three)


def test_a_part_cut_at_a_row_boundary_is_damage(three: Store):
    """A well-formed part that holds one row less."""
    from refold.log import parts

    rows = parts.read(three.log.place.folder, three.log.head.parts[1])
    part_of(three, 1).write_bytes(parts.encode(rows.cut(3, 4)))
    with pytest.raises(Corrupt, match="3 to 4"):
        texts(three)


@pytest.mark.parametrize(("code", "expected"), [(errno.EIO, VerificationIncomplete), (errno.EACCES, NotAllowed)])
def test_a_part_that_cannot_be_read_is_not_damaged(three: Store, monkeypatch: pytest.MonkeyPatch, code: int, expected: type[RefoldError]):
    unreadable, real = part_of(three, 1), builtins.open

    def refuse(path: Path, mode: str, **options: Any) -> IO:
        if path == unreadable:
            raise OSError(code, os.strerror(code))
        return real(path, mode, **options)

    before = snapshot(three.places.store)
    monkeypatch.setattr(files, "open", refuse, raising=False)
    with pytest.raises(expected) as error:
        texts(three)
    assert error.value.path == str(unreadable)
    monkeypatch.undo()
    assert snapshot(three.places.store) == before


@pytest.mark.parametrize("harm", ["flip", "cut", "zero tail", "half a sector", "empty", "parsable"])
def test_a_damaged_newest_commit_is_named_and_the_log_before_it_still_opens(three: Store, harm: str):
    path = newest(three)
    raw = path.read_bytes()
    damaged = {
        "flip": raw[:300] + bytes([raw[300] ^ 1]) + raw[301:],
        "cut": raw[:-1],
        "zero tail": raw[:-64] + bytes(64),
        "half a sector": raw[:256] + bytes(len(raw) - 256),
        "empty": b"",
        "parsable": b"{}",
    }
    path.write_bytes(damaged[harm])
    with pytest.raises(Corrupt) as error:
        open_store(three.places)
    assert error.value.path == str(path)
    assert at(three.log.place, 2).size == 5


def test_every_prefix_of_the_newest_commit_is_found(three: Store):
    path = newest(three)
    raw = path.read_bytes()
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(Corrupt):
            open_store(three.places)


def test_every_flipped_byte_of_a_commit_is_found(three: Store):
    """Of the newest one by its signature, of an older one by the digest that the next one carries."""
    for path in (newest(three), three.log.place.commit(2)):
        raw = path.read_bytes()
        for byte in range(0, len(raw), 3):
            flip(path, byte)
            with pytest.raises(RefoldError) as error:
                open_store(three.places)
            assert error.value.path == str(path)
            path.write_bytes(raw)


def test_a_missing_commit_is_damage(three: Store):
    three.log.place.commit(2).unlink()
    with pytest.raises(Corrupt, match="commit 2 is missing"):
        open_store(three.places)


def test_no_commit_at_all_is_damage(three: Store):
    for path in (three.places.store / "log" / "commits").iterdir():
        path.unlink()
    with pytest.raises(Corrupt, match="no commit"):
        open_store(three.places)


def test_a_missing_folder_is_damage_and_no_missing_store(three: Store):
    shutil.rmtree(three.places.store / "log")
    with pytest.raises(Corrupt, match="folder"):
        open_store(three.places)


def test_a_commit_under_another_number_is_damage(three: Store):
    shutil.copy(three.log.place.commit(1), three.log.place.commit(4))
    with pytest.raises(Corrupt):
        open_store(three.places)


def test_the_first_commit_under_the_newest_number_does_not_make_the_log_empty(three: Store):
    """It is signed, and it carries a full list: only its name is wrong."""
    shutil.copy(three.log.place.commit(0), three.log.place.commit(4))
    with pytest.raises(Corrupt, match="than its name says"):
        open_store(three.places)


def test_a_full_list_with_a_gap_is_damage_even_if_signed(three: Store):
    commit = three.log.head.commit
    for parts in (three.log.head.parts[1:], three.log.head.parts[:-1], three.log.head.parts[::2]):
        listed = replace(commit, live=commits.Live(parts, ()))
        newest(three).write_bytes(commits.encode(listed, three.vault.signer()))
        with pytest.raises(Corrupt, match=r"gap|cover"):
            open_store(three.places)


def test_a_running_reader_believes_no_commit_of_another_signer(three: Store):
    head = three.log.head
    forged = replace(head.commit, version=4, previous=head.digest, first_seq=head.size, prev_hash=head.commit.last_hash, parts=())
    three.log.place.commit(4).write_bytes(commits.encode(forged, crypto.Signer(bytes(32))))
    with pytest.raises(Corrupt, match="not signed"):
        three.log.refresh()


def test_a_running_reader_meets_a_damaged_new_commit(three: Store):
    with open_store(three.places) as other:
        say(other, "new")
        flip(newest(other), 200)
        with pytest.raises(Corrupt):
            three.log.refresh()
    assert three.log.head.version == 3


def test_the_log_of_another_store_is_damage(three: Store, tmp_path: Path):
    other: Places = places(tmp_path / "s2", tmp_path / "v2", tmp_path / "r2", env={})
    with create(other, now=now) as made:
        say(made, "theirs")
    shutil.rmtree(three.places.store / "log")
    shutil.copytree(other.store / "log", three.places.store / "log")
    with pytest.raises(Corrupt):
        open_store(three.places)


def test_opening_and_reading_a_damaged_store_changes_nothing(three: Store):
    flip(part_of(three, 1), 100)
    before = snapshot(three.places.store)
    with open_store(three.places) as other, pytest.raises(Corrupt):
        texts(other)
    assert snapshot(three.places.store) == before


def test_a_writer_does_not_append_to_a_damaged_head(three: Store):
    with open_store(three.places) as other:
        say(three, "new")
        flip(newest(three), 200)
        with pytest.raises(Corrupt):
            say(other, "on top")
    assert not three.log.place.commit(5).exists()


def test_stray_files_do_no_harm(three: Store):
    folder = three.places.store / "log"
    (folder / "parts" / "notes.txt").write_bytes(b"")
    (folder / "commits" / ".DS_Store").write_bytes(b"")
    (folder / "commits" / "99999.json").write_bytes(b"")
    with open_store(three.places) as other:
        assert len(texts(other)) == 6
        assert [path.name for path in other.log.debris()] == [".DS_Store", "99999.json", "notes.txt"]


OURS = {
    "store.json": lambda store: store.places.store / "store.json",
    "a commit": newest,
    "a part": lambda store: part_of(store, 0),
    "the pinned key": lambda store: store.places.vault / "witness" / "log.json",
    "a root": lambda store: next(store.places.root.iterdir()),
}


@pytest.mark.parametrize("which", OURS)
@pytest.mark.parametrize("how", ["link", "folder"])
def test_what_a_link_leads_to_is_not_read_as_ours(three: Store, tmp_path: Path, which: str, how: str):
    path, aside = OURS[which](three), tmp_path / "aside"
    path.rename(aside)
    path.symlink_to(aside) if how == "link" else path.mkdir()
    with pytest.raises(Corrupt, match="stands where a file should be") as caught, open_store(three.places) as again:
        texts(again)
    assert (caught.value.path, caught.value.hint) == (str(path), "refold audit")


def test_the_places_themselves_may_be_reached_by_links(three: Store, tmp_path: Path):
    for name, place in (("a", three.places.store), ("b", three.places.vault), ("c", three.places.root)):
        (tmp_path / name).symlink_to(place)
    with open_store(places(tmp_path / "a", tmp_path / "b", tmp_path / "c", env={})) as again:
        say(again, "more")
        assert len(texts(again)) == 7


def test_a_folder_among_the_parts_is_not_swept(three: Store):
    strange = three.log.place.parts / f"{0:020d}-{'ab' * 8}.parquet"
    strange.mkdir()
    os.utime(strange, (1, 1))
    three.log.compact(now=lambda: now() + 10 * 86_400_000_000, random=os.urandom)
    assert strange.is_dir()
