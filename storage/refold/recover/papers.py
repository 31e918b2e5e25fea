"""Auditing what the vault keeps of erasures: requests and holds, dockets, and the register of copies.

A damaged request may be a hold, and so may one that is gone: that some are is known where a certificate answers one that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from refold import files, register
from refold.erase import dockets, form, prove, requests
from refold.erase.model import Stage
from refold.errors import Corrupt, KeyMissing, UnsupportedVersion
from refold.keys import crypto
from refold.keys.keyring import Keyring
from refold.keys.vault import Vault
from refold.receipts import certificate
from refold.recover import findings
from refold.recover.findings import Finding
from refold.store import Places

CERTIFICATE = re.compile(rf"{certificate.KIND.name}-([0-9a-f]{{32}})\.json")
WRONG = (crypto.Unauthentic, ValueError, TypeError, KeyError, Corrupt)


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
    if lost := _lost(opened, places):
        yield Finding(findings.PAPER_LOST, opened.path / requests.FOLDER, details={"requests": lost})


def _requests(opened: Vault, keyring: Keyring | None) -> Iterator[Path]:
    for path, raw in _below(opened.path / requests.FOLDER):
        try:
            outline = form.Outline.read(raw)
            if outline.request_id.hex() != path.name:
                raise ValueError("that of another")
            if keyring is not None and outline.stage is Stage.HELD:
                form.opened(outline, keyring.request_key(outline.request_id), origin=opened.origin)
        except WRONG:
            yield path


def _lost(opened: Vault, places: Places) -> int:
    """Return how many requests were certified and are not there: how one ended stays, so somebody took them away, and others too."""
    folder, there = opened.path / requests.FOLDER, places.store / prove.FOLDER
    kept = set(files.names(folder)) if files.is_folder(folder) else set()
    certified = [found[1] for name in (files.names(there) if files.is_folder(there) else ()) if (found := CERTIFICATE.fullmatch(name))]
    return sum(request_id not in kept for request_id in certified)


def _dockets(opened: Vault, places: Places) -> Iterator[Path]:
    for path, raw in _below(opened.path / dockets.FOLDER):
        place = places.root / f"docket.{path.name}"
        key = _read(place)
        try:
            if key is not None:  # else it is about to go, or its root is elsewhere
                dockets.unsealed(raw, key, origin=opened.origin, request_id=bytes.fromhex(path.name))
        except WRONG:
            yield from (path, place)


def _register(opened: Vault, keyring: Keyring) -> Iterator[Path]:
    path = opened.path / register.PATH
    try:
        if (raw := _read(path)) is not None:
            register.read(raw, keyring, origin=opened.origin)
    except WRONG:
        yield path


def _below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield what lies in a folder. An erasure that ends meanwhile takes its docket away: what is gone is not damaged."""
    for name in sorted(files.names(folder)) if files.is_folder(folder) else ():
        if not name.startswith(files.TEMPORARY) and (raw := _read(folder / name)) is not None:
            yield folder / name, raw


def _read(path: Path) -> bytes | None:
    """Return a file; None where there is none."""
    try:
        return files.read(path)
    except FileNotFoundError:
        return None
