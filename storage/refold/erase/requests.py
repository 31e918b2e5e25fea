"""Requests for erasure: asked for, found, reviewed, planned, approved, run; and holds, which forbid what they select.

    <vault>/requests/<id>        one request, in the form of `form`; replaced whole at every step

The key of a request follows from the keyring and the request's random id (`Keyring.request_key`). In the epoch in which it was made that
is the epoch's seed for subjects, so that no second copy of it lies anywhere; an epoch that follows carries it over as an explicit secret,
beside those of the subjects. The erasure that the request asks for does not, nor that of anybody whom the request names: then what was
found about them, and who they are, is dark, and the outline says how it ended. What was changed on disk, and a hold that does not open,
is damage, and forbids every erasure: nobody knows what it would have forbidden.

All changes are made under one lock, which an erasure holds from when it asks which requests there are until their keys have gone along.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from refold import files, journal, times
from refold.erase import form
from refold.erase.form import Outline
from refold.erase.model import DECLARED, Candidate, Decision, Found, Mode, Redaction, Request, Selector, Stage, Target
from refold.errors import Blocked, Corrupt, KeyMissing, NotAllowed, Usage
from refold.keys import crypto
from refold.model import EventId, normalise
from refold.outside import Clock, Random
from refold.store import Store

FOLDER = "requests"
DAYS_TO_ANSWER = 30
# A request that opens was not carried out yet: where one is `running` still, the run was killed, and what it began can be rolled back.
OVER = frozenset({Stage.CERTIFIED, Stage.CERTIFIED_EXCEPT, Stage.REFUSED, Stage.RELEASED, Stage.DARK})
BEFORE_RUN = frozenset({Stage.REQUESTED, Stage.FOUND, Stage.REVIEWED, Stage.PLANNED, Stage.APPROVED, Stage.RUNNING})
Change = Callable[[Request], Request]


def ask(
    store: Store,
    selector: Selector,
    *,
    received: int | None = None,
    due: int | None = None,
    asked_by: str = "",
    mode: Mode = Mode.SHRED,
    suppresses: bool = True,
    suppresses_aliases: bool = False,
    now: Clock,
    random: Random,
) -> Request:
    """Write down a request for erasure; due 30 days after it was received where nobody says otherwise. Raises Usage.

    A day is given by its beginning in UTC, which is still to come in the morning of whoever lives further east: then it is received now.
    """
    moment = now()
    asked = moment if received is None else received
    received = min(asked, moment)
    due = received + DAYS_TO_ANSWER * times.DAY if due is None else due
    if asked > moment + times.DAY or due < received:
        raise Usage("a request is received before it is due, and not in time to come", hint="refold help requests")
    made = _new(selector, Stage.REQUESTED, received, due, moment, random)
    made = replace(made, asked_by=asked_by, mode=mode, suppresses=suppresses, suppresses_aliases=suppresses_aliases)
    return _begin(store, made, random=random)


def hold(store: Store, selector: Selector, *, reason: str, asked_by: str = "", now: Clock, random: Random) -> Request:
    """Forbid that what a selector names is erased, until the hold is released. Raises Usage."""
    if not reason.strip():
        raise Usage("a hold needs a reason: who relies on it is told no more than that it stands")
    moment = now()
    made = replace(_new(selector, Stage.HELD, moment, moment, moment, random), reason=reason, asked_by=asked_by)
    return _begin(store, made, random=random)


def _new(selector: Selector, stage: Stage, received: int, due: int, moment: int, random: Random) -> Request:
    if selector.is_empty:
        raise Usage("nobody and nothing is selected", hint="refold help requests")
    return Request(random(16), selector, received, due, stage, ((stage, moment),))


@contextmanager
def changing(store: Store) -> Generator[None]:
    """Hold off every other change of requests."""
    files.make_folder(store.vault.path / FOLDER)
    with files.lock(store.vault.path / FOLDER):
        yield


def _begin(store: Store, made: Request, *, random: Random) -> Request:
    """Write a new request. Raises Blocked while an erasure that does not know of it may yet be completed."""
    with changing(store):
        journal.require_clear(store.places)
        return _write(store, made, random=random)


def outlines(store: Store) -> list[Outline]:
    """Return what can be seen of all requests without a key, the first due first. Raises Corrupt."""
    found = [_outline(path) for path in _paths(store)]
    return sorted(found, key=lambda one: (one.due, one.request_id))


def chosen(store: Store, prefix: str) -> bytes:
    """Return the id of the request that begins so. Raises Usage where there is none, or several."""
    found = [path.name for path in _paths(store) if path.name.startswith(prefix.lower())] if prefix else []
    if len(found) != 1:
        raise Usage("no request has this id" if not found else "several requests have ids that begin so", hint="refold erase status")
    return bytes.fromhex(found[0])


def read(store: Store, request_id: bytes) -> Request:
    """Open a request. Raises KeyMissing where it went dark with whom it was about, Usage where there is none, Corrupt."""
    path, known = _path(store, request_id), outline(store, request_id)
    try:
        if known.sealed:
            return form.opened(known, _key_of(store, request_id), origin=store.origin)
    except crypto.Unauthentic:
        if known.stage is Stage.HELD:  # one that names whoever goes forbids that: it never goes dark
            raise _damaged(path) from None
    except (ValueError, TypeError, KeyError):
        raise _damaged(path) from None
    raise KeyMissing("this request does not open: it went dark with whom it was about", path=path, hint="refold erase status")


def outline(store: Store, request_id: bytes) -> Outline:
    """Return what can be seen of a request without a key. Raises Usage where there is none, Corrupt."""
    try:
        return _outline(_path(store, request_id))
    except FileNotFoundError:
        raise Usage("no request has this id", hint="refold erase status") from None


def living(store: Store) -> Iterator[Request]:
    """Yield every request that opens. Raises Corrupt where one is damaged: it may be a hold."""
    for one in outlines(store):
        try:
            yield read(store, one.request_id)
        except KeyMissing:
            continue  # it is dark, as it is meant to be: its outline is all there is


def carried(store: Store, target: Target) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Return the requests whose keys outlive an erasure, and those whose keys do not: its own, and all that name who or what is erased.

    What another request knows of them must go dark with them; it has to be asked anew for whoever else it named.
    """
    ours = list(living(store))
    aliases = aliases_of(store, target, *(one for one in ours if one.request_id == target.request_id))
    known = {request.request_id for request in ours if names(request, target, aliases)} | {target.request_id}
    return frozenset(request.request_id for request in ours) - known, frozenset(known)


def holds(store: Store) -> frozenset[bytes]:
    """Return the holds that stand, whatever they are about. Raises Corrupt."""
    return frozenset(one.request_id for one in outlines(store) if one.stage is Stage.HELD)


def require_no_new_hold(store: Store, known: frozenset[bytes]) -> None:
    """Refuse to go on where a hold stands that was not asked yet whether it forbids this. Raises NotAllowed."""
    if holds(store) - known:
        raise NotAllowed("a hold was laid since the erasure began: it may be about what would go", hint="refold erase plan")


def darkened(known: Outline, *, now: Clock) -> Outline:
    """Return the outline of a request that goes dark by the erasure that another asked for, without what was sealed in it."""
    return replace(known, stage=Stage.DARK, history=(*known.history, (Stage.DARK, now())), sealed=b"")


def aliases_of(store: Store, target: Target, *asked: Request) -> set[str]:
    """Return how whoever is erased is called: in the log, and in the requests that ask for it."""
    known = [alias for entry in store.log.subjects() if entry.subject in target.subjects for _, alias in entry.aliases]
    return {normalise(alias) for alias in [*known, *(alias for one in asked for _, alias in one.selector.aliases)]}


def names(request: Request, target: Target, aliases: set[str]) -> bool:
    """Whether a request or hold names who or what is erased: it then goes dark with them."""
    found = request.found
    if not aliases.isdisjoint(normalise(alias) for _, alias in request.selector.aliases):
        return True
    subjects = {*request.selector.subjects, *(found.subjects if found else ())}
    events = {*request.selector.events, *(one.event_id for one in (found.candidates if found else ()))}
    return not (target.subjects.isdisjoint(subjects) and target.events.isdisjoint(events))


def change(store: Store, request_id: bytes, how: Change, *, now: Clock, random: Random) -> Request:
    """Change a request as `how` says, one writer after the other; a stage that it comes to is written down with the time."""
    with changing(store):
        journal.require_clear(store.places)
        before = read(store, request_id)
        after = how(before)
        if after.stage is not before.stage:
            after = replace(after, history=(*after.history, (after.stage, now())))
        return _write(store, after, random=random)


def end(store: Store, request_id: bytes, stage: Stage, *, now: Clock, random: Random) -> None:
    """Write down how a request ended, also where it is dark by now: what is sealed in it then stays as it is, for nobody to open."""
    with changing(store):
        known = outline(store, request_id)
        history = (*known.history, (stage, now()))
        try:
            request = read(store, request_id)
        except KeyMissing:
            files.replace(_path(store, request_id), replace(known, stage=stage, history=history).raw)
        else:
            _write(store, replace(request, stage=stage, history=history), random=random)


def search(request: Request, found: Found) -> Request:
    """Return a request with what was found; what was decided, planned or approved before has to be looked at again."""
    _require(request, BEFORE_RUN)
    is_done = all(one.decision is not Decision.UNDECIDED for one in found.candidates)
    stage = Stage.REVIEWED if is_done else Stage.FOUND
    return replace(request, found=found, target=None, approved_by=(), stage=stage)


def decide(request: Request, decisions: dict[tuple[int, int, int], Decision]) -> Request:
    """Return a request with decisions about candidates, by entry and span. Raises Usage where one decides about nothing."""
    _require(request, BEFORE_RUN)
    found = request.found
    if found is None:
        raise Usage("nothing was searched for yet", hint=f"refold erase find {request.request_id.hex()[:8]}")
    known = {_key(one) for one in found.candidates}
    if unknown := decisions.keys() - known:
        hint = f"refold erase review {request.request_id.hex()[:8]}"
        raise Usage(f"{len(unknown)} of the decisions are about no candidate of this request", hint=hint)
    candidates = tuple(replace(one, decision=decisions.get(_key(one), one.decision)) for one in found.candidates)
    return search(request, replace(found, candidates=candidates))


def require_mentions(store: Store, request: Request, seqs: Collection[int]) -> None:
    """Refuse to decide about an event that declares the person: no decision changes by whose secrets its key is made. Raises Usage."""
    found = request.found
    if found is None:
        return
    for seq in sorted(set(seqs) - {one.seq for one in found.candidates}):
        with suppress(KeyMissing):
            if 0 <= seq < found.size and not found.subjects.isdisjoint(store.log.event(seq).subjects):
                raise Usage(f"entry {seq} is no mention; {DECLARED}", hint="refold help redaction")


def keep(request: Request, redactions: Iterable[Redaction], *, dropped: Iterable[EventId] = ()) -> Request:
    """Return a request by which others keep redacted versions of events, and of those that are dropped none after all. Raises Usage."""
    _require(request, BEFORE_RUN)
    if request.found is None:
        raise Usage("nothing was searched for yet", hint=f"refold erase find {request.request_id.hex()[:8]}")
    kept = {one.event_id: one for one in (*request.kept, *redactions)}
    for event_id in dropped:
        kept.pop(event_id, None)
    return search(replace(request, kept=tuple(kept.values())), request.found)


def _key(candidate: Candidate) -> tuple[int, int, int]:
    return (candidate.seq, *candidate.span)


def planned(request: Request, target: Target) -> Request:
    """Return a request with its target, to be approved anew."""
    _require(request, BEFORE_RUN)
    return replace(request, target=target, stage=Stage.PLANNED, approved_by=())


def approve(request: Request, *, by: str, needed: int) -> Request:
    """Return a request with one more approval; of several, each by another named principal. Raises NotAllowed, Usage."""
    if request.target is None or request.stage not in (Stage.PLANNED, Stage.APPROVED):
        raise Usage("only what was planned can be approved", hint=f"refold erase plan {request.request_id.hex()[:8]}")
    _require_decided(request)
    if request.stage is Stage.APPROVED:
        raise Usage("this request is approved already", hint=f"refold erase run {request.request_id.hex()[:8]}")
    if needed > 1 and not by:
        raise NotAllowed(f"{needed} people have to approve an erasure here: say who you are with --as", hint="refold help requests")
    if by in request.approved_by:
        raise NotAllowed("this principal has approved already: another one has to", hint="refold help requests")
    approvals = (*request.approved_by, by)
    return replace(request, approved_by=approvals, stage=Stage.APPROVED if len(approvals) >= needed else Stage.PLANNED)


def refuse(request: Request, reason: str) -> Request:
    """Return a request that is refused, for a reason. Raises Usage."""
    _require(request, BEFORE_RUN)
    if not reason.strip():
        raise Usage("a refusal needs a reason: the person is owed one")
    return replace(request, stage=Stage.REFUSED, reason=reason)


def release(request: Request) -> Request:
    """Return a hold that stands no more. Raises Usage."""
    _require(request, frozenset({Stage.HELD}))
    return replace(request, stage=Stage.RELEASED)


def start(request: Request) -> Target:
    """Return what an approved request erases. Raises Usage, Blocked where somebody has to approve or decide first."""
    _require(request, BEFORE_RUN)
    if request.target is None or request.stage not in (Stage.APPROVED, Stage.RUNNING):
        raise Usage("only what was approved is erased", hint=f"refold erase approve {request.request_id.hex()[:8]}")
    _require_decided(request)
    return request.target


def _require_decided(request: Request) -> None:
    if undecided(request):
        raise Blocked(f"{undecided(request)} mentions are undecided", hint=f"refold erase review {request.request_id.hex()[:8]}")


def undecided(request: Request) -> int:
    """Return about how many mentions nobody has decided."""
    return sum(one.decision is Decision.UNDECIDED for one in request.found.candidates) if request.found else 0


def _require(request: Request, stages: frozenset[Stage]) -> None:
    if request.stage not in stages:
        raise Usage(f"this request is {request.stage}: that is not changed any more", hint="refold erase status")


def _write(store: Store, request: Request, *, random: Random) -> Request:
    key = _key_of(store, request.request_id)
    sealed = form.sealed(request, key, origin=store.origin, nonce=random(crypto.NONCE_BYTES))
    files.replace(_path(store, request.request_id), sealed.raw)
    return request


def _key_of(store: Store, request_id: bytes) -> bytes:
    """Return the key of a request by the keys that live now, also where another process made them meanwhile."""
    return store.log.recheck_keys().request_key(request_id)


def _path(store: Store, request_id: bytes) -> Path:
    return store.vault.path / FOLDER / request_id.hex()


def _paths(store: Store) -> list[Path]:
    folder = store.vault.path / FOLDER
    if not files.is_folder(folder):
        return []
    return [folder / name for name in files.names(folder) if not name.startswith(files.TEMPORARY)]


def _outline(path: Path) -> Outline:
    raw = files.read(path)
    try:
        found = Outline.read(raw)
    except (ValueError, TypeError, KeyError):
        raise _damaged(path) from None
    if found.request_id.hex() != path.name:
        raise _damaged(path)
    return found


def _damaged(path: Path) -> Corrupt:
    return Corrupt("a request for erasure is damaged", path=path, hint="refold help requests")
