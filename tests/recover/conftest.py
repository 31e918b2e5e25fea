"""A memory with a few facts, folded once a session and copied for each test that hurts it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from refold.cli import main
from refold.memory import Memory
from refold.store import Places
from refold.store import places as find_places
from tests.journal import unsynced


def fill(folder: Path) -> Places:
    """Make a memory of three statements, folded in two goes."""
    with unsynced(), Memory.create(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1", said_at="2024-01-10")
        memory.fold()
        memory.add("I've been living in Munich since 2023.", user_id="ada", source="chat:7#2", said_at="2024-06-01")
        memory.add("My sister is called Ruth.", user_id="ada", source="chat:7#3", said_at="2024-06-02")
        memory.fold()
        return memory.places


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    fill(folder)
    return folder


@pytest.fixture
def places(filled: Path, tmp_path: Path) -> Places:
    for name in ("store", "vault", "root"):
        shutil.copytree(filled / name, tmp_path / name)
    return find_places(tmp_path / "store", tmp_path / "vault", tmp_path / "root", env={})


@dataclass(frozen=True)
class Said:
    """How a command ended, and its envelope."""

    code: int
    envelope: dict[str, Any]
    out: str

    @property
    def data(self) -> dict[str, Any]:
        return self.envelope["data"]

    @property
    def codes(self) -> list[str]:
        return [finding["code"] for finding in self.envelope["findings"]]


@pytest.fixture
def run(places: Places, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command on the copied memory, and return what it says to programs."""

    def command(*argv: str) -> Said:
        where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root)]
        code = main([*argv, *where, "--format", "json"])
        out = capsys.readouterr().out
        return Said(code, json.loads(out), out)

    return command
