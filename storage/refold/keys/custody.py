"""Custody: what keeps the roots of a store, as its vault says.

    <vault>/custody     canonical JSON {custody, format, token}: where the roots are in a token, and the label of that token

Without the file they are files at <root>. The token's library and its PIN are this machine's: the settings name them, each time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refold import canonical, files, settings
from refold.errors import Corrupt, KeyMissing, Usage
from refold.keys.hsm import HINT, Token, TokenRoots
from refold.keys.roots import FileRoots, Roots
from refold.outside import Random

FORMAT = "refold.custody/1"
NAME = "custody"
FILE, TOKEN = FileRoots.custody, TokenRoots.custody


def choose(vault: Path, custody: str | None) -> None:
    """Write down what is to keep the roots of a new store: as named, else as the settings say. What an interrupted attempt chose stays.

    Raises Usage where that is a token and the settings name none.
    """
    named = settings.load().root
    if (custody or named.custody) == TOKEN:
        if not named.module or not named.token:
            raise Usage("the settings name no library and label of a token: module and token, under [root]", hint=HINT)
        files.link_new(vault / NAME, canonical.encode({"custody": TOKEN, "format": FORMAT, "token": named.token}))


def roots_of(vault: Path, root: Path, *, origin: str, random: Random) -> Roots:
    """Return the roots of a store. Raises Corrupt. A token is first asked for where a root is: until then it may be away."""
    label = _label(vault / NAME)
    if label is None:
        return FileRoots(root, random)
    named = settings.load().root
    return TokenRoots(Token(named.module, label, lambda: pin(named)), origin, random)


def pin(named: settings.Root, *, env: Mapping[str, str] = os.environ) -> str:
    """Return the PIN of the token: the first line of its file, else what its variable holds. Raises KeyMissing."""
    if named.pin_file:
        try:
            lines = Path(named.pin_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise KeyMissing("the file that the settings name for the PIN of the token cannot be read", hint=HINT) from None
        found = lines[0] if lines else ""
    else:
        found = env.get(named.pin_env, "")
    if not found:
        raise KeyMissing("the PIN of the token is not where the settings say: pin_file or pin_env, under [root]", hint=HINT)
    return found


def _label(path: Path) -> str | None:
    """Return the label of the token that keeps the roots; None where files do."""
    try:
        raw = files.read(path)
    except FileNotFoundError:
        return None
    try:
        said: Any = canonical.decode(raw)
        label, known = said["token"], (said["custody"], said["format"])
    except (ValueError, TypeError, KeyError):
        label, known = None, ()
    if known != (TOKEN, FORMAT) or not isinstance(label, str):
        raise Corrupt("what says where the roots are is damaged, or of a later release", path=path, hint=HINT)
    return label
