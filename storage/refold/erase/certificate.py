"""The certificate of an erasure: judged from what a run reached and what a scan found, and signed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from refold import disclaimers
from refold.erase.model import Decision, Footprint, Mode, Reached, Request
from refold.keys.crypto import Signer
from refold.receipts.certificate import (
    BY_CONSTRUCTION,
    CIPHERTEXT,
    KEPT,
    KEPT_OUT_ALIASES,
    KEPT_OUT_NAMES,
    KEPT_OUT_RECORDS,
    KIND,
    NAMESAKES,
    REFUSING,
    REMAINS,
    TAGS,
    Reason,
    State,
    bucket,
)
from refold.receipts.form import Body, sign
from refold.scan.found import Scanned

CLAIMED_NOT = (disclaimers.ERASURE, disclaimers.SCAN, disclaimers.OPERATOR, disclaimers.ESCROW, disclaimers.AUDIT)


@dataclass(frozen=True, slots=True)
class Copy:
    """What is known of one copy elsewhere. Its place and its owner's name stay in the register: here is who they are to the operator."""

    copy_id: str
    kind: str
    state: str
    owner: str
    due: int | None = None


@dataclass(frozen=True, slots=True)
class Root:
    """What became of the root of the epoch that is over. Where a token delays, it is dark later than destroyed."""

    custody: str  # `file` or `pkcs11`
    destroyed_at: int
    dark_at: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a certificate rests on."""

    request: Request
    reached: Reached
    scanned: Scanned
    footprint: Footprint
    root: Root
    erased_at: int
    made_at: int
    copies: Sequence[Copy] = ()
    events_planned: int | None = None  # None where nothing was predicted, as for what came by source alone
    undecided: int = 0
    closure_level: str = "declared"
    is_fresh: bool = False
    is_orchestrated_elsewhere: bool = False  # where the scan did not look


def reasons(evidence: Evidence) -> Iterator[Reason]:
    """Yield what keeps a certificate from saying all."""
    found, reached = evidence.scanned, evidence.reached
    if found.hits:
        yield Reason.HITS
    if found.undecodable:
        yield Reason.UNDECODABLE
    if not found.controls:
        yield Reason.CONTROL
    if evidence.undecided:
        yield Reason.UNDECIDED
    if not _is_as_planned(evidence):
        yield Reason.NOT_AS_PLANNED
    if any(copy.state == "open" for copy in evidence.copies):
        yield Reason.COPIES
    if not reached.readers_drained:
        yield Reason.READERS
    if evidence.root.dark_at > evidence.made_at:
        yield Reason.ROOT


def state_of(why: Iterable[Reason]) -> State:
    """Return what a certificate says for its reasons."""
    known = frozenset(why)
    return State.REFUSED if known & REFUSING else State.CERTIFIED_EXCEPT if known else State.CERTIFIED


def said(evidence: Evidence) -> Body:
    """Return what the certificate says. No word of anybody: kinds, counts in powers of two, and times."""
    request, reached, found, why = evidence.request, evidence.reached, evidence.scanned, list(reasons(evidence))
    selector = request.selector
    return {
        "request": request.request_id.hex(),
        "state": state_of(why).value,
        "reasons": [reason.value for reason in why],
        "asked": {
            **{name: len(getattr(selector, name)) for name in ("subjects", "aliases", "sources", "events", "ingests")},
            "before": int(selector.before is not None),
        },
        "received": request.received,
        "due": request.due,
        "erased_at": evidence.erased_at,
        "mode": request.mode.value,
        "reached": _reached(reached),
        "as_planned": _is_as_planned(evidence),
        "closure_level": evidence.closure_level,
        "claim": "distribution" if evidence.is_fresh else "closure",
        "scan": _scanned(found, evidence.footprint.shared),
        "scanned_at": evidence.made_at,
        "replaces": None,
        "remains": [*REMAINS, *_left(evidence), *_kept_out(request)],
        "derived": BY_CONSTRUCTION,
        "copies": [_listed(copy) for copy in evidence.copies],
        "root": {"custody": evidence.root.custody, "destroyed_at": evidence.root.destroyed_at, "dark_at": evidence.root.dark_at},
        "disclaimers": [*CLAIMED_NOT, *_unsought(evidence), disclaimers.OF_ROOT[evidence.root.custody]],
    }


def _reached(reached: Reached) -> Body:
    return {
        "epoch_before": reached.epoch_before,
        "epoch_after": reached.epoch_after,
        "erasure_entries": sorted(reached.erasure_seqs),
        "events_at_most": bucket(reached.events),
        "shared_events_at_most": bucket(reached.shared_events),
        "kept_redacted_at_most": bucket(reached.kept),
        "calls_at_most": bucket(reached.calls),
        "calls_made_at_most": bucket(reached.calls_made),
        "calls_replayed_at_most": bucket(reached.calls_replayed),
        "generation": reached.generation,
    }


def _scanned(found: Scanned, shared: int) -> Body:
    return {
        "files": found.files,
        "bytes": found.bytes,
        "rows": found.rows,
        "needles_at_most": bucket(found.needles),
        "needles_shared_at_most": bucket(shared),
        "hits": len(found.hits),
        "undecodable": len(found.undecodable),
        "sealed": len(found.sealed),
        "control": "found" if found.controls else "missing" if found.has_control else "none",
        "encodings": len(found.encodings),
    }


def renewed(body: Body, raw: bytes, states: Mapping[str, str], *, copies: Sequence[Copy] = (), made_at: int) -> Body | None:
    """Return what a certificate says anew once copies are in these states, by their ids; None where that is what it says already.

    `copies` are those that concern it: one that it does not know was found since, and comes last. All else stays: what was reached and
    found is as it was seen then.
    """
    known = {copy["id"] for copy in body["copies"]}
    listed = [{**copy, "state": states.get(copy["id"], copy["state"])} for copy in body["copies"]]
    listed += [_listed(copy) for copy in copies if copy.copy_id not in known]
    is_open = any(copy["state"] == "open" for copy in listed)
    stands = {
        Reason.COPIES.value: is_open,
        Reason.ROOT.value: body["root"]["dark_at"] > made_at,
    }
    why = [reason for reason in body["reasons"] if stands.get(reason, True)]
    why += [Reason.COPIES.value] if is_open and Reason.COPIES.value not in why else []
    if listed == body["copies"] and why == body["reasons"]:
        return None
    said = {name: body[name] for name in KIND.fields}
    state = state_of(map(Reason, why)).value
    return said | {"copies": listed, "reasons": why, "state": state, "replaces": sha256(raw).hexdigest()}


def _listed(copy: Copy) -> dict[str, object]:
    return {"id": copy.copy_id, "kind": copy.kind, "state": copy.state, "owner": copy.owner, "due": copy.due}


def _left(evidence: Evidence) -> Iterator[str]:
    """Yield what was left on purpose."""
    found = evidence.request.found
    if evidence.request.mode is Mode.KEEP_CIPHERTEXT:
        yield CIPHERTEXT
    if evidence.reached.kept:
        yield KEPT
    if found and any(one.decision is Decision.NAMESAKE for one in found.candidates):
        yield NAMESAKES


def _unsought(evidence: Evidence) -> Iterator[str]:
    """Yield what was not looked for, or not everywhere: what is too short, and words of forms."""
    if evidence.scanned.short:
        yield disclaimers.SHORT
    if evidence.scanned.prescribed:
        yield disclaimers.PRESCRIBED
    if evidence.footprint.unsought:
        yield disclaimers.UNSOUGHT
    if evidence.is_orchestrated_elsewhere:
        yield disclaimers.ORCHESTRATED


def _kept_out(request: Request) -> Iterator[str]:
    """Yield what the tags that a request left do: to what comes again by a name, and to what comes again by its source."""
    target, selector = request.target, request.selector
    if target is None or not target.suppressed:
        return
    yield TAGS
    if request.suppresses_aliases and (target.subjects or selector.aliases):
        yield KEPT_OUT_ALIASES
    elif target.subjects:
        yield KEPT_OUT_NAMES
    if target.events:
        yield KEPT_OUT_RECORDS


def certify(evidence: Evidence, *, origin: str, signer: Signer) -> bytes:
    """Return the signed certificate."""
    return sign(KIND, said(evidence), origin=origin, signer=signer, made_at=evidence.made_at)


def _is_as_planned(evidence: Evidence) -> bool:
    return evidence.events_planned is None or evidence.events_planned == evidence.reached.events
