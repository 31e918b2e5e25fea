"""Roots: what wraps the keyring of an epoch, kept at a third place. Destroying a root darkens everything under it.

A root is only ever asked to wrap and unwrap 32 bytes, so that a token in an HSM, or a service on another host, can do the same.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from refold import files
from refold.errors import Corrupt, KeyMissing
from refold.keys import crypto
from refold.outside import Random

LOST = "a lost root is final: what it protects cannot be read again by anyone"


FILE_NAME = re.compile(r"root\.([0-9]{6})")


def file_name(epoch: int) -> str:
    """Return the name of an epoch's root within its folder."""
    return f"root.{epoch:06d}"


class Roots(Protocol):
    """The roots of all epochs of one store."""

    @property
    def custody(self) -> str:
        """What keeps them: one of those that a certificate may name."""
        ...

    def create(self, epoch: int) -> None:
        """Make the root of an epoch. One that exists stays as it is."""
        ...

    def wrap(self, epoch: int, key: bytes, *, bound_to: bytes) -> bytes:
        """Return the key as only this root can read it, and only for `bound_to`. Raises KeyMissing."""
        ...

    def unwrap(self, epoch: int, wrapped: bytes, *, bound_to: bytes) -> bytes:
        """Return the key. Raises KeyMissing if the root is lost or another one."""
        ...

    def epochs(self) -> frozenset[int]:
        """Return the epochs whose roots are there. Raises KeyMissing where what keeps them cannot be reached."""
        ...

    def destroy(self, epoch: int) -> None:
        """Destroy the root of an epoch, for good. One that is gone already is fine."""
        ...

    def dark_at(self, epoch: int, *, destroyed_at: int) -> int:
        """Return when nobody can have a root back that was destroyed then (µs): later, where what keeps it deletes with a delay."""
        ...


class FileRoots:
    """Roots as files of 32 random bytes: the embedded default. On an SSD a removed file may survive in spare blocks."""

    custody = "file"

    def __init__(self, folder: Path, random: Random) -> None:
        self._folder = folder
        self._random = random

    def create(self, epoch: int) -> None:
        files.make_folder(self._folder)
        self._sweep()
        files.link_new(self._path(epoch), self._random(crypto.KEY_BYTES))

    def wrap(self, epoch: int, key: bytes, *, bound_to: bytes) -> bytes:
        nonce = self._random(crypto.NONCE_BYTES)
        return nonce + crypto.seal(self._root(epoch), nonce, key, bound_to)

    def unwrap(self, epoch: int, wrapped: bytes, *, bound_to: bytes) -> bytes:
        nonce, sealed = wrapped[: crypto.NONCE_BYTES], wrapped[crypto.NONCE_BYTES :]
        try:
            return crypto.unseal(self._root(epoch), nonce, sealed, bound_to)
        except (crypto.Unauthentic, ValueError):
            raise KeyMissing(f"this is not the root that wrapped the keyring of epoch {epoch}; {LOST}", path=self._path(epoch)) from None

    def epochs(self) -> frozenset[int]:
        names = files.names(self._folder) if files.look(self._folder, follow=True) else []
        return frozenset(int(found[1]) for name in names if (found := FILE_NAME.fullmatch(name)))

    def destroy(self, epoch: int) -> None:
        files.remove(self._path(epoch))
        self._sweep()

    def dark_at(self, epoch: int, *, destroyed_at: int) -> int:
        return destroyed_at

    def _sweep(self) -> None:
        """Remove what a process left that died while it made a root: under its temporary name, that is a second copy of the key."""
        for name in files.names(self._folder) if files.is_folder(self._folder) else ():
            if name.startswith(files.TEMPORARY):
                files.remove(self._folder / name)

    def _path(self, epoch: int) -> Path:
        return self._folder / file_name(epoch)

    def _root(self, epoch: int) -> bytes:
        path = self._path(epoch)
        try:
            root = files.read(path)
        except FileNotFoundError:
            raise KeyMissing(f"the root of epoch {epoch} is not there; {LOST}", path=path, hint="refold help keys") from None
        if len(root) != crypto.KEY_BYTES:
            raise Corrupt(f"the root of epoch {epoch} has {len(root)} bytes instead of {crypto.KEY_BYTES}", path=path)
        return root
