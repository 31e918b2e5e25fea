"""The witnesses of a store: the vault's own first, then the folders and commands of the settings."""

from __future__ import annotations

import os

from refold import files, settings
from refold.errors import Usage
from refold.heads.checkpoint import Checkpointed, Random, checkpoint
from refold.heads.command import CommandWitness, folder_of
from refold.heads.walk import Report
from refold.heads.witness import FolderWitness, Witness
from refold.keys.vault import PIN, Vault
from refold.log.note import Verifier
from refold.settings import Witnesses
from refold.state.generation import State
from refold.store import Store


def witnesses(vault: Vault, configured: Witnesses) -> list[Witness]:
    """Return whoever remembers the heads of a log. Raises Usage where a key in the settings is none."""
    pin = files.read(vault.path / PIN)
    found: list[Witness] = [FolderWitness("the vault", vault.path / PIN.parent, pin)]
    for folder in configured.folders:
        found.append(FolderWitness(str(folder.path), folder.path / vault.origin, pin, is_external=folder.external, base=folder.path))
    for each in configured.commands:
        where = folder_of(vault.path, each.name)
        found.append(CommandWitness(each.name, each.argv, where, _key(each.key), is_external=each.external))
    return found


def sign(
    store: Store, *, state: State | None = None, full: bool = True, random: Random = os.urandom, progress: Report | None = None
) -> Checkpointed:
    """Make a checkpoint that the witnesses of the settings take. Raises as `checkpoint` does, and Usage."""
    configured = settings.load().witness
    remembering = witnesses(store.vault, configured)
    return checkpoint(store, remembering, state=state, full=full, required=configured.required, random=random, progress=progress)


def _key(text: str | None) -> Verifier | None:
    try:
        return None if text is None else Verifier.parse(text)
    except ValueError:
        raise Usage("the setting witness.commands.key is not a verifier key", hint="refold help witness") from None
