"""How the files of a move are sealed: under a key of the epoch and the move, so that they go dark with the epoch.

    HEAD ‖ epoch u32be ‖ nonce[12] ‖ AES-256-GCM(bytes), the name of the file as AAD

The nonce is an HMAC of name and bytes, so that equal bytes give an equal file, and other bytes another nonce.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from refold.errors import Corrupt, KeyMissing, UnsupportedVersion
from refold.keys import crypto
from refold.keys.keyring import Keyring

HEAD = b"refold.move/1\n"
EPOCH_BYTES = 4
SEALING = crypto.label("refold.move/key/v1")
NONCES = crypto.label("refold.move/nonce/v1")


@dataclass(frozen=True, slots=True, repr=False)
class Box:
    """Seals and opens the files of one move."""

    epoch: int
    key: bytes
    nonces: bytes

    @classmethod
    def of(cls, keyring: Keyring, move_id: str) -> Box:
        """Return the box of a move."""
        known = bytes.fromhex(move_id)
        return cls(keyring.epoch, crypto.derive(keyring.state_key, SEALING + known), crypto.derive(keyring.state_key, NONCES + known))

    def seal(self, name: str, data: bytes) -> bytes:
        """Return the file of that name."""
        bound = name.encode()
        nonce = crypto.mac(self.nonces, len(bound).to_bytes(4, "big") + bound + sha256(data).digest())[: crypto.NONCE_BYTES]
        return HEAD + self.epoch.to_bytes(EPOCH_BYTES, "big") + nonce + crypto.seal(self.key, nonce, data, bound)

    def open(self, name: str, raw: bytes, path: Path) -> bytes:
        """Undo `seal`. Raises UnsupportedVersion, KeyMissing where an erasure made it dark, Corrupt."""
        if not raw.startswith(HEAD):
            if known := re.match(rb"refold\.move/[1-9][0-9]{0,8}\n", raw):
                found = known.group().decode().strip()
                raise UnsupportedVersion(f"a move has format {found!r}; this release reads {HEAD.decode().strip()!r}", path=path)
            raise _damaged(path)
        rest = raw[len(HEAD) :]
        if int.from_bytes(rest[:EPOCH_BYTES], "big") != self.epoch:
            raise KeyMissing("an erasure made what was captured dark", path=path, hint="refold migrate prepare")
        sealed = rest[EPOCH_BYTES:]
        try:
            return crypto.unseal(self.key, sealed[: crypto.NONCE_BYTES], sealed[crypto.NONCE_BYTES :], name.encode())
        except (crypto.Unauthentic, ValueError):
            raise _damaged(path) from None


def _damaged(path: Path) -> Corrupt:
    return Corrupt("a file of a move is not what was captured", path=path, hint="refold migrate prepare")
