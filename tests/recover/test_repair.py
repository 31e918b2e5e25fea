"""A damaged log is healed from copies by bytes that a hash vouches for, or stopped at; nothing is cut short and nothing is guessed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from refold import files
from refold.copies.backup import backup
from refold.copies.mirror import mirror
from refold.errors import Usage, VerificationIncomplete, WriteFailed
from refold.heads.checkpoint import known_keys
from refold.memory import Memory
from refold.receipts.verify import verify as verify_paper
from refold.recover import heal
from refold.recover import repair as repairs
from refold.recover.repair import Repaired, Sources, plan
from refold.recover.replay import Proof
from refold.recover.verify import LENIENT, verify
from refold.state.digest import attested
from refold.state.generation import State
from refold.store import Places, open_store
from refold.verdict import Checkpoint, Kind, Known, Policy
from tests.conftest import now
from tests.copies.conftest import EVERY, whole
from tests.journal import CALLS, KILLED, changes_of, in_child, killing, left, tree, unsynced
from tests.log import Disk, say, texts
from tests.recover.alice import EXHAUSTIVE
from tests.recover.damage import flip, flip_header, flip_payload, head_of, path_with, place_of

PARTIAL = Policy(allow_partial_replay=True)


@pytest.fixture(autouse=True)
def quick() -> Any:
    with unsynced():
        yield


def repaired(places: Places, *copies: Path, past_damage: bool = False, policy: Policy = LENIENT, **known: Any) -> Repaired:
    return repairs.repair(
        places,
        Sources(copies=copies, policy=policy, known=Known(**known)),
        confirm=places.origin[:6],
        past_damage=past_damage,
        now=now,
        random=os.urandom,
    )


def said(places: Places) -> list[str]:
    with open_store(places) as store:
        return texts(store)


def log_of(places: Places) -> dict[str, bytes]:
    return {name: data for name, data in whole(places.store / "log").items() if name != "turn"}


@pytest.fixture
def copy(places: Places, tmp_path: Path) -> Path:
    mirror(places, tmp_path / "copies/mirror")
    return tmp_path / "copies/mirror"


HURTS: dict[str, Callable[[Places], object]] = {
    "a payload": lambda places: flip_payload(places, 1),
    "a header": lambda places: flip_header(places, 1),
    "the foot of a part": lambda places: flip(path_with(places, 1), -3),
    "a part cut short": lambda places: path_with(places, 1).write_bytes(path_with(places, 1).read_bytes()[:-100]),
    "a part without bytes": lambda places: path_with(places, 1).write_bytes(b""),
    "a part that is missing": lambda places: path_with(places, 1).unlink(),
    "the newest commit zeroed": lambda places: place_of(places).commit(3).write_bytes(bytes(500)),
    "the newest commit empty": lambda places: place_of(places).commit(3).write_bytes(b""),
    "a commit in the middle": lambda places: flip(place_of(places).commit(2), 40),
    "the first commit missing": lambda places: place_of(places).commit(0).unlink(),
    "two commits exchanged": lambda places: place_of(places).commit(1).write_bytes(place_of(places).commit(2).read_bytes()),
    "everything": lambda places: shutil.rmtree(places.store / "log/parts"),
    "all commits": lambda places: shutil.rmtree(places.store / "log/commits"),
}


@pytest.mark.parametrize("hurt", HURTS)
def test_a_copy_heals_it_byte_for_byte_and_what_was_damaged_is_kept_in_quarantine(hurt: str, places: Places, copy: Path):
    before = log_of(places)
    HURTS[hurt](places)
    damaged = {data for name, data in log_of(places).items() if data != before[name]}
    done = repaired(places, copy)
    assert done.before.kind is not Kind.INTACT
    assert done.after.kind is Kind.INTACT
    assert log_of(places) == before
    kept = places.vault / "quarantine"
    assert {path.read_bytes() for path in kept.iterdir()} == damaged
    with open_store(places) as store:
        say(store, "and on")
    assert said(places)[-1] == "and on"


@pytest.mark.parametrize("hurt", HURTS)
def test_looking_changes_nothing_and_says_what_would_be_healed(hurt: str, places: Places, copy: Path):
    HURTS[hurt](places)
    was = tree(places.store.parent)
    found = plan(places, Sources(copies=[copy]))
    assert found.healing.goods
    assert not found.verdict.is_whole
    assert tree(places.store.parent) == was


@pytest.mark.parametrize("hurt", HURTS)
def test_without_a_copy_nothing_is_healed_by_guessing_and_nothing_is_lost(hurt: str, places: Places):
    HURTS[hurt](places)
    before = log_of(places)
    done = repaired(places)
    assert (done.healed, done.after.kind) == ((), done.before.kind)
    assert log_of(places) == before


def test_a_backup_heals_as_a_mirror_does_and_so_does_a_copy_from_before_a_compaction(places: Places, copy: Path, tmp_path: Path):
    with open_store(places) as store:
        assert store.log.compact(now=now, random=os.urandom, parts_max=1).merged
    before = log_of(places)
    path_with(places, 0).write_bytes(b"")
    assert repaired(places, copy).after.kind is Kind.INTACT  # the entries lie in other parts there
    assert log_of(places) == before
    backup(places, tmp_path / "more/backup", now=now, random=os.urandom)
    path_with(places, 0).unlink()
    assert repaired(places, tmp_path / "more/backup").after.kind is Kind.INTACT
    assert log_of(places) == before


def test_r8_bytes_that_no_hash_vouches_for_are_never_taken(places: Places, copy: Path):
    path = path_with(places, 1)
    flip(copy / "log/parts" / path.name, -3)
    path.write_bytes(b"")
    done = repaired(places, copy)
    assert done.healed == ()
    assert path.read_bytes() == b""


def test_r8_entries_that_are_written_otherwise_than_they_were_signed_are_not_taken(places: Places, copy: Path, monkeypatch: Any):
    with open_store(places) as store:
        assert store.log.compact(now=now, random=os.urandom, parts_max=1).merged
    path_with(places, 0).write_bytes(b"")
    monkeypatch.setattr(heal, "_rewritten", lambda source, part: bytes(part.size))  # as another version of Arrow might
    assert repaired(places, copy).healed == ()


def test_a_copy_of_another_history_heals_nothing_and_is_named(places: Places, tmp_path: Path, copy: Path):
    other = Places(tmp_path / "other/store", places.vault, places.root, places.origin)
    shutil.copytree(places.store, other.store)
    for each, text in ((places, "mine"), (other, "theirs")):
        with open_store(each) as store:
            say(store, text)
    mirror(other, copy)
    before = log_of(places)
    path_with(places, 1).write_bytes(b"")
    done = repaired(places, copy)
    assert done.healed == ()
    ((path, why),) = done.refused
    assert (path, why.partition(":")[0]) == (str(copy), "the copy has another commit 4 than the log")
    assert set(log_of(places)) == set(before)


def test_a_log_that_was_cut_is_healed_to_its_end_where_a_mirror_saw_it(places: Places, copy: Path):
    from refold.copies.restore import heads_seen

    before = log_of(places)
    place_of(places).commit(3).unlink()
    seen = heads_seen(places, [copy])
    done = repaired(places, copy, seen=seen)
    assert done.after.kind is Kind.INTACT
    assert log_of(places) == before


def test_a_copy_that_cannot_be_read_does_not_keep_another_from_healing(places: Places, copy: Path, tmp_path: Path):
    path_with(places, 1).unlink()
    done = repaired(places, tmp_path / "nowhere", copy)
    assert done.after.kind is Kind.INTACT
    assert [each for each, _ in done.refused] == [str(tmp_path / "nowhere")]


def test_r5_a_read_error_is_no_damage_and_nothing_is_moved(places: Places, copy: Path, monkeypatch: pytest.MonkeyPatch):
    path, real = path_with(places, 1), files.read

    def reading(asked: Path | str, **more: Any) -> bytes:
        if Path(asked) == path:
            raise VerificationIncomplete("a file could not be read (EIO); nothing is claimed of it", path=asked)
        return real(asked, **more)

    was = tree(places.store)
    monkeypatch.setattr(files, "read", reading)
    with pytest.raises(VerificationIncomplete):
        repaired(places, copy)
    assert tree(places.store) == was
    assert not (places.vault / "quarantine").exists()


# Going past what is lost


def test_past_a_lost_payload_the_rest_is_served_and_everything_derived_says_since_where_it_is_incomplete(places: Places):
    flip_payload(places, 2)
    lost = "I've been living in Munich since 2023."
    assert lost in said_before(places)
    damaged = path_with(places, 2).read_bytes()
    done = repaired(places, past_damage=True)
    assert done.passed == (2,)
    assert done.after.kind is Kind.INTACT
    with open_store(places) as store:
        assert lost not in texts(store)
        assert len(texts(store)) == 2
        assert store.log.incomplete_since == 2
        say(store, "and on")
    assert damaged in [path.read_bytes() for path in (places.vault / "quarantine").iterdir()]
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold(full=True)
        assert memory.status().incomplete_since == 2
        assert [fact.value for fact in memory.facts(user_id="ada", relation="lives_in")] == ["Berlin"]


def said_before(places: Places) -> list[str]:
    return ["I live in Berlin.", "I've been living in Munich since 2023.", "My sister is called Ruth."]


def test_it_is_done_only_where_it_is_asked_for(places: Places):
    flip_payload(places, 2)
    before = log_of(places)
    assert repaired(places).passed == ()
    assert log_of(places) == before


@pytest.mark.parametrize("hurt", ["a header", "a part cut short", "a part that is missing", "a commit in the middle"])
def test_past_what_is_not_vouched_for_nobody_goes(hurt: str, places: Places):
    HURTS[hurt](places)
    before = log_of(places)
    with pytest.raises(Usage, match="nothing can be gone past"):
        repaired(places, past_damage=True)
    assert log_of(places) == before


def test_past_a_control_entry_nobody_goes(places: Places):
    with open_store(places) as store:
        store.log.fence(now=now, random=os.urandom)
        store.log.lift(now=now, random=os.urandom)
        seq = store.log.head.size - 1
    flip_payload(places, seq)
    with pytest.raises(Usage, match="nothing can be gone past"):
        repaired(places, past_damage=True)


def test_a_lost_payload_that_a_copy_has_is_healed_and_not_gone_past(places: Places, copy: Path):
    flip_payload(places, 2)
    done = repaired(places, copy, past_damage=True)
    assert (done.passed, done.after.kind) == ((), Kind.INTACT)
    with open_store(places) as store:
        assert store.log.incomplete_since is None


def test_a_gap_that_the_log_does_not_say_is_damage_still(places: Places):
    flip_payload(places, 2)
    repaired(places, past_damage=True)
    flip_payload(places, 3)
    verdict = verify(places, deep=True)
    assert verdict.kind is not Kind.INTACT
    assert repaired(places, past_damage=True).passed == (3,)
    with open_store(places) as store:
        assert store.log.incomplete_since == 2


# Replay


def checkpoint_of(places: Places) -> Checkpoint:
    from refold.copies.restore import root_at

    with open_store(places) as store:
        state = State.open(store)
        root = root_at(store.log.place, store.log.head, state.size)
        return Checkpoint(state.size, root, state.number, state.epoch, attested(state), "checkpoints/x")


def grown(places: Places, *more: str) -> None:
    with open_store(places) as store:
        for text in more:
            say(store, text)


def folded(places: Places) -> int:
    with open_store(places) as store:
        return State.open(store).size


def test_damage_below_a_checkpoint_costs_nothing_and_what_follows_is_replayed_on_the_state_that_it_attests(places: Places):
    checkpoint = checkpoint_of(places)
    grown(places, "I work at Siemens.", "I like tea.")
    flip_header(places, 1)
    done = repaired(places, checkpoints=[checkpoint])
    assert done.after.kind is Kind.RECOVERABLE
    assert done.replay is not None
    assert (done.replay.began, done.replay.ended, done.replay.proof) == (4, 6, Proof.PROVEN)
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        assert [fact.value for fact in memory.facts(user_id="ada", relation="lives_in")] == ["Munich"]
        assert [fact.value for fact in memory.facts(user_id="ada", relation="works_at")] == ["Siemens"]


def test_a_state_that_is_not_the_attested_one_is_not_built_upon(places: Places):
    checkpoint = checkpoint_of(places)
    grown(places, "I work at Siemens.")
    flip_header(places, 1)
    other = Checkpoint(checkpoint.size, checkpoint.root, checkpoint.generation, checkpoint.epoch, bytes(32), checkpoint.path)
    done = repaired(places, checkpoints=[other])
    assert done.replay is None
    assert done.why_not is not None
    assert "not the one" in done.why_not
    assert folded(places) == 4


def test_up_to_a_boundary_is_replayed_only_where_the_policy_allows_it(places: Places):
    grown(places, "I work at Siemens.", "I like tea.", "I own a boat.")
    flip_header(places, 5)
    done = repaired(places)
    assert (done.after.kind, done.replay, folded(places)) == (Kind.BOUNDARY, None, 4)
    done = repaired(places, policy=PARTIAL)
    assert done.replay is not None
    assert (done.replay.ended, done.replay.proof) == (5, Proof.UNATTESTED)
    assert folded(places) == 5


# Others meanwhile


def after_the_first_verdict(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen once the log was read for the first time, before anything is done about it."""
    real = repairs.verify
    done: list[bool] = []

    def verify(*given: Any, **named: Any) -> Any:
        verdict = real(*given, **named)
        if not done:
            done.append(True)
            act()
        return verdict

    monkeypatch.setattr(repairs, "verify", verify)


def test_while_the_log_is_read_nothing_is_held(places: Places, copy: Path, monkeypatch: pytest.MonkeyPatch):
    real = repairs.verify
    free = []

    def verify(*given: Any, **named: Any) -> Any:
        with files.lock(places.vault / "mutate.lock", wait_seconds=0):
            free.append(True)
        return real(*given, **named)

    monkeypatch.setattr(repairs, "verify", verify)
    flip_payload(places, 2)
    assert repaired(places, copy).after.kind is Kind.INTACT
    assert len(free) == 2


def test_what_somebody_else_healed_meanwhile_is_left_as_it_is(places: Places, copy: Path, monkeypatch: pytest.MonkeyPatch):
    path = path_with(places, 2)
    good = path.read_bytes()
    flip_payload(places, 2)
    after_the_first_verdict(monkeypatch, lambda: path.write_bytes(good))
    done = repaired(places, copy)
    assert (done.healed, done.after.kind) == ((), Kind.INTACT)
    assert not (places.vault / "quarantine").exists()


# Interrupted


STEP = 1 if EXHAUSTIVE else 7  # of the changes of a disk: the one at which it is killed


def hurt_twice(places: Places) -> None:
    flip_header(places, 1)
    flip(place_of(places).commit(2), 40)


@pytest.mark.slow
@pytest.mark.parametrize("past_damage", [False, True])
def test_killed_at_any_change_and_run_again_it_ends_the_same(places: Places, copy: Path, tmp_path: Path, past_damage: bool):
    copies = [] if past_damage else [copy]
    (flip_payload(places, 2) if past_damage else hurt_twice(places))

    def again(name: str) -> Places:
        for each in ("store", "vault", "root"):
            shutil.copytree(places.store.parent / each, tmp_path / name / each)
        return Places(tmp_path / name / "store", tmp_path / name / "vault", tmp_path / name / "root", places.origin)

    model = again("model")
    count = changes_of(lambda: repaired(model, *copies, past_damage=past_damage))
    wanted = shape(model)
    completed = 0
    for at in range(1, count + 1, STEP):
        where = again(f"{at}")
        assert in_child(lambda: repaired(where, *copies, past_damage=past_damage), Disk(killing(at), calls=CALLS)) == KILLED  # noqa: B023
        completed += len(repaired(where, *copies, past_damage=past_damage).completed)
        assert shape(where) == wanted
        assert not left(where)
        shutil.rmtree(where.store.parent)
    assert completed > 5 // STEP


def shape(places: Places) -> tuple[Any, ...]:
    """Return what of a store does not depend on what was drawn."""
    head = head_of(places)
    kept = sorted(path.read_bytes() for path in (places.vault / "quarantine").iterdir())
    with open_store(places) as store:
        state = State.open(store)
        return head.version, head.size, head.erasures, len(head.parts), kept, texts(store), state.size, store.log.incomplete_since


@pytest.mark.parametrize("code", [28, 5])
def test_a_disk_that_refuses_anywhere_is_an_error_and_the_next_run_ends_the_same(
    places: Places, copy: Path, code: int, monkeypatch: pytest.MonkeyPatch
):
    before = log_of(places)
    for at in range(1, 60, 5 * EVERY):
        flip_payload(places, 2)

        def step(number: int, name: str, call: Callable[[], Any]) -> Any:
            if number == at:  # noqa: B023
                raise OSError(code, os.strerror(code))
            return None if name == "fsync" else call()

        with monkeypatch.context() as patched:
            patched.setattr(files, "os", Disk(step, calls=CALLS))
            with suppress(WriteFailed):
                repaired(places, copy)
        monkeypatch.setattr(files, "_poisoned", None)
        assert repaired(places, copy).after.kind is Kind.INTACT
        assert log_of(places) == before


def test_what_was_damaged_is_signed_before_anything_is_done_and_the_receipt_holds_without_the_store(places: Places, copy: Path):
    flip_payload(places, 2)
    done = repaired(places, copy)
    assert done.receipt is not None
    raw = (places.store / done.receipt).read_bytes()
    with open_store(places) as store:
        paper = verify_paper(raw, known_keys(store))
    assert (paper.kind, paper.body["verdict"]) == ("wal_corruption_boundary_signature", "CORRUPTION_BOUNDARY_DETECTED")
    assert paper.body["first_bad"] == 2
    assert repaired(places, copy).receipt is None  # nothing is damaged any more


# The command


def test_the_command_shows_the_verdict_and_the_plan_and_does_it_once_it_is_confirmed(places: Places, copy: Path, run: Callable[..., Any]):
    assert run("recover", "--log").code == 0
    flip_payload(places, 2)
    was = tree(places.store.parent)
    shown = run("recover", "--log", "--from", str(copy))
    assert (shown.code, shown.data["done"], shown.data["verdict"]["kind"]) == (10, False, "CORRUPTION_BOUNDARY_DETECTED")
    assert [each["source"] for each in shown.data["healed"]] == [str(copy)]
    assert shown.data["passed"] == []
    assert tree(places.store.parent) == was
    done = run("recover", "--log", "--from", str(copy), "--confirm", places.origin[:8])
    assert (done.code, done.data["verdict"]["kind"], len(done.data["healed"])) == (0, "WAL_INTACT", 1)


def test_the_command_goes_past_damage_only_when_it_is_told_to_and_every_answer_says_so_from_then_on(
    places: Places, run: Callable[..., Any]
):
    flip_payload(places, 2)
    assert run("recover", "--log").data["passed"] == [2]
    assert run("recover", "--log", "--confirm", places.origin[:8]).code == 10
    assert run("recover", "--log", "--past-damage", "--confirm", places.origin[:8]).data["passed"] == [2]
    assert run("status").data["incomplete_since"] == 2
    questions = [["status"], ["search", "Berlin", "--user", "ada"], ["facts", "--user", "ada"], ["context", "Berlin", "--user", "ada"]]
    for question in [*questions, ["sql", "select 1"]]:
        assert "RF-GAP-001" in run(*question).codes


@pytest.mark.parametrize("wrong", [["--from", "x"], ["--log", "--complete"], ["--past-damage"], ["--log", "--confirm", "000000"]])
def test_options_that_do_not_belong_together_are_refused(wrong: list[str], run: Callable[..., Any]):
    assert run("recover", *wrong).code == 2
