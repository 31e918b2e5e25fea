"""Escrow: the keyring in one file that only a named recipient can open. It lies apart from every copy of the store.

    "refold.escrow/1" ‖ LF ‖ canonical JSON {epoch, origin, recipient, time} ‖ LF ‖ HPKE(recipient, contents)
    contents = canonical JSON {"files": [[name, size]...], "key": hex} ‖ LF ‖ the files, one after the other

The files are the signing keys, the pinned key with what the witness saw, and the keyring of the live epoch as it lies in the vault; `key`
is what the root of that epoch protects. Both clear lines are bound into the sealing. After an erasure an older escrow copy still opens
what was erased, in copies of the log from before: it has to be made again, and the older one destroyed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refold import canonical, files
from refold.copies import folder
from refold.copies.folder import ESCROW, HINT
from refold.errors import Corrupt, KeyMissing, Usage
from refold.keys import crypto, custody, epochs
from refold.keys.vault import PIN, SIGNING, Vault, open_vault
from refold.outside import Clock, Random
from refold.store import Places, own_vault

KEPT = (SIGNING.parent.name, PIN.parent.name)  # folders of the vault that go along whole
NAME = re.compile(rf"({'|'.join(KEPT)})(/[0-9a-z][0-9a-z._-]*){{1,2}}|[a-z]+")  # of what goes along, and of what may come back


@dataclass(frozen=True, slots=True)
class Escrow:
    """An escrow copy, as anybody can see it."""

    path: Path
    origin: str
    epoch: int
    recipient: bytes
    time: int  # µs
    left_out: tuple[Path, ...] = ()  # what lies among the keys and has no name of ours: known where the copy is made


def make(places: Places, path: Path, recipient_pem: bytes, *, now: Clock, random: Random) -> Escrow:
    """Write the escrow copy of the live keyring to a new file. Raises Usage, KeyMissing, Corrupt, WriteFailed."""
    folder.require_apart_from_stores(path, places)
    try:
        recipient = crypto.recipient(recipient_pem)
    except ValueError:
        raise Usage("the recipient's file is not the PEM of an X25519 public key", hint=HINT) from None
    if files.look(path) is not None:
        raise Usage("there is something of that name: an escrow copy replaces nothing", path=path, hint=HINT)
    vault = own_vault(places, random=random)
    epoch = vault.live_epoch()
    key, tables = epochs.export(vault.keys, epoch, origin=vault.origin, public_keys=vault.public_keys, roots=vault.roots)
    kept, left_out = _kept(vault)
    made = Escrow(path, vault.origin, epoch, recipient, now(), left_out)
    contents = _packed(key, kept | tables)
    assert _unpacked(contents) == (key, kept | tables), "what is sealed can be unpacked again"
    beginning = _beginning(made)
    files.make_folder(path.parent)
    if not files.link_new(path, beginning + crypto.seal_to(recipient, contents, beginning)):
        raise Usage("there is something of that name: an escrow copy replaces nothing", path=path, hint=HINT)
    return made


def read(path: Path) -> tuple[Escrow, bytes]:
    """Return what an escrow copy says of itself, and what it sealed. Raises Usage, Corrupt."""
    try:
        raw = files.read(path)
    except FileNotFoundError:
        raise Usage("there is no such file", path=path, hint=HINT) from None
    if not raw.startswith(ESCROW):
        raise Usage("this is no escrow copy of keys", path=path, hint=HINT)
    line, _, sealed = raw[len(ESCROW) :].partition(b"\n")
    try:
        said = canonical.decode(line)
        found = Escrow(
            path, str(said["origin"]), int(said["epoch"]), canonical.unhex(said["recipient"], crypto.KEY_BYTES), int(said["time"])
        )
        if _beginning(found) + sealed != raw:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise Corrupt("the escrow copy is damaged", path=path, hint=HINT) from None
    return found, sealed


def restore(places: Places, path: Path, identity_pem: bytes, *, random: Random) -> Escrow:
    """Make a vault, and a root for it, of an escrow copy. One that was interrupted is gone on with.

    Raises Usage where the vault is not empty, KeyMissing where the copy was made for somebody else, Corrupt.
    """
    found, sealed = read(path)
    try:
        identity = crypto.Identity(identity_pem)
    except ValueError:
        raise Usage("the identity's file is not the PEM of an X25519 private key without a password", hint=HINT) from None
    if identity.public_key != found.recipient:
        raise KeyMissing("the escrow copy was made for another recipient", path=path, hint=HINT)
    try:
        key, kept = _unpacked(identity.unseal(sealed, _beginning(found)))
    except (crypto.Unauthentic, ValueError, TypeError, KeyError):
        raise Corrupt("the escrow copy is damaged", path=path, hint=HINT) from None
    aside = {name: data for name, data in kept.items() if "/" in name}
    tables = {name: data for name, data in kept.items() if "/" not in name}
    _require_empty(places, found.epoch, aside)
    _write(places, found, key, aside, tables, random=random)
    return found


def _write(places: Places, found: Escrow, key: bytes, aside: Mapping[str, bytes], tables: dict[str, bytes], *, random: Random) -> None:
    """Write the vault, its seal last: until then the next attempt goes on with what is there."""
    for name, data in aside.items():
        files.make_folder((places.vault / name).parent)
        files.link_new(places.vault / name, data)
    custody.choose(places.vault, None)
    vault = open_vault(places.vault, places.root, random=random)
    epochs.put_back(vault.keys, found.epoch, key, tables, origin=found.origin, roots=vault.roots, random=random)
    vault.seal(found.epoch)
    vault.live_keyring()  # what was written is read again before anybody relies on it


def _require_empty(places: Places, epoch: int, aside: Mapping[str, bytes]) -> None:
    """Refuse a vault in which something stands that this very copy would not put there, or whose keyring is sealed."""
    if files.look(places.vault / "keys" / epochs.folder_name(epoch) / "SEALED") is not None:
        raise Usage("there is a keyring here already: keys are restored to an empty vault", path=places.vault, hint=HINT)
    for name in folder.files_in(places.vault):
        mine = name in aside and files.read(places.vault / name) == aside[name]
        if not mine and not name.startswith(f"keys/{epochs.folder_name(epoch)}/") and files.TEMPORARY not in name and name != custody.NAME:
            raise Usage("something is in the vault: keys are restored to an empty one", path=places.vault / name, hint=HINT)


def _kept(vault: Vault) -> tuple[dict[str, bytes], tuple[Path, ...]]:
    """Return the files that go along, and the paths of those that nobody would take back: an editor's, or a file browser's."""
    names = [f"{part}/{name}" for part in KEPT for name in folder.files_in(vault.path / part) if files.TEMPORARY not in name]
    left_out = tuple(vault.path / name for name in names if not NAME.fullmatch(name))
    return {name: files.read(vault.path / name) for name in names if NAME.fullmatch(name)}, left_out


def _beginning(made: Escrow) -> bytes:
    said = {"epoch": made.epoch, "origin": made.origin, "recipient": made.recipient.hex(), "time": made.time}
    return ESCROW + canonical.encode(said) + b"\n"


def _packed(key: bytes, kept: Mapping[str, bytes]) -> bytes:
    listed = [[name, len(data)] for name, data in sorted(kept.items())]
    return canonical.encode({"files": listed, "key": key.hex()}) + b"\n" + b"".join(data for _, data in sorted(kept.items()))


def _unpacked(contents: bytes) -> tuple[bytes, dict[str, bytes]]:
    line, _, rest = contents.partition(b"\n")
    said: Any = canonical.decode(line)
    kept, at = {}, 0
    for name, size in said["files"]:
        if not NAME.fullmatch(name):  # anybody can seal to a public key
            raise ValueError
        kept[name] = rest[at : at + size]
        at += size
    if at != len(rest):
        raise ValueError
    return canonical.unhex(said["key"], crypto.KEY_BYTES), kept
