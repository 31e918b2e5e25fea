"""Kept heads: signed notes in a folder, one for each size, and beside them what was attested of a state of that size.

%020d.note         the signed head of that many entries, create-only: a second head of the same size is refused
%020d.frontier     canonical JSON list of hex: the roots of its whole subtrees, from which a later head is computed; a hint, which
is used only where its root is the signed one, and only the newest two are kept
%020d-%012d.json   the attestation of one generation of the state, of that size
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refold import canonical, files
from refold.errors import Corrupt
from refold.keys import crypto
from refold.log import note
from refold.log.note import Note, TreeHead, Verifier
from refold.log.tree import HASH_BYTES, Tree

CHECKPOINTS = "checkpoints"  # within the store
NOTE = re.compile(r"([0-9]{20})\.note")
ATTESTATION = re.compile(r"([0-9]{20})-([0-9]{12})\.json")
FRONTIER = ".frontier"
FRONTIERS_KEPT = 2
FORMAT = "refold.attestation/1"
ATTESTED = crypto.label("refold.attestation/v1")
HINT = "refold help witness"


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head whose signature holds, and where it lies."""

    head: TreeHead
    note: Note
    path: Path


@dataclass(frozen=True, slots=True)
class Attestation:
    """What was said of a generation of the state: the hash of its rows, under a key that dies with the epoch."""

    origin: str
    size: int  # entries folded
    generation: int
    epoch: int
    attested: bytes  # HMAC(attest_key of the epoch, state hash)

    @property
    def name(self) -> str:
        return f"{self.size:020d}-{self.generation:012d}.json"

    @property
    def body(self) -> dict[str, object]:
        return {
            "attested": self.attested.hex(),
            "epoch": self.epoch,
            "format": FORMAT,
            "generation": self.generation,
            "origin": self.origin,
            "size": self.size,
        }

    def encode(self, signer: crypto.Signer) -> bytes:
        """Return the signed bytes."""
        signature = signer.sign(ATTESTED + canonical.encode(self.body)).hex()
        return canonical.encode({"body": self.body, "sig": signature})

    @classmethod
    def decode(cls, raw: bytes, known: Sequence[Verifier]) -> Attestation:
        """Read signed bytes. Raises ValueError where they are not an attestation that a known key has signed."""
        try:
            document: Any = canonical.decode(raw)
            body, signature = document["body"], canonical.unhex(document["sig"], crypto.SIGNATURE_BYTES)
            numbers = [body[name] for name in ("size", "generation", "epoch")]
            read = cls(str(body["origin"]), *numbers, attested=canonical.unhex(body["attested"], HASH_BYTES))
        except (TypeError, KeyError) as error:
            raise ValueError("not an attestation") from error
        if read.body != body or set(document) != {"body", "sig"} or any(type(each) is not int or each < 0 for each in numbers):
            raise ValueError("not an attestation")
        if not any(crypto.is_signed(each.public_key, signature, ATTESTED + canonical.encode(body)) for each in known):
            raise ValueError("not signed by a key of this log")
        return read


def note_name(size: int) -> str:
    """Return the name of a head in its folder."""
    return f"{size:020d}.note"


def frontier_name(size: int) -> str:
    """Return the name of what a later head is computed from."""
    return f"{size:020d}{FRONTIER}"


def opened(raw: bytes, known: Sequence[Verifier]) -> tuple[TreeHead, Note]:
    """Return the head that a note says, signed by a known key of the log of that name. Raises ValueError."""
    read = note.parse(raw)
    read.signed_by(known)
    head = TreeHead.parse(read.text)
    if head.name not in {each.name for each in known}:
        raise ValueError("the head of another log")
    return head, read


def sizes(folder: Path) -> list[int]:
    """Return the sizes of which a folder has a head, the smallest first."""
    return sorted(int(found[1]) for name in _names(folder) if (found := NOTE.fullmatch(name)))


def read(folder: Path, size: int, known: Sequence[Verifier]) -> SignedHead:
    """Return one head. Raises Corrupt where it is not signed, or is another than its name says; FileNotFoundError."""
    path = folder / note_name(size)
    try:
        head, read = opened(files.read(path), known)
    except ValueError:
        raise Corrupt("a head of the log is not one that its key has signed", path=path, hint=HINT) from None
    if head.size != size:
        raise Corrupt("a head of the log is of another size than its name says", path=path, hint=HINT)
    return SignedHead(head, read, path)


def newest(folder: Path, known: Sequence[Verifier]) -> SignedHead | None:
    """Return the head of the largest size; None where there is none. Raises Corrupt."""
    found = sizes(folder)
    return read(folder, found[-1], known) if found else None


def keep(folder: Path, head: TreeHead, signed: Note, known: Sequence[Verifier]) -> tuple[Path, bool]:
    """Give a head its name, durably, and read it back; whether it is new. Raises Corrupt where another head has that size."""
    path = folder / note_name(head.size)
    files.make_folder(folder)
    new = files.link_new(path, signed.raw)
    if read(folder, head.size, known).head != head:
        raise Corrupt(f"another head of {head.size} entries was signed: the log has two histories", path=path, hint=HINT)
    return path, new


def keep_attestation(folder: Path, attestation: Attestation, signer: crypto.Signer, known: Sequence[Verifier]) -> Path:
    """Give an attestation its name. Raises Corrupt where something else was attested of the same generation."""
    path = folder / attestation.name
    files.make_folder(folder)
    files.link_new(path, attestation.encode(signer))
    try:
        same = Attestation.decode(files.read(path), known) == attestation
    except ValueError:
        same = False
    if not same:
        generation = attestation.generation
        raise Corrupt(f"the state of generation {generation} is not what was attested of it", path=path, hint="refold fold --full")
    return path


def keep_frontier(folder: Path, tree: Tree) -> None:
    """Write what a later head is computed from, where it is not there; take away those on which none will stand any more.

    The one before stays too: who copies the folder just now has listed it.
    """
    files.link_new(folder / frontier_name(tree.size), canonical.encode([each.hex() for each in tree.frontier]))
    kept = sorted(name for name in files.names(folder) if name.endswith(FRONTIER) and name <= frontier_name(tree.size))
    for name in kept[:-FRONTIERS_KEPT]:
        files.remove(folder / name, sync=False)


def resumed(folder: Path, head: TreeHead) -> Tree | None:
    """Return the tree that stands behind a signed head; None where what was kept of it is missing or not it."""
    try:
        listed = canonical.decode(files.read(folder / frontier_name(head.size)))
        tree = Tree.resume(head.size, [canonical.unhex(each, HASH_BYTES) for each in listed])
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return tree if tree.root() == head.root else None


def attestations(folder: Path, known: Sequence[Verifier]) -> Iterator[tuple[Attestation, Path]]:
    """Yield what was validly attested, by size and generation; what is not valid attests nothing."""
    for name in attestation_names(folder):
        try:
            attestation = Attestation.decode(files.read(folder / name), known)
        except (FileNotFoundError, ValueError):
            continue
        if attestation.name == name:
            yield attestation, folder / name


def attestation_names(folder: Path) -> list[str]:
    """Return the names that attestations have, valid or not, by size and generation."""
    return sorted(name for name in _names(folder) if ATTESTATION.fullmatch(name))


def _names(folder: Path) -> list[str]:
    try:
        return files.names(folder)
    except FileNotFoundError:
        return []
