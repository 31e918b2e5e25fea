"""Prove: the footprint before an erasure, and after it the scan and the certificate.

before    gathering = gathering_of(store, state, request, target)
run       reached = run(store, target, watch=gathering.read, ...)
          footprint = gathering.footprint
after     proof = prove(store, request, reached, footprint, ...)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refold import files, register, settings
from refold.erase import certificate, requests
from refold.erase.certificate import Copy, Evidence, Root
from refold.erase.footprint import Gathering
from refold.erase.model import Footprint, Reached, Request, Target
from refold.erase.residue import residue
from refold.erase.who import people
from refold.errors import Corrupt, Usage
from refold.heads.checkpoint import known_keys
from refold.outside import Clock
from refold.receipts.certificate import KIND, State
from refold.receipts.form import sign
from refold.receipts.verify import verify
from refold.scan.found import Scanned
from refold.scan.walk import Progress
from refold.state.generation import State as Folded
from refold.store import Store

FOLDER = "receipts"
HINT = "refold erase status"
DATABASES = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")


@dataclass(frozen=True, slots=True)
class Proof:
    """A certificate, and the scan it rests on."""

    state: State
    raw: bytes
    path: Path
    scanned: Scanned


def gathering_of(store: Store, state: Folded, request: Request, target: Target) -> Gathering:
    """Begin to gather what must not be found afterwards, before the erasure: afterwards nobody can read it any more."""
    aliases = [alias for person in people(store, state, request.selector).meant for _, alias in person.aliases]
    aliases += [alias for _, alias in request.selector.aliases]
    return Gathering(store, aliases, target)


def prove(
    store: Store,
    request: Request,
    reached: Reached,
    known: Footprint,
    *,
    erased_at: int,
    events_planned: int | None = None,
    closure_level: str = "declared",
    is_fresh: bool = False,
    extra: Sequence[Path] = (),
    now: Clock,
    progress: Progress = lambda files, size: None,
) -> Proof:
    """Scan for what is left, judge, sign, and keep the certificate among the receipts of the store. Raises WriteFailed.

    Copies are those of the register. `events_planned` is what the plan said.
    """
    scanned = residue(store, known, extra=extra, progress=progress)
    roots = store.vault.roots
    evidence = Evidence(
        request=request,
        reached=reached,
        scanned=scanned,
        footprint=known,
        root=Root(roots.custody, erased_at, roots.dark_at(reached.epoch_before, destroyed_at=erased_at)),
        erased_at=erased_at,
        made_at=max(now(), erased_at),
        copies=concerned(store, reached),
        events_planned=events_planned,
        undecided=requests.undecided(request),
        closure_level=closure_level,
        is_fresh=is_fresh,
        is_orchestrated_elsewhere=_is_orchestrated_elsewhere(store, extra, os.environ),
    )
    raw = certificate.certify(evidence, origin=store.origin, signer=store.log.signer())
    path = path_of(store, request.request_id)
    files.make_folder(path.parent)
    files.replace(path, raw)
    return Proof(certificate.state_of(certificate.reasons(evidence)), raw, path, scanned)


def _is_orchestrated_elsewhere(store: Store, extra: Sequence[Path], env: Mapping[str, str]) -> bool:
    """Whether Prefect is told, in the settings or its own variables, to keep what it keeps where a scan of the store does not look."""
    home = env.get("PREFECT_HOME")
    seen = [place.resolve() for place in (store.places.store, *extra)]
    is_home_elsewhere = bool(home) and not any(Path(str(home)).resolve().is_relative_to(place) for place in seen)
    return is_home_elsewhere or bool(settings.load(env).serve.database) or any(env.get(name) for name in DATABASES)


def renew(store: Store, request_id: bytes, *, now: Clock) -> State | None:
    """Make a certificate anew where a copy, or the root, is not what it says any more; return its state. None where nothing changed.

    A copy of before that was found since comes in.
    Raises Usage where there is none, Corrupt, WriteFailed.
    """
    raw = read(store, request_id)
    body = verify(raw, known_keys(store)).body
    made_at = max(now(), body["made_at"])
    epoch = body["reached"]["epoch_before"]
    said = certificate.renewed(body, raw, _standings(store, epoch), copies=_before(store, epoch), made_at=made_at)
    if said is None:
        return None
    files.replace(path_of(store, request_id), sign(KIND, said, origin=store.origin, signer=store.log.signer(), made_at=made_at))
    return State(said["state"])


def _standings(store: Store, epoch: int) -> dict[str, str]:
    """Return the states of the copies of the register, as an erasure that ended this epoch asks. One made anew since is not of before."""
    live, standing = store.keyring.epoch, register.Standing
    return {
        one.copy_id: str(standing.DONE if one.state is standing.OPEN and one.epoch > epoch else one.standing(live))
        for one in register.copies(store)
    }


def concerned(store: Store, reached: Reached) -> list[Copy]:
    """Return the copies of the register that were made before an erasure: only these can hold what left."""
    return _before(store, reached.epoch_before)


def _before(store: Store, epoch: int) -> list[Copy]:
    live = store.keyring.epoch
    known = [one for one in register.copies(store) if one.epoch <= epoch]
    return [Copy(one.copy_id, str(one.kind), str(one.standing(live)), str(one.owner), one.due) for one in known]


def path_of(store: Store, request_id: bytes) -> Path:
    """Return where the certificate of a request lies."""
    return store.places.store / FOLDER / f"{KIND.name}-{request_id.hex()}.json"


def is_there(store: Store, request_id: bytes) -> bool:
    """Whether a request has a certificate."""
    return files.look(path_of(store, request_id)) is not None


def read(store: Store, request_id: bytes) -> bytes:
    """Return the certificate of a request. Raises Usage where there is none, Corrupt where it is that of another."""
    path = path_of(store, request_id)
    try:
        raw = files.read(path)
    except FileNotFoundError:
        raise Usage("there is no certificate of this request: it was not carried out, or not scanned since", hint=HINT) from None
    if request_id.hex().encode() not in raw:
        raise Corrupt("the certificate that lies here is of another request", path=path, hint="refold help receipts")
    return raw
