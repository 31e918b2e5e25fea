"""The next epoch: begun with fresh seeds before anything is locked, and given the survivors' secrets once nothing can be added any more.

Until SEALED is there, its folder and root mean nothing. SEALED is the point of no return: from there the older keyring is only to be
destroyed, and the erasure only to be completed.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from refold import files, journal
from refold.erase.model import Target
from refold.erase.reach import Census
from refold.errors import Drifted, Locked
from refold.journal import Place, Step
from refold.keys import epochs
from refold.keys.keyring import Keyring, Secrets
from refold.keys.vault import Vault
from refold.outside import Random
from refold.store import Store


@dataclass(frozen=True, slots=True, repr=False)
class Begun:
    """An epoch whose seeds are on disk, and the key that seals its files."""

    secrets: Secrets
    key: bytes
    files: tuple[tuple[str, bytes], ...]  # as they were written, by name: they are sealed as they are, or not at all

    @property
    def epoch(self) -> int:
        return self.secrets.epoch


def begin(store: Store, *, random: Random) -> Begun:
    """Make the root of the next epoch, and its folder with fresh seeds. What an interrupted attempt left goes first."""
    secrets = store.keyring.begin(random=random)
    key = store.vault.prepare(secrets, random=random)
    return Begun(secrets, key, _files(store.vault, secrets.epoch))


@contextmanager
def alone(vault: Vault) -> Generator[None]:
    """Hold off other erasures: two would begin the same epoch. Raises Locked."""
    try:
        with files.lock(vault.keys, wait_seconds=0):
            yield
    except Locked as error:
        if error.path == str(vault.keys):
            error.hint = "refold erase status"
        raise


def abandon(vault: Vault, epoch: int) -> None:
    """Take away an epoch that was begun and not sealed, and its root. Raises FileExistsError if it is sealed."""
    epochs.clear(vault.keys, epoch)
    vault.roots.destroy(epoch)


def secrets(
    keyring: Keyring,
    begun: Begun,
    target: Target,
    census: Census,
    *,
    carried: Collection[bytes],
    dropped: Collection[bytes] = (),
    random: Random,
) -> Secrets:
    """Return all secrets of the next epoch: of whoever is known and not erased, and for the events that stay.

    `carried` are further ids whose secrets go along: those of requests. The one that is carried out goes dark with its subject, and so do
    those that are `dropped`, because they name them too.
    """
    return keyring.succeed(
        [*census.declared, *carried],
        dark={*target.subjects, target.request_id, *dropped},
        begun=begun.secrets,
        gone=census.gone,
        survivors=census.survivors,
        suppressed=target.suppressed,
        erased=census.reach.ids,
        random=random,
    )


def steps(store: Store, begun: Begun, full: Secrets, *, random: Random) -> Iterator[Step]:
    """Yield the steps that give an epoch its secrets and seal it. Raises Drifted."""
    if _files(store.vault, begun.epoch) != begun.files:
        raise Drifted("the epoch that was begun is not the one that lies there any more", path=store.vault.keys, hint="refold status")
    vault, place = store.vault, f"{store.vault.keys.name}/{epochs.folder_name(begun.epoch)}"
    nothing = replace(full, batch_seed=b"", subject_seed=b"", state_key=b"", attest_key=b"", idem_key=b"", suppress_key=b"")
    coming = epochs.encrypted(nothing, begun.key, origin=vault.origin, random=random)  # but for the seeds, which are there
    for name, raw in coming.items():
        yield journal.write(journal.Target(Place.VAULT, f"{place}/{name}"), raw)
    seal = epochs.sealing(vault.keys, begun.epoch, coming, origin=vault.origin, signer=vault.signer())
    yield journal.write(journal.Target(Place.VAULT, f"{place}/SEALED"), seal, point_of_no_return=True)


def _files(vault: Vault, epoch: int) -> tuple[tuple[str, bytes], ...]:
    place = vault.keys / epochs.folder_name(epoch)
    return tuple((name, files.read(place / name)) for name in sorted(files.names(place)))
