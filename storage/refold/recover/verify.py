"""Verify: read a whole log, recompute what it says of itself, and judge it. It changes nothing, and damage never makes it fail."""

from __future__ import annotations

import hashlib
import multiprocessing
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from itertools import repeat
from pathlib import Path

from refold import canonical
from refold.errors import Corrupt, KeyMissing, UnsupportedVersion, VerificationIncomplete
from refold.log import entry
from refold.log.head import Place, has_begun
from refold.model import EntryKind
from refold.recover import tiers
from refold.recover.history import History, Listed, history
from refold.recover.judge import Evidence, judge
from refold.recover.survey import Slot, survey
from refold.recover.tiers import Job, PartSeen
from refold.store import CALLS as CALLS_FORMAT
from refold.store import Places, vault_of
from refold.verdict import Checkpoint, Known, Policy, SeenHead, Verdict

PARTS_AT_ONCE = 8  # what a process is handed at a time
BYTES_AT_ONCE = 16 << 20  # of them, unless one part alone has more
ALONE_BYTES_MAX = 128 << 20  # of parts whose entries are hashed; below, starting processes takes longer than it saves
ONLY_FILES = 16  # times as many bytes are compared as a file in that time
LENIENT = Policy()
NOTHING = Known()
CALLS = "calls"

Progress = Callable[[int, int], None]  # entries looked at, of how many


def verify(
    places: Places,
    *,
    deep: bool = False,
    from_checkpoint: Checkpoint | None = None,
    policy: Policy = LENIENT,
    seen: Sequence[SeenHead] = (),
    checkpoints: Sequence[Checkpoint] = (),
    known: Known = NOTHING,
    workers: int = 1,
    progress: Progress = lambda done, total: None,
    place: Place | None = None,
) -> Verdict:
    """Verify the log of a store, or the one at a `place` of it.

    `deep` recomputes every entry, and so does any mismatch that is met without it.

    `seen` are heads that a witness remembers; `checkpoints` those whose signatures hold; both are added to what is `known`.
    `from_checkpoint` leaves out the entries below it. With several `workers`, the program that calls must be importable as a module.
    Raises VerificationIncomplete where something could not be read.
    """
    place = place or place_of(places)
    slots = survey(place)
    told = history(slots, entry.genesis(place.origin), keys=len(place.public_keys))
    start = from_checkpoint.size if from_checkpoint else 0
    known = replace(known, seen=(*known.seen, *seen), checkpoints=(*known.checkpoints, *checkpoints))
    sizes = sorted({each.size for each in (*known.seen, *known.checkpoints, *known.signed)})
    parts, deep = _looked_at(told, deep, lambda deep: checked(place.folder, list(jobs(told, start, sizes, deep=deep)), workers, progress))
    return judge(
        Evidence(
            history=told,
            parts=parts,
            known=known,
            policy=policy,
            digest=digest_of(slots, parts, known, policy),
            verified_from=start,
            is_deep=deep,
            given_up=tuple(given_up_below(place.folder, told, start)),
        )
    )


def _looked_at(told: History, deep: bool, look: Callable[[bool], list[PartSeen]]) -> tuple[list[PartSeen], bool]:
    """Look at the parts; where anything does not fit, at every entry of them. Say whether it was at every entry."""
    parts = look(deep)
    if not deep and (told.damage or any(part.faults for part in parts)):
        return look(True), True
    return parts, deep


def given_up_below(folder: Path, told: History, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield size and root of each head that a `restored` entry below `start` names: these entries alone are read there, as signed."""
    named = {seq for seq, kind in told.control.items() if kind == EntryKind.RESTORED and seq < start}
    for job in jobs(replace(told, parts=_holding(told, named)), 0, (), deep=False) if named else ():
        seen = tiers.check(folder, job)
        if job.part.end <= start and seen.is_signed and not seen.faults:
            yield from seen.given_up


def _holding(told: History, seqs: Collection[int]) -> tuple[Listed, ...]:
    """Return the live parts in which some entries lie."""
    return tuple(each for each in told.parts if any(each.part.first <= seq < each.part.end for seq in seqs))


def verify_calls(places: Places, *, deep: bool = False) -> Verdict | None:
    """Verify the log of the recorded calls, which is one like the other; None where no call was recorded yet.

    No head of it is signed: of its end nothing is known. Raises VerificationIncomplete.
    """
    if not has_calls(places):
        return None
    found = verify(places, deep=deep, place=calls_of(places))
    return replace(found, damage=tuple(replace(each, path=each.path.replace("log/", f"{CALLS}/", 1)) for each in found.damage))


def has_calls(places: Places) -> bool:
    """Whether any call was recorded."""
    return has_begun(places.store / CALLS)


def calls_of(places: Places) -> Place:
    """Return where the log of the recorded calls lies. Raises VerificationIncomplete."""
    return replace(place_of(places), folder=places.store / CALLS, format=CALLS_FORMAT)


def place_of(places: Places) -> Place:
    """Return where the log lies and whose it is, by what the vault has pinned. Raises VerificationIncomplete."""
    try:
        vault = vault_of(places)
    except (KeyMissing, Corrupt, UnsupportedVersion) as error:
        message = f"the log is not judged: {error.message}"
        raise VerificationIncomplete(message, path=error.path, hint="refold audit --keys") from None
    return Place(places.store / "log", vault.origin, vault.public_keys)


def jobs(told: History, start: int, sizes: Sequence[int], *, deep: bool) -> Iterator[Job]:
    """Yield what there is to check of each part that holds entries from `start` on."""
    anchors = sorted(told.anchors)
    control = sorted(told.control.items())
    for listed in told.parts:
        part = listed.part
        if part.end <= start:
            continue
        low, high = bisect_right(anchors, part.first - 1), bisect_right(anchors, part.end)
        named = tuple(control[bisect_right(control, (part.first, -1)) : bisect_right(control, (part.end, -1))])
        yield Job(
            part,
            told.epoch,
            tuple((seq, told.anchors[seq]) for seq in anchors[low:high]),
            named,
            tuple(size for size in sizes if part.first < size < part.end),
            deep=deep,
            rooted=not start and (deep or bool(sizes)),
            is_told=_is_told(told, part.first, part.end),
        )


def _is_told(told: History, first: int, end: int) -> bool:
    """Whether good commits speak of every entry of a range."""
    at = max(bisect_right(told.told, (first, 1 << 70)) - 1, 0)
    while at < len(told.told) and first < end:
        low, high = told.told[at]
        if low > first:
            return False
        first, at = max(first, high), at + 1
    return first >= end


def checked(folder: Path, todo: list[Job], workers: int, progress: Progress) -> list[PartSeen]:
    """Check all parts, in as many processes as that is worth, this one among them."""
    total = sum(job.part.count for job in todo)
    handed = list(handed_out(todo))
    work = sum(job.part.size // (1 if job.deep or job.rooted else ONLY_FILES) for job in todo)
    shared = min(workers, len(handed)) if work > ALONE_BYTES_MAX else 1
    found: dict[int, list[PartSeen]] = {}
    for at, some in _checked_by(folder, handed, shared):
        found[at] = some
        progress(sum(part.part.count for each in found.values() for part in each), total)
    return [part for at in sorted(found) for part in found[at]]


def handed_out(todo: Sequence[Job]) -> Iterator[list[Job]]:
    """Yield what a process is handed at a time: few parts, and fewer where they are large, so that none waits for another's large one."""
    some: list[Job] = []
    for job in todo:
        if some and (len(some) == PARTS_AT_ONCE or sum(each.part.size for each in some) + job.part.size > BYTES_AT_ONCE):
            yield some
            some = []
        some.append(job)
    if some:
        yield some


def _checked_by(folder: Path, handed: Sequence[list[Job]], workers: int) -> Iterator[tuple[int, list[PartSeen]]]:
    """Yield what each lot turned out to be, with its number, in any order.

    This process works too: it has what the others must first import, so it begins at once, with the last lot, and goes on with the one
    below as long as no other has begun with that. The first lots, one for each of the others, it leaves to them.
    """
    if workers < 2:
        yield from enumerate(map(tiers.check_all, repeat(folder), handed))
        return
    with ProcessPoolExecutor(workers - 1, multiprocessing.get_context("spawn")) as pool:
        begun = [pool.submit(tiers.check_all, folder, some) for some in handed]
        try:
            for at in reversed(range(workers - 1, len(handed))):
                if begun[at].cancel():
                    yield at, tiers.check_all(folder, handed[at])
            yield from ((at, each.result()) for at, each in enumerate(begun) if not each.cancelled())
        except BrokenProcessPool:
            raise VerificationIncomplete("a process that verified a part of the log was stopped", hint="refold audit --log") from None
        finally:
            for each in begun:
                each.cancel()


def digest_of(slots: Sequence[Slot], parts: Sequence[PartSeen], known: Known, policy: Policy) -> bytes:
    """Return the SHA-256 over all that a verdict rests on: files with their digests, heads, checkpoints, policy."""
    told = hashlib.sha256()
    for line in (
        *(["commit", slot.name, slot.sha256] for slot in slots),
        *(["part", part.part.path, part.sha256] for part in parts),
        *(["seen", each.size, each.root.hex(), each.is_external] for each in known.seen),
        *(
            ["checkpoint", each.path, each.size, each.root.hex(), each.generation, each.epoch, each.attested.hex()]
            for each in known.checkpoints
        ),
        *(["signed", each.path, each.size, each.root.hex()] for each in known.signed),
        *(["unasked", each.name] for each in known.unasked),
        ["policy", asdict(policy)],
    ):
        told.update(canonical.encode(line) + b"\n")
    return told.digest()
