"""What changed between the crash and the recovery stops it: whatever a target is that was never recorded, nothing is touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from refold import files, journal
from refold.errors import Blocked, Drifted, VerificationIncomplete
from refold.journal import Condition, Direction
from refold.store import Places
from tests.journal import KILLED, SAMPLE, ground, half_done, in_child, left, on, picture, recover, reversible, stopped_after, tree

DIRECTIONS = list(Direction)


def transaction(places: Places) -> Path:
    (entry,) = journal.entries(places)
    return entry.path


def edit_what_is_done(places: Places) -> None:
    (places.vault / "keys/seeds").write_bytes(b"strange")


def edit_what_is_to_come(places: Places) -> None:
    (places.store / "state/CURRENT").write_bytes(b"three")


def delete_what_is_done(places: Places) -> None:
    (places.store / "made/new").unlink()
    (places.vault / "keys/seeds").unlink()


def delete_what_is_to_come(places: Places) -> None:
    (places.store / "state/CURRENT").unlink()


def bring_back_what_was_removed(places: Places) -> None:
    (places.store / "old").write_bytes(b"another")


def change_the_mode_of_what_is_done(places: Places) -> None:
    (places.store / "made/new").chmod(0o600)


def change_the_mode_of_what_is_to_come(places: Places) -> None:
    (places.store / "state/CURRENT").chmod(0o644)


def change_the_mode_of_a_folder(places: Places) -> None:
    (places.store / "made").chmod(0o755)


def put_a_link_in_the_place_of_a_target(places: Places) -> None:
    path = places.vault / "keys/seeds"
    path.rename(places.vault / "elsewhere")
    path.symlink_to(places.vault / "elsewhere")


def put_a_link_on_the_way(places: Places) -> None:
    (places.store / "state").rename(places.store / "state.real")
    (places.store / "state").symlink_to("state.real")


def put_a_folder_in_the_place_of_a_target(places: Places) -> None:
    (places.store / "old").mkdir()


def put_a_pipe_in_the_place_of_a_target(places: Places) -> None:
    (places.store / "state/CURRENT").unlink()
    os.mkfifo(places.store / "state/CURRENT", 0o600)


def put_a_file_in_the_place_of_a_folder(places: Places) -> None:
    shutil.rmtree(places.store / "gone")
    (places.store / "gone").write_bytes(b"")


def replace_the_folder_around_a_target(places: Places) -> None:
    shutil.copytree(places.store / "state", places.store / "state.copy")
    shutil.rmtree(places.store / "state")
    (places.store / "state.copy").rename(places.store / "state")


def replace_a_folder_that_is_to_go(places: Places) -> None:
    (places.store / "gone").rename(places.store / "gone.first")
    shutil.copytree(places.store / "gone.first", places.store / "gone")


def replace_a_place(places: Places) -> None:
    places.store.rename(places.store.with_name("moved"))
    shutil.copytree(places.store.with_name("moved"), places.store)


def take_a_place_away(places: Places) -> None:
    places.store.rename(places.store.with_name("moved"))


def add_to_a_folder_that_is_to_go(places: Places) -> None:
    (places.store / "gone/unexpected").write_bytes(b"a child")


def add_to_a_folder_that_was_made(places: Places) -> None:
    (places.store / "made/unexpected").write_bytes(b"a child")


def damage_an_artifact(places: Places) -> None:
    path = transaction(places) / "artifacts"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def cut_the_artifacts(places: Places) -> None:
    path = transaction(places) / "artifacts"
    path.write_bytes(path.read_bytes()[:-1])


def lengthen_the_artifacts(places: Places) -> None:
    with (transaction(places) / "artifacts").open("ab") as file:
        file.write(b"more")


def take_the_artifacts_away(places: Places) -> None:
    (transaction(places) / "artifacts").unlink()


def add_to_the_transaction(places: Places) -> None:
    (transaction(places) / "notes.txt").write_bytes(b"who put this here?")


def link_where_a_step_writes_first(places: Places) -> None:
    (entry,) = journal.entries(places)
    assert entry.journal is not None
    (places.store / "state" / entry.journal.temporary(6)).symlink_to("CURRENT")


DRIFTS = [drift for name, drift in list(globals().items()) if name.split("_")[0] in {
    "edit", "delete", "bring", "change", "put", "replace", "take", "add", "damage", "cut", "lengthen", "link",
}]  # fmt: skip


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: drift.__name__)
def test_recovery_stops_at_what_was_never_recorded_and_changes_nothing(
    tmp_path: Path, drift: Callable[[Places], None], direction: Direction
):
    places = half_done(tmp_path, step=3)
    drift(places)
    was = tree(tmp_path)
    with pytest.raises(Drifted):
        recover_any(places, direction)
    assert tree(tmp_path) == was
    (entry,) = journal.entries(places)
    assert entry.condition is Condition.UNFINISHED
    with pytest.raises(Blocked):
        journal.commit(places, SAMPLE, [journal.write(on("store", "next"), b"")])
    assert not journal.inspect(places, entry.id).is_safe(direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: drift.__name__)
def test_what_drifts_while_a_recovery_lies_interrupted_stops_the_next_one_and_nothing_is_changed(
    tmp_path: Path, drift: Callable[[Places], None], direction: Direction
):
    """The recovery dies once its direction is recorded, before it touches a target."""
    if direction is Direction.ROLL_BACK and drift is replace_a_folder_that_is_to_go:
        return  # whoever goes back may have made the folder anew: which one it was tells nothing any more
    places = half_done(tmp_path, step=3)
    (entry,) = left(places)
    assert stopped_after(lambda: journal.recover(places, entry.id, direction), 0) == KILLED
    (entry,) = left(places)
    assert entry.journal is not None
    assert entry.journal.phase.has_direction
    drift(places)
    was = tree(tmp_path)
    for either in DIRECTIONS:
        with pytest.raises(Drifted):
            recover_any(places, either)
    assert tree(tmp_path) == was
    with pytest.raises(Blocked):
        journal.commit(places, SAMPLE, [journal.write(on("store", "next"), b"")])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_without_drift_the_same_transaction_is_recovered(tmp_path: Path, direction: Direction):
    places = half_done(tmp_path, step=3)
    recover(places, direction)
    assert not left(places)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_r14_a_prepared_journal_without_its_artifacts_is_no_base_for_a_guess(tmp_path: Path, direction: Direction):
    places = half_done(tmp_path, step=-1)
    take_the_artifacts_away(places)
    was = tree(tmp_path)
    with pytest.raises(Drifted):
        recover_any(places, direction)
    assert tree(tmp_path) == was


def test_a_replaced_place_is_called_by_its_name(tmp_path: Path):
    places = half_done(tmp_path, step=3)
    replace_a_place(places)
    (entry,) = left(places)
    messages = {obstacle.message for obstacle in journal.inspect(places, entry.id).against[Direction.COMPLETE]}
    assert any("the store is not the folder that it was" in message for message in messages)


def test_inspecting_a_drifted_transaction_says_what_stands_against_it_and_writes_nothing(tmp_path: Path):
    places = half_done(tmp_path, step=3)
    edit_what_is_to_come(places)
    was = tree(tmp_path)
    (entry,) = left(places)
    inspection = journal.inspect(places, entry.id)
    (obstacle,) = inspection.against[Direction.COMPLETE]
    assert obstacle.path == places.store / "state/CURRENT"
    assert "bytes" in obstacle.message
    assert tree(tmp_path) == was


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_target_that_cannot_be_read_is_not_called_drifted(tmp_path: Path, direction: Direction, monkeypatch: pytest.MonkeyPatch):
    places = half_done(tmp_path, step=3)
    was = picture(places)
    real = files.read

    def read(path: Path | str) -> bytes:
        if Path(path).name == "CURRENT":
            raise VerificationIncomplete("a file could not be read (EIO)", path=path)
        return real(path)

    monkeypatch.setattr(files, "read", read)
    with pytest.raises(VerificationIncomplete):
        recover_any(places, direction)
    monkeypatch.undo()
    assert picture(places) == was


def test_what_came_after_the_end_of_a_transaction_keeps_its_record(tmp_path: Path):
    places = half_done(tmp_path, step=3)
    end_without_clearing(places)
    (places.store / "state/CURRENT").write_bytes(b"newer work")
    with pytest.raises(Blocked, match="ended"):
        journal.commit(places, SAMPLE, [journal.write(on("store", "next"), b"")])
    (entry,) = left(places)
    with pytest.raises(Drifted):
        journal.recover(places, entry.id, Direction.COMPLETE)
    assert (places.store / "state/CURRENT").read_bytes() == b"newer work"


def end_without_clearing(places: Places) -> None:
    """Complete a transaction, but die before its record is cleared away."""
    from refold.journal import carry

    (entry,) = left(places)

    def work() -> None:
        carry.finish = lambda *rest: os._exit(0)  # ty: ignore[invalid-assignment]
        journal.recover(places, entry.id, Direction.COMPLETE)

    assert in_child(work) == 0


def recover_any(places: Places, direction: Direction) -> None:
    """Recover the only transaction there is, over a disk that really syncs: nothing may be written at all."""
    (entry,) = journal.entries(places)
    journal.recover(places, entry.id, direction)


def test_past_its_point_of_no_return_it_does_not_go_back_though_it_could_be_undone(tmp_path: Path):
    places = half_done(tmp_path, "decisive", step=1)
    now = picture(places)
    assert "vault/keys/SEALED" in now
    with pytest.raises(Drifted, match="point of no return"):
        recover(places, Direction.ROLL_BACK)
    assert picture(places) == now
    recover(places, Direction.COMPLETE)
    assert "root/root.000001" not in picture(places)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_target_that_is_done_before_its_step_was_prepared_is_drift(tmp_path: Path, direction: Direction):
    places = half_prepared(tmp_path)
    (places.vault / "keys/seeds").write_bytes(b"other seeds")
    was = tree(tmp_path)
    with pytest.raises(Drifted, match="had not begun"):
        recover_any(places, direction)
    assert tree(tmp_path) == was


def half_prepared(folder: Path) -> Places:
    """Return places where a transaction in two pieces died when the second was recorded, and its bytes were not kept yet."""

    def work() -> None:
        steps = reversible(places)
        with journal.mutating(places) as turn:
            transaction = turn.begin(SAMPLE)
            transaction.carry_out(steps[:2], last=False)
            files.create = lambda *rest: os._exit(0)  # ty: ignore[invalid-assignment]
            transaction.carry_out(steps[2:], last=True)

    places = ground(folder)
    assert in_child(work) == 0
    return places
