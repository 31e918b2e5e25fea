"""The folder of a copy: whose it is, and that it lies apart from the three places and from everything that could open it.

    copy.json     canonical JSON {format, kind, origin}; written first, so that an interrupted copy is known and gone on with
    store.json    as in the store
    log/, calls/  commits and parts, as in the store; so are checkpoints/ and receipts/

The state is in no copy: it is derived, and what is not copied need not be hunted when somebody is erased.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from refold import canonical, files
from refold.errors import Corrupt, NotAllowed, RefoldError, UnsupportedVersion, Usage
from refold.files import Kind
from refold.log.log import COPY
from refold.store import Places, is_place

FORMAT = "refold.copy/1"
ESCROW = b"refold.escrow/1\n"  # how an escrow copy of the keys begins
HINT = "refold help copies"


class Copy(StrEnum):
    """What a folder is a copy as."""

    MIRROR = "mirror"
    BACKUP = "backup"


def claim(folder: Path, kind: Copy, origin: str) -> None:
    """Make a folder the place of a copy, or find that it is one already. Raises Usage where it holds anything else."""
    files.make_folder(folder)
    found = kind_of(folder, origin)
    if found is None:
        if any(not name.startswith(files.TEMPORARY) for name in files.names(folder)):
            raise Usage(f"the folder holds something else: a {kind} needs one of its own", path=folder, hint=HINT)
        mark = canonical.encode({"format": FORMAT, "kind": kind.value, "origin": origin})
        found = kind if files.link_new(folder / COPY, mark) else kind_of(folder, origin)
    if found is not kind:
        raise Usage(f"the folder is a {found} of this store, and no {kind}", path=folder, hint=HINT)


def kind_of(folder: Path, origin: str) -> Copy | None:
    """Return what a folder is a copy of this origin as; None where it is none. Raises Usage where it is another store's, Corrupt."""
    path = folder / COPY
    try:
        said = canonical.decode(files.read(path))
        known, kind, whose = said["format"], said["kind"], said["origin"]
        if known != FORMAT:
            raise UnsupportedVersion("the copy has a format that this release does not know", path=path)
        found = Copy(kind)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise Corrupt("the file that says whose copy this is is damaged", path=path, hint=HINT) from None
    if whose != origin:
        raise Usage("the folder is the copy of another store", path=folder, hint=HINT)
    return found


def require_apart(where: Path, places: Places) -> None:
    """Refuse a place for a copy that lies in, or around, one of the three places, in another copy, or beside keys. Raises Usage."""
    require_outside(where, places)
    beside = where.resolve().parent
    for name in _names(beside):
        if _starts_with(beside / name, ESCROW):
            raise Usage("keys lie beside it: store and keys must not be copied into one place", path=beside / name, hint=HINT)


def require_apart_from_stores(where: Path, places: Places) -> None:
    """Refuse a place for keys that lies in one of the three places or in a copy, or beside one. Raises Usage."""
    require_outside(where, places)
    beside = where.resolve().parent
    for name in _names(beside):
        if is_place(beside / name):
            raise Usage("a store lies beside it: store and keys must not be copied into one place", path=beside / name, hint=HINT)


def require_outside(where: Path, places: Places) -> None:
    """Refuse a place for a copy that lies in, or around, one of the three places, or in another copy. Raises Usage."""
    target = where.resolve()
    for place in (places.store.resolve(), places.vault.resolve(), places.root.resolve()):
        if target.is_relative_to(place) or place.is_relative_to(target):
            raise Usage("a copy must not lie within the store, vault or root, nor they in it", path=where, hint=HINT)
    for parent in target.parents:
        if is_place(parent):
            raise Usage("a copy must not lie within a store, a vault, a root or another copy", path=parent, hint=HINT)


def files_in(folder: Path, inside: str = "") -> list[str]:
    """Return whatever is in a folder, and in the folders in it, and is none itself, as paths within; none where there is no folder."""
    if files.look(folder) is None:
        return []
    found: list[str] = []
    for name in sorted(files.names(folder)):
        seen = files.look(folder / name)
        is_folder = seen is not None and seen.kind is Kind.FOLDER
        found += files_in(folder / name, f"{inside}{name}/") if is_folder else [f"{inside}{name}"]
    return found


def _names(folder: Path) -> list[str]:
    try:
        return files.names(folder)
    except (FileNotFoundError, NotAllowed):
        return []  # what nobody may list, or is not there yet, holds nothing that can be refused


def _starts_with(path: Path, beginning: bytes) -> bool:
    try:
        seen = files.look(path)
        return seen is not None and seen.kind is Kind.FILE and files.read(path, size=len(beginning)) == beginning
    except (FileNotFoundError, RefoldError):
        return False
