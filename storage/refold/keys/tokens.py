"""Bearer tokens: who may ask over the network, and as which principal. The vault keeps a digest of each, never the token.

A token is 256 random bits, so that its plain SHA-256 is no guessing oracle: nobody can try them all. One small file per token,
created once and removed whole; nothing else is ever written to it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from refold import canonical, files
from refold.errors import Corrupt, Usage
from refold.outside import Clock, Random

FORMAT = "refold.token/1"
FOLDER = "tokens"
PREFIX = "refold_"  # so that scanners of leaked secrets know it
TOKEN_BYTES = 32
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
HINT = "refold help mcp"


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token."""

    name: str
    principal: str
    digest: str  # SHA-256 of the token's text, hex
    made_at: int  # µs


def mint(vault: Path, name: str, principal: str, *, now: Clock, random: Random) -> str:
    """Make a token for a principal and return its text, which is written nowhere. Raises Usage where the name is taken."""
    text = PREFIX + base64.urlsafe_b64encode(random(TOKEN_BYTES)).decode().rstrip("=")
    token = Token(name, principal, _digest(text), now())
    path = _path(vault, name)
    files.make_folder(path.parent)
    if not files.link_new(path, encode(token)):
        raise Usage("there is a token of that name already", hint="refold mcp tokens")
    return text


def revoke(vault: Path, name: str) -> None:
    """Take a token away: from the next request on it opens nothing. Raises Usage where there is none of that name."""
    path = _path(vault, name)
    if files.look(path) is None:
        raise Usage("there is no token of that name", hint="refold mcp tokens")
    files.remove(path)


def tokens(vault: Path) -> list[Token]:
    """Return what is kept of every token, by name. Raises Corrupt."""
    return sorted((decode(raw, path=path) for path, raw in _files(vault)), key=lambda token: token.name)


def bearer(vault: Path, text: str) -> Token | None:
    """Return the token whose text somebody shows; None where it is none of ours, or was revoked.

    Raises Corrupt where it is none of those that can be read, and not all can.
    """
    shown, damage = _digest(text), None
    for path, raw in _files(vault):
        try:
            token = decode(raw, path=path)
        except Corrupt as error:
            damage = error
            continue
        if hmac.compare_digest(token.digest, shown):
            return token
    if damage is not None:
        raise damage
    return None


def encode(token: Token) -> bytes:
    """Return the bytes of a token's file."""
    fields = {"name": token.name, "principal": token.principal, "sha256": token.digest, "made_at": token.made_at}
    return canonical.encode({"format": FORMAT, **fields})


def decode(raw: bytes, *, path: Path) -> Token:
    """Read the file of a token. Raises Corrupt."""
    try:
        read = canonical.decode(raw)
        token = Token(read["name"], read["principal"], read["sha256"], read["made_at"])
        holds = read["format"] == FORMAT and encode(token) == raw and path.stem == token.name
    except (ValueError, TypeError, KeyError):
        holds = False
    if not holds:
        raise Corrupt("the file of a token is damaged: revoke it and make another", path=path, hint=HINT)
    return token


def _files(vault: Path) -> Iterator[tuple[Path, bytes]]:
    try:
        names = files.names(vault / FOLDER)
    except FileNotFoundError:
        return
    for name in names:
        if not name.startswith(files.TEMPORARY):
            path = vault / FOLDER / name
            try:
                raw = files.read(path)
            except FileNotFoundError:  # revoked since
                continue
            yield path, raw


def _path(vault: Path, name: str) -> Path:
    if not NAME.fullmatch(name):
        raise Usage("the name of a token is 1 to 32 lower case letters, digits and -", hint=HINT)
    return vault / FOLDER / f"{name}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
