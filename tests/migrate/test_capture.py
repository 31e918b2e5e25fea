"""What is captured lies in the vault alone, sealed and for its owner only; nothing else changes before a move is confirmed."""

from __future__ import annotations

import json
import os
import shutil
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from refold import files, ingest, journal
from refold.errors import Blocked, Corrupt, Drifted, KeyMissing, NotAllowed, UnsupportedVersion, Usage
from refold.migrate import capture, decisions, finalize
from refold.migrate.box import HEAD, Box
from refold.model import Draft, Scope
from refold.recover.audit import audit
from refold.recover.reset import reset
from refold.store import Store
from tests.conftest import now
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, tree, unsynced
from tests.log import Disk, pass_a_fence
from tests.migrate import ANSWERS, SAMPLES, canonicalized, moved, prepared, written
from tests.recover.spoils import stop

PRIVATE = (b"Mimi", b"Lisbon", b"Ruth_Brandt", b"Spanish", b"cello", b"Ghent", b"892db2ae")


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_until_a_move_is_confirmed_store_and_root_stay_as_they_are(store: Store, tmp_path: Path):
    ingest.add(store, [Draft("I like tea.", scope=Scope("ada"))], now=now, random=os.urandom)
    was = tree(store.places.store), tree(store.places.root)
    move = prepared(store, tmp_path, "mem0", "mcp", "letta", "graphiti")
    canonicalized(store, move)
    canonicalized(store, move, ANSWERS)
    finalize.preview(store, move.id, now=now)
    capture.moves(store)
    assert (tree(store.places.store), tree(store.places.root)) == was


def test_what_is_captured_is_sealed_and_for_its_owner_alone(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0", "mcp", "letta", "graphiti")
    canonicalized(store, move, ANSWERS)
    where = capture.folder(store.places) / move.id
    assert sorted(files.names(where)) == ["move", "records", "source.0", "source.1", "source.2", "source.3"]
    assert {path.stat().st_mode & 0o777 for path in where.iterdir()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (where, where.parent)} == {0o700}
    for folder in (store.places.vault, store.places.store, store.places.root):
        assert not [path for path, raw in everything(folder).items() if any(word in raw for word in PRIVATE)]


def test_a_move_says_what_was_recognised(store: Store, tmp_path: Path):
    (tmp_path / "cut.jsonl").write_text(SAMPLES["mcp"][1] + "{\n")
    move = capture.prepare(store, [*written(tmp_path, "mem0", "graphiti"), tmp_path / "cut.jsonl"], now=now)
    assert [(each.format, each.records, each.unreadable) for each in move.sources] == [("mem0", 6, 0), ("graphiti", 7, 0), ("mcp", 6, 1)]
    assert capture.find(store, move.id[:8]) == move
    assert capture.moves(store) == {move.id: move}


def test_two_moves_of_one_source_share_no_digest_and_no_bytes(store: Store, tmp_path: Path):
    one, two = prepared(store, tmp_path, "mem0"), prepared(store, tmp_path, "mem0")
    assert one.sources[0].digest != two.sources[0].digest
    raw = [(capture.folder(store.places) / each.id / "source.0").read_bytes() for each in (one, two)]
    assert raw[0][len(HEAD) + 16 :] != raw[1][len(HEAD) + 16 :]


def test_canonicalized_twice_the_file_is_the_same(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0", "letta")
    path = capture.folder(store.places) / move.id / "records"
    canonicalized(store, move, ANSWERS)
    was = path.read_bytes()
    canonicalized(store, move)
    assert path.read_bytes() != was
    canonicalized(store, move, ANSWERS)
    assert path.read_bytes() == was


@pytest.mark.parametrize("text", ["# Notes\n", "{}", "", "\0\1"])
def test_where_one_source_is_not_known_nothing_is_captured(text: str, store: Store, tmp_path: Path):
    (tmp_path / "odd").write_text(text)
    was = tree(store.places.vault)
    with pytest.raises(Usage, match="none of the formats") as caught:
        capture.prepare(store, [*written(tmp_path, "mem0"), tmp_path / "odd"], now=now)
    assert caught.value.path == str(tmp_path / "odd")
    assert tree(store.places.vault) == was


def test_what_is_no_file_is_refused(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for path in (tmp_path / "none", tmp_path, Path("/dev/null")):
        with pytest.raises(Usage):
            capture.prepare(store, [path], now=now)
    with pytest.raises(Usage):
        capture.prepare(store, [], now=now)
    monkeypatch.setattr(capture, "SOURCE_BYTES_MAX", 10)
    with pytest.raises(Usage, match="at most"):
        capture.prepare(store, written(tmp_path, "mem0"), now=now)


def test_a_source_that_may_not_be_read_is_said_to_be_so(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def forbidden(self: Path) -> bytes:
        raise PermissionError(13, "no")

    (path,) = written(tmp_path, "mem0")
    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(NotAllowed):
        capture.prepare(store, [path], now=now)


def test_a_move_goes_dark_with_the_epoch_that_an_erasure_ends_and_can_be_dropped(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    pass_a_fence(store)
    store.log.refresh()
    with pytest.raises(KeyMissing):
        capture.find(store, move.id)
    assert capture.moves(store) == {move.id: None}
    capture.drop(store.places, move.id)
    assert capture.moves(store) == {}


@pytest.mark.parametrize("name", ["move", "records", "source.0"])
def test_a_file_of_a_move_that_was_touched_is_refused(name: str, store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    canonicalized(store, move, ANSWERS)
    path = capture.folder(store.places) / move.id / name
    raw = path.read_bytes()
    for spoilt in (raw[:-1] + bytes([raw[-1] ^ 1]), raw[: len(raw) // 2], b"", raw[: len(HEAD)], b"x" + raw):
        path.write_bytes(spoilt)
        with pytest.raises((Corrupt, KeyMissing)):
            finalize.preview(store, move.id, now=now)


def test_a_file_of_a_move_under_the_name_of_another_is_refused(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0", "mem0")
    where = capture.folder(store.places) / move.id
    shutil.copy(where / "source.0", where / "source.1")
    with pytest.raises(Corrupt):
        canonicalized(store, move)


def test_a_move_of_a_later_version_is_refused_by_name(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    path = capture.folder(store.places) / move.id / "move"
    path.write_bytes(path.read_bytes().replace(HEAD, b"refold.move/2\n"))
    with pytest.raises(UnsupportedVersion, match=r"refold\.move/2"):
        capture.find(store, move.id)


@pytest.mark.parametrize("wrong", ["", "zz", "../../keys", "f" * 33])
def test_an_id_that_is_none_is_refused(wrong: str, store: Store, tmp_path: Path):
    prepared(store, tmp_path, "mem0")
    with pytest.raises(Usage):
        capture.find(store, wrong)


def test_killed_anywhere_a_capture_leaves_a_whole_move_or_none_and_the_next_one_clears_up(store: Store, tmp_path: Path):
    paths = written(tmp_path, "mem0", "mcp")
    count = changes_of(lambda: capture.prepare(store, paths, now=now))
    for at in range(1, count + 1):
        assert in_child(lambda: capture.prepare(store, paths, now=now), Disk(killing(at), calls=CALLS)) == KILLED
        assert None not in capture.moves(store).values()
    with unsynced():
        capture.prepare(store, paths, now=now)
    assert not [name for name in files.names(capture.folder(store.places)) if name.startswith(files.TEMPORARY)]


def test_killed_anywhere_canonicalizing_leaves_the_old_records_or_the_new(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    canonicalized(store, move)
    count = changes_of(lambda: canonicalized(store, move))
    for at in range(1, count + 1):
        assert in_child(lambda: canonicalized(store, move, ANSWERS), Disk(killing(at), calls=CALLS)) == KILLED
        assert finalize.preview(store, move.id, now=now).is_stale is False
    canonicalized(store, move, ANSWERS)
    moved(store, move)


def test_dropped_it_leaves_nothing_behind_and_the_log_as_it_was(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    canonicalized(store, move, ANSWERS)
    was = tree(store.places.store)
    capture.drop(store.places, move.id[:6])
    assert files.names(capture.folder(store.places)) == []
    assert tree(store.places.store) == was
    with pytest.raises(Usage):
        capture.drop(store.places, move.id)


def test_what_refold_did_not_put_there_stops_the_clean_up_before_it_begins(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    canonicalized(store, move, ANSWERS)
    files.create(capture.folder(store.places) / move.id / "notes.txt", b"mine")
    was = tree(store.places.store)
    for act in (lambda: capture.drop(store.places, move.id), lambda: moved(store, move)):
        with pytest.raises(Drifted):
            act()
    assert tree(store.places.store) == was
    assert not audit(store.places).findings


def test_a_reset_takes_the_moves_along(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    canonicalized(store, move)
    in_child(lambda: capture.prepare(store, written(tmp_path, "mcp"), now=now), Disk(killing(6), calls=CALLS))
    assert any(name.startswith(files.TEMPORARY) for name in files.names(capture.folder(store.places)))
    reset(store.places, confirm=store.origin)
    assert not store.places.vault.exists()


def test_two_boxes_open_nothing_of_each_other(store: Store):
    one, two = Box.of(store.keyring, "11" * 16), Box.of(store.keyring, "22" * 16)
    sealed = one.seal("a", b"words")
    assert one.open("a", sealed, Path("a")) == b"words"
    for box, name in ((two, "a"), (one, "b")):
        with pytest.raises(Corrupt):
            box.open(name, sealed, Path("a"))


def test_while_something_is_unfinished_every_step_waits(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    canonicalized(store, move, ANSWERS)
    stop(store.places)
    was = tree(capture.folder(store.places))
    for act in (
        lambda: prepared(store, tmp_path, "mcp"),
        lambda: canonicalized(store, move),
        lambda: capture.drop(store.places, move.id),
        lambda: moved(store, move),
    ):
        with pytest.raises(Blocked):
            act()
    assert tree(capture.folder(store.places)) == was


def test_answers_are_kept_with_the_records(store: Store, tmp_path: Path):
    move = prepared(store, tmp_path, "mem0")
    outcome = capture.canonicalize(store, move, decisions.parse(ANSWERS))
    assert capture.rebuild(store, move) == (outcome, True)


def big(path: Path, size: int) -> Path:
    """Write an export of one long memory."""
    path.write_text(json.dumps({"results": [{"id": path.name, "memory": "x" * size, "user_id": "ada"}]}))
    return path


def test_only_one_source_at_a_time_is_in_memory(store: Store, tmp_path: Path):
    size, sources = 1 << 20, 16
    paths = [big(tmp_path / f"{at}.json", size) for at in range(sources)]
    tracemalloc.start()
    try:
        move = capture.prepare(store, paths, now=now)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(move.sources) == sources
    assert peak < 8 * size


def test_sources_that_are_too_much_together_are_refused(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(capture, "MOVE_BYTES_MAX", 2_000)
    paths = [big(tmp_path / f"{at}.json", 900) for at in range(3)]
    assert len(capture.prepare(store, paths[:2], now=now).sources) == 2
    with pytest.raises(Usage, match="together"):
        capture.prepare(store, paths, now=now)


def test_a_source_that_changes_while_it_is_captured_is_drift_and_nothing_is_kept(store: Store, tmp_path: Path):
    paths = [big(tmp_path / f"{at}.json", 100) for at in range(2)]

    with ThreadPoolExecutor(1) as aside, files.lock(store.places.vault / journal.LOCK):
        preparing = aside.submit(capture.prepare, store, paths, now=now)
        while not capture.folder(store.places).exists() and not preparing.done():  # it is made after the first look
            time.sleep(0.01)
        big(paths[1], 101)
    with pytest.raises(Drifted, match="changed while it was captured"):
        preparing.result()
    assert list(capture.folder(store.places).iterdir()) == []
