"""`refold serve` and the nightly flow in a real Prefect: what it does, how it ends, and that Prefect learns nothing about anybody."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from refold.memory import Memory
from refold.scan.testing import assert_forgotten
from tests.flows.conftest import NAMES, TEXTS

pytestmark = [pytest.mark.slow, pytest.mark.prefect]


def test_the_page_is_there_and_asks_the_server_that_runs(evidence):
    assert b"<html" in evidence.page.lower()
    assert evidence.page_settings["api_url"] == evidence.ready["data"]["api"]
    assert evidence.ready["status"] == "PASS"


def test_the_deployment_runs_on_the_schedule_of_the_settings_and_knows_only_an_origin(evidence):
    schedule = evidence.deployment["schedules"][0]["schedule"]
    assert (schedule["cron"], schedule["timezone"]) == ("17 3 * * *", "UTC")
    assert list(evidence.deployment["parameters"]) == ["origin"]
    assert re.fullmatch("[0-9a-f]{32}", evidence.deployment["parameters"]["origin"])
    assert evidence.deployment["entrypoint"] == "flows.nightly.nightly"


def test_when_which_flow_runs_is_what_is_said_once_it_is_ready(evidence):
    deployments = {"nightly": evidence.deployment, "recover": evidence.check, "erase": evidence.erasing}
    schedules = {name: each["schedules"][0]["schedule"] for name, each in deployments.items()}
    assert evidence.ready["data"]["schedules"] == {name: each["cron"] for name, each in schedules.items()}
    assert {each["timezone"] for each in schedules.values()} == {evidence.ready["data"]["timezone"]}


def test_a_run_that_the_server_starts_folds_everything(evidence):
    assert evidence.scheduled["state_type"] == "COMPLETED"
    assert (evidence.status.unfolded, evidence.status.events) == (0, 300)
    assert evidence.status.assertions > 0


def test_a_run_leaves_progress_a_receipt_and_a_summary(evidence):
    by_key = {each["key"]: each for each in evidence.artifacts}
    assert by_key.keys() == {"fold-progress", "fold-receipt", "log-damage", "log-verdict", "nightly-summary"}
    assert "| verdict | WAL_INTACT |" in by_key["log-verdict"]["data"]
    assert float(by_key["fold-progress"]["data"]) == 100
    batches = json.loads(by_key["fold-receipt"]["data"])
    assert (len(batches), sum(batch["events"] for batch in batches)) == (2, 300)
    assert "| generation | 1 |" in by_key["nightly-summary"]["data"]


def test_a_run_with_nothing_new_publishes_nothing(evidence):
    assert evidence.again.code == 0
    assert evidence.again.said["counts"]["generation"] == evidence.status.generation
    assert evidence.again.said["counts"]["events"] == 0


def test_a_killed_run_changes_nothing_and_the_next_one_ends_right(evidence):
    assert evidence.killed == -9
    assert (evidence.after_kill.generation, evidence.after_kill.unfolded) == (evidence.status.generation, 300)
    assert evidence.repaired.code == 0
    assert evidence.repaired.said["counts"]["events"] == 300


def test_mirrors_are_brought_by_the_runner_of_the_settings(evidence):
    assert evidence.mirrored.code == 0
    assert len(evidence.files) == 2
    assert min(evidence.files) >= 2  # a part and a commit


@pytest.mark.skipif(find_spec("prefect_ray") is not None, reason="it is installed here")
def test_a_runner_that_is_not_installed_fails_the_run_before_it_begins(evidence):
    assert evidence.unknown.said == {"state": "Failed", "message": "RF-USAGE-001 usage", "counts": None}


def test_a_failure_is_a_code_without_words(evidence):
    assert evidence.corrupt.code == evidence.keyless.code == 1
    damaged = "RF-BLOCKED-001 the log is damaged: CORRUPTION_BOUNDARY_DETECTED; refold recover --log"
    assert evidence.corrupt.said == {"state": "Failed", "message": damaged, "counts": None}
    assert evidence.keyless.said == {"state": "Failed", "message": "RF-MISSING-001 key", "counts": None}


def test_serve_ends_well_and_leaves_no_process(evidence):
    assert evidence.stopped == 0
    assert evidence.left_over == []


def test_prefect_keeps_no_name_no_text_and_no_place(evidence):
    database = evidence.home / "prefect.db"
    with closing(sqlite3.connect(database)) as opened:
        dump = "\n".join(opened.iterdump())
    assert evidence.deployment["parameters"]["origin"] in dump  # the scan can find what is there
    assert "RF-BLOCKED-001" in dump
    assert evidence.certified["request"] in dump
    for word in (*NAMES, *TEXTS, str(evidence.folder), str(Path.home()), str(Path(__file__).parents[2])):
        assert word.casefold() not in dump.casefold(), word
    for path in evidence.home.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            for word in (*NAMES, *TEXTS):
                assert word.encode() not in raw, path
                assert word.encode("utf-16-le") not in raw, path


def test_e17_nothing_in_the_home_of_prefect_holds_it_in_any_encoding_after_every_kind_of_failure(evidence):
    """Parameters, names, tags, logs at their most detailed, state messages, artifacts, events, results: everything is below its home."""
    assert_forgotten(evidence.home, [*NAMES, *TEXTS], control=evidence.certified["request"])


def test_everything_that_prefect_writes_is_private(evidence):
    written = [*evidence.home.iterdir()]
    assert "ui" not in {path.name for path in written}  # of pictures a scan for what was erased can claim nothing
    assert {path.name for path in written} >= {"prefect.db", "processes.log"}
    for path in (evidence.home, *written):
        assert not stat.S_IMODE(path.lstat().st_mode) & 0o077, path


def test_serve_says_at_once_what_it_starts(tmp_path):
    with Memory.create(tmp_path / "store", vault=tmp_path / "vault", root=tmp_path / "root"):
        pass
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    places = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(tmp_path / name))]
    command = [sys.executable, "-c", "import sys; from refold.cli import main; sys.exit(main())", "serve", "--port", str(port), *places]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serve:
        assert serve.stdout is not None
        assert serve.stderr is not None
        said = [serve.stderr.readline(), serve.stderr.readline()]
        serve.send_signal(signal.SIGTERM)
        assert (serve.stdout.read(), serve.stderr.read(), serve.wait(60)) == (
            "",
            "refold: interrupted; what was acknowledged stays, and the command can be run again\n",
            130,
        )
    assert f"http://127.0.0.1:{port}/" in said[0]
    assert str(tmp_path / "store" / "prefect" / "processes.log") in said[1]


def test_beside_the_nightly_flow_stands_a_check_of_the_whole_log_that_only_reports(evidence):
    schedule = evidence.check["schedules"][0]["schedule"]
    assert (schedule["cron"], schedule["timezone"]) == ("47 4 * * 0", "UTC")
    assert (list(evidence.check["parameters"]), evidence.check["entrypoint"]) == (["origin"], "flows.recover.recover")
    assert evidence.checked["state_type"] == "COMPLETED"


def test_the_erase_flow_stands_beside_them_and_knows_an_origin_alone_until_a_request_is_named(evidence):
    schedule = evidence.erasing["schedules"][0]["schedule"]
    assert (schedule["cron"], schedule["timezone"]) == ("23 5 * * *", "UTC")
    assert (list(evidence.erasing["parameters"]), evidence.erasing["entrypoint"]) == (["origin"], "flows.erase.erase")


def test_an_erasure_that_cannot_be_carried_out_fails_with_a_code(evidence):
    assert evidence.undecided.said == {"state": "Failed", "message": "RF-DRIFT-003 drifted", "counts": None}


def test_what_is_approved_is_carried_out_on_schedule_scanned_with_the_home_of_prefect_and_certified(evidence):
    assert (evidence.erased["state_type"], evidence.certified["stage"]) == ("COMPLETED", "certified")
    (paper,) = [each for each in evidence.papers if each["flow_run_id"] == evidence.erased["id"]]
    assert evidence.certificate.decode() in paper["data"]
    body = json.loads(evidence.certificate)["body"]
    assert (body["scan"]["hits"], body["scan"]["undecodable"], body["scan"]["control"]) == (0, 0, "found")


def test_a_check_that_finds_damage_fails_with_a_code_and_leaves_a_verdict_and_the_damaged_ranges(evidence):
    assert evidence.found.code == 1
    assert evidence.found.said["message"].startswith("RF-BLOCKED-001 the log is damaged: ")
    verdicts = [each["data"] for each in evidence.told if each["key"] == "log-verdict"]
    assert any("WAL_INTACT" in each for each in verdicts)
    assert any("CORRUPTION_BOUNDARY_DETECTED" in each for each in verdicts)
    assert any(json.loads(each["data"]) for each in evidence.told if each["key"] == "log-damage")
