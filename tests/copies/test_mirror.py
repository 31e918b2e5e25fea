"""A mirror follows the store: new files only, checked on the way out and on arrival, and it is read like the store itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refold import files, settings
from refold.copies import bring
from refold.copies.mirror import mirror
from refold.errors import Corrupt, Locked, RefoldError, Usage, WriteFailed
from refold.heads.configured import sign
from refold.log import compact, stored
from refold.log.head import Place, newest
from refold.memory import Memory
from refold.recover import findings
from refold.recover.audit import audit, options
from refold.recover.remember import judged
from refold.store import Places, Store, open_store
from refold.verdict import Kind
from tests.conftest import now
from tests.copies.conftest import EVERY, as_store
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, tree
from tests.log import Disk, heard, say, texts


def said_in(places: Places, folder: Path) -> list[str]:
    with open_store(as_store(places, folder)) as copy:
        return texts(copy)


def folded_away(store: Store) -> None:
    """Merge all parts, and sweep what they were made of as if a day had gone by."""
    assert store.log.compact(now=now, random=os.urandom, parts_max=1).merged
    compact.sweep(store.log, now=lambda: now() + 2 * compact.GRACE)


def test_it_holds_the_log_and_what_is_signed_beside_it_and_neither_state_nor_keys(store: Store, there: Path):
    say(store, "hello")
    for name in ("checkpoints", "receipts", "state/runs"):
        files.make_folder(store.places.store / name)
        files.create(store.places.store / name / "one", b"signed")
    done = mirror(store.places, there)
    names = {path.relative_to(there).as_posix() for path in there.rglob("*") if path.is_file()}
    assert {name.split("/")[0] for name in names} == {"copy.json", "store.json", "log", "checkpoints", "receipts"}
    assert (done.version, done.entries) == (1, store.log.head.size)
    assert said_in(store.places, there) == ["hello"]


def test_a_second_run_brings_what_is_new_and_touches_nothing_else(store: Store, there: Path):
    say(store, "one")
    mirror(store.places, there)
    was = tree(there)
    assert mirror(store.places, there).files == 0
    assert {name: seen for name, seen in tree(there).items() if seen[3]} == {name: seen for name, seen in was.items() if seen[3]}
    say(store, "two")
    assert mirror(store.places, there).files == 2
    assert {name: seen for name, seen in tree(there).items() if name in was and seen[3]} == {n: s for n, s in was.items() if s[3]}
    assert said_in(store.places, there) == ["one", "two"]


def test_what_a_compaction_replaced_stays_and_what_it_made_comes(store: Store, there: Path):
    for text in ("one", "two", "three"):
        say(store, text)
    mirror(store.places, there)
    folded_away(store)
    mirror(store.places, there)
    assert len(list((there / "log/parts").iterdir())) == 4
    assert said_in(store.places, there) == ["one", "two", "three"]


def test_a_log_that_was_compacted_and_swept_before_it_was_ever_mirrored_can_be(store: Store, there: Path):
    for text in ("one", "two", "three"):
        say(store, text)
    folded_away(store)
    mirror(store.places, there)
    assert said_in(store.places, there) == ["one", "two", "three"]


def test_writers_and_a_compaction_that_come_in_between_are_no_hindrance(store: Store, there: Path, monkeypatch: pytest.MonkeyPatch):
    for text in ("one", "two", "three"):
        say(store, text)
    real, met = bring.read_part, []

    def reading(place: Place, part: Any) -> bytes:
        if len(met) == 1:
            folded_away(store)
            say(store, "four")
        met.append(part)
        return real(place, part)

    monkeypatch.setattr(bring, "read_part", reading)
    mirror(store.places, there)
    assert len(met) >= 4
    assert said_in(store.places, there) == ["one", "two", "three", "four"]


def test_a_damaged_part_is_not_brought_and_the_mirror_stays_as_it_was(store: Store, there: Path):
    say(store, "one")
    mirror(store.places, there)
    say(store, "two")
    path = store.places.store / "log" / store.log.head.parts[-1].path
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(Corrupt, match="not what was signed"):
        mirror(store.places, there)
    assert said_in(store.places, there) == ["one"]


def test_a_part_that_is_missing_is_said_to_be(store: Store, there: Path):
    say(store, "one")
    (store.places.store / "log" / store.log.head.parts[0].path).unlink()
    with pytest.raises(Corrupt, match="is missing"):
        mirror(store.places, there)


def test_a_damaged_commit_in_the_middle_is_not_brought(store: Store, there: Path):
    for text in ("one", "two", "three"):
        say(store, text)
    path = store.log.place.commit(1)
    path.write_bytes(store.log.place.commit(2).read_bytes())
    with pytest.raises(Corrupt):
        mirror(store.places, there)


@pytest.mark.parametrize("count", [1, 2])
def test_a_log_that_was_cut_is_refused_and_so_is_another_history(store: Store, there: Path, tmp_path: Path, count: int):
    say(store, "one")
    shutil.copytree(store.places.store, tmp_path / "before")
    say(store, "two")
    mirror(store.places, there)
    was = tree(there)
    shutil.rmtree(store.places.store)
    shutil.copytree(tmp_path / "before", store.places.store)
    with pytest.raises(Corrupt, match="ends at commit 1"):
        mirror(store.places, there)
    with open_store(store.places) as again:
        for number in range(count):
            say(again, f"another {number}")
    with pytest.raises(Corrupt, match="two histories"):
        mirror(store.places, there)
    assert {name: seen for name, seen in tree(there).items() if seen[3]} == {name: seen for name, seen in was.items() if seen[3]}


def test_bytes_that_arrive_as_others_are_noticed(store: Store, there: Path, monkeypatch: pytest.MonkeyPatch):
    say(store, "one")
    monkeypatch.setattr(files, "read_back", lambda path: b"others")
    with pytest.raises(Corrupt, match="not what was sent"):
        mirror(store.places, there)


def test_what_rots_in_a_mirror_is_found_by_reading_it_again(store: Store, there: Path):
    say(store, "one")
    mirror(store.places, there)
    path = there / "log" / store.log.head.parts[0].path
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    mirror(store.places, there)
    with pytest.raises(Corrupt, match="not what was signed"):
        mirror(store.places, there, deep=True)


def test_nothing_is_added_to_a_mirror(store: Store, there: Path):
    say(store, "one")
    mirror(store.places, there)
    with open_store(as_store(store.places, there)) as copy, pytest.raises(Usage, match="copy of a store"):
        say(copy, "two")


def test_a_mirror_that_is_behind_says_that_it_is_a_copy_and_not_that_its_log_lost_its_end(store: Store, there: Path):
    say(store, "one")
    sign(store)
    mirror(store.places, there)
    say(store, "two")
    sign(store)
    where = as_store(store.places, there)
    with open_store(where) as copy:
        assert (copy.log.lost, copy.log.behind) == (None, (2, 3))
    done = audit(where, log=options(where, settings.load({})))
    assert [each.code for each in done.findings] == [findings.LOG_BEHIND]
    assert done.verdict is not None
    assert (done.verdict.kind, done.verdict.size) == (Kind.INTACT, 2)
    newest = max((there / "log/commits").iterdir())
    newest.unlink()  # what the mirror itself has signed heads of is missed in it
    assert findings.LOG_CUT in {each.code for each in audit(where, log=options(where, settings.load({}))).findings}


def test_what_is_wrong_with_a_mirror_holds_nothing_back_from_its_store(store: Store, there: Path):
    say(store, "one")
    mirror(store.places, there)
    next((there / "log/parts").iterdir()).unlink()
    assert judged(as_store(store.places, there), settings.load({})).kind is not Kind.INTACT
    assert stored.read(store.places.vault) is None
    say(store, "two")


def test_no_state_is_made_in_a_mirror_and_nothing_is_signed_there(store: Store, there: Path):
    say(store, "one")
    mirror(store.places, there)
    before = tree(there)
    with Memory.open(there, vault=store.places.vault, root=store.places.root) as memory:
        for change in (memory.fold, memory.checkpoint):
            with pytest.raises(Usage, match="copy of a store"):
                change()
        assert memory.status().behind is None
    assert tree(there) == before


@pytest.mark.parametrize("name", ["store/mirror", "vault/mirror", "root/mirror", ".", "store"])
def test_a_place_in_or_around_the_three_places_is_refused(store: Store, tmp_path: Path, name: str):
    with pytest.raises(Usage, match="must not lie"):
        mirror(store.places, tmp_path / name)


def test_a_link_into_the_store_is_refused(store: Store, tmp_path: Path):
    (tmp_path / "link").symlink_to(store.places.store)
    with pytest.raises(Usage, match="must not lie"):
        mirror(store.places, tmp_path / "link/inside")


def test_a_place_within_another_copy_a_strangers_folder_and_another_stores_mirror_are_refused(store: Store, there: Path, tmp_path: Path):
    say(store, "one")
    mirror(store.places, there)
    with pytest.raises(Usage, match="another copy"):
        mirror(store.places, there / "inside")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter.tex").write_bytes(b"")
    with pytest.raises(Usage, match="something else"):
        mirror(store.places, tmp_path / "thesis")
    with pytest.raises(Usage, match="another store"):
        mirror(Places(store.places.store, store.places.vault, store.places.root, "00" * 16), there)


def test_a_mirror_that_should_be_there_and_is_not_is_not_made(store: Store, there: Path):
    with pytest.raises(Usage, match="no mirror"):
        mirror(store.places, there, must_exist=True)
    assert not there.exists()


def test_two_runs_at_once_do_not_meet(store: Store, there: Path):
    mirror(store.places, there)
    with files.lock(there), pytest.raises(Locked):
        mirror(store.places, there)


def test_killed_at_any_change_it_holds_no_half_file_and_the_next_run_ends_the_same(store: Store, tmp_path: Path):
    for text in ("one", "two"):
        say(store, text)
    model = tmp_path / "model"
    count = changes_of(lambda: mirror(store.places, model))
    wanted = {path.relative_to(model): path.read_bytes() for path in model.rglob("*") if path.is_file()}
    for at in range(1, count + 1, EVERY):
        there = tmp_path / f"{at}"
        assert in_child(lambda: mirror(store.places, there), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
        for path in there.rglob("*"):
            assert path.is_dir() or path.name.startswith(files.TEMPORARY) or path.read_bytes() == wanted[path.relative_to(there)]
        mirror(store.places, there)
        left = {path.relative_to(there): path.read_bytes() for path in there.rglob("*") if path.is_file()}
        assert {name: data for name, data in left.items() if not name.name.startswith(files.TEMPORARY)} == wanted


@pytest.mark.parametrize("code", [28, 5])
def test_a_disk_that_refuses_anywhere_is_an_error_and_the_next_run_works(store: Store, tmp_path: Path, code: int, monkeypatch: Any):
    say(store, "one")
    count = changes_of(lambda: mirror(store.places, tmp_path / "model"))
    for at in range(1, count + 1):
        there = tmp_path / f"{code}-{at}"

        def step(number: int, name: str, call: Callable[[], Any]) -> Any:
            if number == at:  # noqa: B023
                raise OSError(code, os.strerror(code))
            return None if name == "fsync" else call()

        with monkeypatch.context() as patched:
            patched.setattr(files, "os", Disk(step, calls=CALLS))
            with pytest.raises(WriteFailed):
                mirror(store.places, there)
        monkeypatch.setattr(files, "_poisoned", None)
        mirror(store.places, there)
        assert newest(Place(there / "log", store.origin, store.vault.public_keys)).digest == store.log.head.digest
    assert heard(store)


def test_the_command_takes_a_folder_or_all_that_the_settings_name(store: Store, tmp_path: Path, monkeypatch: Any, capsys: Any):
    import json

    from refold.cli import main

    say(store, "one")
    places = store.places
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root), "--format", "json"]
    assert main(["mirror", *where]) == 2
    assert main(["mirror", str(tmp_path / "a"), *where]) == 0
    own = tmp_path / "own.toml"
    own.write_text(f'[mirror]\nfolders = ["{tmp_path / "a"}", "{tmp_path / "b"}"]\n', encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(own))
    assert settings.load().mirror.folders[1].endswith("b")
    assert main(["mirror", *where]) == 2  # b was never made
    mirror(places, tmp_path / "b")
    capsys.readouterr()
    assert main(["mirror", *where, "--deep"]) == 0
    assert [each["new_files"] for each in json.loads(capsys.readouterr().out)["data"]["mirrors"]] == [0, 0]


def test_the_errors_of_a_mirror_are_ours(store: Store, tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RefoldError):
        mirror(store.places, tmp_path / "file")
