"""A memory with a few events, folded once a session and copied for each test that hurts it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from refold import cli
from refold.memory import Memory


@dataclass(frozen=True)
class Printed:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def data(self) -> dict[str, Any]:
        return self.envelope["data"]


@dataclass(frozen=True)
class Shell:
    """Runs command lines in this process, against the three places of one folder."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def places(self) -> list[str]:
        return [word for name in ("store", "vault", "root") for word in (f"--{name}", str(self.folder / name))]

    def __call__(self, *argv: str, form: str = "text") -> Printed:
        code = cli.main(
            [*argv[:1], *self.places, "--format", form, *argv[1:]]
            if argv[0] not in ("subject", "erase", "migrate", "key", "calls", "mcp", "copies")
            else [*self.places, "--format", form, *argv]
        )
        printed = self.capture.readouterr()
        return Printed(code, printed.out, printed.err)

    def json(self, *argv: str) -> Printed:
        return self(*argv, form="json")


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a memory of three statements, folded, and one that is not."""
    folder = tmp_path_factory.mktemp("filled")
    with Memory.create(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1", said_at="2024-01-10")
        memory.add("I've been living in Munich since 2023.", user_id="ada", source="chat:7#2", said_at="2024-06-01")
        memory.add("My sister is called Ruth.", user_id="ada", source="chat:7#3", said_at="2024-06-02")
        memory.fold()
        memory.add("I work at Siemens.", user_id="ben", source="chat:8#1", said_at="2024-06-03")
    return folder


@pytest.fixture
def shell(filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Give a shell on a copy of the filled memory."""
    for name in ("store", "vault", "root"):
        shutil.copytree(filled / name, tmp_path / name)
    return Shell(tmp_path, capsys)


@pytest.fixture
def empty_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """Give a shell on three places where nothing is yet."""
    return Shell(tmp_path, capsys)
