"""Heads for a verdict: what was signed of a log, and what witnesses have seen of it. Read only; the log itself is not looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from refold import files
from refold.errors import Corrupt, VerificationIncomplete
from refold.heads import kept
from refold.heads.checkpoint import vault_keys
from refold.heads.configured import witnesses
from refold.heads.kept import CHECKPOINTS, SignedHead
from refold.keys.vault import Vault
from refold.log.head import Place, newest
from refold.log.log import COPY
from refold.settings import Settings
from refold.store import Places, vault_of
from refold.verdict import Checkpoint, Known, SeenHead, Signed, Unasked

NOTHING_TAKEN = "it has taken no head of this log yet: refold checkpoint hands it one"


def checkpoints(places: Places) -> tuple[Checkpoint, ...]:
    """Return the attested heads whose signatures hold, the smallest first. What is not validly signed is none.

    Raises KeyMissing where the vault is not there, VerificationIncomplete.
    """
    return _attested(places, signed(places))


def _attested(places: Places, heads: Sequence[SignedHead]) -> tuple[Checkpoint, ...]:
    known = vault_keys(vault_of(places))
    roots = {each.head.size: each for each in heads}
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


def known(places: Places, settings: Settings) -> Known:
    """Return what was signed beside a log, and the newest head of each witness that has one. Commands are run.

    A witness that cannot be asked, or of the settings' that has taken nothing yet, is named, and keeps no other back. Raises KeyMissing,
    Corrupt where what one keeps is not signed, or of another log.
    """
    vault = vault_of(places)
    keys, own = vault_keys(vault), signed(places)
    attested = _attested(places, own)
    found: list[SeenHead] = []
    unasked: list[Unasked] = []
    for at, witness in enumerate(witnesses(vault, settings.witness)):
        try:
            head = witness.seen(keys)
        except VerificationIncomplete as error:
            unasked.append(Unasked(witness.name, error.message))
            continue
        if head is not None:
            found.append(SeenHead(head.head.size, head.head.root, witness.is_external))
        elif at:  # the first is the vault's own: of a new log it has seen nothing
            unasked.append(Unasked(witness.name, NOTHING_TAKEN))
    sizes = {each.size for each in attested}
    bare = [each for each in own if each.head.size not in sizes]
    local = tuple(Signed(each.head.size, each.head.root, f"{CHECKPOINTS}/{each.path.name}") for each in bare)
    return Known(tuple(_within_reach(places, vault, found)), attested, local, tuple(unasked))


def _within_reach(places: Places, vault: Vault, seen: Sequence[SeenHead]) -> Sequence[SeenHead]:
    """Return the heads that a log is held against: of a copy, which may be behind its store, those that it reaches.

    What lies beside the copy still counts whole: it was brought together with what it speaks of.
    """
    if files.look(places.store / COPY) is None:
        return seen
    try:
        size = newest(Place(places.store / "log", vault.origin, vault.public_keys)).size
    except (Corrupt, FileNotFoundError):
        return seen
    return [each for each in seen if each.size <= size]


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
