"""The register of copies: what is elsewhere of a memory, where, who owes it, by when, and what became of it.

    <vault>/copies/register      HEAD ‖ nonce[12] ‖ AES-256-GCM(canonical JSON), replaced whole

Its key follows from the suppress key, the one key that outlives every erasure: what is elsewhere has to be known afterwards too. It holds
no word of what a copy contains. Backups and mirrors of the store hold ciphertext, so an erasure after them darkens them: that is derived
when it is asked, like the index and the state, of which there are no rows at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from refold import canonical, files
from refold.errors import Corrupt, Usage
from refold.keys import crypto
from refold.keys.keyring import Keyring
from refold.outside import Clock, Random
from refold.store import Store

PATH = Path("copies", "register")
HEAD = b"refold.copies/1\n"
KEY = "refold.copies/key/v1"
ID_BYTES = 8
HINT = "refold copies list"
CERTIFICATE = re.compile(r"erasure_certificate-[0-9a-f]{32}\.json")
NAMES_COPY = b'"copies":[{'


class Kind(StrEnum):
    """What a copy is."""

    BACKUP = "backup"  # of the store: ciphertext
    MIRROR = "mirror"
    ESCROW = "escrow"  # of the keyring: opens what it opened
    EXPORT = "export"
    REPLICA = "replica"
    NOTEBOOK = "notebook"
    EMBEDDINGS = "embeddings"
    RERANK_CACHE = "rerank-cache"
    FINE_TUNE = "fine-tune"
    BATCH_FILE = "batch-file"
    PROVIDER = "provider"  # what a host of models keeps of calls, by its terms
    ORCHESTRATOR = "orchestrator"
    OTHER = "other"


class Standing(StrEnum):
    """What became of it."""

    OPEN = "open"
    DONE = "done"  # what was erased is gone from it
    DARK = "dark"  # it is there, and nobody can open what was erased
    BEYOND_USE = "beyond-use"  # it is there, and put where nobody uses it until it goes


class Owner(StrEnum):
    """Who owes that it goes: what they are to the operator, no name."""

    OPERATOR = "operator"
    PROCESSOR = "processor"
    PROVIDER = "provider"
    RECIPIENT = "recipient"


CIPHERTEXT = frozenset({Kind.BACKUP, Kind.MIRROR})


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy elsewhere. Times in µs."""

    copy_id: str  # 16 hexadecimal digits, random
    kind: Kind
    place: str
    owner: Owner
    state: Standing
    epoch: int  # of the keys when it was made: erasures after it concern it
    added_at: int
    due: int | None = None
    evidence: str = ""  # how its state is known, in an operator's words

    def standing(self, live_epoch: int) -> Standing:
        """Return its state now: a copy of ciphertext from an older epoch is dark for whoever was erased since."""
        return Standing.DARK if self.kind in CIPHERTEXT and self.state is Standing.OPEN and self.epoch < live_epoch else self.state


def copies(store: Store) -> list[Copy]:
    """Return what is in the register, the first due first. Raises Corrupt, also where it is lost."""
    path = store.vault.path / PATH
    if files.look(path) is None and _is_certified_of_any(store):
        raise Corrupt("the register of copies is lost: certificates name copies that were in it", path=path, hint="refold help register")
    return _known(store)


def _is_certified_of_any(store: Store) -> bool:
    """Whether a certificate of this store names a copy: none ever leaves the register."""
    folder = store.places.store / "receipts"
    names = files.names(folder) if files.is_folder(folder) else []
    return any(NAMES_COPY in files.read(folder / name) for name in names if CERTIFICATE.fullmatch(name))


def _known(store: Store) -> list[Copy]:
    path = store.vault.path / PATH
    try:
        raw = files.read(path)
    except FileNotFoundError:
        return []
    try:
        return read(raw, store.keyring, origin=store.origin)
    except (crypto.Unauthentic, ValueError, TypeError, KeyError):
        raise Corrupt("the register of copies is damaged", path=path, hint="refold help register") from None


def add(
    store: Store,
    kind: Kind,
    place: str,
    *,
    owner: Owner = Owner.OPERATOR,
    due: int | None = None,
    evidence: str = "",
    made: int | None = None,
    now: Clock,
    random: Random,
) -> Copy:
    """Write down a copy. One of the same kind and place is made anew: it is open again. Raises Usage.

    `made` is when it was made, of one that was found later: the erasures since concern it. Else it is of now.
    """
    if not place.strip():
        raise Usage("a copy needs a place: where it is", hint="refold help register")
    moment = now()
    if made is not None and made > moment:
        raise Usage("a copy that is written down was made before that", hint="refold help register")

    def changed(known: list[Copy]) -> tuple[list[Copy], Copy]:
        same = next((one for one in known if (one.kind, one.place) == (kind, place)), None)
        copy_id = same.copy_id if same else random(ID_BYTES).hex()
        written = Copy(copy_id, kind, place, owner, Standing.OPEN, _epoch_at(store, made), moment, due, evidence)
        return [*(one for one in known if one is not same), written], written

    return _change(store, changed, random=random)


def confirm(store: Store, prefix: str, state: Standing, *, evidence: str, now: Clock, random: Random) -> Copy:
    """Write down what became of a copy, and how that is known. Raises Usage."""
    if not evidence.strip():
        raise Usage("to confirm a copy takes evidence: who saw to it, and how that is known", hint="refold help register")

    def changed(known: list[Copy]) -> tuple[list[Copy], Copy]:
        found = [one for one in known if one.copy_id.startswith(prefix.lower())] if prefix else []
        if len(found) != 1:
            raise Usage("no copy has this id" if not found else "several copies have ids that begin so", hint=HINT)
        if state is Standing.DONE and _is_here(found[0]):
            raise Usage("this copy is not gone: something is at its place still", path=found[0].place, hint="refold help register")
        # Its epoch stays: one that turns up again holds what it held, and a certificate must not take it for made anew.
        made = replace(found[0], state=state, evidence=evidence)
        return [*(one for one in known if one is not found[0]), made], made

    return _change(store, changed, random=random)


def _is_here(copy: Copy) -> bool:
    """Whether something lies at the place of a copy, where that is a whole path on this machine. An empty folder may be a mount point."""
    place = Path(copy.place)
    is_empty = files.is_folder(place) and not files.names(place)
    return place.is_absolute() and not is_empty and files.look(place) is not None


def _epoch_at(store: Store, moment: int | None) -> int:
    """Return the epoch of the keys at a time, or now: the one before the first erasure since."""
    head, _ = store.log.refresh()
    since = [] if moment is None else [header.epoch for _, header in store.log.erasures() if header.recorded_at > moment]
    return min(since, default=head.epoch + 1) - 1


def _change(store: Store, how: Callable[[list[Copy]], tuple[list[Copy], Copy]], *, random: Random) -> Copy:
    path = store.vault.path / PATH
    files.make_folder(path.parent)
    with files.lock(path.parent):
        after, made = how(_known(store))  # where it was lost, it begins anew
        files.replace(path, _sealed(after, store, random(crypto.NONCE_BYTES)))
    return made


def _sealed(known: Iterable[Copy], store: Store, nonce: bytes) -> bytes:
    raw = canonical.encode([{**asdict(one), "kind": str(one.kind), "owner": str(one.owner), "state": str(one.state)} for one in known])
    return HEAD + nonce + crypto.seal(_key(store.keyring), nonce, raw, HEAD + store.origin.encode())


def read(raw: bytes, keyring: Keyring, *, origin: str) -> list[Copy]:
    """Open a register, the first due first. Raises crypto.Unauthentic, ValueError, TypeError, KeyError."""
    if not raw.startswith(HEAD):
        raise ValueError("another format")
    nonce, sealed = raw[len(HEAD) :][: crypto.NONCE_BYTES], raw[len(HEAD) + crypto.NONCE_BYTES :]
    said: Any = canonical.decode(crypto.unseal(_key(keyring), nonce, sealed, HEAD + origin.encode()))
    return sorted(map(_copy, said), key=lambda one: (one.due is None, one.due or 0, one.added_at, one.copy_id))


def _copy(said: dict[str, Any]) -> Copy:
    whole = Copy(**said)
    return replace(whole, kind=Kind(said["kind"]), owner=Owner(said["owner"]), state=Standing(said["state"]))


def _key(keyring: Keyring) -> bytes:
    return crypto.derive(keyring.suppress_key, KEY)
