"""The vault: signing key, pinned public key, keyrings and locks of one store, outside that store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from refold import canonical, files
from refold.errors import Corrupt, KeyMissing, UnsupportedVersion, Usage
from refold.keys import crypto, custody, epochs
from refold.keys.keyring import Keyring, Secrets
from refold.keys.roots import Roots
from refold.keys.signing import chain, seed_path
from refold.outside import Random

FORMAT = "refold.vault/1"
PIN = Path("witness", "log.json")
SIGNING = seed_path(1)
MUTATE_LOCK = "mutate.lock"
READERS_LOCK = "readers.lock"
HINT = "refold help keys"


@dataclass(frozen=True, slots=True)
class Vault:
    """An open vault. `origin` and the first of `public_keys` are those pinned when the store was made; the last one signs."""

    path: Path
    origin: str
    public_keys: tuple[bytes, ...]
    roots: Roots

    @property
    def keys(self) -> Path:
        return self.path / "keys"

    @property
    def mutate_lock(self) -> Path:
        return self.path / MUTATE_LOCK

    @property
    def readers_lock(self) -> Path:
        return self.path / READERS_LOCK

    def reopened(self) -> Vault:
        """Return this vault with the keys that came since. Raises Corrupt."""
        return replace(self, public_keys=chain(self.path, self.origin, self.public_keys[0]))

    def signer(self) -> crypto.Signer:
        """Return the signing key. Raises KeyMissing."""
        path = self.path / seed_path(len(self.public_keys))
        try:
            signer = crypto.Signer(files.read(path))
        except FileNotFoundError:
            raise KeyMissing("the signing key is lost", path=path, hint=HINT) from None
        except ValueError:
            raise Corrupt("the signing key is damaged", path=path, hint=HINT) from None
        if signer.public_key != self.public_keys[-1]:
            raise Corrupt("the signing key is not the one whose public key is pinned", path=path, hint="refold help keys")
        return signer

    def live_epoch(self) -> int:
        """Return the highest validly sealed epoch."""
        return epochs.live(self.keys, origin=self.origin, public_keys=self.public_keys)

    def live_keyring(self) -> Keyring:
        """Read the keyring of the live epoch. Raises KeyMissing, Corrupt."""
        return epochs.load(self.keys, self.live_epoch(), origin=self.origin, public_keys=self.public_keys, roots=self.roots)

    def prepare(self, secrets: Secrets, *, random: Random) -> bytes:
        """Write the files of an epoch, and its root, without making it live; return the key that seals its files."""
        return epochs.write(self.keys, secrets, origin=self.origin, roots=self.roots, random=random)

    def seal(self, epoch: int) -> None:
        """Make a prepared epoch the live one. There is no way back."""
        epochs.seal(self.keys, epoch, origin=self.origin, signer=self.signer())


def create(path: Path, root: Path, *, origin: str, random: Random, keeper: str | None = None) -> Vault:
    """Make a vault with a signing key and a sealed first epoch. What an interrupted attempt made is kept and completed.

    `keeper` is what is to keep the roots; None as the settings say. Raises Usage.
    """
    for folder in (path / SIGNING.parent, path / PIN.parent, path / "keys", root):
        files.make_folder(folder)
    custody.choose(path, keeper)
    files.link_new(path / SIGNING, random(crypto.KEY_BYTES))
    public_key = crypto.Signer(files.read(path / SIGNING)).public_key
    pin = {"format": FORMAT, "origin": origin, "public_key": public_key.hex()}
    files.link_new(path / PIN, canonical.encode(pin))
    vault = open_vault(path, root, random=random)
    if vault.origin != origin:
        raise Usage("the vault at this place holds the keys of another store", path=path, hint="refold help init")
    try:
        vault.live_epoch()
    except KeyMissing:
        vault.prepare(Secrets.fresh(random=random), random=random)
        vault.seal(1)
    return vault


def open_vault(path: Path, root: Path, *, random: Random) -> Vault:
    """Open the vault that lies at `path`. Raises KeyMissing, Corrupt, UnsupportedVersion."""
    try:
        pin = canonical.decode(files.read(path / PIN))
        found, origin, public_key = pin["format"], pin["origin"], canonical.unhex(pin["public_key"], crypto.PUBLIC_KEY_BYTES)
    except FileNotFoundError:
        raise KeyMissing("the vault of this store is not there, or not whole", path=path, hint=HINT) from None
    except (ValueError, TypeError, KeyError):
        raise Corrupt("the pinned key of the vault is damaged", path=path / PIN, hint=HINT) from None
    if found != FORMAT:
        raise UnsupportedVersion(f"the vault has format {str(found)[:40]!r}; this release reads {FORMAT!r}", path=path)
    return Vault(path, origin, chain(path, origin, public_key), custody.roots_of(path, root, origin=origin, random=random))
