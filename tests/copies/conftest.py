"""Copies of a real store in a temporary folder, over a disk whose syncs cost nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from refold.store import Places
from tests.journal import unsynced

EVERY = 1 if os.environ.get("REFOLD_EXHAUSTIVE") else 3  # of the changes of a disk: the one at which a test kills


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    with unsynced():
        yield


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere/copy"


@dataclass(frozen=True)
class Recipient:
    """Somebody to whom keys are sealed."""

    public: bytes  # PEM
    private: bytes


def recipient() -> Recipient:
    key = X25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return Recipient(public, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def as_store(places: Places, folder: Path) -> Places:
    return Places(folder, places.vault, places.root, places.origin)


def whole(folder: Path) -> dict[str, bytes]:
    """Return every file under a folder by its path, but for temporary names."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".tmp-")
    }
