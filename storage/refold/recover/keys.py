"""Auditing keys: vault and root, piece by piece, so that all that is wrong is named and not only the first of it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Generator, Iterator
from pathlib import Path

from refold import files
from refold.errors import Corrupt, KeyMissing, UnsupportedVersion
from refold.files import Kind, Seen
from refold.journal import JOURNAL
from refold.keys import crypto, custody, epochs, roots, vault
from refold.keys.signing import seed_path
from refold.keys.vault import PIN, Vault
from refold.log import commit as commits
from refold.recover import findings, papers
from refold.recover.findings import Finding
from refold.store import Places, is_log_of

NOT_LIVE = (findings.NEVER_LIVE, findings.SEAL_INVALID, findings.KEYS_UNSUPPORTED)
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def look(places: Places) -> Iterator[Finding]:
    """Yield what is wrong with the keys of a store. Raises VerificationIncomplete, NotAllowed."""
    if files.look(places.vault, follow=True) is None:
        yield Finding(findings.VAULT_MISSING, places.vault)
        return
    strange = [*_modes(places.vault), *_modes(places.root)]
    yield from strange
    if any(finding.code is findings.KEYS_UNSAFE for finding in strange):
        return  # what lies behind a link is nobody's word
    opened = yield from _pin(places)
    if opened is not None:
        yield from _signing(opened)
        yield from _epochs(opened, places)
        yield from papers.look(opened, places)


def custody_of(places: Places) -> str | None:
    """Return what keeps the roots of a store; None where its vault does not say it."""
    if files.look(places.vault) is None:
        return None
    try:
        return custody.roots_of(places.vault, places.root, origin=places.origin, random=os.urandom).custody
    except Corrupt:
        return None  # which is a finding


def _modes(place: Path) -> Iterator[Finding]:
    """Find what others may read or change, and what is neither a file nor a folder, at one place."""
    seen = files.look(place, follow=True)
    for path, one in [(place, seen), *_walk(place)] if seen else ():
        if one.kind in (Kind.SYMLINK, Kind.OTHER):
            yield Finding(findings.KEYS_UNSAFE, path, details={"found": one.kind.value})
        elif one.mode & OTHERS:
            yield Finding(findings.OPEN_TO_OTHERS, path, details={"mode": f"{one.mode:04o}"})


def _walk(folder: Path) -> Iterator[tuple[Path, Seen]]:
    """Yield what lies under a place of keys, without following links; the transactions have an audit of their own."""
    for name in sorted(files.names(folder)):
        path = folder / name
        seen = files.look(path)
        if seen is None or name == JOURNAL:
            continue
        yield path, seen
        if seen.kind is Kind.FOLDER:
            yield from _walk(path)


def _pin(places: Places) -> Generator[Finding, None, Vault | None]:
    """Open the vault by its pin; the value of this generator is the vault, or None."""
    try:
        custody.roots_of(places.vault, places.root, origin=places.origin, random=os.urandom)
    except Corrupt as error:
        yield Finding(findings.ROOT_APART, places.vault / custody.NAME, details={"found": error.message})
        return None
    try:
        opened = vault.open_vault(places.vault, places.root, random=os.urandom)
    except KeyMissing:
        yield Finding(findings.VAULT_MISSING, places.vault / PIN)
    except UnsupportedVersion:
        yield Finding(findings.KEYS_UNSUPPORTED, places.vault / PIN)
    except Corrupt:
        yield Finding(findings.PIN_DAMAGED, places.vault / PIN)
    else:
        if opened.origin == places.origin or is_log_of(places, opened):  # else it is store.json that names another log
            return opened
        yield Finding(findings.VAULT_FOREIGN, places.vault)
    return None


def _signing(opened: Vault) -> Iterator[Finding]:
    path = opened.path / seed_path(len(opened.public_keys))
    seen = files.look(path)
    if seen is None or seen.size != crypto.KEY_BYTES:
        yield Finding(findings.SIGNING_MISSING, path)
        return
    try:
        opened.signer()
    except Corrupt:
        yield Finding(findings.SIGNING_OTHER, path)


def _epochs(opened: Vault, places: Places) -> Iterator[Finding]:
    """Judge every epoch, the roots, and whether the newest keyring is that of the log."""
    live, is_whole = 0, False
    for epoch in sorted(int(found[1]) for name in _names(opened.keys) if (found := epochs.FOLDER_NAME.fullmatch(name))):
        wrong = list(_epoch(opened, epoch))
        yield from wrong
        if not any(finding.code in NOT_LIVE for finding in wrong):
            live, is_whole = epoch, not any(finding.code is findings.KEYRING_DAMAGED for finding in wrong)
    if not live:
        yield Finding(findings.NEVER_SEALED, opened.keys)
        return
    yield from _root(opened, places, live, is_whole=is_whole)
    logged = _log_epoch(opened, places)
    if live < logged:
        yield Finding(findings.EPOCH_BEHIND, opened.keys, details={"keyring": live, "log": logged})


def _epoch(opened: Vault, epoch: int) -> Iterator[Finding]:
    """Compare the files of an epoch with what was sealed."""
    folder = opened.keys / epochs.folder_name(epoch)
    names = set(_names(folder))
    if "SEALED" not in names:
        yield Finding(findings.NEVER_LIVE, folder)
        return
    try:
        listed = epochs.sealed(opened.keys, epoch, origin=opened.origin, public_keys=opened.public_keys)
    except UnsupportedVersion:
        yield Finding(findings.KEYS_UNSUPPORTED, folder / "SEALED")
        return
    if listed is None:
        yield Finding(findings.SEAL_INVALID, folder / "SEALED")
        return
    for name, size, sha256 in listed:
        raw = files.read(folder / name) if name in names else b""
        if (len(raw), hashlib.sha256(raw).hexdigest()) != (size, sha256):
            yield Finding(findings.KEYRING_DAMAGED, folder / name)
    for name in sorted(names - {name for name, _, _ in listed} - {"SEALED"}):
        yield Finding(findings.UNSEALED_FILE, folder / name)


def _root(opened: Vault, places: Places, live: int, *, is_whole: bool) -> Iterator[Finding]:
    """Open the live keyring with its root, if its files are those that were sealed."""
    try:
        there = opened.roots.epochs()
    except KeyMissing as error:
        yield Finding(findings.ROOT_APART, opened.path / custody.NAME, details={"found": error.message})
        return
    yield from (Finding(findings.ROOT_OUTLIVED, _at(opened, places, epoch)) for epoch in sorted(there) if epoch < live)
    path = _at(opened, places, live)
    seen = files.look(places.root / roots.file_name(live)) if opened.roots.custody == custody.FILE else None
    if live not in there or (seen and seen.size != crypto.KEY_BYTES):
        yield Finding(findings.ROOT_MISSING, path)
        return
    if not is_whole:
        return
    try:
        epochs.load(opened.keys, live, origin=opened.origin, public_keys=opened.public_keys, roots=opened.roots)
    except KeyMissing:
        yield Finding(findings.ROOT_OTHER, path)
    except UnsupportedVersion:
        yield Finding(findings.KEYS_UNSUPPORTED, opened.keys)
    except Corrupt:
        yield Finding(findings.KEYRING_DAMAGED, opened.keys)


def _at(opened: Vault, places: Places, epoch: int) -> Path:
    """Return what tells where the root of an epoch is: its file, or what names the token."""
    is_file = opened.roots.custody == custody.FILE
    return places.root / roots.file_name(epoch) if is_file else opened.path / custody.NAME


def _log_epoch(opened: Vault, places: Places) -> int:
    """Return the epoch of the newest commit; 0 where there is none to be had, which is not for this audit to say."""
    folder = places.store / "log/commits"
    version = commits.newest_of(_names(folder))
    path = folder / commits.file_name(version or 0)
    try:
        raw = files.read(path)
        commit = commits.decode(raw, path)
        commits.check_signature(raw, opened.public_keys, path)
    except (Corrupt, UnsupportedVersion, FileNotFoundError):
        return 0
    return commit.epoch


def _names(folder: Path) -> list[str]:
    try:
        return files.names(folder)
    except FileNotFoundError:
        return []
