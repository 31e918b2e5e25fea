"""Files that are gone, exchanged, repeated or another log's; disks that refuse; and that looking changes nothing."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refold import files
from refold.errors import VerificationIncomplete
from refold.log import tree
from refold.recover import verify as verification
from refold.store import Places
from refold.verdict import Completeness, DamageKind, Kind, SeenHead
from tests.journal import unsynced
from tests.log import say
from tests.verify import (
    commit_path,
    files_of,
    hashes_of,
    head_of,
    located,
    opened,
    part_path,
    plain,
    rewrite,
    spots,
    verify,
    where,
)


def test_a_log_with_erasures_and_merged_parts_is_intact(erased: Places):
    """R19: the chain and the tree hold over what was erased."""
    verdict = verify(erased, deep=True)
    assert (verdict.kind, verdict.damage, verdict.completeness) == (Kind.INTACT, (), Completeness.UNWITNESSED)
    assert verdict.root == tree.root(hashes_of(erased))
    assert verify(erased).root is None, "tier 1 recomputes no entry unless there is a head to compare"


def test_what_nobody_names_is_no_damage(places: Places):
    before = verify(places)
    for name in ("log/parts/notes.txt", "log/commits/.DS_Store", f"log/parts/{7:020d}-{'ab' * 8}.parquet", "log/commits/99.json"):
        (places.store / name).write_bytes(b"")
    assert verify(places) == before


@pytest.mark.parametrize(("version", "expected"), [(0, (0, 0)), (1, (0, 3)), (2, (3, 5))])
def test_a_commit_that_is_gone_is_located_by_its_neighbours(version: int, expected: tuple[int, int], places: Places):
    commit_path(places, version).unlink()
    assert spots(verify(places)) == [(*expected, "file missing")]
    assert located(verify(places)) == {f"log/commits/{version:020d}.json"}


def test_truncation_loss_without_a_witness_a_cut_tail_looks_like_a_shorter_log_and_says_so(places: Places):
    seen = head_of(places)
    commit_path(places, 3).unlink()
    alone = verify(places)
    assert (alone.kind, alone.size, alone.completeness) == (Kind.INTACT, 5, Completeness.UNWITNESSED)
    witnessed = verify(places, seen=[seen])
    assert (witnessed.kind, witnessed.size, spots(witnessed)) == (Kind.BOUNDARY, 7, [(5, 7, "cut against witness")])


def test_an_emptied_log_is_none_and_no_empty_one(places: Places):
    for path in (places.store / "log/commits").iterdir():
        path.unlink()
    assert verify(places).kind is Kind.UNRECOVERABLE
    assert verify(places, seen=[SeenHead(7, bytes(32), is_external=False)]).kind is Kind.UNRECOVERABLE
    shutil.rmtree(places.store / "log")
    assert verify(places).kind is Kind.UNRECOVERABLE


def test_a_log_of_no_entries_is_intact_and_a_witness_of_more_says_otherwise(tmp_path: Path):
    from refold.store import create
    from tests.conftest import now

    with unsynced():
        create(where(tmp_path), now=now).close()
    assert verify(where(tmp_path), deep=True).kind is Kind.INTACT
    assert verify(where(tmp_path), seen=[SeenHead(3, bytes(32), is_external=False)]).kind is Kind.UNRECOVERABLE


@pytest.mark.parametrize("one", [0, 1, 2])
def test_exchanged_commits_are_both_found(one: int, places: Places):
    first, second = commit_path(places, one), commit_path(places, one + 1)
    raw, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(raw)
    assert located(verify(places)) == {f"log/commits/{first.name}", f"log/commits/{second.name}"}


@pytest.mark.parametrize(("one", "two"), [(0, 1), (0, 2), (1, 2)])
def test_exchanged_parts_are_both_found(one: int, two: int, places: Places):
    first, second = part_path(places, one), part_path(places, two)
    raw, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(raw)
    assert located(verify(places)) == {f"log/parts/{first.name}", f"log/parts/{second.name}"}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_repeated_commit_is_no_newer_one(version: int, places: Places):
    shutil.copy(commit_path(places, version), commit_path(places, 4))
    verdict = verify(places)
    assert spots(verdict) == [(7, 7, "commit")]
    assert located(verdict) == {f"log/commits/{4:020d}.json"}


@pytest.mark.parametrize("number", [0, 2])
def test_a_repeated_part_in_the_place_of_another_is_found(number: int, places: Places):
    shutil.copy(part_path(places, 1), part_path(places, number))
    assert located(verify(places)) == {f"log/parts/{part_path(places, number).name}"}


def test_commits_and_parts_of_another_log_are_found(places: Places, tmp_path: Path):
    other = plain(tmp_path / "other")
    for version in (1, 3):
        raw = commit_path(places, version).read_bytes()
        shutil.copy(commit_path(other, version), commit_path(places, version))
        assert located(verify(places)) == {f"log/commits/{version:020d}.json"}
        commit_path(places, version).write_bytes(raw)
    shutil.copy(part_path(other, 1), part_path(places, 1))
    assert located(verify(places)) == {f"log/parts/{part_path(places, 1).name}"}


def test_the_whole_log_of_another_store_is_not_relied_on(places: Places, tmp_path: Path):
    other = plain(tmp_path / "other")
    shutil.rmtree(places.store / "log")
    shutil.copytree(other.store / "log", places.store / "log")
    assert verify(places).kind is Kind.UNRECOVERABLE


@pytest.mark.parametrize("texts", [("x", "y", "z", "u", "v", "w"), ("x", "y")])
def test_r22_another_history_under_the_same_key_is_a_fork(texts: tuple[str, ...], places: Places):
    """Signed, chained and dense: only a witness knows that it is not what was there, by the root where the length is the same."""
    seen = head_of(places)
    for version in (2, 3):
        commit_path(places, version).unlink()
    with unsynced(), opened(places) as store:
        for at in range(0, len(texts), 2):
            say(store, *texts[at : at + 2])
        if len(texts) == 2:
            say(store, "same", "length")
    assert verify(places).kind is Kind.INTACT
    verdict = verify(places, seen=[seen])
    assert verdict.kind is Kind.UNRECOVERABLE
    assert [each.kind for each in verdict.damage] == [DamageKind.FORK]


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'{"body":{},"sig":""}', b"\0" * 900, b"\xff" * 10, b"[" * 5000])
def test_r13_a_newest_commit_that_is_none_is_a_boundary_and_not_an_empty_commit(raw: bytes, places: Places):
    commit_path(places, 3).write_bytes(raw)
    verdict = verify(places)
    assert (verdict.kind, verdict.first_bad, verdict.replay_until) == (Kind.BOUNDARY, 5, 5)
    assert spots(verdict) == [(5, 5, "commit")]


def test_r4_a_part_cut_at_a_row_boundary_is_a_hole_and_what_follows_it_is_not_taken_for_its_rest(places: Places):
    from tests.verify import change, ordered

    change(places, 1, ordered(0))
    verdict = verify(places)
    assert (spots(verdict), verdict.first_bad, verdict.replay_until) == ([(4, 5, "gap")], 4, 4)


def test_bit_flip_replay_the_flipped_entry_is_named_and_those_before_it_are_good(places: Places):
    part = part_path(places, 1)
    payload = last_byte_of_a_payload(places)
    rewrite(part, lambda raw: raw[:payload] + bytes([raw[payload] ^ 4]) + raw[payload + 1 :])
    verdict = verify(places)
    assert (spots(verdict), verdict.last_good, verdict.kind) == ([(4, 5, "payload")], 3, Kind.BOUNDARY)


def last_byte_of_a_payload(places: Places) -> int:
    """Return where in the second part its second payload ends."""
    with opened(places) as store:
        (rows,) = store.log.rows(3, 5)
    payload = rows.payloads()[1] or b""
    return part_path(places, 1).read_bytes().index(payload) + len(payload) - 1


def damaged_disk(path: Path, error: int) -> Callable[..., Any]:
    """Return an `open` that fails on one file."""

    def refuse(name: Path | str, *rest: Any, **more: Any) -> Any:
        if Path(name) == path:
            raise OSError(error, os.strerror(error))
        return open(name, *rest, **more)  # noqa: PTH123 (it stands where `files` finds the built-in)

    return refuse


@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES])
@pytest.mark.parametrize("which", ["part", "commit"])
def test_r5_what_the_disk_does_not_give_is_not_called_damaged(which: str, error: int, places: Places, monkeypatch: pytest.MonkeyPatch):
    path = part_path(places, 1) if which == "part" else commit_path(places, 1)
    monkeypatch.setattr(files, "open", damaged_disk(path, error), raising=False)
    with pytest.raises(VerificationIncomplete) as stopped:
        verify(places)
    assert (stopped.value.exit_code, stopped.value.path) == (17, str(path))


def picture(places: Places) -> dict[str, tuple[int, ...]]:
    """Return what the system says of every file and folder of a store: also when each was last read."""
    found = {}
    for path in [places.store.parent, *places.store.parent.rglob("*")]:
        seen = path.lstat()
        found[str(path)] = (seen.st_size, seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, *([seen.st_atime_ns] if path.is_file() else []))
    return found


@pytest.mark.parametrize("harm", [None, "part", "commit", "cut"])
def test_r16_looking_changes_nothing_not_even_when_a_file_was_last_read(harm: str | None, places: Places):
    if harm == "part":
        part_path(places, 1).write_bytes(b"")
    elif harm == "commit":
        commit_path(places, 2).write_bytes(b"{}")
    elif harm == "cut":
        commit_path(places, 3).unlink()
    for path in places.store.parent.rglob("*"):
        os.utime(path, (1, 1)) if path.is_file() else None
    before = picture(places)
    verify(places, deep=True)
    assert picture(places) == before


def test_from_a_checkpoint_on_only_what_follows_is_read(places: Places):
    from tests.verify import checkpoint_of

    checkpoint = checkpoint_of(places, 5)
    part_path(places, 0).unlink()
    verdict = verify(places, from_checkpoint=checkpoint, deep=True)
    assert (verdict.kind, verdict.verified_from, verdict.is_whole) == (Kind.INTACT, 5, False)
    part_path(places, 2).unlink()
    assert spots(verify(places, from_checkpoint=checkpoint)) == [(5, 7, "file missing")]


def test_several_processes_come_to_the_same_verdict(erased: Places, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verification, "ALONE_BYTES_MAX", 0)
    monkeypatch.setattr(verification, "PARTS_AT_ONCE", 1)
    told: list[tuple[int, int]] = []
    together = verify(erased, deep=True, workers=2, progress=lambda done, total: told.append((done, total)))
    assert together == verify(erased, deep=True)
    assert told[-1][0] == told[-1][1] == together.size
    rewrite(files_of(erased)[-1], lambda raw: raw[:-1])
    assert verify(erased, deep=True, workers=2) == verify(erased, deep=True)


def test_what_one_of_several_processes_cannot_read_is_said_and_ends_the_others(places: Places, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verification, "ALONE_BYTES_MAX", 0)
    monkeypatch.setattr(verification, "PARTS_AT_ONCE", 1)
    path = part_path(places, 2)
    monkeypatch.setattr(files, "open", damaged_disk(path, errno.EIO), raising=False)
    with pytest.raises(VerificationIncomplete) as stopped:
        verify(places, deep=True, workers=2)
    assert stopped.value.path == str(path)
    assert multiprocessing.active_children() == []


def test_the_digest_covers_files_heads_and_policy(places: Places):
    from refold.verdict import Policy

    first = verify(places).digest
    assert verify(places).digest == first
    others = [verify(places, policy=Policy(require_witness=True)), verify(places, seen=[head_of(places)])]
    part_path(places, 0).write_bytes(b"")
    others.append(verify(places))
    assert len({first, *(each.digest for each in others)}) == 4
