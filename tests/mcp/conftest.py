"""A memory with what a household said, folded, and servers over it that end with the test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from refold.memory import Memory

SETTINGS = """
[principals.family]
labels = ["family"]

[principals.ada]
labels = []
users = ["ada"]
"""
REFOLD = [sys.executable, "-c", "import sys; from refold.cli import main; sys.exit(main())"]


def places_of(folder: Path) -> list[str]:
    return [word for name in ("store", "vault", "root") for word in (f"--{name}", str(folder / name))]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a memory of two people, some of it labelled, and the settings of two principals."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "refold.toml").write_text(SETTINGS, encoding="utf-8")
    with Memory.create(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1", said_at="2024-01-10")
        memory.add("I live in Munich.", user_id="ada", source="chat:7#2", said_at="2024-06-01")
        memory.add("I am allergic to nuts.", user_id="ada", source="chat:7#3", said_at="2024-06-02", audience=["family"])
        memory.add("I work at Siemens.", user_id="ben", source="chat:8#1", said_at="2024-06-03")
        memory.fold()
    return folder


@contextmanager
def served_over_http(folder: Path) -> Generator[str]:
    """Run `refold mcp --http 0` beside the test; yield the address that it prints."""
    command = [*REFOLD, "mcp", *places_of(folder), "--http", "0", "--format", "json"]
    env = {"REFOLD_CONFIG": str(folder / "refold.toml"), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder) as server:
        try:
            assert server.stdout
            envelope = json.loads(server.stdout.readline())
            yield envelope["data"]["url"]
        finally:
            server.terminate()
            _, complaints = server.communicate(timeout=30)
    assert (server.returncode, complaints) == (0, b"")
