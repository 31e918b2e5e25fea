"""The store, its vault and its roots: the three places, made by `create` and opened by `open_store`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import platformdirs

from refold import canonical, files
from refold.errors import Corrupt, RefoldError, StoreMissing, UnsupportedVersion, Usage
from refold.keys import crypto, roots
from refold.keys import vault as vaults
from refold.keys.keyring import Keyring
from refold.keys.vault import Vault
from refold.log import commit as commits
from refold.log.head import Place, newest
from refold.log.log import Log
from refold.outside import Clock, Random

FORMAT = "refold.store/1"
DEMO = "refold-demo"  # a file that marks the folder of a demo, which holds all three places
UNFINISHED = ".init"
AUTHORITY = "store.json"  # until it is there, there is no store
CALLS = "refold.calls/1"
FOLDERS = ("log/commits", "log/parts", "state")
CALL_FOLDERS = ("calls/commits", "calls/parts")


@dataclass(frozen=True, slots=True)
class Places:
    """Where things lie: the store may be copied, the vault apart from it, the root in no backup of either."""

    store: Path
    vault: Path
    root: Path
    origin: str  # of the store that is there, or of the one that would be made


class Store:
    """An open store: places, keys, log, and the recordings of model calls, which are a log too."""

    def __init__(self, places: Places, vault: Vault, *, random: Random, is_restored: bool = False) -> None:
        self.places = places
        self.origin = vault.origin
        self.log = Log(_place(places, vault), vault, random=random, is_restored=is_restored)
        self._calls: Log | None = None
        self._random = random

    @property
    def vault(self) -> Vault:
        return self.log.vault

    @property
    def keyring(self) -> Keyring:
        return self.log.keyring

    @property
    def calls(self) -> Log | None:
        """Return the log of the recordings; None as long as no model was asked."""
        place = _calls_place(self.places, self.vault)
        if self._calls is None and files.look(place.commit(0)) is not None:
            self._calls = Log(place, self.vault, random=self._random)
        return self._calls

    def begin_calls(self, *, now: Clock) -> Log:
        """Return the log of the recordings, made under the live epoch where there is none yet. Raises WriteFailed."""
        if self.calls is None:
            for folder in CALL_FOLDERS:
                files.make_folder(self.places.store / folder)
            head, _ = self.log.refresh()
            signing = self.log.signing(head)
            _begin_log(_calls_place(self.places, self.vault), signing, epoch=head.epoch, now=now, random=self._random)
        calls = self.calls
        assert calls is not None
        return calls

    def close(self) -> None:
        """Drop all keys and everything that was kept. Whatever needs a key from now on raises Usage."""
        self.log.close()
        if self._calls is not None:
            self._calls.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def places(
    store: Path | str | None = None,
    vault: Path | str | None = None,
    root: Path | str | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    random: Random = os.urandom,
    origin: str | None = None,
) -> Places:
    """Find the three places: as given, else from REFOLD_STORE, REFOLD_VAULT, REFOLD_ROOT, else `./memory` and the user's folders.

    `origin` is that of the store that is to be there, where another place says it.
    """
    where = Path(store or env.get("REFOLD_STORE") or "memory").absolute()
    if (where / DEMO).is_file():
        where, vault, root = where / "store", vault or where / "vault", root or where / "root"
    origin = origin or _origin(where) or _unfinished(where) or random(16).hex()
    vault = vault or env.get("REFOLD_VAULT") or platformdirs.user_state_path("refold") / origin
    root = root or env.get("REFOLD_ROOT") or platformdirs.user_config_path("refold") / origin
    return Places(where, Path(vault).absolute(), Path(root).absolute(), origin)


def is_place(folder: Path) -> bool:
    """Whether a folder is the store, the vault or the root of some memory, or of a demo; one that may not be looked into is none."""
    try:
        names = files.names(folder)
    except (OSError, RefoldError):
        return False
    return bool({AUTHORITY, DEMO}.intersection(names)) or {"signing", "witness"} <= set(names) or any(map(roots.FILE_NAME.fullmatch, names))


def create(where: Places, *, now: Clock, random: Random = os.urandom, custody: str | None = None) -> Store:
    """Make a store, its vault and its first root. store.json comes last: until then there is no store. Raises Usage, KeyMissing.

    An interrupted attempt is completed by the next one: it left its origin in `.init`. `custody` is what keeps the roots; None as the
    settings say.
    """
    _check_apart(where)
    files.make_folder(where.store)
    with files.lock(where.store, wait_seconds=0):
        if _origin(where.store) is not None:
            hint = "refold status" if custody is None else "refold help keys"  # what keeps the roots is chosen once
            raise Usage("there is a store already: it is opened as it is, and not made anew", path=where.store, hint=hint)
        if any(_is_strange(name) for name in files.names(where.store)):
            raise Usage("the folder holds something else: a store needs one of its own", path=where.store, hint="refold help places")
        files.link_new(where.store / UNFINISHED, where.origin.encode())
        for folder in FOLDERS:
            files.make_folder(where.store / folder)
        vault = vaults.create(where.vault, where.root, origin=where.origin, random=random, keeper=custody)
        files.link_new(where.store / ".gitignore", b"*\n")
        place = _place(where, vault)
        if not _begin_log(place, (1, vault.signer()), now=now, random=random) and newest(place).version:
            raise Usage("there is a log without a store.json", path=place.folder, hint="refold help damage")
        files.link_new(where.store / AUTHORITY, canonical.encode({"format": FORMAT, "origin": vault.origin}))
        files.remove(where.store / UNFINISHED)
    return open_store(where, random=random)


def open_store(where: Places, *, random: Random = os.urandom) -> Store:
    """Open a store. Raises StoreMissing, UnsupportedVersion, KeyMissing, Usage (another store's vault), Corrupt."""
    return Store(where, own_vault(where, random=random), random=random)


def own_vault(where: Places, *, random: Random = os.urandom) -> Vault:
    """Open the vault of a store that is there. Raises StoreMissing, UnsupportedVersion, KeyMissing, Usage (another's vault), Corrupt."""
    origin = _origin(where.store)
    if origin is None:
        raise StoreMissing("there is no store here", path=where.store, hint="refold init")
    vault = vaults.open_vault(where.vault, where.root, random=random)
    if vault.origin != origin:
        if is_log_of(where, vault):
            path = where.store / AUTHORITY
            raise Corrupt("store.json names another log than the commits beside it, which are this vault's", path=path, hint="refold audit")
        raise Usage("store and vault belong to different logs", path=where.vault, hint="refold help keys")
    return vault


def vault_of(where: Places) -> Vault:
    """Open the vault alone, where the store may be damaged or is not needed. Raises KeyMissing, Corrupt, UnsupportedVersion."""
    return vaults.open_vault(where.vault, where.root, random=os.urandom)


def _check_apart(where: Places) -> None:
    """Refuse places within each other: whoever copies one must not copy the other along."""
    store, vault, root = (place.resolve() for place in (where.store, where.vault, where.root))
    for inner, outer in ((vault, store), (root, store), (root, vault), (store, vault), (store, root), (vault, root)):
        if inner.is_relative_to(outer):
            raise Usage("store, vault and root must not lie within each other", path=inner, hint="refold help places")


def _is_strange(name: str) -> bool:
    """Whether a name in a folder is none that an interrupted `create` could have left there."""
    ours = {folder.split("/")[0] for folder in FOLDERS} | {".gitignore", UNFINISHED}
    return name not in ours and not name.startswith(files.TEMPORARY)


def _place(where: Places, vault: Vault) -> Place:
    return Place(where.store / "log", vault.origin, vault.public_keys)


def _calls_place(where: Places, vault: Vault) -> Place:
    return Place(where.store / "calls", vault.origin, vault.public_keys, CALLS)


def is_log_of(where: Places, vault: Vault) -> bool:
    """Whether the newest commit of the log is signed by the key that the vault has pinned, for the log that it pins."""
    try:
        return newest(_place(where, vault)).commit.origin == vault.origin
    except RefoldError:
        return False


def _origin(store: Path) -> str | None:
    path = store / AUTHORITY
    try:
        document: Any = canonical.decode(files.read(path))
        known, origin = document["format"], document["origin"]
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise Corrupt("store.json is damaged", path=path, hint="refold help damage") from None
    if known != FORMAT:
        raise UnsupportedVersion(f"the store has format {str(known)[:40]!r}; this release reads {FORMAT!r}", path=path)
    if not isinstance(origin, str):
        raise Corrupt("store.json is damaged", path=path, hint="refold help damage")
    return origin


def _unfinished(store: Path) -> str | None:
    """Return the origin that an interrupted `create` had drawn."""
    try:
        return files.read(store / UNFINISHED).decode() or None
    except FileNotFoundError:
        return None


def _begin_log(place: Place, signing: tuple[int, crypto.Signer], *, epoch: int = 1, now: Clock, random: Random) -> bool:
    """Link the commit of the empty log and return True, unless an interrupted attempt, or somebody else, did.

    `signing` is the number of the key that signs it, which the commit names, and the key.
    """
    number, signer = signing
    writer, txn = random(8).hex(), random(16).hex()
    first = commits.first_commit(place.origin, writer=writer, txn=txn, time=now(), format=place.format, epoch=epoch, key=number)
    return files.link_new(place.commit(0), commits.encode(first, signer))
