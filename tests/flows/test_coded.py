"""What a task fails with reaches Prefect as a code and a class, never as words."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect.client.schemas.objects import State

from flows.recover import look, mend
from refold.outside import clock
from refold.store import create, places


@pytest.mark.parametrize("task", [look, mend], ids=lambda task: task.name)
def test_a_source_that_cannot_be_asked_is_a_failed_state_with_a_code(task, tmp_path: Path):
    where = places(tmp_path / "store", tmp_path / "vault", tmp_path / "root", env={})
    create(where, now=clock).close()
    (where.vault / "witness/log.json").write_bytes(b"not what was pinned")
    ended = task.fn(where)
    assert isinstance(ended, State)
    assert ended.is_failed()
    assert ended.message == "RF-INCOMPLETE-001 incomplete"
