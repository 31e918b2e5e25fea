"""The names of epochs, roots and locks are written in one place each: whoever writes a file and whoever removes it mean the same one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import refold
from refold.keys import epochs, roots
from refold.keys.vault import MUTATE_LOCK, READERS_LOCK
from refold.store import Store

SOURCES = sorted(Path(refold.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize(
    ("written", "owner"),
    [
        (r"epoch-(\{|\[|\()", "keys/epochs.py"),
        (r"root\\?\.(\{|\[|\()", "keys/roots.py"),
        (re.escape(f'"{MUTATE_LOCK}"'), "keys/vault.py"),
        (re.escape(f'"{READERS_LOCK}"'), "keys/vault.py"),
    ],
)
def test_a_name_is_written_by_its_owner_alone(written: str, owner: str):
    found = {path.as_posix() for path in SOURCES if re.search(written, path.read_text())}
    assert [path.split("/refold/")[-1] for path in found] == [owner]


def test_what_lies_on_disk_has_these_names(store: Store):
    places = store.places
    assert [path.name for path in (places.vault / "keys").iterdir()] == [epochs.folder_name(1)] == ["epoch-000001"]
    assert [path.name for path in places.root.iterdir()] == [roots.file_name(1)] == ["root.000001"]
    assert epochs.FOLDER_NAME.fullmatch(epochs.folder_name(12))
    assert roots.FILE_NAME.fullmatch(roots.file_name(12))
