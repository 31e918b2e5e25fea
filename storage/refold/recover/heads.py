"""Heads for a verdict: what was signed of a log, and what witnesses have seen of it. Read only; the log itself is not looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from refold import files
from refold.errors import Corrupt
from refold.heads import kept
from refold.heads.checkpoint import vault_keys
from refold.heads.configured import witnesses
from refold.heads.kept import CHECKPOINTS, SignedHead
from refold.settings import Settings
from refold.store import Places, vault_of
from refold.verdict import Checkpoint, SeenHead


def checkpoints(places: Places) -> tuple[Checkpoint, ...]:
    """Return the attested heads whose signatures hold, the smallest first. What is not validly signed is none.

    Raises KeyMissing where the vault is not there, VerificationIncomplete.
    """
    known = vault_keys(vault_of(places))
    roots = {each.head.size: each for each in signed(places)}
    return tuple(
        Checkpoint(each.size, roots[each.size].head.root, each.generation, each.epoch, each.attested, f"{CHECKPOINTS}/{path.name}")
        for each, path in kept.attestations(places.store / CHECKPOINTS, known)
        if each.size in roots and each.origin == places.origin
    )


def signed(places: Places) -> tuple[SignedHead, ...]:
    """Return the heads beside the log whose signatures hold, attested or not, the smallest first."""
    known, folder = vault_keys(vault_of(places)), places.store / CHECKPOINTS
    found = []
    for size in kept.sizes(folder):
        try:
            found.append(kept.read(folder, size, known))
        except Corrupt:  # a head that nobody signed says nothing, whoever put it there
            continue
    return tuple(found)


def seen(places: Places, settings: Settings) -> tuple[SeenHead, ...]:
    """Return the newest head of each witness that has one. Commands are run.

    Raises Corrupt where what a witness keeps is not signed, VerificationIncomplete where one cannot be asked, KeyMissing.
    """
    vault = vault_of(places)
    known = vault_keys(vault)
    heads = [(witness, witness.seen(known)) for witness in witnesses(vault, settings.witness)]
    return tuple(SeenHead(head.head.size, head.head.root, witness.is_external) for witness, head in heads if head is not None)


def damaged(places: Places) -> Iterator[Path]:
    """Yield the files beside the log that should be signed heads, attestations or what heads are computed from, and are not."""
    known, folder = vault_keys(vault_of(places)), places.store / CHECKPOINTS
    for size in kept.sizes(folder):
        try:
            head = kept.read(folder, size, known).head
        except Corrupt:
            yield folder / kept.note_name(size)
            continue
        frontier = folder / kept.frontier_name(size)
        if files.look(frontier) is not None and kept.resumed(folder, head) is None:
            yield frontier
    attested = {path.name for _, path in kept.attestations(folder, known)}
    yield from (folder / name for name in kept.attestation_names(folder) if name not in attested)
