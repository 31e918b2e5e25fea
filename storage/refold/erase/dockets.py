"""Dockets: what the certificate of an erasure will rest on, sealed before anything is erased, and destroyed once it is certified.

    <vault>/dockets/<id>      HEAD ‖ nonce[12] ‖ AES-256-GCM(u32be length ‖ JSON ‖ zeros to Padmé), bound to origin and id
    <root>/docket.<id>        its key: 32 random bytes of its own, at the place that is in no backup of the vault

A docket holds what must not be found afterwards, so it has to be readable when the keys of the person are gone: a run that was killed past
SEALED, and completed by `refold recover`, is scanned and certified by it. The key of the request dies with the erasure itself, and the keys
of the next epoch live on: so a docket has a key that nothing else needs. It goes first, when the certificate is written; the docket
of an erasure that was taken back goes with the next run, and every other docket within the next erasure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from refold import files
from refold.erase import form, requests
from refold.erase.model import Footprint, Reached, Request
from refold.errors import Corrupt
from refold.keys import crypto
from refold.log.entry import padded
from refold.outside import Random
from refold.store import Store

FOLDER = "dockets"
HEAD = b"refold.docket/1\n"
NAME = re.compile(r"[0-9a-f]{32}")
KEY_NAME = re.compile(r"docket\.([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class Docket:
    """What is known of an erasure until it is certified."""

    request: Request
    footprint: Footprint
    planned: int  # events
    reached: Reached | None = None  # in counts: from behind the fence on


def keep(store: Store, docket: Docket, *, random: Random) -> None:
    """Seal a docket, or what it has become. Raises WriteFailed."""
    request_id = docket.request.request_id
    files.make_folder(path_of(store, request_id).parent)
    files.make_folder(store.places.root)
    if files.look(key_path(store, request_id)) is None:
        files.create(key_path(store, request_id), random(crypto.KEY_BYTES))  # by no other name, for that would be a second copy of it
    nonce = random(crypto.NONCE_BYTES)
    sealed = crypto.seal(_key(store, request_id), nonce, padded(_encoded(docket)), _bound(store.origin, request_id))
    files.replace(path_of(store, request_id), HEAD + nonce + sealed)


def opened(store: Store, request_id: bytes) -> Docket | None:
    """Return the docket of a request; None where there is none, or none that opens any more. Raises Corrupt."""
    path = path_of(store, request_id)
    if files.look(path) is None or files.look(key_path(store, request_id)) is None:
        return None
    raw = files.read(path)
    try:
        said = unsealed(raw, _key(store, request_id), origin=store.origin, request_id=request_id)
        return _decoded(said, requests.outline(store, request_id))
    except (crypto.Unauthentic, ValueError, TypeError, KeyError):
        raise Corrupt("what an erasure is to be certified by is damaged", path=path, hint="refold help requests") from None


def unsealed(raw: bytes, key: bytes, *, origin: str, request_id: bytes) -> Any:
    """Open the file of a docket. Raises crypto.Unauthentic, ValueError."""
    if not raw.startswith(HEAD):
        raise ValueError("another format")
    nonce, sealed = raw[len(HEAD) :][: crypto.NONCE_BYTES], raw[len(HEAD) + crypto.NONCE_BYTES :]
    whole = crypto.unseal(key, nonce, sealed, _bound(origin, request_id))
    return json.loads(whole[4 : 4 + int.from_bytes(whole[:4], "big")])


def destroy(store: Store, request_id: bytes) -> None:
    """Destroy a docket for good: its key first. One that is gone already is fine."""
    for path in (key_path(store, request_id), path_of(store, request_id)):
        if files.look(path) is not None:
            files.remove(path)


def ids(store: Store) -> Iterator[bytes]:
    """Yield the requests that have a docket, or the key of one."""
    folder, root = store.vault.path / FOLDER, store.places.root
    found = {name for name in (files.names(folder) if files.is_folder(folder) else ()) if NAME.fullmatch(name)}
    found |= {match[1] for name in (files.names(root) if files.is_folder(root) else ()) if (match := KEY_NAME.fullmatch(name))}
    return map(bytes.fromhex, sorted(found))


def path_of(store: Store, request_id: bytes) -> Path:
    """Return where the docket of a request lies."""
    return store.vault.path / FOLDER / request_id.hex()


def key_path(store: Store, request_id: bytes) -> Path:
    """Return where the key of a docket lies."""
    return store.places.root / f"docket.{request_id.hex()}"


def _key(store: Store, request_id: bytes) -> bytes:
    return files.read(key_path(store, request_id))


def _bound(origin: str, request_id: bytes) -> bytes:
    return HEAD + origin.encode() + request_id


def _encoded(docket: Docket) -> bytes:
    known = asdict(docket.footprint) | {"digests": [digest.hex() for digest in docket.footprint.digests]}
    reached = docket.reached and asdict(docket.reached)
    return json.dumps({"request": form.encoded(docket.request), "footprint": known, "planned": docket.planned, "reached": reached}).encode()


def _decoded(said: Any, outline: form.Outline) -> Docket:
    known, counts = said["footprint"], said["reached"]
    footprint = Footprint(**known | {"needles": tuple(known["needles"]), "digests": tuple(map(bytes.fromhex, known["digests"]))})
    reached = Reached(**counts | {"erasure_seqs": tuple(counts["erasure_seqs"])}) if counts else None
    return Docket(form.decoded(outline, said["request"]), footprint, said["planned"], reached)
