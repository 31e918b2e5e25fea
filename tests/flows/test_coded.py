"""What a task fails with reaches Prefect as a code and a class, never as words."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from prefect.client.schemas.objects import State
from prefect.exceptions import FailedRun

from flows.erase import carried_out, patiently, run_request
from flows.nightly import coded
from flows.recover import look, mend
from refold import files
from refold.calls.provider import Provider
from refold.erase.model import Stage
from refold.errors import Locked
from refold.memory import Memory
from refold.outside import clock
from refold.store import create, open_store, places
from tests.conftest import now
from tests.erase.small import approved, filled


@pytest.mark.parametrize("task", [look, mend], ids=lambda task: task.name)
def test_a_source_that_cannot_be_asked_is_a_failed_state_with_a_code(task, tmp_path: Path):
    where = places(tmp_path / "store", tmp_path / "vault", tmp_path / "root", env={})
    create(where, now=clock).close()
    (where.vault / "witness/log.json").write_bytes(b"not what was pinned")
    ended = task.fn(where)
    assert isinstance(ended, State)
    assert ended.is_failed()
    assert ended.message == "RF-INCOMPLETE-001 incomplete"


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a store that the environment names; return its origin."""
    for name in ("store", "vault", "root"):
        monkeypatch.setenv(f"REFOLD_{name.upper()}", str(tmp_path / name))
    with create(places(), now=clock) as store:
        return store.origin


def test_a_request_that_nobody_made_is_a_failed_state_with_a_code(origin: str):
    ended = run_request.fn("0f" * 16)
    assert isinstance(ended, State)
    assert ended.message == "RF-USAGE-001 usage"


def test_of_two_approved_requests_for_one_person_the_second_is_done_with_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = filled(tmp_path)
    for name in ("store", "vault", "root"):
        monkeypatch.setenv(f"REFOLD_{name.upper()}", str(getattr(made, name)))
    with Memory.open(made.store, vault=made.vault, root=made.root) as memory:
        first, second = approved(memory), approved(memory)
        memory.erase_run(first)
    assert run_request.fn(second.hex()) == "dark"


@pytest.mark.parametrize(("request_id", "mode"), [("", "request"), ("0f" * 16, "due"), ("", "now")])
def test_a_mode_and_a_request_that_do_not_go_together_are_refused(origin: str, request_id: str, mode: str):
    ended = coded(lambda: carried_out(origin, request_id, mode))
    assert isinstance(ended, State)
    assert ended.message == "RF-USAGE-001 usage"


def refused_by_litellm() -> None:
    """Raise what litellm makes of a provider's refusal: it quotes what the provider said."""
    Provider("openai", "http://127.0.0.1:9", timeout_seconds=1, connections=1, env={}).close()  # imports it as the gateway does
    import litellm

    raise litellm.BadRequestError(message=NAME, model="small", llm_provider="openai")


NAME = "Zebulon Quistgaard"
FAULTS: dict[str, Callable[[], object]] = {
    "duckdb": lambda: duckdb.connect().execute("SELECT CAST(? AS INTEGER)", [NAME]).fetchall(),
    "pyarrow": lambda: pa.array([NAME]).cast(pa.int64()),
    "python": lambda: int(NAME),
    "litellm": lambda: refused_by_litellm(),
}


@pytest.mark.parametrize("library", FAULTS)
def test_e19_what_a_library_says_of_a_fault_reaches_nobody(library: str, caplog: pytest.LogCaptureFixture):
    with pytest.raises(Exception, match=NAME):
        FAULTS[library]()
    with caplog.at_level("DEBUG"):
        ended = coded(FAULTS[library])
    assert isinstance(ended, State)
    assert NAME not in f"{ended!r}{ended.data!r}{caplog.text}"
    assert ended.message is not None
    assert ended.message.startswith("RF-INTERNAL-001 ")


def test_an_erasure_waits_for_whoever_holds_the_store(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("flows.erase.WAIT_SECONDS", 0.0)
    asked = []

    def work() -> int:
        asked.append(1)
        if len(asked) < 3:
            raise Locked("another process holds it")
        return len(asked)

    assert patiently(work) == 3
    monkeypatch.setattr("flows.erase.WAIT_SECONDS_MAX", -1.0)
    asked.clear()
    with pytest.raises(Locked):
        patiently(work)


def test_an_erasure_that_met_another_has_changed_nothing_and_gets_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    met: list[bool] = []
    with ExitStack() as held, open_store(filled(tmp_path)) as store:
        memory = Memory(store, now=now)
        request_id, before = approved(memory), store.log.refresh()[0]
        held.enter_context(files.lock(store.vault.keys))  # as an erasure holds it from its beginning to its end

        def wait(_: float) -> None:
            met.append((store.log.refresh()[0], memory.erase_show(request_id).stage) == (before, Stage.APPROVED))
            if len(met) == 2:
                held.close()

        monkeypatch.setattr("flows.erase.time.sleep", wait)
        assert patiently(lambda: memory.erase_run(request_id)).epoch_after == 2
        assert met == [True, True]


def test_no_traceback_reaches_the_log_of_runs_and_a_failed_run_is_said_once():
    logger = logging.getLogger("prefect.flow_runs")
    told = []
    for error in (FailedRun("RF-BLOCKED-001 the log is damaged"), OSError("/home/miriam/refold")):
        record = logger.makeRecord(logger.name, logging.ERROR, __file__, 1, "the engine ended", (), (type(error), error, None))
        if logger.filter(record):
            told.append(logging.Formatter().format(record))
    assert told == ["the engine ended"]
