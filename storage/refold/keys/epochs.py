"""Keyrings on disk: one folder of immutable files per epoch, whole once SEALED is there.

    <vault>/keys/epoch-000001/
      key        a random key, wrapped by the root of the epoch
      seeds      batch_seed, subject_seed, state_key, attest_key, idem_key, suppress_key
      batches    epoch u32be ‖ depth u8 ‖ path[2] ‖ secret[32]        nodes of older epochs' batch seeds
      subjects   subject id[16] ‖ secret[32]                          explicit secrets
      shares     event id[16] ‖ share[32]                             survivors of punctured batches
      suppressed tag[16]                                              what must not come back
      erased     event id[16]                                         the ledger, which a restore applies
      SEALED     the signed list of the files' digests, linked last

All but `key` and `SEALED` are `nonce[12] ‖ AES-256-GCM(records)` under `key`, the name, origin and epoch as AAD; records
are sorted by id; a file without records is not written. The live epoch is the highest one with a valid SEALED.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from refold import canonical, files
from refold.errors import Corrupt, KeyMissing, UnsupportedVersion
from refold.keys import crypto
from refold.keys.keyring import ID_BYTES, NODE_BYTES, Keyring, Secrets
from refold.keys.records import Records
from refold.keys.roots import Roots
from refold.outside import Random

FORMAT = "refold.keyring/1"
SEALED_LABEL = crypto.label("refold.keyring/sealed/v1")
BLOB_LABEL = crypto.label("refold.keyring/blob/v1")
SEEDS = 6
FOLDER_NAME = re.compile(r"epoch-([0-9]{6})")


def folder_name(epoch: int) -> str:
    """Return the name of an epoch's folder within `keys/`."""
    return f"epoch-{epoch:06d}"


def write(folder: Path, secrets: Secrets, *, origin: str, roots: Roots, random: Random) -> bytes:
    """Write the files of an epoch, still unsealed, and return the key that seals them. What an interrupted attempt left goes first.

    Raises FileExistsError if the epoch is sealed.
    """
    epoch = folder / folder_name(secrets.epoch)
    files.make_folder(epoch)
    clear(folder, secrets.epoch)
    roots.create(secrets.epoch)
    key = random(crypto.KEY_BYTES)
    files.create(epoch / "key", roots.wrap(secrets.epoch, key, bound_to=_bound("key", origin, secrets.epoch)))
    for name, raw in encrypted(secrets, key, origin=origin, random=random).items():
        files.create(epoch / name, raw)
    return key


def clear(folder: Path, epoch: int) -> None:
    """Take away the files of an epoch that is not sealed. Raises FileExistsError if it is."""
    place = folder / folder_name(epoch)
    names = files.names(place)
    if "SEALED" in names:
        raise FileExistsError(place / "SEALED")
    for name in names:
        files.remove(place / name)


def encrypted(secrets: Secrets, key: bytes, *, origin: str, random: Random) -> dict[str, bytes]:
    """Return the files of an epoch but `key` and SEALED. One without records is none."""
    made = {}
    for name, records in _tables(secrets).items():
        if records:
            nonce = random(crypto.NONCE_BYTES)
            made[name] = nonce + crypto.seal(key, nonce, records, _bound(name, origin, secrets.epoch))
    return made


def seal(folder: Path, epoch: int, *, origin: str, signer: crypto.Signer) -> None:
    """Make an epoch the live one: sign the digests of its files and link SEALED."""
    if not files.link_new(folder / folder_name(epoch) / "SEALED", sealing(folder, epoch, {}, origin=origin, signer=signer)):
        raise FileExistsError(folder / folder_name(epoch) / "SEALED")


def sealing(folder: Path, epoch: int, coming: Mapping[str, bytes], *, origin: str, signer: crypto.Signer) -> bytes:
    """Return SEALED of an epoch: over the files that lie in its folder, and over those that are `coming`."""
    place = folder / folder_name(epoch)
    there = {name: files.read(place / name) for name in files.names(place) if not name.startswith(files.TEMPORARY)}
    listed = [[name, *_digest(raw)] for name, raw in sorted({**there, **coming}.items())]
    body = {"epoch": epoch, "files": listed, "format": FORMAT, "origin": origin}
    return canonical.encode({"body": body, "sig": signer.sign(SEALED_LABEL + canonical.encode(body)).hex()})


def live(folder: Path, *, origin: str, public_keys: Sequence[bytes]) -> int:
    """Return the highest validly sealed epoch. Raises KeyMissing if there is none."""
    try:
        found = files.names(folder)
    except FileNotFoundError:
        found = []
    epochs = sorted((int(match[1]) for name in found if (match := FOLDER_NAME.fullmatch(name))), reverse=True)
    for epoch in epochs:
        if sealed(folder, epoch, origin=origin, public_keys=public_keys) is not None:
            return epoch
    raise KeyMissing("the vault holds no sealed keyring", path=folder, hint="refold help keys")


def load(folder: Path, epoch: int, *, origin: str, public_keys: Sequence[bytes], roots: Roots) -> Keyring:
    """Read the keyring of an epoch. Raises KeyMissing, Corrupt, UnsupportedVersion."""
    key, raw = export(folder, epoch, origin=origin, public_keys=public_keys, roots=roots)
    tables = {name: _unseal(key, sealed, _bound(name, origin, epoch)) for name, sealed in raw.items()}
    return Keyring(_secrets(epoch, tables, folder / folder_name(epoch)))


def export(folder: Path, epoch: int, *, origin: str, public_keys: Sequence[bytes], roots: Roots) -> tuple[bytes, dict[str, bytes]]:
    """Return the key of an epoch's keyring, unwrapped, and its other files as they lie there. Raises KeyMissing, Corrupt."""
    listed = sealed(folder, epoch, origin=origin, public_keys=public_keys)
    if listed is None:
        raise KeyMissing(f"epoch {epoch} has no valid seal", path=folder / folder_name(epoch), hint="refold help keys")
    raw = {name: _file(folder / folder_name(epoch) / name, size, sha256) for name, size, sha256 in listed}
    return roots.unwrap(epoch, raw.pop("key", b""), bound_to=_bound("key", origin, epoch)), raw


def put_back(folder: Path, epoch: int, key: bytes, raw: dict[str, bytes], *, origin: str, roots: Roots, random: Random) -> None:
    """Write what was exported, under a root that is made for it, still unsealed. An interrupted attempt is gone on with."""
    place = folder / folder_name(epoch)
    files.make_folder(place)
    roots.create(epoch)
    files.link_new(place / "key", roots.wrap(epoch, key, bound_to=_bound("key", origin, epoch)))
    for name, data in raw.items():
        files.link_new(place / name, data)


def _tables(secrets: Secrets) -> dict[str, bytes]:
    seeds = secrets.batch_seed, secrets.subject_seed, secrets.state_key, secrets.attest_key, secrets.idem_key, secrets.suppress_key
    return {
        "seeds": b"".join(seeds),
        "batches": secrets.batches.raw,
        "subjects": secrets.subjects.raw,
        "shares": secrets.shares.raw,
        "suppressed": secrets.suppressed.raw,
        "erased": secrets.erased.raw,
    }


def _secrets(epoch: int, tables: dict[str, bytes], folder: Path) -> Secrets:
    unknown = sorted(set(tables) - {"seeds", "batches", "subjects", "shares", "suppressed", "erased"})
    if unknown:
        raise UnsupportedVersion(f"the keyring has a file of a later format: {unknown[0]}", path=folder / unknown[0])
    seeds = tables.get("seeds", b"")
    if len(seeds) != SEEDS * crypto.KEY_BYTES:
        raise Corrupt("the keyring has no whole set of seeds", path=folder / "seeds")
    return Secrets(
        epoch,
        *(seeds[at : at + crypto.KEY_BYTES] for at in range(0, len(seeds), crypto.KEY_BYTES)),
        Records(tables.get("batches", b""), NODE_BYTES),
        Records(tables.get("subjects", b""), ID_BYTES),
        Records(tables.get("shares", b""), ID_BYTES),
        Records(tables.get("suppressed", b""), ID_BYTES, 0),
        Records(tables.get("erased", b""), ID_BYTES, 0),
    )


def sealed(folder: Path, epoch: int, *, origin: str, public_keys: Sequence[bytes]) -> list[tuple[str, int, str]] | None:
    """Return name, size and digest of the files of a sealed epoch; None where no valid seal is."""
    path = folder / folder_name(epoch) / "SEALED"
    try:
        document = canonical.decode(files.read(path))
        body, signature = document["body"], canonical.unhex(document["sig"], crypto.SIGNATURE_BYTES)
        listed = [(str(name), int(size), str(sha256)) for name, size, sha256 in body["files"]]
        said = (body["epoch"], body["origin"])
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None
    if said != (epoch, origin) or not _is_signed(tuple(public_keys), signature, canonical.encode(body)):
        return None
    if body["format"] != FORMAT:
        raise UnsupportedVersion(f"the keyring has a format that this release does not know: {body['format']}", path=path)
    return listed


@lru_cache(maxsize=8)  # every query and every append looks whether the epoch is still the live one, at the same bytes
def _is_signed(public_keys: tuple[bytes, ...], signature: bytes, body: bytes) -> bool:
    return crypto.is_signed_by_any(public_keys, signature, SEALED_LABEL + body)


def _file(path: Path, size: int, sha256: str) -> bytes:
    try:
        raw = files.read(path)
    except FileNotFoundError:
        raise KeyMissing("a file of the keyring is lost", path=path, hint="refold help keys") from None
    if _digest(raw) != [size, sha256]:
        raise Corrupt("a file of the keyring is not what was sealed", path=path, hint="refold help keys")
    return raw


def _unseal(key: bytes, sealed: bytes, bound_to: bytes) -> bytes:
    try:
        return crypto.unseal(key, sealed[: crypto.NONCE_BYTES], sealed[crypto.NONCE_BYTES :], bound_to)
    except (crypto.Unauthentic, ValueError):
        raise Corrupt("a file of the keyring does not open under its key", hint="refold help keys") from None


def _digest(raw: bytes) -> list[int | str]:
    return [len(raw), hashlib.sha256(raw).hexdigest()]


def _bound(name: str, origin: str, epoch: int) -> bytes:
    return BLOB_LABEL + len(origin).to_bytes(4, "big") + origin.encode() + epoch.to_bytes(4, "big") + name.encode()
