"""A transaction that is not interrupted: what it does, what it refuses, and what it leaves behind, which is nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from refold import files, journal
from refold.errors import Blocked, Drifted, Locked
from refold.journal import ABSENT, AUTHORITIES, FOLDER, Change, Place, Step, Target
from refold.store import Places
from tests.journal import LISTS, SAMPLE, before, decisive, ground, on, picture, reversible, tree
from tests.log import Disk


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_target_becomes_what_it_should(tmp_path: Path):
    places = ground(tmp_path)
    journal.commit(places, SAMPLE, reversible(places))
    assert (places.store / "made/new").read_bytes() == b"new words"
    assert (mode(places.store / "made"), mode(places.store / "made/new")) == (0o700, 0o640)
    assert (places.vault / "keys/seeds").read_bytes() == b"other seeds"
    assert (places.store / "state/CURRENT").read_bytes() == b"two"
    assert sorted(path.name for path in places.store.iterdir()) == ["made", "state", "stays"]


def test_nothing_is_left_of_a_transaction_but_an_empty_folder_and_the_lock(tmp_path: Path):
    places = ground(tmp_path)
    journal.commit(places, SAMPLE, reversible(places))
    assert list((places.vault / "journal").iterdir()) == []
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.name.startswith(files.TEMPORARY)}
    assert left == set()


def test_a_mode_is_kept_whatever_the_umask_says(tmp_path: Path):
    places = ground(tmp_path)
    kept = os.umask(0o077)
    try:
        steps = [journal.add_folder(on("store", "open"), mode=0o755), journal.write(on("store", "open/file"), b"", mode=0o644)]
        journal.commit(places, SAMPLE, steps)
    finally:
        os.umask(kept)
    assert (mode(places.store / "open"), mode(places.store / "open/file")) == (0o755, 0o644)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [("old", b"what the verb believed"), ("old", None), ("not/there", None), ("stays", b"")],
)
def test_a_target_that_is_not_what_the_verb_took_it_for_stops_it_before_anything(tmp_path: Path, path: str, wrong: bytes | None):
    places = ground(tmp_path)
    was = picture(places)
    step = journal.write(on("store", path), b"new", before=ABSENT if wrong is None else journal.digest(wrong))
    with pytest.raises(Drifted):
        journal.commit(places, SAMPLE, [journal.write(on("store", "first"), b""), step])
    assert picture(places) == was
    assert journal.entries(places) == []


def test_a_link_on_the_way_to_a_target_stops_it_before_anything(tmp_path: Path):
    places = ground(tmp_path)
    (places.store / "link").symlink_to(tmp_path)
    with pytest.raises(Drifted, match="symlink"):
        journal.commit(places, SAMPLE, [journal.write(on("store", "link/file"), b"")])
    assert not (tmp_path / "file").exists()


def test_a_place_may_be_reached_through_a_link_of_its_owner(tmp_path: Path):
    places = ground(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    seen = type(places)(tmp_path / "link/store", tmp_path / "link/vault", tmp_path / "link/root", places.origin)
    journal.commit(seen, SAMPLE, reversible(seen))
    assert (places.store / "state/CURRENT").read_bytes() == b"two"


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../outside", "a/../../b", "a//b", "a/", ".", "a/./b", "a\0b", "\ud800"])
def test_a_target_cannot_lead_out_of_its_place(path: str):
    with pytest.raises(ValueError, match=r".*"):
        Target(Place.STORE, path)


@pytest.mark.parametrize("path", ["journal", "journal/x", "mutate.lock", "readers.lock"])
def test_the_journal_and_the_locks_are_no_targets(path: str):
    with pytest.raises(ValueError, match="no targets"):
        Target(Place.VAULT, path)


def test_the_authority_is_the_last_thing_written(tmp_path: Path):
    places = ground(tmp_path)
    current = on("store", "state/CURRENT")
    assert current in AUTHORITIES
    last = journal.write(current, b"two", before=before(places, current))
    with pytest.raises(ValueError, match="after the authority"):
        journal.commit(places, SAMPLE, [last, journal.write(on("store", "more"), b"")])
    old = on("store", "old")
    journal.commit(places, SAMPLE, [last, journal.remove(old, before=before(places, old))])
    assert not (places.store / "old").exists()


def test_one_target_is_changed_once(tmp_path: Path):
    places = ground(tmp_path)
    step = journal.write(on("store", "new"), b"")
    with pytest.raises(ValueError, match="two steps"):
        journal.commit(places, SAMPLE, [step, step])


def test_bytes_that_are_not_those_of_their_digest_are_refused(tmp_path: Path):
    step = Change(target=on("store", "new"), before=ABSENT, after=journal.digest(b"one"), data=b"two")
    with pytest.raises(ValueError, match="digest"):
        journal.commit(ground(tmp_path), SAMPLE, [step])


def test_a_file_does_not_become_a_folder_in_one_step(tmp_path: Path):
    places = ground(tmp_path)
    step = Change(target=on("store", "old"), before=before(places, on("store", "old")), after=FOLDER)
    with pytest.raises(ValueError, match="folder on one side"):
        journal.commit(places, SAMPLE, [step])


def test_a_folder_that_is_not_empty_is_not_removed(tmp_path: Path):
    places = ground(tmp_path)
    with pytest.raises(Drifted):
        journal.commit(places, SAMPLE, [journal.remove(on("store", "gone"), before=FOLDER)])
    assert (places.store / "gone/inside").exists()


def test_a_list_can_come_in_pieces_where_later_steps_depend_on_earlier_ones(tmp_path: Path):
    places = ground(tmp_path)
    with journal.mutating(places) as turn:
        transaction = turn.begin(SAMPLE)
        transaction.carry_out([journal.write(on("store", "first"), b"1")], last=False)
        found = (places.store / "first").read_bytes()
        transaction.carry_out([journal.write(on("store", "second"), found * 2)], last=True)
    assert (places.store / "second").read_bytes() == b"11"
    assert journal.entries(places) == []


def test_a_verb_that_finds_it_must_not_go_on_takes_back_what_it_did(tmp_path: Path):
    places = ground(tmp_path)
    was = picture(places)
    with journal.mutating(places) as turn:
        transaction = turn.begin(SAMPLE)
        transaction.carry_out(reversible(places)[:4], last=False)
        assert picture(places) != was
        transaction.roll_back()
    assert picture(places) == was
    assert journal.entries(places) == []


def test_within_one_turn_too_a_transaction_that_has_not_ended_forbids_the_next(tmp_path: Path):
    places = ground(tmp_path)
    with journal.mutating(places) as turn:
        turn.commit(SAMPLE, [journal.write(on("store", "first"), b"")])
        turn.begin(SAMPLE).carry_out([journal.write(on("store", "second"), b"")], last=False)
        with pytest.raises(Blocked):
            turn.commit(SAMPLE, [journal.write(on("store", "third"), b"")])
    assert not (places.store / "third").exists()


def test_of_a_transaction_that_is_not_whole_only_the_way_back_is_safe(tmp_path: Path):
    places = ground(tmp_path)
    with journal.mutating(places) as turn:
        turn.begin(SAMPLE).carry_out(reversible(places)[:4], last=False)
    (entry,) = journal.entries(places)
    inspection = journal.inspect(places, entry.id)
    assert not inspection.is_safe(journal.Direction.COMPLETE)
    assert inspection.is_safe(journal.Direction.ROLL_BACK)
    with pytest.raises(Blocked):
        journal.commit(places, SAMPLE, [journal.write(on("store", "x"), b"")])
    journal.recover(places, entry.id, journal.Direction.ROLL_BACK)
    assert (places.store / "old").exists()


def test_two_transactions_at_once_wait_for_each_other(tmp_path: Path):
    places = ground(tmp_path)
    with journal.mutating(places), pytest.raises(Locked), journal.mutating(places, wait_seconds=0):
        raise AssertionError


class Trace:
    """Stands where `refold.files` finds `os`, and notes what is written, named and synced, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Path]] = []
        self._opened: dict[int, Path] = {}

    def __getattr__(self, name: str):
        names = name in ("rename", "link", "unlink", "mkdir", "rmdir")
        return partial(self._named, name) if names else getattr(os, name)

    def _named(self, name, *rest):
        getattr(os, name)(*rest)
        self.calls.extend(("name", path) for path in rest if isinstance(path, Path))

    def open(self, path, flags, *rest):
        descriptor = os.open(path, flags, *rest)
        self._opened[descriptor] = Path(path)
        if flags & os.O_CREAT:
            self.calls.append(("name", Path(path)))
        return descriptor

    def write(self, descriptor, data):
        self.calls.append(("write", self._opened[descriptor]))
        return os.write(descriptor, data)

    def fsync(self, descriptor):
        self.calls.append(("sync", self._opened[descriptor]))
        os.fsync(descriptor)

    def not_durable(self, end: int) -> set[Path]:
        """Return what was written or named among the first `end` calls and not synced since."""
        left: set[tuple[Path, Path]] = set()  # a file, and what is to be synced for it
        for call, path in self.calls[:end]:
            if call == "sync":
                left = {(one, needed) for one, needed in left if needed != path}
            else:
                left.add((path, path if call == "write" else path.parent))
        return {one for one, _ in left}


def sealing(places: Places) -> list[Step]:
    """Return a point of no return, and what must not be gone unless it is durable."""
    root = on("root", "root.000001")
    return [
        journal.write(on("vault", "keys/SEALED"), b"sealed", point_of_no_return=True),
        journal.remove(root, before=before(places, root), keeps_before=False),
    ]


@pytest.mark.parametrize("list_of", [*LISTS.values(), sealing], ids=lambda list_of: list_of.__name__)
def test_what_is_durable_before_what(tmp_path: Path, list_of: Callable[[Places], list[Step]], monkeypatch: pytest.MonkeyPatch):
    places = ground(tmp_path)
    steps = [step for step in list_of(places) if isinstance(step, Change)]
    trace = Trace()
    monkeypatch.setattr(files, "os", trace)
    journal.commit(places, SAMPLE, steps)
    monkeypatch.undo()
    targets = {step.target.place.of(places) / step.target.path: step for step in steps}
    touched = [at for at, (_, path) in enumerate(trace.calls) if path in targets]
    ours = places.vault / "journal"
    assert not {path for path in trace.not_durable(touched[0]) if ours in path.parents}, "acts before its record is durable"
    ended = next(at for at, (call, path) in enumerate(trace.calls) if at > touched[-1] and (call, path.name) == ("name", "journal.json"))
    there = {path for path in trace.not_durable(ended) if path in targets and path.parent.exists()}
    assert not there, "says that it has ended before every target is durable"
    for at in touched:
        step = targets[trace.calls[at][1]]
        others = {path for path in trace.not_durable(at) & targets.keys() if path != trace.calls[at][1] and path.parent.exists()}
        if step.target in AUTHORITIES or step.point_of_no_return:
            assert not others, "an authority, or a point of no return, is named before what comes before it is durable"
        done = {path for path, one in targets.items() if one.point_of_no_return} & others
        assert not done, "goes on before its point of no return is durable"


def test_a_transaction_of_four_files_makes_few_changes_of_the_disk(tmp_path: Path):
    places = ground(tmp_path)
    steps = [journal.write(on("store", f"state/{number}"), b"x") for number in range(4)]
    journal.commit(places, SAMPLE, [journal.write(on("store", "warm"), b"")])
    syncs = 0

    def counting(number, name, call):
        nonlocal syncs
        syncs += 1

    kept = files.os
    files.os = Disk(counting, calls=("fsync",))  # ty: ignore[invalid-assignment]
    try:
        journal.commit(places, SAMPLE, steps)
    finally:
        files.os = kept
    assert syncs <= 14  # four files written bare take eight


def test_a_digest_in_a_journal_is_keyed_and_no_bytes_stand_in_it(tmp_path: Path):
    places = ground(tmp_path)
    with journal.mutating(places) as turn:
        turn.begin(SAMPLE).carry_out(decisive(places)[:1], last=False)
    (entry,) = journal.entries(places)
    raw = (entry.path / "journal.json").read_bytes()
    assert b"more" not in raw.replace(b"keys/more", b"")
    assert journal.digest(b"more").hex().encode() not in raw
    other = ground(tmp_path / "other")
    with journal.mutating(other) as turn:
        turn.begin(SAMPLE).carry_out(decisive(other)[:1], last=False)
    (twin,) = journal.entries(other)
    assert entry.journal is not None
    assert twin.journal is not None
    assert entry.journal.steps[0].after != twin.journal.steps[0].after
    assert {mode(path) for path in entry.path.iterdir()} == {0o600}
    assert mode(entry.path) == 0o700


def test_looking_writes_nothing(tmp_path: Path):
    places = ground(tmp_path)
    was = tree(tmp_path)
    journal.require_clear(places)
    journal.require_appendable(places)
    assert journal.entries(places) == []
    assert not journal.is_running(places)
    assert tree(tmp_path) == was
