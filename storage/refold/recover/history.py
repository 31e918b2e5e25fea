"""History: what the commits of a log say together, told by a pure function over what was read of them.

Each commit is held against the newest good one below it, check by check. Where one is damaged, the next good one is taken up from where
it says it begins: what lies between is the damaged range. Which of two signed neighbours is wrong, the later ones decide: the newest is
what readers follow, and each names the digest of the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from refold.errors import Corrupt
from refold.log import commit as commits
from refold.log import head as heads
from refold.log.commit import Commit, Live, Replacement
from refold.log.parts import Part
from refold.model import BLANKING, EntryKind
from refold.recover.survey import Slot
from refold.verdict import Damage, DamageKind

COMMITS = "log/commits"
SEQ_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Listed:
    """A live part, the commit that lists it, and the one that put it in the place of others."""

    part: Part
    version: int
    replaced_in: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """What is known of a log from its commits alone."""

    size: int  # entries that the newest good commit speaks of
    epoch: int
    is_sized: bool  # whether there is any good commit
    parts: tuple[Listed, ...]  # live, in order
    anchors: dict[int, bytes]  # by seq: the hash of the entry before it
    erasures: dict[int, int]  # by seq of an erasure entry: the version of its commit, or of a later one
    control: dict[int, int]  # by seq: the kind that a commit says of a control entry
    told: tuple[tuple[int, int], ...]  # ranges whose commits were good, so that `control` is all there is in them
    damage: tuple[Damage, ...]


@dataclass(slots=True)
class _Told:
    """What was told so far."""

    anchors: dict[int, bytes]
    last: Commit | None = None
    is_patchy: bool = False  # a damaged commit may have changed what is live, and no full list came since
    parts: list[Listed] = field(default_factory=list)
    erasures: dict[int, int] = field(default_factory=dict)
    control: dict[int, int] = field(default_factory=dict)
    told: list[tuple[int, int]] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.last.next_seq if self.last else 0


def history(slots: Sequence[Slot], genesis: bytes, *, keys: int) -> History:
    """Return what commits say together; `genesis` is what the first entry follows, `keys` how many keys have signed this log so far."""
    told = _Told({0: genesis})
    run: list[Slot] = []
    for slot in _later_decide(slots):
        if slot.fault is not None or slot.commit is None:
            run.append(slot)
            continue
        _take_up(told, run, slot, slot.commit, genesis)
        run = []
    told.damage += [_damage(slot, told.size, told.size) for slot in run]
    if told.last is not None and not is_signed_by_the_newest_key(told.last, keys):
        path = f"{COMMITS}/{commits.file_name(told.last.version)}"
        told.damage.append(Damage(told.size, told.size, DamageKind.SIGNATURE, path, told.last.version))
    return History(
        size=told.size,
        epoch=told.last.epoch if told.last else 0,
        is_sized=told.last is not None,
        parts=tuple(told.parts),
        anchors=told.anchors,
        erasures=told.erasures,
        control=told.control,
        told=tuple(told.told),
        damage=tuple(told.damage),
    )


def _later_decide(slots: Sequence[Slot]) -> list[Slot]:
    """Mark each commit that is not the one which the good one after it follows."""
    marked: list[Slot] = []
    after: Slot | None = None
    for slot in reversed(slots):
        here = slot
        if here.fault is None and not is_followed(here, after):
            here = replace(here, fault=DamageKind.COMMIT)
        after = here if here.fault is None else None
        marked.append(here)
    return marked[::-1]


def is_signed_by_the_newest_key(newest: Commit, keys: int) -> bool:
    """Whether the newest commit is signed by the newest key, or brings it in: else the end of the log, which did, was cut off."""
    return newest.format != commits.FORMAT or heads.key_after(newest) >= keys


def is_followed(slot: Slot, after: Slot | None) -> bool:
    """Whether the commit after one, if it is good, names its digest."""
    return after is None or after.commit is None or after.commit.previous == slot.sha256


def _take_up(told: _Told, run: list[Slot], slot: Slot, commit: Commit, genesis: bytes) -> None:
    """Hold a good commit against what was told, and add what it says."""
    told.is_patchy = told.is_patchy or bool(run)
    said = list(_faults(told, commit, genesis, resumed=bool(run)))
    low, high = min(told.size, commit.first_seq), max(told.size, commit.first_seq)
    told.damage += [_damage(each, low, high) for each in run]
    told.damage += [_damage(slot, first, max(first, end), kind) for kind, first, end in dict.fromkeys(said)]
    told.is_patchy = told.is_patchy or bool(said)
    _add(told, commit)


def _damage(slot: Slot, first: int, end: int, kind: DamageKind | None = None) -> Damage:
    found = kind or slot.fault or DamageKind.COMMIT
    return Damage(first, end, found, f"{COMMITS}/{slot.name}", slot.version, has=slot.sha256)


def _faults(told: _Told, commit: Commit, genesis: bytes, *, resumed: bool) -> Iterator[tuple[DamageKind, int, int]]:
    """Yield what is wrong with a commit in the place in which it stands, and with which entries. After a damaged one less is known."""
    last, here = told.last, (commit.first_seq, commit.next_seq)
    place = begins_where_the_last_ends(told.size, commit)
    if place and not (resumed and place is DamageKind.GAP):
        yield place, min(told.size, commit.first_seq), max(told.size, commit.first_seq)
    if not place and not continues_the_chain(last, commit, genesis):
        yield DamageKind.LINK, *here
    if not covers_its_entries(commit):
        yield (DamageKind.GAP if _is_short(commit) else DamageKind.DUPLICATE), *here
    if last is not None and not resumed and not has_an_allowed_key(last, commit):
        yield DamageKind.SIGNATURE, *here
    if last is not None and not is_dated_after(last, commit):
        yield DamageKind.ORDER, *here
    if last is not None and not resumed and not has_an_allowed_epoch(last, commit):
        yield DamageKind.COMMIT, *here
    if not told.is_patchy and not lists_what_is_live(told.parts, told.erasures, commit):
        yield DamageKind.COMMIT, *here
    if not has_its_control_entries(commit):
        yield DamageKind.COMMIT, *here


def begins_where_the_last_ends(end: int, commit: Commit) -> DamageKind | None:
    """Say whether entries are left out before a commit, or come twice with it."""
    if commit.next_seq < commit.first_seq:
        return DamageKind.ORDER
    return None if commit.first_seq == end else DamageKind.GAP if commit.first_seq > end else DamageKind.DUPLICATE


def continues_the_chain(last: Commit | None, commit: Commit, genesis: bytes) -> bool:
    """Whether the first entry of a commit follows the last one before it."""
    return commit.prev_hash == (last.last_hash if last else genesis.hex()) and (
        commit.next_seq > commit.first_seq or commit.last_hash == commit.prev_hash
    )


def covers_its_entries(commit: Commit) -> bool:
    """Whether the parts of a commit hold just its entries, in order."""
    at = commit.first_seq
    for part in commit.parts:
        if part.first != at or part.count < 1:
            return False
        at = part.end
    return at == commit.next_seq


def _is_short(commit: Commit) -> bool:
    """Whether the parts of a commit leave entries out, rather than list some twice."""
    return sum(part.count for part in commit.parts) < commit.next_seq - commit.first_seq


def is_dated_after(last: Commit, commit: Commit) -> bool:
    """Whether a commit is not dated before the one before it."""
    return commit.time >= last.time


def has_an_allowed_key(last: Commit, commit: Commit) -> bool:
    """Whether a commit is signed by no key that was replaced before it."""
    return commit.key >= heads.key_after(last)


def has_an_allowed_epoch(last: Commit, commit: Commit) -> bool:
    """Whether an epoch or a fence changes only as the commit before allows."""
    return _agrees(lambda: heads.check_fence(last, commit, _NOWHERE))


def lists_what_is_live(parts: Sequence[Listed], erasures: dict[int, int], commit: Commit) -> bool:
    """Whether a commit replaces live parts by the same entries, and its full list, where it has one, is what follows from all before."""
    if commit.replaces is None and commit.live is None:
        return True
    live = tuple(listed.part for listed in parts)
    if commit.replaces is not None:
        change = commit.replaces
        if not _agrees(lambda: heads.replaced(live, change, _NOWHERE)):
            return False
        live = heads.replaced(live, change, _NOWHERE)
    erased = (*erasures, *(seq for seq, kind in commit.control if kind in BLANKING))
    return commit.live is None or commit.live == Live(live + commit.parts, erased)


def has_its_control_entries(commit: Commit) -> bool:
    """Whether a commit names control entries of its own only."""
    return all(commit.first_seq <= seq < commit.next_seq and kind >= EntryKind.ERASURE for seq, kind in commit.control)


_NOWHERE = Path(COMMITS)


def _agrees(check: Callable[[], object]) -> bool:
    try:
        check()
    except Corrupt:
        return False
    return True


def _add(told: _Told, commit: Commit) -> None:
    """Take over what a good commit says; after a damaged one its full list, where it has one, counts more than what was told."""
    version = commit.version
    added = [Listed(part, version) for part in commit.parts if part.end <= SEQ_MAX]
    if commit.live is not None and told.is_patchy:
        told.is_patchy = False
        known = {listed.part: listed for listed in told.parts}
        told.parts = [known.get(part) or Listed(part, version, version) for part in commit.live.parts if part.end <= SEQ_MAX]
        for seq in commit.live.erasures:
            told.erasures.setdefault(seq, version)
    else:
        if commit.replaces is not None:
            told.parts = _after_replacing(told.parts, commit.replaces, version)
        told.parts += [each for each in added if not told.parts or each.part.first >= told.parts[-1].part.end]
    for seq, kind in commit.control:
        told.control[seq] = kind
        if kind in BLANKING:
            told.erasures.setdefault(seq, version)
    if commit.first_seq >= told.size:  # else it speaks of entries that earlier commits have told already
        told.anchors.setdefault(commit.first_seq, bytes.fromhex(commit.prev_hash))
    told.anchors.setdefault(commit.next_seq, bytes.fromhex(commit.last_hash))
    told.told.append((commit.first_seq, commit.next_seq))
    told.last = commit


def _after_replacing(parts: list[Listed], change: Replacement, version: int) -> list[Listed]:
    removed = set(change.removed)
    kept = [listed for listed in parts if listed.part.path not in removed]
    return sorted([*kept, *(Listed(part, version, version) for part in change.added)], key=lambda listed: listed.part.first)
