"""The nightly flow without a server: what Prefect is told of an error, and what configs say of the deployment."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from refold import settings
from refold.errors import Blocked, Corrupt, Locked
from refold.memory import Memory
from refold.verdict import Kind
from tests.recover.conftest import fill
from tests.recover.damage import flip_payload

pytestmark = pytest.mark.slow  # importing Prefect takes two seconds


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Corrupt("part 7 of Zebulon is damaged", path="/home/zebulon"), "RF-CORRUPT-001 corrupt"),
        (Locked("Zebulon holds it"), "RF-LOCKED-001 locked"),
        (ValueError("Zebulon lives in Ouagadougou"), "RF-INTERNAL-001 ValueError in flows.nightly, line "),
    ],
)
def test_an_error_is_told_by_its_code_and_place_and_not_by_its_words(error, said):
    from flows import nightly

    def work():
        raise error

    state = nightly.coded(work)
    assert state.is_failed()
    assert state.message.startswith(said)
    assert state.data is None


def test_what_is_no_error_passes():
    from flows import nightly

    assert nightly.coded(lambda: 7) == 7


def test_nothing_of_the_flow_or_its_tasks_is_stored():
    from flows import nightly

    tasks = [
        nightly.plan,
        nightly.fold_batch,
        nightly.publish,
        nightly.catch_up,
        nightly.compact,
        nightly.sign_head,
        nightly.bring,
        nightly.verify,
    ]
    for each in (nightly.nightly, *tasks):
        assert (each.persist_result, each.retries, each.log_prints) == (False, 0, False)
    assert {type(task.cache_policy).__name__ for task in tasks} == {"_None"}


def test_nothing_of_the_check_of_the_log_is_stored_either():
    from flows import recover

    for each in (recover.recover, recover.look, recover.mend):
        assert (each.persist_result, each.retries, each.log_prints) == (False, 0, False)


def test_the_deployments_for_work_pools_name_the_flows_and_no_place():
    import yaml

    chosen = settings.load({})
    crons = {"nightly": chosen.nightly.cron, "recover": chosen.recover.cron, "erase": chosen.erase.cron}
    deployments = yaml.safe_load(settings.text("prefect.yaml"))["deployments"]
    assert [each["name"] for each in deployments] == [*crons]
    for deployment in deployments:
        module, name = deployment["entrypoint"].rsplit(".", 1)
        assert getattr(importlib.import_module(module), name).name == deployment["name"]
        assert list(deployment["parameters"]) == ["origin"]
        assert deployment["schedules"] == [{"cron": crons[deployment["name"]], "timezone": chosen.nightly.timezone}]


def test_no_flow_file_has_the_name_of_a_module_that_prefect_would_then_import():
    names = {path.stem for path in Path(importlib.import_module("flows").__file__).parent.glob("*.py")} - {"__init__"}
    assert names
    assert not names & (set(sys.stdlib_module_names) | {"refold", "prefect"})


def test_a_night_on_a_damaged_log_tells_of_it_folds_nothing_and_nothing_is_added_from_then_on(tmp_path, monkeypatch):
    from prefect.exceptions import FailedRun

    from flows import nightly

    places = fill(tmp_path)
    for name, place in (("STORE", places.store), ("VAULT", places.vault), ("ROOT", places.root)):
        monkeypatch.setenv(f"REFOLD_{name}", str(place))
    told = []
    monkeypatch.setattr(nightly, "tell", lambda verdict, counts: told.append(verdict))
    monkeypatch.setattr(nightly, "step", lambda task, *given: task.fn(*given) if task is nightly.verify else pytest.fail("it went on"))
    flip_payload(places, 1)
    with pytest.raises(FailedRun, match=r"^RF-BLOCKED-001 the log is damaged: [A-Z_]+; refold recover --log$"):
        nightly.night(places.origin, full=False)
    assert [verdict.kind is not Kind.INTACT for verdict in told] == [True]
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory, pytest.raises(Blocked):
        memory.add("I like milk.", user_id="ada")
