"""The log that proves itself. What the tests share: small logs, and a hand that forges what only the key can sign."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from refold.log import commit as commits
from refold.log import parts, tree
from refold.log.commit import Commit, Replacement
from refold.log.parts import Part, Rows
from refold.recover import verify as verification
from refold.store import Places, Store, create, open_store
from refold.store import places as find_places
from refold.verdict import Checkpoint, Damage, SeenHead, Verdict
from tests.conftest import now
from tests.journal import unsynced
from tests.log import blank, say

Edit = Callable[[Rows], Rows]


def where(folder: Path) -> Places:
    return find_places(folder / "store", folder / "vault", folder / "root", env={})


def plain(folder: Path) -> Places:
    """Make a log of four commits: one that is empty, and three with a part each, of 3, 2 and 2 entries."""
    with unsynced(), create(where(folder), now=now) as store:
        for number in range(3):
            say(store, f"{number} a", f"{number} b")
    return where(folder)


def rich(folder: Path) -> Places:
    """Make a log in which an entry is erased and parts were merged."""
    with unsynced(), create(where(folder), now=now) as store:
        for number in range(3):
            say(store, f"{number} a", f"{number} b")
        blank(store, [3])
        store.log.compact(now=now, random=os.urandom, parts_max=2)
        say(store, "after", "all of it")
    return where(folder)


def verify(places: Places, **given) -> Verdict:
    return verification.verify(places, **given)


def kinds(verdict: Verdict) -> list[str]:
    """Return what is damaged, in words."""
    return [each.kind.value for each in verdict.damage]


def spots(verdict: Verdict) -> list[tuple[int, int, str]]:
    """Return what is damaged, and where."""
    return [(each.first, each.end, each.kind.value) for each in verdict.damage]


def located(verdict: Verdict) -> set[str]:
    """Return the files that are said to be damaged."""
    return {each.path for each in verdict.damage}


def head_of(places: Places, size: int | None = None) -> SeenHead:
    """Return the head that a witness would have seen when the log had so many entries."""
    hashes = hashes_of(places)[:size]
    return SeenHead(len(hashes), tree.root(hashes), is_external=False)


def checkpoint_of(places: Places, size: int, **fields) -> Checkpoint:
    """Return a checkpoint of the log as it was."""
    seen = head_of(places, size)
    return replace(Checkpoint(seen.size, seen.root, 1, 1, bytes(32), "checkpoints/1"), **fields)


def hashes_of(places: Places) -> list[bytes]:
    """Return the hashes of all entries."""
    with open_store(places) as store:
        return [each for rows in store.log.rows() for each in rows.hashes()]


def live(places: Places) -> tuple[Part, ...]:
    with open_store(places) as store:
        return store.log.head.parts


def commit_path(places: Places, version: int) -> Path:
    return places.store / "log/commits" / commits.file_name(version)


def part_path(places: Places, number: int) -> Path:
    return places.store / "log" / live(places)[number].path


def files_of(places: Places) -> list[Path]:
    """Return the files of the log that count: every commit, and the live parts."""
    named = {places.store / "log" / part.path for part in live(places)}
    return sorted((places.store / "log/commits").iterdir()) + sorted(named)


def rewrite(path: Path, edit: Callable[[bytes], bytes]) -> None:
    path.write_bytes(edit(path.read_bytes()))


def resign(places: Places, edit: Callable[[Commit], Commit]) -> None:
    """Forge a history: change each commit as only the holder of the key can, and chain and sign them anew."""
    with open_store(places) as store:
        signer, top = store.vault.signer(), store.log.head.version
    previous = ""
    for version in range(top + 1):
        path = commit_path(places, version)
        commit = replace(edit(commits.decode(path.read_bytes(), path)), previous=previous)
        raw = commits.encode(commit, signer)
        path.write_bytes(raw)
        previous = commits.digest(raw)


def change(places: Places, number: int, edit: Edit) -> None:
    """Put other rows into a live part, as one does who has no key: its commit says what it said."""
    path = part_path(places, number)
    path.write_bytes(parts.encode(edit(parts.read(places.store / "log", live(places)[number]))))


def forge(places: Places, number: int, edit: Edit) -> None:
    """Forge a live part: other rows in it, listed and signed as if they were its own."""
    part = live(places)[number]
    path = places.store / "log" / part.path
    rows = edit(parts.read(places.store / "log", part))
    raw = parts.encode(rows)
    path.write_bytes(raw)
    resign(places, lambda commit: with_part(commit, replace(parts.describe(part.path, raw, rows), count=part.count)))


def with_part(commit: Commit, other: Part) -> Commit:
    """Return a commit that lists another part under the path of one."""

    def listed(those: Iterable[Part]) -> tuple[Part, ...]:
        return tuple(other if each.path == other.path else each for each in those)

    change = commit.replaces and Replacement(commit.replaces.removed, listed(commit.replaces.added))
    return replace(
        commit, parts=listed(commit.parts), replaces=change, live=commit.live and replace(commit.live, parts=listed(commit.live.parts))
    )


def ordered(*order: int) -> Edit:
    """Return what puts rows into another order, leaves some out, or repeats them."""

    def edit(rows: Rows) -> Rows:
        columns: list[list[Any]] = [rows.headers(), rows.payloads(), rows.commits(), rows.hashes()]
        return Rows.of(rows.first, *[[column[row] for row in order] for column in columns])

    return edit


def with_value(row: int, column: str, value: Callable[[bytes], bytes | None]) -> Edit:
    """Return what changes one value of one row."""

    def edit(rows: Rows) -> Rows:
        columns: dict[str, list[Any]] = {
            "header": rows.headers(),
            "payload": rows.payloads(),
            "commit": rows.commits(),
            "hash": rows.hashes(),
        }
        columns[column][row] = value(columns[column][row] or b"")
        return Rows.of(rows.first, *columns.values())

    return edit


def flipped(at: int) -> Callable[[bytes], bytes]:
    return lambda raw: raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


def opened(places: Places) -> Store:
    return open_store(places)


def only(verdict: Verdict) -> Damage:
    (damage,) = verdict.damage
    return damage
