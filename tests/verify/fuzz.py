"""Every kind of file of a small memory, what may happen to one, and what then finds it and says where it lies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, count, permutations
from pathlib import Path

from refold import register, settings, times
from refold.calls.recordings import Recordings
from refold.erase import dockets
from refold.erase.dockets import Docket
from refold.erase.model import Footprint, Selector
from refold.errors import RefoldError
from refold.memory import Memory
from refold.model import AliasKind, Source
from refold.recover.audit import Area, audit, options
from refold.store import Places
from refold.store import places as find_places
from tests.calls.test_recordings import attempt
from tests.journal import unsynced
from tests.log import blank, heard
from tests.verify import files_of, verify, where

SECTOR = 512


@dataclass(frozen=True)
class Kind:
    """A kind of file, where its files lie, what looks at them, and how many places of them are tried in CI."""

    name: str
    files: Callable[[Places], list[Path]]
    found: Callable[[Places], set[Path]]
    tries: int
    mixed: bool = False  # whether its files are also mixed up


def memory(folder: Path, *, seed: str = "fuzz") -> Places:
    """Make a memory that has every kind of file, with ids and times that are always the same for a seed."""
    numbers, minutes = count(), count(times.parse("2024-12-01"), 60_000_000)

    def drawn(size: int) -> bytes:
        return hashlib.shake_256(f"{seed} {next(numbers)}".encode()).digest(size)

    made = find_places(folder / "store", folder / "vault", folder / "root", env={}, random=drawn)
    with unsynced(), Memory.create(made.store, vault=made.vault, root=made.root, now=lambda: next(minutes), random=drawn) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1", said_at="2024-01-10")
        memory.add("I've been living in Munich since 2023.", user_id="ada", source="chat:7#2", said_at="2024-06-01")
        memory.add("My sister is called Ruth.", user_id="ada", source="chat:7#3", said_at="2024-06-02")
        blank(memory.store, [2])
        memory.store.log.compact(now=lambda: next(minutes), random=drawn, parts_max=2)
        memory.add("I work at Northwind.", user_id="ada", source="chat:7#4", said_at="2024-06-03")
        recordings = Recordings(memory.store, now=lambda: next(minutes), random=drawn)
        for event in heard(memory.store)[:2]:
            recordings.record([attempt(memory.store, event)], run=bytes(16))
        memory.fold()
        memory.checkpoint()
        request = memory.erase_request(Selector(aliases=((AliasKind.HANDLE, "ada"),)))
        memory.erase_hold(Selector(sources=(Source("chat", "7"),)), "a court")
        register.add(memory.store, register.Kind.EXPORT, "a drawer", now=lambda: next(minutes), random=drawn)
        dockets.keep(memory.store, Docket(request, Footprint(("a needle",), (), "a control", 0), 1), random=drawn)
    return where(folder)


def by_verdict(places: Places) -> set[Path]:
    """Return the files that a verification of the log blames."""
    return {places.store / each.path for each in verify(places).damage}


def by_audit(*areas: Area) -> Callable[[Places], set[Path]]:
    """Return what gives the files that an audit of some areas blames."""

    def look(places: Places) -> set[Path]:
        done = audit(places, areas, deep=True, log=options(places, settings.load({})))
        return {each.path for each in done.findings if each.path is not None}

    return look


def by_opening(places: Places) -> set[Path]:
    """Return what is blamed where the origin itself may be damaged: looking for the store's places reads it."""
    try:
        found = find_places(places.store, places.vault, places.root, env={})
    except RefoldError as error:
        return {Path(error.path or "")}
    return by_audit(Area.LOG)(found)


def below(place: str, pattern: str) -> Callable[[Places], list[Path]]:
    return lambda places: sorted(getattr(places, place).glob(pattern))


def of_log(folder: str) -> Callable[[Places], list[Path]]:
    return lambda places: [path for path in files_of(places) if path.parent.name == folder]


def docket(places: Places) -> list[Path]:
    return [*sorted((places.vault / "dockets").iterdir()), *sorted(places.root.glob("docket.*"))]


def runs(places: Places) -> list[Path]:
    return sorted((places.store / "state/runs").iterdir())


KINDS = (
    Kind("commit of the log", of_log("commits"), by_audit(Area.LOG), 36, mixed=True),
    Kind("part of the log", of_log("parts"), by_verdict, 36, mixed=True),
    Kind("commit of the calls", below("store", "calls/commits/*"), by_audit(Area.LOG), 12, mixed=True),
    Kind("part of the calls", below("store", "calls/parts/*"), by_audit(Area.LOG), 12, mixed=True),
    Kind("store.json", below("store", "store.json"), by_opening, 6),
    Kind("signed head and attestation", below("store", "checkpoints/*"), by_audit(Area.LOG), 12),
    Kind("head that the vault has seen", below("vault", "witness/heads/*"), by_audit(Area.LOG), 6),
    Kind("state/CURRENT", below("store", "state/CURRENT"), by_audit(Area.STATE), 6),
    Kind("manifest of the state", below("store", "state/0*"), by_audit(Area.STATE), 6),
    Kind("run of the state", runs, by_audit(Area.STATE), 16),
    Kind("pinned key", below("vault", "witness/log.json"), by_audit(Area.KEYS), 6),
    Kind("keyring and its seal", below("vault", "keys/*/*"), by_audit(Area.KEYS), 12),
    Kind("signing key", below("vault", "signing/*.key"), by_audit(Area.KEYS), 4),
    Kind("root", below("root", "root.*"), by_audit(Area.KEYS), 4),
    Kind("request for erasure, and hold", below("vault", "requests/*"), by_audit(Area.KEYS), 12),
    Kind("docket, and its key", docket, by_audit(Area.KEYS), 8),
    Kind("register of copies", below("vault", "copies/*"), by_audit(Area.KEYS), 6),
)


def positions(size: int, tries: int | None) -> list[int]:
    """Return all positions of a file, or so many spread evenly."""
    if tries is None or tries >= size:
        return list(range(size))
    return sorted({at * size // tries for at in range(tries)})


def flips(raw: bytes, tries: int | None) -> Iterator[bytes]:
    """Yield the file with one bit flipped: two bits of each byte."""
    for at in positions(len(raw), tries):
        for bit in (at % 8, (at + 3) % 8):
            yield raw[:at] + bytes([raw[at] ^ (1 << bit)]) + raw[at + 1 :]


def cuts(raw: bytes, tries: int | None) -> Iterator[bytes]:
    """Yield every shorter beginning of the file; of a sample the empty one, and the one that lacks a byte."""
    for at in sorted({*positions(len(raw), tries), len(raw) - 1}):
        yield raw[:at]


def zero_tails(raw: bytes, tries: int | None) -> Iterator[bytes]:
    """Yield the file with its end filled with zeros, as a hard reboot leaves it."""
    for at in positions(len(raw), tries):
        if raw[at:].strip(b"\0"):
            yield raw[:at] + bytes(len(raw) - at)


def half_sectors(raw: bytes, tries: int | None) -> Iterator[bytes]:
    """Yield the file with each of its sectors half written, the rest of the sector zeros."""
    for start in range(0, len(raw), SECTOR):
        half, end = start + SECTOR // 2, min(start + SECTOR, len(raw))
        if raw[half:end].strip(b"\0"):
            yield raw[:half] + bytes(end - half) + raw[end:]


HARMS: dict[str, Callable[[bytes, int | None], Iterator[bytes]]] = {
    "a bit flipped": flips,
    "cut": cuts,
    "tail zeroed": zero_tails,
    "half a sector": half_sectors,
}


Exchange = dict[Path, bytes | None]  # what then stands under a name; None: nothing


def removed(paths: list[Path], strange: list[Path]) -> Iterator[Exchange]:
    """Yield the files without each of them."""
    yield from ({path: None} for path in paths)


def exchanged(paths: list[Path], strange: list[Path]) -> Iterator[Exchange]:
    """Yield the files with every two of them under one another's names."""
    for one, other in combinations(paths, 2):
        yield {one: other.read_bytes(), other: one.read_bytes()}


def repeated(paths: list[Path], strange: list[Path]) -> Iterator[Exchange]:
    """Yield the files with each of them in the place of every other."""
    for one, other in permutations(paths, 2):
        yield {one: other.read_bytes()}


def foreign(paths: list[Path], strange: list[Path]) -> Iterator[Exchange]:
    """Yield the files with one of another memory, made of the same, in the place of each."""
    yield from ({path: other.read_bytes()} for path, other in zip(paths, strange, strict=True))


MIXED: dict[str, Callable[[list[Path], list[Path]], Iterator[Exchange]]] = {
    "removed": removed,
    "two exchanged": exchanged,
    "another in its place": repeated,
    "one of another log in its place": foreign,
}
