"""Heal: good bytes for damaged files of the log, from mirrors and backups. Only bytes whose hash is authenticated, or none.

A commit is authenticated by the digest in the one after it, and the newest by its signature. A part is authenticated by its digest in a
commit. Where a copy holds the same entries in other parts, they are written as one part again, which counts if it is, byte for byte, the
one that was signed. A copy that signed another commit of the same number than the log has is of another history, and heals nothing;
nor does one whose end is not that of the heads that were seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from refold import files
from refold.errors import Corrupt, RefoldError
from refold.log import commit as commits
from refold.log import parts
from refold.log.commit import Commit
from refold.log.head import Head, Place, at, newest, read_commit
from refold.log.parts import Part, Rows
from refold.recover.ends import WAY_OUT, End, Seen, is_confirmed
from refold.recover.survey import read_file


@dataclass(frozen=True, slots=True)
class Good:
    """A file of the log, and where its good bytes are."""

    path: str  # within the store, POSIX
    size: int
    source: str  # the folder of the copy; "": the damaged file itself
    raw: bytes


@dataclass(frozen=True, slots=True)
class Healing:
    """What copies have of what is damaged: parts first, so that no commit is there before what it lists."""

    goods: tuple[Good, ...]
    refused: tuple[tuple[str, str], ...]  # copies that could not be used, and why


@dataclass(frozen=True, slots=True)
class _Offer:
    """What one copy has for the log: commits, some of which nothing may vouch for but what was seen."""

    copy: Path
    source: Place
    head: Head
    commits: tuple[Good, ...]
    is_confirmed: bool = True

    @property
    def by_path(self) -> dict[str, bytes]:
        return {good.path: good.raw for good in self.commits}


def find(place: Place, copies: Sequence[Path], suspects: Sequence[str], seen: Collection[Seen] = ()) -> Healing:
    """Return the good bytes that copies have for a log. `suspects` are the paths, within the store, of files found damaged.

    `seen` are the heads that were signed or seen of it. Changes nothing. A copy that cannot be read, or is of another history, is named,
    and the others are asked.
    """
    goods: dict[str, Good] = {}
    offers, refused = [], []
    for copy in copies:
        try:
            offers.append(offered(place, copy, seen))
        except (RefoldError, FileNotFoundError) as error:
            refused.append((str(copy), _why(error)))
    for offer in offers:
        if (number := _disputed(offer, offers)) is not None:
            refused.append(
                (str(offer.copy), f"copies have different ends from commit {number} on, and nothing tells that this is the right one")
            )
            continue
        try:
            for good in [*_parts(place, offer.source, _longer(place, offer.source, offer.head), suspects), *offer.commits]:
                goods.setdefault(good.path, good)
        except (RefoldError, FileNotFoundError) as error:
            refused.append((str(offer.copy), _why(error)))
    ordered = sorted(goods.values(), key=lambda good: ("/commits/" in good.path, good.path))
    return Healing(tuple(ordered), tuple(refused))


def _why(error: RefoldError | FileNotFoundError) -> str:
    return error.message if isinstance(error, RefoldError) else "a file of it is missing"


def offered(place: Place, copy: Path, seen: Collection[Seen]) -> _Offer:
    """Return what a copy has. Raises Corrupt where it is of another history than the log, or than a head that was seen of it."""
    source = Place(copy / place.folder.name, place.origin, place.public_keys, place.format)
    head = newest(source)
    found, told = _commits(place, source, head)
    size = _vouched(place)
    end = End(source, head, size, told)
    brings_an_end = bool(found) and head.size >= size and commits.version_of(found[-1].path.rpartition("/")[2]) == head.version
    return _Offer(copy, source, head, tuple(found), not brings_an_end or is_confirmed(place, end, seen))


def _disputed(offer: _Offer, offers: Sequence[_Offer]) -> int | None:
    """Return the first commit of which another copy has another one, if that is at least as good; None where there is none."""
    rivals = [each for each in offers if each.is_confirmed or not offer.is_confirmed]
    mine = offer.by_path
    paths = sorted(path for each in rivals for path, raw in each.by_path.items() if mine.get(path, raw) != raw)
    return commits.version_of(paths[0].rpartition("/")[2]) if paths else None


def _vouched(place: Place) -> int:
    """Return how many entries the newest commit that the log still has speaks for."""
    versions = (
        [version for name in files.names(place.commits) if (version := commits.version_of(name)) is not None] if _is_there(place) else []
    )
    for version in sorted(versions, reverse=True):
        raw = read_file(place.commit(version))
        if raw is not None and is_commit(raw, place, version):
            return commits.decode(raw, place.commit(version), expected=place.format).next_seq
    return 0


def _is_there(place: Place) -> bool:
    return files.look(place.commits) is not None


def _commits(place: Place, source: Place, head: Head) -> tuple[list[Good], tuple[Commit, ...]]:
    """Return the commits that the log lacks, or has damaged, and all that the copy has. Raises Corrupt: the copy is of another history."""
    found, told = [], []
    expected = head.digest
    after = read_file(place.commit(head.version + 1))
    if after is not None and is_commit(after, place, head.version + 1) and _previous(place, after) != expected:
        raise _other(source, head.version)
    for version in range(head.version, -1, -1):
        raw = read_commit(source.commit(version))
        commit = commits.decode(raw, source.commit(version), expected=source.format)
        if commits.digest(raw) != expected:
            raise commits.damage("is not the one that the commit after it follows", source.commit(version))
        expected = commit.previous
        told.append(commit)
        mine = read_file(place.commit(version))
        if mine == raw:
            continue
        if mine is not None and is_commit(mine, place, version):
            raise _other(source, version)
        found.append(_good(place, f"commits/{commits.file_name(version)}", source, raw))
    return found[::-1], tuple(told[::-1])


def _previous(place: Place, raw: bytes) -> str:
    return commits.decode(raw, place.commits, expected=place.format).previous


def _other(source: Place, version: int) -> Corrupt:
    return Corrupt(f"the copy has another commit {version} than the log: {WAY_OUT}", path=source.commit(version))


def _longer(place: Place, source: Place, head: Head) -> Head:
    """Return the newer of the heads of the log and of a copy that does not contradict it."""
    try:
        mine = newest(place)
    except RefoldError:
        return head
    if mine.version <= head.version:
        return head
    try:
        return at(place, mine.version)
    except RefoldError:
        return head


def is_commit(raw: bytes, place: Place, version: int) -> bool:
    """Whether bytes are a commit of this number that the key of the log has signed."""
    path = place.commit(version)
    try:
        commit = commits.decode(raw, path, expected=place.format)
        commits.check_signature(raw, place.public_keys, path)
    except RefoldError:
        return False
    return (commit.origin, commit.version) == (place.origin, version)


def _parts(place: Place, source: Place, head: Head, suspects: Sequence[str]) -> Iterator[Good]:
    """Yield the live parts that the log lacks, or has damaged, and the copy has in one form or another."""
    damaged = set(suspects)
    for part in head.parts:
        name = f"{place.folder.name}/{part.path}"
        if name not in damaged and files.look(place.folder / part.path) is not None:
            continue
        raw = read_file(source.folder / part.path)
        if not is_signed(raw, part):
            raw = _rewritten(source, part)
        if raw is not None and is_signed(raw, part):
            yield _good(place, part.path, source, raw)


def _rewritten(source: Place, part: Part) -> bytes | None:
    """Return a part written anew from the entries that a copy holds in other parts; None where it does not hold them all."""
    head = newest(source)
    if part.end > head.size:
        return None
    try:
        rows = [parts.read(source.folder, each).cut(part.first, part.end) for each in head.parts_over(part.first, part.end)]
    except (Corrupt, FileNotFoundError):
        return None
    table = pa.Table.from_batches([each.batch for each in rows]).combine_chunks()
    return parts.encode(Rows(part.first, table.to_batches()[0]))


def is_signed(raw: bytes | None, part: Part) -> bool:
    """Whether bytes are those of a part as a signed commit lists it."""
    return raw is not None and len(raw) == part.size and hashlib.sha256(raw).hexdigest() == part.sha256


def _good(place: Place, path: str, source: Place, raw: bytes) -> Good:
    return Good(f"{place.folder.name}/{path}", len(raw), str(source.folder.parent), raw)
