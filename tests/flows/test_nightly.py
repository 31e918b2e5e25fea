"""The nightly flow without a server: what Prefect is told of an error, and what configs say of the deployment."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from refold import settings
from refold.errors import Corrupt, Locked

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

    tasks = [nightly.plan, nightly.fold_batch, nightly.publish, nightly.catch_up, nightly.compact, nightly.sign_head, nightly.bring]
    for each in (nightly.nightly, *tasks):
        assert (each.persist_result, each.retries, each.log_prints) == (False, 0, False)
    assert {type(task.cache_policy).__name__ for task in tasks} == {"_None"}


def test_nothing_of_the_check_of_the_log_is_stored_either():
    from flows import recover

    for each in (recover.recover, recover.look, recover.mend):
        assert (each.persist_result, each.retries, each.log_prints) == (False, 0, False)


def test_the_deployment_for_work_pools_names_the_flow_and_no_place():
    import yaml

    (deployment,) = yaml.safe_load(settings.text("prefect.yaml"))["deployments"]
    module, name = deployment["entrypoint"].rsplit(".", 1)
    assert getattr(importlib.import_module(module), name).name == "nightly"
    assert list(deployment["parameters"]) == ["origin"]
    assert deployment["schedules"] == [{"cron": settings.load({}).nightly.cron, "timezone": settings.load({}).nightly.timezone}]


def test_no_flow_file_has_the_name_of_a_module_that_prefect_would_then_import():
    names = {path.stem for path in Path(importlib.import_module("flows").__file__).parent.glob("*.py")} - {"__init__"}
    assert names
    assert not names & (set(sys.stdlib_module_names) | {"refold", "prefect"})
