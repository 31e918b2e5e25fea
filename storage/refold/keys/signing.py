"""The keys that sign a log, one after another: the first is pinned, each later one is vouched for by the one before it.

    <vault>/signing/%06d.key          the seed of the newest key; of one that is being brought in also the next
    <vault>/witness/keys/%06d.json    the statement of the key of that number, from 2: canonical {"body", "new", "old"}
    body = format, origin, number, old and new public key (hex); `old` and `new` are Ed25519 over T("refold.key/v1") ‖ canonical(body)

The same statement is an entry of kind `key` in the log, so that whoever has the log and the first key can follow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refold import canonical, files
from refold.errors import Corrupt
from refold.keys import crypto

FORMAT = "refold.key/1"
LABEL = crypto.label("refold.key/v1")
STATEMENTS = Path("witness", "keys")
SEEDS = Path("signing")


def seed_path(number: int) -> Path:
    """Return where the seed of a key lies within the vault."""
    return SEEDS / f"{number:06d}.key"


def statement_path(number: int) -> Path:
    """Return where the statement of a key lies within the vault."""
    return STATEMENTS / f"{number:06d}.json"


def statement(origin: str, number: int, old: crypto.Signer, new: crypto.Signer) -> bytes:
    """Return what both keys sign: that the new one, of that number, follows the old one."""
    body = {"format": FORMAT, "new": new.public_key.hex(), "number": number, "old": old.public_key.hex(), "origin": origin}
    said = LABEL + canonical.encode(body)
    return canonical.encode({"body": body, "new": new.sign(said).hex(), "old": old.sign(said).hex()})


def follower(raw: bytes, origin: str, number: int, old: bytes) -> bytes:
    """Return the public key that a statement gives the number, after `old`. Raises ValueError where it does not hold."""
    try:
        document: Any = canonical.decode(raw)
        body = document["body"]
        new = canonical.unhex(body["new"], crypto.PUBLIC_KEY_BYTES)
        signatures = [canonical.unhex(document[name], crypto.SIGNATURE_BYTES) for name in ("old", "new")]
    except (TypeError, KeyError) as error:
        raise ValueError("not a statement of a key") from error
    said = {"format": FORMAT, "new": new.hex(), "number": number, "old": old.hex(), "origin": origin}
    message = LABEL + canonical.encode(body)
    if body != said or set(document) != {"body", "new", "old"} or type(body["number"]) is not int:
        raise ValueError("the statement of another key")
    if not all(crypto.is_signed(key, signature, message) for key, signature in zip((old, new), signatures, strict=True)):
        raise ValueError("a statement that not both keys have signed")
    return new


def chain(vault: Path, origin: str, first: bytes) -> tuple[bytes, ...]:
    """Return all public keys of a log, the pinned one first. Raises Corrupt where a statement does not hold."""
    keys = [first]
    while True:
        path = vault / statement_path(len(keys) + 1)
        try:
            keys.append(follower(files.read(path), origin, len(keys) + 1, keys[-1]))
        except FileNotFoundError:
            return tuple(keys)
        except ValueError:
            raise Corrupt(
                "the statement of a signing key is not one that both keys have signed", path=path, hint="refold help keys"
            ) from None
