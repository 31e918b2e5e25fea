"""`refold audit --log`: what an operator reads, what programs read, and that both are told the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from refold.cli import main
from refold.errors import Corrupt
from refold.memory import Memory
from refold.store import Places
from refold.verdict import DamageKind, Kind
from tests.conftest import now
from tests.journal import unsynced
from tests.verify import change, commit_path, flipped, part_path, rewrite, with_value


def audit(places: Places, capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, Any]]:
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root)]
    code = main(["audit", "--log", *argv, *where, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("argv", "tier"), [((), 1), (("--deep",), 2)])
def test_a_whole_log_passes_and_says_how_closely_it_was_looked_at(argv: tuple[str, ...], tier: int, places: Places, capsys):
    code, said = audit(places, capsys, *argv)
    verdict = said["data"]["verdict"]
    assert (code, verdict["kind"], verdict["tier"], verdict["directive"]) == (0, Kind.INTACT, tier, "PROCEED")
    assert f"WAL_INTACT, 7 entries, {'every entry recomputed' if tier == 2 else 'every file compared'}" in said["data"]["text"]


def test_damage_is_a_blocker_with_its_range_its_commit_and_what_to_run(places: Places, capsys):
    change(places, 1, with_value(1, "payload", flipped(60)))
    code, said = audit(places, capsys)
    verdict = said["data"]["verdict"]
    assert (code, said["exit_class"], verdict["kind"], verdict["tier"]) == (10, "blocker", Kind.BOUNDARY, 2)
    path = f"log/parts/{part_path(places, 1).name}"
    assert verdict["damages"] == [{"first": 4, "end": 5, "kind": "payload", "path": path, "commit": 2}]
    (finding,) = said["findings"]
    assert (finding["code"], finding["details"]) == ("RF-LOG-001", {"first": 4, "end": 5, "commit": 2})
    assert verdict["next"] == finding["remediation"] == "refold recover --log"
    assert "what can be replayed: entries 0 up to 4" in said["data"]["text"]


def test_the_witness_that_every_fold_tells_knows_that_the_end_was_cut(places: Places, capsys):
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()
        memory.checkpoint()
    commit_path(places, 3).unlink()
    code, said = audit(places, capsys)
    assert (code, [each["code"] for each in said["findings"]]) == (10, ["RF-LOG-011"])
    assert said["data"]["verdict"]["completeness"] == "LOCAL_WITNESS"
    assert said["data"]["verdict"]["size"] == 7


def test_a_signed_head_beside_the_log_knows_that_the_end_was_cut_also_where_the_vaults_copy_is_gone(places: Places, capsys):
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()  # signs a head, and attests nothing
    shutil.rmtree(places.vault / "witness/heads")
    commit_path(places, 3).unlink()
    code, said = audit(places, capsys)
    assert (code, [each["code"] for each in said["findings"]]) == (10, ["RF-LOG-011"])
    verdict = said["data"]["verdict"]
    assert (verdict["size"], verdict["completeness"]) == (7, "UNWITNESSED")


def test_a_witness_that_is_not_there_keeps_no_verdict_and_no_other_witness_back(places: Places, capsys, tmp_path: Path, monkeypatch):
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()
    own = tmp_path / "own.toml"
    own.write_text(f'[witness]\nfolders = [{{ path = "{tmp_path}/gone" }}]\n', encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(own))
    code, said = audit(places, capsys)
    assert (code, [each["code"] for each in said["findings"]]) == (0, ["RF-LOG-017"])
    assert said["data"]["verdict"]["completeness"] == "LOCAL_WITNESS"
    assert [each["name"] for each in said["data"]["verdict"]["unasked"]] == [f"{tmp_path}/gone"]
    commit_path(places, 3).unlink()
    assert {each["code"] for each in audit(places, capsys)[1]["findings"]} == {"RF-LOG-011", "RF-LOG-017"}


def test_a_witness_behind_a_command_is_asked_and_says_that_it_was_not_as_long_as_it_has_taken_nothing(
    places: Places, capsys, tmp_path: Path, monkeypatch
):
    own = tmp_path / "own.toml"  # the command answers with the head that it is handed
    own.write_text('[witness]\ncommands = [{ name = "office", argv = ["sed", "1,/^$/d"], external = true }]\n', encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(own))
    code, said = audit(places, capsys)
    assert (code, [each["code"] for each in said["findings"]]) == (0, ["RF-LOG-017"])
    assert [each["name"] for each in said["data"]["verdict"]["unasked"]] == ["office"]
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.checkpoint()
    assert audit(places, capsys)[1]["data"]["verdict"]["completeness"] == "EXTERNAL_WITNESS"
    shutil.rmtree(places.vault / "witness/heads")
    shutil.rmtree(places.store / "checkpoints")
    commit_path(places, 3).unlink()
    assert [each["code"] for each in audit(places, capsys)[1]["findings"]] == ["RF-LOG-011"]


def test_what_was_not_looked_at_is_said(places: Places, capsys):
    assert audit(places, capsys)[1]["data"]["left_out"] == ["each entry by itself (--deep recomputes it)"]
    whole = audit(places, capsys, "--deep")[1]["data"]
    assert (whole["left_out"], "not looked at" in whole["text"]) == ([], False)
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()
        memory.checkpoint()
        memory.store.begin_calls(now=now)
    left_out = audit(places, capsys, "--from", "7", "--deep")[1]["data"]
    assert [each.partition(" ")[0] for each in left_out["left_out"]] == ["the", "whether"]
    assert all(f"not looked at: {each}" in left_out["text"] for each in left_out["left_out"])


def test_damage_below_a_checkpoint_is_recoverable_and_from_it_on_the_log_is_whole(places: Places, capsys):
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()
        memory.checkpoint()
        memory.add("after", user_id="ada")
    part_path(places, 0).unlink()
    verdict = audit(places, capsys)[1]["data"]["verdict"]
    assert (verdict["kind"], verdict["replay_from"], verdict["replay_until"]) == (Kind.RECOVERABLE, 7, 8)
    file = next((places.store / "checkpoints").glob("*.json"))
    for given in ("7", str(file), file.name):
        code, said = audit(places, capsys, "--from", given)
        assert (code, said["data"]["verdict"]["verified_from"], said["data"]["verdict"]["kind"]) == (0, 7, Kind.INTACT)
        assert "none below 7 looked at" in said["data"]["text"]
    assert audit(places, capsys, "--from", "6")[0] == 2


@pytest.mark.parametrize("flag", ["require_witness", "require_checkpoint"])
def test_what_the_settings_demand_is_a_blocker_where_it_is_not_there(flag: str, places: Places, capsys, tmp_path: Path, monkeypatch):
    own = tmp_path / "own.toml"
    own.write_text(f"[verify]\n{flag} = true\n", encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(own))
    code, said = audit(places, capsys)
    assert (code, [each["code"] for each in said["findings"]]) == (10, ["RF-LOG-014"])
    assert (said["data"]["verdict"]["kind"], said["data"]["verdict"]["directive"]) == (Kind.INTACT, "HALT")


def test_the_library_verifies_with_what_was_witnessed_and_signed(places: Places):
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()
        assert memory.verify_log(deep=True).is_whole
        rewrite(part_path(places, 0), flipped(200))
        assert memory.audit().listed, "a listing does not see it"
        rewrite(part_path(places, 0), flipped(200))
        change(places, 0, with_value(1, "payload", flipped(60)))
        assert [each.kind for each in memory.verify_log().damage] == [DamageKind.PAYLOAD]
        assert "RF-LOG-001" in {each.code.code for each in memory.audit(deep=True).findings}


def test_the_library_checks_a_paper_by_its_bytes_or_its_file(places: Places):
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        done = memory.checkpoint()
        for paper in (done.note.raw, done.path, str(done.path)):
            assert memory.verify(paper).body["size"] == done.head.size
        with pytest.raises(Corrupt):
            memory.verify(done.note.raw[:-3])


def test_the_schema_of_the_verdict_names_every_word_of_it():
    import refold

    schema = json.loads((Path(refold.__file__).parent / "schemas/audit.1.json").read_text(encoding="utf-8"))
    verdict, damage = schema["$defs"]["verdict"]["properties"], schema["$defs"]["damage"]["properties"]
    assert verdict["kind"]["enum"] == list(Kind)
    assert damage["kind"]["enum"] == list(DamageKind)
