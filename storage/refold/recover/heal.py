"""Heal: good bytes for damaged files of the log, from mirrors and backups. Only bytes whose hash is authenticated, or none.

A commit is authenticated by the digest in the one after it, and the newest by its signature. A part is authenticated by its digest in a
commit. Where a copy holds the same entries in other parts, they are written as one part again, which counts if it is, byte for byte, the
one that was signed. A copy that signed another commit of the same number than the log has is of another history, and heals nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from refold import files
from refold.errors import Corrupt, RefoldError
from refold.log import commit as commits
from refold.log import parts
from refold.log.head import Head, Place, at, newest, read_commit
from refold.log.parts import Part, Rows
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


def find(place: Place, copies: Sequence[Path], suspects: Sequence[str]) -> Healing:
    """Return the good bytes that copies have for a log. `suspects` are the paths, within the store, of files found damaged.

    Changes nothing. A copy that cannot be read, or is of another history, is named, and the others are asked.
    """
    goods: dict[str, Good] = {}
    refused: list[tuple[str, str]] = []
    for copy in copies:
        source = Place(copy / place.folder.name, place.origin, place.public_keys, place.format)
        try:
            head = newest(source)
            healed = _commits(place, source, head)
            for good in [*_parts(place, source, _longer(place, source, head), suspects), *healed]:
                goods.setdefault(good.path, good)
        except (RefoldError, FileNotFoundError) as error:
            refused.append((str(copy), error.message if isinstance(error, RefoldError) else "a file of it is missing"))
    ordered = sorted(goods.values(), key=lambda good: ("/commits/" in good.path, good.path))
    return Healing(tuple(ordered), tuple(refused))


def _commits(place: Place, source: Place, head: Head) -> list[Good]:
    """Return the commits that the log lacks, or has damaged. Raises Corrupt where the copy is of another history."""
    found = []
    expected = head.digest
    for version in range(head.version, -1, -1):
        raw = read_commit(source.commit(version))
        commit = commits.decode(raw, source.commit(version), expected=source.format)
        if commits.digest(raw) != expected:
            raise commits.damage("is not the one that the commit after it follows", source.commit(version))
        expected = commit.previous
        mine = read_file(place.commit(version))
        if mine == raw:
            continue
        if mine is not None and is_commit(mine, place, version):
            raise Corrupt(f"the copy has another commit {version} than the log", path=source.commit(version))
        found.append(_good(place, f"commits/{commits.file_name(version)}", source, raw))
    return found[::-1]


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
