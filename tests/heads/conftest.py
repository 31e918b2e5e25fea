"""What the tests of heads share: a log with something in it, and witnesses."""

from __future__ import annotations

from pathlib import Path

import pytest

from refold import files
from refold.heads.witness import FolderWitness
from refold.keys.vault import PIN
from refold.store import Store
from tests.log import say


@pytest.fixture
def said(store: Store) -> Store:
    for each in range(5):
        say(store, f"I live in town {each}.", f"I like tea {each}.")
    return store


@pytest.fixture
def own(store: Store) -> FolderWitness:
    return FolderWitness("the vault", store.vault.path / PIN.parent, files.read(store.vault.path / PIN))


@pytest.fixture
def elsewhere(store: Store, tmp_path: Path) -> FolderWitness:
    base = tmp_path / "elsewhere"
    base.mkdir()
    return FolderWitness("elsewhere", base / store.origin, files.read(store.vault.path / PIN), is_external=True, base=base)
