"""`refold recover`: it lists, inspects, completes, rolls back, and stops where nothing was ever recorded."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from refold import disclaimers, journal
from refold.cli import main
from refold.cli.catalogue import EXIT_CODES
from refold.journal import Condition
from refold.memory import Memory
from refold.store import Places
from tests.journal import left, tree
from tests.recover import spoils
from tests.recover.alice import EXHAUSTIVE
from tests.recover.spoils import stop


def test_where_nothing_is_unfinished_it_says_so(run):
    said = run("recover")
    assert (said.code, said.data) == (0, {"transactions": []})
    assert said.envelope["disclaimers"] == [disclaimers.TRANSACTION]


def test_it_lists_what_is_unfinished_and_passes(places: Places, run):
    name = stop(places).name
    said = run("recover")
    assert said.code == 0
    assert said.data["transactions"] == [{"transaction_id": name, "kind": "sample", "phase": "committing", "condition": "unfinished"}]


def test_it_inspects_one_by_the_first_letters_of_its_id(places: Places, run):
    name = stop(places).name
    seen = run("recover", "--transaction-id", name[:4]).data["transaction"]
    assert (seen["transaction_id"], seen["complete"]["safe"], seen["rollback"]["safe"]) == (name, True, True)
    assert [(step["path"], step["standing"]) for step in seen["steps"]] == [("note-0", "after"), ("note-1", "before")]


def test_it_passes_where_neither_way_is_safe_and_says_why(places: Places, run):
    spoils.drifted(places)
    (entry,) = left(places)
    said = run("recover", "--transaction-id", entry.id)
    assert said.code == 0
    seen = said.data["transaction"]
    assert (seen["complete"]["safe"], seen["rollback"]["safe"]) == (False, False)
    assert seen["complete"]["obstacles"][0]["path"] == str(places.store / "note-0")


@pytest.mark.parametrize(("flag", "there"), [("--complete", True), ("--rollback", False)])
def test_it_completes_and_rolls_back(flag: str, there: bool, places: Places, run):
    name = stop(places).name
    assert run("fold").code == 10
    said = run("recover", "--transaction-id", name, flag)
    assert (said.code, said.data["transaction"]["transaction_id"]) == (0, name)
    assert [(places.store / f"note-{number}").exists() for number in "01"] == [there, there]
    assert run("audit").code == 0
    assert run("fold").code == 0


@pytest.mark.parametrize("flag", ["--complete", "--rollback"])
@pytest.mark.parametrize("spoil", [spoils.drifted, spoils.kept, spoils.strange, spoils.outlived])
def test_it_stops_as_drifted_and_the_audit_goes_on_saying_blocker(spoil: Callable[[Places], None], flag: str, places: Places, run):
    spoil(places)
    (entry,) = left(places)
    was = tree(places.store.parent)
    said = run("recover", "--transaction-id", entry.id, flag)
    assert (said.code, said.envelope["exit_class"]) == (14, "drifted")
    assert tree(places.store.parent) == was
    assert run("audit").code == 10
    assert tree(places.store.parent) == was


@pytest.mark.parametrize("flag", ["--complete", "--rollback"])
@pytest.mark.parametrize("spoil", [spoils.malformed, spoils.unsupported, spoils.orphaned, spoils.unsafe, spoils.foreign])
def test_what_is_no_journal_stays_a_blocker(spoil: Callable[[Places], None], flag: str, places: Places, run):
    spoil(places)
    (entry,) = left(places)
    was = tree(places.store.parent)
    assert run("recover", "--transaction-id", entry.id).code == 0
    assert run("recover", "--transaction-id", entry.id, flag).code == 10
    assert tree(places.store.parent) == was


def test_the_status_says_that_changes_are_refused(places: Places, run):
    assert run("status").data["unfinished"] == 0
    stop(places)
    said = run("status")
    assert (said.code, said.data["unfinished"], said.codes) == (0, 1, ["RF-STATUS-001"])


def test_the_status_sends_to_the_audit_where_the_state_is_damaged(places: Places, run):
    spoils.manifest_damaged(places)
    (finding,) = run("status").envelope["findings"]
    assert (finding["code"], finding["remediation"]) == ("RF-STATUS-002", "refold audit --state")


def test_the_library_audits_too(places: Places):
    stop(places)
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        assert [finding.code.code for finding in memory.audit().findings] == ["RF-TRANSACTION-001"]


def test_a_direction_without_a_transaction_is_refused(places: Places, run):
    stop(places)
    assert run("recover", "--complete").code == 2


@pytest.mark.parametrize("wrong", ["ff", "", "../../x", "ab" * 16])
def test_an_id_that_is_none_is_refused(wrong: str, places: Places, run):
    places_before = tree(places.store)
    (places.vault / "journal" / ("1" * 32)).mkdir(parents=True)
    (places.vault / "journal" / ("2" * 32)).mkdir()
    assert run("recover", "--transaction-id", wrong).code == 2
    assert tree(places.store) == places_before


def test_a_limited_principal_may_none_of_it(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "refold.toml").write_text('[principals.guest]\nlabels = []\nusers = ["ada"]\n', encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(tmp_path / "refold.toml"))
    for command in ("audit", "recover", "reset"):
        assert run(command, "--as", "guest").code == 16
        assert run(command, "--as", "operator").code == 0


@pytest.mark.parametrize("command", ["audit", "recover", "reset"])
def test_where_there_is_no_store_each_says_so(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([command, "--store", str(tmp_path / "none"), "--format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "RF-USAGE-002"
    assert list(tmp_path.iterdir()) == []


def damage(places: Places, dice: random.Random) -> None:
    """Do one thing to one random file of the three places."""
    path = dice.choice(sorted(path for path in places.store.parent.rglob("*") if path.is_file() and not path.is_symlink()))
    raw = path.read_bytes()
    match dice.randrange(7):
        case 0:
            path.unlink()
        case 1:
            path.write_bytes(raw[: dice.randrange(len(raw) + 1)])
        case 2:
            path.write_bytes(b"")
        case 3 if raw:
            at = dice.randrange(len(raw))
            path.write_bytes(raw[:at] + bytes([raw[at] ^ (1 << dice.randrange(8))]) + raw[at + 1 :])
        case 4:
            path.write_bytes(raw + b"\0" * 512)
        case 5:
            path.unlink()
            path.mkdir()
        case _:
            path.rename(path.with_name(path.name + ".moved"))
            path.symlink_to(path.name + ".moved")


def end_with_an_envelope(places: Places, run, seed: int) -> None:
    dice = random.Random(seed)
    stop(places)
    for _ in range(dice.randrange(1, 4)):
        damage(places, dice)
    known = {code for code, _, _ in EXIT_CODES}
    names = [entry.id for entry in journal.entries(places) if entry.condition is not Condition.UNNAMED]
    inspections = [("recover", "--transaction-id", name) for name in names]
    was = tree(places.store.parent)
    for words in (("audit",), ("audit", "--deep"), ("recover",), ("recover", "--log"), ("reset",), *inspections):
        said = run(*words)
        assert said.code in known - {1, 130, 141}, (seed, words, said)
        assert said.envelope["status"] == ("PASS" if said.code == 0 else "FAIL")
    assert tree(places.store.parent) == was, seed
    for name in names:
        for flag in ("--complete", "--rollback"):
            said = run("recover", "--transaction-id", name, flag)
            assert said.code in (0, 2, 10, 12, 13, 14, 16, 17), (seed, flag, said)
    said = run("recover", "--log", "--confirm", places.origin)
    assert said.code in known - {1, 130, 141}, (seed, said)
    assert run("audit", "--deep").code in known - {1, 130, 141}, seed


@pytest.mark.parametrize("seed", range(65 if EXHAUSTIVE else 25))
def test_r15_on_any_damaged_image_they_end_with_an_envelope_and_a_known_exit_code(seed: int, places: Places, run):
    end_with_an_envelope(places, run, seed)
