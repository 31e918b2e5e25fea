"""A night that asks a model: Prefect is told ids, keyed digests and counts, and of a full one the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from refold.store import Places, Store
from tests.fold_model.scripted import add, reads, says
from tests.openai_server import Server, failure

pytestmark = pytest.mark.slow  # importing Prefect takes two seconds


@dataclass
class Told:
    """What the flow told Prefect: its artifacts by key."""

    artifacts: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Run tasks in place, and keep the artifacts."""
    import logging

    from flows import nightly, verdicts

    kept = Told()

    def keep(data: object = None, *, key: str, **rest: object) -> None:
        kept.artifacts[key] = data

    for name in ("create_table_artifact", "create_markdown_artifact", "create_progress_artifact"):
        monkeypatch.setattr(nightly, name, keep)
        monkeypatch.setattr(verdicts, name, keep, raising=False)
    monkeypatch.setattr(nightly, "update_progress_artifact", lambda *_: None)
    monkeypatch.setattr(nightly, "get_run_logger", lambda: logging.getLogger("test"))
    monkeypatch.setattr(nightly, "step", lambda do, *arguments: do.fn(*arguments))
    return kept


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path, places: Places) -> Iterator[Server]:
    with Server(reads) as running:
        own = tmp_path / "settings.toml"
        own.write_text(f'[fold]\nrecipe = "openai"\nmodel = "small"\napi_base = "{running.url}"\n')
        monkeypatch.setenv("REFOLD_CONFIG", str(own))
        for name in ("store", "vault", "root"):
            monkeypatch.setenv(f"REFOLD_{name.upper()}", str(getattr(places, name)))
        yield running


def test_what_a_model_was_sent_is_told_by_ids_and_digests(store: Store, server: Server, told: Told):
    from flows import nightly

    add(store, says("Zebulon", 1, "I live in Ouagadougou."))
    counts = nightly.night(store.origin, full=False)
    assert (counts["calls"], counts["reused"], counts["pending"], counts["assertions"]) == (1, 0, 0, 1)
    (row,) = told.artifacts["recorded-inputs"]
    assert row.keys() == {"call_id", "digest", "size", "model", "made", "fault", "prompt_tokens", "completion_tokens", "cost"}
    assert (row["size"], row["model"], row["made"]) == (len(server.asked[0].body), "small", True)
    for said in ("Zebulon", "Ouagadougou"):
        assert said not in json.dumps(told.artifacts, default=str)


def test_a_full_night_reads_the_recordings_and_a_fresh_one_asks_again(store: Store, server: Server, told: Told):
    from flows import nightly

    add(store, says("ada", 1, "I live in Berlin."))
    nightly.night(store.origin, full=False)
    again = nightly.night(store.origin, full=True)
    assert (again["calls"], again["reused"]) == (0, 1)
    fresh = nightly.night(store.origin, full=True, fresh=True)
    assert (fresh["calls"], fresh["reused"]) == (1, 0)


def test_a_night_whose_model_fails_leaves_its_events_pending_and_the_next_one_asks_about_them(store: Store, server: Server, told: Told):
    from flows import nightly

    add(store, says("ada", 1, "I live in Berlin."))
    server.script = lambda asked: failure(400)
    assert nightly.night(store.origin, full=False)["pending"] == 1
    server.script = reads
    assert nightly.night(store.origin, full=False)["pending"] == 0


def test_nothing_of_the_full_flow_is_stored():
    from flows import full

    assert (full.full.persist_result, full.full.retries, full.full.log_prints) == (False, 0, False)


def test_a_night_by_patterns_runs_as_closed_as_the_settings_ask(store: Store, server: Server, told: Told, tmp_path, monkeypatch):
    from flows import nightly

    add(store, says("ada", 1, "I live in Berlin."))
    (tmp_path / "settings.toml").write_text('[fold]\nrequire_closure = "tripwire"\n')
    counts = nightly.night(store.origin, full=False)
    assert counts["assertions"] == 1
    assert server.count == 0
    (heading, *_) = told.artifacts["nightly-summary"].splitlines()
    assert heading.endswith(("closure_level tripwire", "closure_level kernel"))
