"""Capture: what lies of a move in the vault, and the two steps that change nothing else.

prepare copies the sources, sealed, with the digest of each under a key of this move alone; canonicalize writes what they became.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from refold import canonical, files, journal
from refold.errors import Corrupt, Drifted, KeyMissing, NotAllowed, RefoldError, Usage
from refold.journal import FOLDER, Place, Step, Target
from refold.keys import crypto
from refold.migrate import decisions as answers
from refold.migrate import drafting, formats
from refold.migrate.box import Box
from refold.migrate.decisions import Decisions
from refold.migrate.documents import Document
from refold.migrate.drafting import Outcome
from refold.migrate.record import Record, Unreadable
from refold.outside import Clock, Random
from refold.store import Places, Store
from refold.times import DAY

MIGRATE = "migrate"
MOVE, RECORDS = "move", "records"
DROP = journal.Kind("migrate-drop")
SOURCE_BYTES_MAX = 256 << 20  # parsed as a whole
MOVE_BYTES_MAX = 512 << 20  # of all sources: their records are drafted together
SOURCES_MAX = 1_000
DIGEST = crypto.label("refold.move/source/v1")
ID_BYTES = 16
WAIT_SECONDS_MAX = 60.0  # for whoever else changes the store
_OURS = re.compile(rf"{MOVE}|{RECORDS}|source\.[0-9]+|\.tmp-[0-9a-f]{{16}}")
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Captured:
    """One source as it was captured."""

    path: str
    format: str
    size: int  # bytes
    digest: str  # keyed, hex
    records: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class Move:
    """A move that was prepared."""

    id: str
    key: bytes
    prepared_at: int
    sources: tuple[Captured, ...]

    def digest(self, raw: bytes) -> str:
        """Return by what the bytes of a source are known again."""
        return crypto.mac(self.key, DIGEST + sha256(raw).digest()).hex()


def folder(places: Places) -> Path:
    """Return where the moves lie."""
    return places.vault / MIGRATE


def prepare(store: Store, paths: Sequence[Path], *, now: Clock, random: Random = os.urandom) -> Move:
    """Capture sources, one after the other, so that only one at a time is in memory.

    Raises Usage where one cannot be read or is of no format that is known, Drifted where one changes meanwhile, Blocked; then nothing is
    kept.
    """
    if not 0 < len(paths) <= SOURCES_MAX:
        raise Usage(f"a move has 1 to {SOURCES_MAX} sources", hint="refold help migrate")
    bare = Move(random(ID_BYTES).hex(), random(crypto.KEY_BYTES), now(), ())
    move = replace(bare, sources=tuple(_captured(path, bare) for path in paths))
    if sum(source.size for source in move.sources) > MOVE_BYTES_MAX:
        raise Usage(f"the sources of a move have at most {MOVE_BYTES_MAX >> 20} MiB together: make several", hint="refold help migrate")
    where = folder(store.places)
    files.make_folder(where)
    with journal.mutating(store.places, wait_seconds=WAIT_SECONDS_MAX, random=random):
        _sweep(where)
        unnamed = where / f"{files.TEMPORARY}{move.id}"
        files.add_folder(unnamed, mode=files.FOLDER_MODE)
        try:
            files.create_all(unnamed, _sealed(move, Box.of(store.keyring, move.id), unnamed))
        except RefoldError:
            with suppress(RefoldError):  # the first error is the one to tell
                _sweep(where)
            raise
        files.rename_folder(unnamed, where / move.id)
    return move


def _sealed(move: Move, box: Box, where: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of a move, each sealed when its turn comes. Raises Drifted."""
    for at, source in enumerate(move.sources):
        raw = _read(Path(source.path))
        if move.digest(raw) != source.digest:
            raise Drifted("a source has changed while it was captured", path=source.path, hint="refold migrate prepare")
        yield where / _source(at), box.seal(_source(at), raw)
    yield where / MOVE, box.seal(MOVE, _encode(move))


def moves(store: Store) -> dict[str, Move | None]:
    """Return the moves that were prepared, by their ids; None for one that an erasure made dark."""
    found: dict[str, Move | None] = dict.fromkeys(_names(store.places))
    for name in found:
        with suppress(KeyMissing):
            found[name] = _load(store, name)
    return found


def find(store: Store, move_id: str) -> Move:
    """Return the move whose id begins like this. Raises Usage, KeyMissing, Corrupt, UnsupportedVersion."""
    return _load(store, name_of(store.places, move_id))


def name_of(places: Places, move_id: str) -> str:
    """Return the whole id of the move whose id begins like this. Raises Usage."""
    found = [name for name in _names(places) if name.startswith(move_id) and move_id]
    if len(found) != 1:
        raise Usage("no move, or more than one, has an id that begins like this", hint="refold migrate list")
    return found[0]


def canonicalize(store: Store, move: Move, decisions: Decisions) -> Outcome:
    """Turn what was captured into drafts, and keep them with the answers. Raises Usage, Corrupt, Blocked."""
    outcome = _draft(store, move, decisions)
    path = folder(store.places) / move.id / RECORDS
    with journal.mutating(store.places, wait_seconds=WAIT_SECONDS_MAX):  # what a move takes away must not change while it does
        files.replace(path, Box.of(store.keyring, move.id).seal(RECORDS, outcome.encode(decisions)))
    return outcome


def rebuild(store: Store, move: Move) -> tuple[Outcome, bool]:
    """Return what the captured sources become under the answers that were kept, and whether that is what was kept. Raises Usage."""
    path = folder(store.places) / move.id / RECORDS
    try:
        kept = Box.of(store.keyring, move.id).open(RECORDS, files.read(path), path)
    except FileNotFoundError:
        raise Usage("this move was not canonicalized yet", hint=f"refold migrate canonicalize {move.id}") from None
    decisions = answers.parse(canonical.decode(kept)["decisions"])
    outcome = _draft(store, move, decisions)
    return outcome, outcome.encode(decisions) == kept


def drifted(move: Move) -> list[Path]:
    """Return the sources that are not what was captured any more."""
    return [Path(source.path) for source in move.sources if not _is_same(move, source)]


def removals(places: Places, move_id: str) -> list[Step]:
    """Return the steps that take away what was captured: each file as it is now, then the folder. Raises Drifted."""
    where = folder(places) / move_id
    names = sorted(files.names(where), key=lambda name: (name == MOVE, name))
    strange = [name for name in names if not _OURS.fullmatch(name)]
    if strange:
        raise Drifted("something came into the folder of a move", path=where / strange[0], hint="refold migrate list")
    steps: list[Step] = []
    for name in names:
        target = Target(Place.VAULT, f"{MIGRATE}/{move_id}/{name}")
        steps.append(journal.remove(target, before=journal.digest(files.read(where / name)), keeps_before=False))
    return [*steps, journal.remove(Target(Place.VAULT, f"{MIGRATE}/{move_id}"), before=FOLDER)]


def drop(places: Places, move_id: str, *, random: Random = os.urandom) -> None:
    """Take away what was captured for a move, which then never happened. Raises Usage, Blocked, Drifted."""
    with journal.mutating(places, wait_seconds=WAIT_SECONDS_MAX, random=random) as turn:
        turn.commit(DROP, removals(places, name_of(places, move_id)))


def _names(places: Places) -> list[str]:
    try:
        names = files.names(folder(places))
    except FileNotFoundError:
        return []
    return sorted(name for name in names if _ID.fullmatch(name))


def _load(store: Store, name: str) -> Move:
    path = folder(store.places) / name / MOVE
    try:
        raw = files.read(path)
    except FileNotFoundError:
        raise Corrupt("a move has lost the list of what was captured", path=path, hint=f"refold migrate drop {name}") from None
    said: Any = canonical.decode(Box.of(store.keyring, name).open(MOVE, raw, path))
    return Move(name, bytes.fromhex(said["key"]), said["prepared_at"], tuple(Captured(**source) for source in said["sources"]))


def _encode(move: Move) -> bytes:
    sources = [{name: getattr(source, name) for name in Captured.__slots__} for source in move.sources]
    return canonical.encode({"key": move.key.hex(), "prepared_at": move.prepared_at, "sources": sources})


def _source(at: int) -> str:
    return f"source.{at}"


def _captured(path: Path, move: Move) -> Captured:
    raw = _read(path)
    document = Document(raw)
    known = formats.recognise(document)
    if known is None:
        raise Usage(f"this is in none of the formats {', '.join(formats.FORMATS)}", path=path, hint="refold help migrate")
    found = [*known.read(document, latest=move.prepared_at + DAY)]
    unreadable = sum(isinstance(each, Unreadable) for each in found)
    return Captured(str(path.absolute()), known.name, len(raw), move.digest(raw), len(found) - unreadable, unreadable)


def _draft(store: Store, move: Move, decisions: Decisions) -> Outcome:
    read = [_records(store, move, at, source) for at, source in enumerate(move.sources)]
    return drafting.draft(read, decisions, prepared_at=move.prepared_at)


def _records(store: Store, move: Move, at: int, source: Captured) -> list[Record | Unreadable]:
    path = folder(store.places) / move.id / _source(at)
    try:
        raw = Box.of(store.keyring, move.id).open(_source(at), files.read(path), path)
    except FileNotFoundError:
        raise Corrupt("what was captured is not there any more", path=path, hint="refold migrate prepare") from None
    return [*formats.FORMATS[source.format].read(Document(raw), latest=move.prepared_at + DAY)]


def _is_same(move: Move, source: Captured) -> bool:
    try:
        return move.digest(_read(Path(source.path))) == source.digest
    except Usage:
        return False


def _read(path: Path) -> bytes:
    """Read a source of somebody else's. Raises Usage, NotAllowed."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise Usage("this is not a regular file", path=path, hint="refold help migrate")
        if found.st_size > SOURCE_BYTES_MAX:
            message = f"the source has {found.st_size} bytes; at most {SOURCE_BYTES_MAX >> 20} MiB are possible: export it in parts"
            raise Usage(message, path=path, hint="refold help migrate")
        return path.read_bytes()
    except FileNotFoundError:
        raise Usage("there is no such file", path=path) from None
    except PermissionError:
        raise NotAllowed("this file may not be read", path=path) from None


def _sweep(where: Path) -> None:
    """Remove what an interrupted capture left. The caller holds the right to change the store."""
    for name in files.names(where):
        if name.startswith(files.TEMPORARY):
            for inside in files.names(where / name):
                files.remove(where / name / inside, sync=False)
            files.remove_folder(where / name)
