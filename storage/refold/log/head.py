"""The head: which parts are live, and how one commit leads to the next. Opening walks back at most 128 commits."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from refold import files
from refold.errors import Corrupt
from refold.log import commit as commits
from refold.log.commit import Commit, Live, Replacement, damage
from refold.log.parts import Part
from refold.model import BLANKING, EntryKind


@dataclass(frozen=True, slots=True)
class Head:
    """What the newest commit says of the whole log."""

    commit: Commit
    digest: str
    parts: tuple[Part, ...]  # live, in order, from 0 to size without a gap
    erasures: tuple[int, ...]

    @property
    def version(self) -> int:
        return self.commit.version

    @property
    def size(self) -> int:
        return self.commit.next_seq

    @property
    def last_hash(self) -> bytes:
        return bytes.fromhex(self.commit.last_hash)

    @property
    def epoch(self) -> int:
        return self.commit.epoch

    @property
    def fence(self) -> int | bool:
        return self.commit.fence

    def parts_over(self, first: int, end: int) -> tuple[Part, ...]:
        """Return the live parts that hold entries of [first, end)."""
        low = max(bisect_right(self.parts, first, key=lambda part: part.first) - 1, 0)
        high = bisect_right(self.parts, end - 1, key=lambda part: part.first)
        return self.parts[low:high] if first < end else ()


@dataclass(frozen=True)
class Place:
    """Where a log lies and whose it is."""

    folder: Path
    origin: str
    public_keys: tuple[bytes, ...]
    format: str = commits.FORMAT

    def commit(self, version: int) -> Path:
        return self.commits / commits.file_name(version)

    @cached_property
    def commits(self) -> Path:
        return self.folder / "commits"

    @cached_property
    def parts(self) -> Path:
        return self.folder / "parts"


def has_begun(folder: Path) -> bool:
    """Whether there is a log in a folder: anything among its commits or parts says so, though the rest be lost."""
    inside = [folder / name for name in ("commits", "parts")]
    return any(not name.startswith(files.TEMPORARY) for each in inside if files.look(each) is not None for name in files.names(each))


def newest(place: Place) -> Head:
    """Return the head of the log: the highest commit in the folder. Raises Corrupt."""
    try:
        version = commits.newest_of(files.names(place.commits))
    except FileNotFoundError:
        raise Corrupt("the folder of the log's commits is missing", path=place.commits, hint="refold help damage") from None
    if version is None:
        raise Corrupt("the log has no commit at all", path=place.commits, hint="refold help damage")
    return at(place, version)


def at(place: Place, version: int) -> Head:
    """Return the head as it was at a version: its signature is checked, what is before it by digest."""
    path = place.commit(version)
    raw = read_commit(path)
    walk = [(path, commits.decode(raw, path, expected=place.format), commits.digest(raw))]
    commits.check_signature(raw, place.public_keys, path)
    while walk[-1][1].live is None:
        path = place.commit(version := version - 1)
        raw = read_commit(path)
        if commits.digest(raw) != walk[-1][1].previous:
            raise damage("is not the one that the commit after it follows", path)
        walk.append((path, commits.decode(raw, path, expected=place.format), commits.digest(raw)))
    path, commit, digest = walk.pop()
    head = _start(place, commit, digest, path)
    for path, commit, digest in reversed(walk):
        head = follow(head, commit, digest, path)
    return head


def commit_of(place: Place, head: Head, txn: str, *, after: int) -> Commit | None:
    """Return the commit of a transaction id, if it is among those newer than version `after`, at least 0. Raises Corrupt."""
    commit = head.commit
    while commit.version > after:
        if commit.txn == txn:
            return commit
        path = place.commit(commit.version - 1)
        raw = read_commit(path)
        if commits.digest(raw) != commit.previous:
            raise damage("is not the one that the commit after it follows", path)
        commit = commits.decode(raw, path, expected=place.format)
    return None


def forward(place: Place, head: Head) -> Head:
    """Return the newest head from an older one, reading only the commits between. Raises Corrupt."""
    after, last = head, None
    while True:
        path = place.commit(after.version + 1)
        try:
            raw = files.read(path)
        except FileNotFoundError:
            break
        after, last = follow(after, commits.decode(raw, path, expected=place.format), commits.digest(raw), path), (raw, path)
    if last is not None:
        commits.check_signature(last[0], place.public_keys, last[1])
    return after


def _start(place: Place, commit: Commit, raw_digest: str, path: Path) -> Head:
    """Return the head that a commit with a full list gives by itself."""
    assert commit.live is not None
    if (commit.origin, commit.version) != (place.origin, commits.version_of(path.name)):
        raise damage("is another log's, or another version, than its name says", path)
    _check_cover(commit.live.parts, 0, commit.next_seq, path)
    return Head(commit, raw_digest, commit.live.parts, commit.live.erasures)


def follow(head: Head, commit: Commit, raw_digest: str, path: Path) -> Head:
    """Return the head after one more commit. Raises Corrupt where it does not follow."""
    last = head.commit
    said = (commit.origin, commit.version, commit.previous, commit.first_seq, commit.prev_hash)
    if said != (last.origin, last.version + 1, head.digest, last.next_seq, last.last_hash):
        raise damage("does not follow the commit before it", path)
    if commit.time < last.time:
        raise damage("is dated before the commit before it", path)
    if commit.key < key_after(last):
        raise damage("is signed by a key that was replaced before", path)
    check_fence(last, commit, path)
    _check_cover(commit.parts, commit.first_seq, commit.next_seq, path)
    parts = replaced(head.parts, commit.replaces, path) if commit.replaces else head.parts
    erasures = tuple(seq for seq, kind in commit.control if kind in BLANKING)
    after = Head(commit, raw_digest, parts + commit.parts, head.erasures + erasures)
    if commit.live is not None and commit.live != Live(after.parts, after.erasures):
        raise damage("carries a full list that is not the list", path)
    return after


def key_after(commit: Commit) -> int:
    """Return the number of the oldest key that may sign what follows a commit."""
    return commit.key + any(kind == EntryKind.KEY for _, kind in commit.control)


def refuse_replaced_key(place: Place, head: Head) -> None:
    """Refuse a log whose newest commit is signed by a key that was replaced since. Raises Corrupt.

    The commit that brings in the newest key is signed by the one before it. Logs without entries of keys go on under whatever key they had.
    """
    if place.format == commits.FORMAT and key_after(head.commit) < len(place.public_keys):
        raise damage("is signed by a key that was replaced before", place.commit(head.version))


def check_fence(last: Commit, commit: Commit, path: Path) -> None:
    """Let an epoch rise by one only, inside a fence; let a fence stand until a lift entry takes it away."""
    kinds = {kind for _, kind in commit.control}
    if last.fence is False:
        opened = commit.fence == last.epoch + 1 and commit.fence is not True and EntryKind.FENCE in kinds
        allowed = commit.epoch == last.epoch and (opened or commit.fence is False)
    else:
        stands = commit.fence == last.fence or (commit.fence is False and EntryKind.LIFT in kinds)
        allowed = stands and last.epoch <= commit.epoch <= last.fence
    if not allowed:
        raise damage("has an epoch or a fence that the commit before it does not allow", path)


def _check_cover(parts: tuple[Part, ...], first: int, end: int, path: Path) -> None:
    for part in parts:
        if part.first != first or part.count < 1:
            raise damage("lists parts with a gap or an overlap", path)
        first = part.end
    if first != end:
        raise damage("lists parts that do not cover its entries", path)


def replaced(live: tuple[Part, ...], change: Replacement, path: Path) -> tuple[Part, ...]:
    removed = set(change.removed)
    gone = [part for part in live if part.path in removed]
    ranges = _ranges(gone)
    if len(gone) != len(change.removed) or not gone or ranges != _ranges(change.added):
        raise damage("replaces parts that are not live, or not the same entries", path)
    kept = [part for part in live if part.path not in removed]
    return tuple(sorted([*kept, *change.added], key=lambda part: part.first))


def read_commit(path: Path) -> bytes:
    """Return the bytes of a commit that has to be there. Raises Corrupt."""
    try:
        return files.read(path)
    except FileNotFoundError:
        raise damage("is missing", path) from None


def _ranges(parts: tuple[Part, ...] | list[Part]) -> list[tuple[int, int]]:
    """Return the maximal ranges that parts cover, in order."""
    ranges: list[tuple[int, int]] = []
    for part in sorted(parts, key=lambda part: part.first):
        if ranges and ranges[-1][1] == part.first:
            ranges[-1] = (ranges[-1][0], part.end)
        else:
            ranges.append((part.first, part.end))
    return ranges
