"""Conclusion: what follows an erasure. It is looked at, scanned for what is left, and certified; then its docket is destroyed.

It rests on the docket and on the disk alone, so that it is the same after a run that went through, after one that was killed and
completed by `refold recover`, and again after a scan that found something which somebody has seen to since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from refold import journal
from refold.erase import check, dockets, intents, leftover, prove, requests
from refold.erase.dockets import Docket
from refold.erase.model import Mode, Reached, Stage
from refold.erase.run import erasures_of
from refold.errors import Blocked, KeyMissing
from refold.heads.configured import sign
from refold.log.entry import control_body
from refold.outside import Clock, Random
from refold.receipts import certificate
from refold.scan.walk import Progress
from refold.store import Store


def awaited(store: Store, request_id: bytes) -> Docket | None:
    """Return the docket of a request whose erasure is past its point of no return and not certified yet; else None."""
    store.log.refresh()  # by the keys that live now, also where another process carried it out
    if _opens(store, request_id):
        return None
    docket = dockets.opened(store, request_id)
    return docket if docket and docket.reached else None


def waiting(store: Store) -> list[bytes]:
    """Return the requests that wait to be certified."""
    return [one for one in dockets.ids(store) if awaited(store, one)]


def settle(store: Store, request_id: bytes) -> None:
    """See that nothing else waits to be certified, for the next erasure takes its docket along; destroy what was taken back.

    One that was scanned, and not certified for what was found, has had its turn. Raises Blocked.
    """
    journal.require_clear(store.places)  # what is unfinished may be completed yet
    for one in dockets.ids(store):
        if awaited(store, one) is None:
            dockets.destroy(store, one)
        elif one != request_id and not prove.is_there(store, one):
            hint = f"refold erase run {one.hex()[:8]} --confirm {one.hex()[:8]}"
            raise Blocked("an erasure was interrupted, and completed, and is not certified yet", hint=hint)


def conclude(
    store: Store,
    docket: Docket,
    *,
    is_drained: bool | None = None,
    extra: Sequence[Path] = (),
    now: Clock,
    random: Random,
    progress: Progress = lambda files, size: None,
) -> Reached:
    """Scan for what is left of an erasure, certify it as far as that goes, and return what it reached.

    `is_drained` says whether whoever read the older state had ended when its files went; None looks whether they have by now. Raises
    Blocked while a transaction is unfinished, Corrupt where the disk says that it was not erased.
    """
    journal.require_clear(store.places)
    request, reached = docket.request, docket.reached
    assert reached is not None, "nothing was erased"
    store.log.refresh()
    entries = erasures_of(store.log, reached.epoch_after)
    drained = intents.is_drained(store) if is_drained is None else is_drained
    reached = replace(reached, erasure_seqs=tuple(entries), readers_drained=drained)
    seqs = [seq for at in entries for seq in control_body(store.log.row(at).payloads()[0] or b"", at)["seqs"]]
    check.require_dark(store, reached, seqs, is_kept=request.mode is Mode.KEEP_CIPHERTEXT)
    if requests.outline(store, request.request_id).stage is Stage.RUNNING:
        requests.end(store, request.request_id, Stage.ERASED, now=now, random=random)
    with journal.mutating(store.places, random=random):
        leftover.sweep_parts(store)
    sign(store, full=False, random=random)
    erased_at = max(header.recorded_at for header in entries.values())
    proof = prove.prove(
        store,
        request,
        reached,
        docket.footprint,
        erased_at=erased_at,
        events_planned=docket.planned,
        extra=extra,
        now=now,
        progress=progress,
    )
    if proof.state is not certificate.State.REFUSED:  # else it is erased, and what that is worth can be looked at again
        requests.end(store, request.request_id, Stage(proof.state.value), now=now, random=random)
        dockets.destroy(store, request.request_id)
    return reached


def renew(store: Store, *, now: Clock, random: Random) -> dict[bytes, Stage]:
    """Make anew the certificates that say otherwise of copies, or of a root, than is known now; return what they say, by request.

    One that is not there, as after a restore of a copy of before, cannot be made anew. Raises Corrupt.
    """
    renewed = {}
    for one in requests.outlines(store):
        is_certified = one.stage in (Stage.CERTIFIED, Stage.CERTIFIED_EXCEPT) and prove.is_there(store, one.request_id)
        if is_certified and (state := prove.renew(store, one.request_id, now=now)):
            renewed[one.request_id] = Stage(state.value)
            if renewed[one.request_id] is not one.stage:
                requests.end(store, one.request_id, renewed[one.request_id], now=now, random=random)
    return renewed


def _opens(store: Store, request_id: bytes) -> bool:
    try:
        requests.read(store, request_id)
    except KeyMissing:
        return False
    return True
