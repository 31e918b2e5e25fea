"""Witnessed: whether a log still reaches the newest head that its vault has seen of it. Else numbers would be given twice.

The name of a head is its size, so one listing of a folder tells; a head is read only where it is larger than the log. What no key of the
log has signed says nothing here: an audit names it.
"""

from __future__ import annotations

from pathlib import Path

from refold import files
from refold.errors import Corrupt
from refold.keys.vault import PIN, Vault
from refold.log import note
from refold.log.note import TreeHead, Verifier, log_name

HEADS = PIN.parent / "heads"  # within the vault
SUFFIX = ".note"
DIGITS = 20
HINT = "refold recover --log"


def require_reached(vault: Vault, size: int) -> None:
    """Refuse a log of `size` entries where the vault has seen more of them. Raises Corrupt."""
    longer = beyond(vault, size)
    if longer is not None:
        raise cut(size, longer.size, vault.path / HEADS / _name(longer.size))


def cut(size: int, seen: int, path: Path) -> Corrupt:
    """Return the error for a log that has lost its end."""
    return Corrupt(f"the log has lost entries: it has {size}, and a head of {seen} was signed", path=path, hint=HINT)


def beyond(vault: Vault, size: int) -> TreeHead | None:
    """Return the newest head of more than `size` entries that the vault has seen; None where there is none."""
    known = [Verifier(log_name(vault.origin), key) for key in vault.public_keys]
    reached = _name(size)
    larger = (name for name in _names(vault.path / HEADS) if name > reached and len(name) == len(reached) and name.endswith(SUFFIX))
    for name in sorted(larger, reverse=True):
        head = _signed(vault.path / HEADS / name, known)
        if head is not None and _name(head.size) == name:
            return head
    return None


def _name(size: int) -> str:
    return f"{size:0{DIGITS}d}{SUFFIX}"


def _names(folder: Path) -> list[str]:
    try:
        return files.names(folder)
    except FileNotFoundError:
        return []


def _signed(path: Path, known: list[Verifier]) -> TreeHead | None:
    try:
        read = note.parse(files.read(path))
        read.signed_by(known)
        head = TreeHead.parse(read.text)
    except (FileNotFoundError, ValueError):
        return None
    return head if head.name == known[0].name else None
