"""Judge: what the verdict is, given all that was read. Pure: no file, no clock.

D is what is damaged, and what lies between the end of the log and the newest head that was ever seen of it. A checkpoint is usable where it
lies on this history: its root is what the entries give, or, where those below it are lost, the hash of the entry before it is what the
signed commits say. Its signature is judged before it is handed in, and whether the stored state is the one that it attests by whoever
replays on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from refold.log import entry, ranges
from refold.log.ranges import Range
from refold.recover.history import COMMITS, History, Listed
from refold.recover.tiers import PartSeen
from refold.verdict import Checkpoint, Completeness, Damage, DamageKind, Directive, Kind, Known, Policy, SeenHead, Verdict

NEXT = {
    Kind.INTACT: "refold checkpoint",
    Kind.RECOVERABLE: "refold recover --log",
    Kind.BOUNDARY: "refold recover --log",
    Kind.UNRECOVERABLE: "refold recover --log",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that was read, and what is known beside it."""

    history: History
    parts: Sequence[PartSeen]  # those that were looked at, in order
    known: Known
    policy: Policy
    digest: bytes
    verified_from: int = 0
    is_deep: bool = False
    given_up: Sequence[tuple[int, bytes]] = ()  # size and root of heads that entries below `verified_from` say were given up


@dataclass(frozen=True, slots=True)
class _Found:
    """What the evidence comes to."""

    size: int
    root: bytes | None
    damage: tuple[Damage, ...]
    usable: Checkpoint | None  # the newest

    @property
    def first_bad(self) -> int | None:
        return min((each.first for each in self.damage), default=None)


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict on what was read."""
    evidence = without_given_up(evidence)
    known = evidence.known
    found = _found(evidence)
    kind, start, until = _kind(evidence, found)
    directive, reason = _directive(evidence, found, kind)
    bad = found.first_bad
    return Verdict(
        kind=kind,
        size=found.size,
        root=found.root,
        replay_from=start,
        replay_until=until,
        first_bad=bad,
        last_good=(found.size if bad is None else bad) - 1 if (found.size if bad is None else bad) else None,
        damage=found.damage,
        completeness=completeness(known.seen),
        directive=directive,
        reason=reason,
        policy=evidence.policy,
        digest=evidence.digest,
        next=NEXT[kind],
        verified_from=evidence.verified_from,
        is_deep=evidence.is_deep,
        unasked=tuple(known.unasked),
    )


def _found(evidence: Evidence) -> _Found:
    history, known = evidence.history, evidence.known
    heads = {each.size for each in (*known.seen, *known.checkpoints, *known.signed)}
    roots = roots_at(evidence.parts, {*heads, history.size})
    size = max([history.size, *heads])
    damage = [
        *history.damage,
        *(each for part, listed in _paired(evidence) for each in _of_part(part, listed)),
        *_between(evidence),
        *unexplained_nulls(evidence),
        *cut(history.size, known),
        *forked(roots, known),
    ]
    ordered = tuple(sorted(_merged(damage), key=lambda each: (each.first, each.end, each.path)))
    usable = [each for each in known.checkpoints if is_live(each, history) and lies_on(each, history, roots)]
    whole = roots.get(history.size) if size == history.size else None
    return _Found(size, whole, ordered, max(usable, key=lambda each: each.size, default=None))


def without_given_up(evidence: Evidence) -> Evidence:
    """Leave out the heads that the log itself says were given up, each by its size and root, in signed entries."""
    gone = {*evidence.given_up, *(each for part in evidence.parts for each in part.given_up)}
    if not gone:
        return evidence
    known = evidence.known
    left = replace(
        known,
        seen=tuple(each for each in known.seen if (each.size, each.root) not in gone),
        checkpoints=tuple(each for each in known.checkpoints if (each.size, each.root) not in gone),
        signed=tuple(each for each in known.signed if (each.size, each.root) not in gone),
    )
    return replace(evidence, known=left)


def _paired(evidence: Evidence) -> Iterator[tuple[PartSeen, Listed]]:
    listed = {each.part: each for each in evidence.history.parts}
    return ((part, listed[part.part]) for part in evidence.parts)


def _of_part(part: PartSeen, listed: Listed) -> Iterator[Damage]:
    signed = None if part.is_signed else part.part.sha256
    for first, end, kind in part.faults:
        yield Damage(first, end, kind, f"log/{part.part.path}", listed.version, signed, part.sha256)


def _between(evidence: Evidence) -> Iterator[Damage]:
    """Find where the first entry of a part does not follow the last one of the part before it."""
    before: PartSeen | None = None
    for part, listed in _paired(evidence):
        if part.start and before and before.last and before.part.end == part.part.first and not follows(part, before.last):
            yield Damage(part.part.first, part.part.first + 1, DamageKind.LINK, f"log/{part.part.path}", listed.version, has=part.sha256)
        before = part


def follows(part: PartSeen, last: bytes) -> bool:
    """Whether the first entry of a part follows an entry with this hash."""
    assert part.start is not None
    header, commit, mine = part.start
    return entry.entry_hash(part.part.first, last, commit, header) == mine


def unexplained_nulls(evidence: Evidence) -> Iterator[Damage]:
    """Find payloads that are missing without an erasure entry in, or below, the commit that replaced their part.

    Where an erasure entry cannot be read it may have named anything: then nothing is claimed of what it could explain.
    """
    named: dict[int, int] = {}  # by seq: the version from which its payload may be missing
    for part in evidence.parts:
        for seq, seqs in part.erased:
            version = evidence.history.erasures[seq]
            for each in seqs:
                named[each] = min(version, named.get(each, version))
    read = {seq for part in evidence.parts for seq, _ in part.erased}
    unread = [version for seq, version in evidence.history.erasures.items() if seq not in read]
    for part, listed in _paired(evidence):
        allowed = listed.replaced_in
        if allowed is not None and any(version <= allowed for version in unread):
            continue
        for first, end in part.nulls:
            bare = [seq for seq in range(first, end) if allowed is None or named.get(seq, allowed + 1) > allowed]
            for low, high in _runs(bare):
                yield Damage(low, high, DamageKind.PAYLOAD, f"log/{part.part.path}", listed.version, None, part.sha256)


def _runs(seqs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the maximal ranges of ascending numbers."""
    start = 0
    for at in range(1, len(seqs) + 1):
        if at == len(seqs) or seqs[at] != seqs[at - 1] + 1:
            yield seqs[start], seqs[at - 1] + 1
            start = at


def cut(size: int, known: Known) -> Iterator[Damage]:
    """Find that the log was longer once: a witness, or a signed head, says so."""
    longest = max((each.size for each in known.seen), default=0)
    if longest > size:
        yield Damage(size, longest, DamageKind.CUT, COMMITS)
    newest = max((*known.checkpoints, *known.signed), key=lambda each: each.size, default=None)
    if newest is not None and newest.size > max(size, longest):
        yield Damage(max(size, longest), newest.size, DamageKind.CUT, newest.path)


def forked(roots: dict[int, bytes], known: Known) -> Iterator[Damage]:
    """Find heads with another root than these entries have at their size: both size and root are compared."""
    own = (*known.checkpoints, *known.signed)
    heads = [(each.size, each.root, COMMITS) for each in known.seen] + [(each.size, each.root, each.path) for each in own]
    agreed = max((size for size, root, _ in heads if roots.get(size) == root), default=0)
    for size, root, path in heads:
        if size in roots and roots[size] != root:
            yield Damage(min(agreed, size), size, DamageKind.FORK, path)


def is_live(checkpoint: Checkpoint, history: History) -> bool:
    """Whether the state of a checkpoint is sealed under the epoch of the newest commit: every older one is dark."""
    return checkpoint.epoch == history.epoch


def lies_on(checkpoint: Checkpoint, history: History, roots: dict[int, bytes]) -> bool:
    """Whether a checkpoint is one of this history."""
    size = checkpoint.size
    if size > history.size:
        return False
    if size in roots:
        return roots[size] == checkpoint.root
    if checkpoint.last_hash is not None:
        return history.anchors.get(size) == checkpoint.last_hash
    return size in history.anchors  # signed by the same key, and a commit ended there


def roots_at(parts: Sequence[PartSeen], sizes: set[int]) -> dict[int, bytes]:
    """Return the roots at those of the sizes up to which every hash is known."""
    whole = Range(0, 0)
    found = {0: ranges.root(whole)} if 0 in sizes else {}
    for part in parts:
        if part.ranges is None or part.part.first != whole.end:
            break
        for each in part.ranges:
            whole = ranges.joined(whole, each)
            if whole.end in sizes:
                found[whole.end] = ranges.root(whole)
    return found


def completeness(seen: Sequence[SeenHead]) -> Completeness:
    """Return what is known of the end of the log."""
    if not seen:
        return Completeness.UNWITNESSED
    return Completeness.EXTERNAL if any(each.is_external for each in seen) else Completeness.LOCAL


def _kind(evidence: Evidence, found: _Found) -> tuple[Kind, int | None, int | None]:
    """Return the verdict, and the range to replay."""
    bad, usable = found.first_bad, found.usable
    if bad is None:
        return Kind.INTACT, None, None
    if not evidence.history.is_sized or any(each.kind is DamageKind.FORK for each in found.damage):
        return Kind.UNRECOVERABLE, None, None
    if usable is not None and all(each.is_below(usable.size) for each in found.damage):
        return Kind.RECOVERABLE, usable.size, found.size
    below = [each for each in evidence.known.checkpoints if each.size <= bad and _is_usable(evidence, each)]
    if below:
        return Kind.BOUNDARY, max(each.size for each in below), bad
    if bad == 0:
        return Kind.UNRECOVERABLE, None, None
    return Kind.BOUNDARY, 0, bad


def _is_usable(evidence: Evidence, checkpoint: Checkpoint) -> bool:
    return is_live(checkpoint, evidence.history) and lies_on(checkpoint, evidence.history, roots_at(evidence.parts, {checkpoint.size}))


def _directive(evidence: Evidence, found: _Found, kind: Kind) -> tuple[Directive, str]:
    """Say whether a machine may go on, and why, in one sentence."""
    policy = evidence.policy
    if kind is Kind.UNRECOVERABLE:
        if any(each.kind is DamageKind.FORK for each in found.damage):
            return Directive.HALT, "this is another history than the one that was signed or witnessed before"
        return Directive.HALT, "nothing before the damage can be relied on"
    if policy.require_witness and not evidence.known.seen:
        why = "none that could be asked has seen this log" if evidence.known.unasked else "none has seen this log"
        return Directive.HALT, f"the policy requires a witness, and {why}"
    if policy.require_checkpoint and found.usable is None:
        return Directive.HALT, "the policy requires a checkpoint, and none lies on this log"
    if kind is Kind.INTACT:
        return Directive.PROCEED, "every entry that was looked at is what was signed"
    if kind is Kind.RECOVERABLE:
        return Directive.PROCEED, "all damage lies below a checkpoint, all after it verifies, and a replay first compares the state with it"
    if policy.allow_partial_replay:
        return Directive.PROCEED, "the entries before the first damage verify, and the policy allows to replay them alone"
    return Directive.HALT, "entries after the newest checkpoint are damaged, and the policy allows no partial replay"


def _merged(damage: Sequence[Damage]) -> Iterator[Damage]:
    """Join neighbouring ranges of one kind in one file."""
    last: Damage | None = None
    for each in sorted(set(damage), key=lambda each: (each.path, each.version or 0, each.kind, each.first, each.end)):
        if last is not None and replace(each, first=last.first, end=last.end) == last and last.first < each.first <= last.end:
            last = replace(last, end=max(last.end, each.end))
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last
