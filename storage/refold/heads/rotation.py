"""Another signing key: both keys sign that the new one follows, the log has it as an entry, and from there on only the new one signs.

One transaction that holds all appends: the entry, the statement beside the pin, and the old seed goes. The seed of the new key is made
before it, and means nothing until a statement names it; an interrupted attempt's is kept and used by the next.
"""

from __future__ import annotations

import os

from refold import files, journal
from refold.errors import Corrupt
from refold.journal import Intent, Intents, LogCommit, OpenStore, Place, Target
from refold.keys import crypto
from refold.keys.signing import STATEMENTS, seed_path, statement, statement_path
from refold.keys.vault import HINT, Vault
from refold.log.note import Verifier, log_name
from refold.outside import Random, clock
from refold.store import Store

KIND = journal.Kind("key", blocks_appends=True)
INTENT = "key"
LOCK_SECONDS_MAX = 5.0


def rotate(store: Store, *, random: Random) -> Verifier:
    """Bring in a new signing key and return its verifier. Old commits, heads and papers stay verifiable.

    Raises Blocked, Locked, KeyMissing, Corrupt, WriteFailed. One that was interrupted is completed by recovery.
    """
    with journal.mutating(store.places, wait_seconds=LOCK_SECONDS_MAX, random=random) as turn:
        store.log.refresh()
        store.log.require_reached()
        old, vault = store.log.signer(), store.vault
        number = len(vault.public_keys) + 1
        new = _prepared(vault, number, random)
        said = statement(store.origin, number, old, new)
        seed = files.read(vault.path / seed_path(number - 1))
        folder = Target(Place.VAULT, STATEMENTS.as_posix())
        steps = [
            LogCommit(txn=random(16).hex(), intent=INTENT, data=said),
            *([] if files.look(vault.path / STATEMENTS) else [journal.add_folder(folder)]),
            journal.write(Target(Place.VAULT, statement_path(number).as_posix()), said),
            journal.remove(Target(Place.VAULT, seed_path(number - 1).as_posix()), before=journal.digest(seed), keeps_before=False),
        ]
        turn.commit(KIND, steps, store=store, intents=INTENTS)
    signs = store.log.signer()
    assert signs.public_key == new.public_key, "the key that was brought in signs"
    return Verifier(log_name(store.origin), new.public_key)


def _prepared(vault: Vault, number: int, random: Random) -> crypto.Signer:
    """Return the next key; its seed is durable before anything names it."""
    path = vault.path / seed_path(number)
    files.link_new(path, random(crypto.KEY_BYTES))
    try:
        return crypto.Signer(files.read(path))
    except ValueError:
        raise Corrupt("the seed of the next signing key is damaged; it has signed nothing yet", path=path, hint=HINT) from None


def run(store: OpenStore, txn: str, data: bytes) -> None:
    """Make the entry of a key, under the transaction that holds all other appends."""
    assert isinstance(store, Store)
    store.log.change_key(data, now=clock, random=os.urandom, txn=txn)


INTENTS: Intents = {INTENT: Intent(run)}
