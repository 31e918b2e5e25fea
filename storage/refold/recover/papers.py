"""Auditing what the vault keeps of erasures: requests and holds, dockets, and the register of copies. A damaged one may be a hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from refold import files, register
from refold.erase import dockets, form, requests
from refold.erase.model import Stage
from refold.errors import Corrupt, KeyMissing, UnsupportedVersion
from refold.keys import crypto
from refold.keys.keyring import Keyring
from refold.keys.vault import Vault
from refold.recover import findings
from refold.recover.findings import Finding
from refold.store import Places

WRONG = (crypto.Unauthentic, ValueError, TypeError, KeyError, Corrupt, FileNotFoundError)


def look(opened: Vault, places: Places) -> Iterator[Finding]:
    """Yield what is damaged; without the live keyring, of requests what tells it without one, and of the register nothing."""
    try:
        keyring = opened.live_keyring()
    except (KeyMissing, Corrupt, UnsupportedVersion):
        keyring = None  # which is a finding of its own
    damaged = [*_requests(opened, keyring), *_dockets(opened, places), *(_register(opened, keyring) if keyring else ())]
    if keyring is not None:
        keyring.forget()
    yield from (Finding(findings.PAPER_DAMAGED, path) for path in damaged)


def _requests(opened: Vault, keyring: Keyring | None) -> Iterator[Path]:
    for path in _below(opened.path / requests.FOLDER):
        try:
            outline = form.Outline.read(files.read(path))
            if outline.request_id.hex() != path.name:
                raise ValueError("that of another")
            if keyring is not None and outline.stage is Stage.HELD:
                form.opened(outline, keyring.request_key(outline.request_id), origin=opened.origin)
        except WRONG:
            yield path


def _dockets(opened: Vault, places: Places) -> Iterator[Path]:
    for path in _below(opened.path / dockets.FOLDER):
        key = places.root / f"docket.{path.name}"
        try:
            if files.look(key) is not None:  # else it is about to go, or its root is elsewhere
                dockets.unsealed(files.read(path), files.read(key), origin=opened.origin, request_id=bytes.fromhex(path.name))
        except WRONG:
            yield from (path, key)


def _register(opened: Vault, keyring: Keyring) -> Iterator[Path]:
    path = opened.path / register.PATH
    try:
        if files.look(path) is not None:
            register.read(files.read(path), keyring, origin=opened.origin)
    except WRONG:
        yield path


def _below(folder: Path) -> list[Path]:
    if not files.is_folder(folder):
        return []
    return [folder / name for name in sorted(files.names(folder)) if not name.startswith(files.TEMPORARY)]
