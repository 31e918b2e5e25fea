"""The notebook runs from its first cell to its last as a script, asserts once in each, and leaves its pictures."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import matplotlib
import pytest

from tests.journal import unsynced

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "explore.py"
PICTURES = {"time-axes", "graph", "request", "calls-again"}


@pytest.mark.slow
def test_the_notebook_runs_as_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", [str(NOTEBOOK), str(tmp_path)])
    with unsynced():
        runpy.run_path(str(NOTEBOOK), run_name="__main__")
    assert {path.stem for path in tmp_path.glob("*.png")} == PICTURES
    assert matplotlib.rcParams["text.parse_math"] is False
    assert all(path.stat().st_size > 5_000 for path in tmp_path.glob("*.png"))


def test_every_cell_shows_one_thing_and_asserts_it():
    cells = re.split(r"^# %%.*$", NOTEBOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    code = [cell for cell in cells if re.search(r"^[a-z@]", cell, re.MULTILINE)][2:]  # after the header and the imports
    assert len(code) >= 9
    shown = [cell.strip().rsplit("\n", 1)[-1] for cell in code]
    assert [line for line in shown if not line.startswith("assert ")] == []
