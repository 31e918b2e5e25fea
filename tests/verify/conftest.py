"""Small logs, made once a session and copied for each test that hurts them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from refold.store import Places
from tests.verify import plain, rich, where
from tests.verify.fuzz import memory


def _copied(made: Path, folder: Path) -> Places:
    for name in ("store", "vault", "root"):
        shutil.copytree(made / name, folder / name)
    return where(folder)


@pytest.fixture(scope="session")
def plain_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    plain(folder)
    return folder


@pytest.fixture(scope="session")
def rich_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rich")
    rich(folder)
    return folder


@pytest.fixture(scope="session")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzzed")
    memory(folder)
    return folder


@pytest.fixture(scope="session")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another memory, made of the same."""
    folder = tmp_path_factory.mktemp("strange")
    memory(folder, seed="strange")
    return folder


@pytest.fixture
def places(plain_log: Path, tmp_path: Path) -> Places:
    """A log of 7 entries in three parts (3, 2, 2), under four commits."""
    return _copied(plain_log, tmp_path)


@pytest.fixture
def erased(rich_log: Path, tmp_path: Path) -> Places:
    """A log in which an entry is erased and parts were merged."""
    return _copied(rich_log, tmp_path)
