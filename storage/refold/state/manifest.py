"""CURRENT and manifests: which runs make up a generation, and which part of the log it covers.

    CURRENT     canonical JSON of a Pointer: ids, integers and a hash of ciphertext, nothing sealed
    <number>    nonce[12] ‖ AES-256-GCM(canonical JSON of a Manifest), the generation's number as AAD, under
                HMAC(state key, T("refold/manifest/v1"))
    runs/       the runs, shared by generations

A generation is a list of segments, oldest first; a segment has one run for each table in which it has rows. Where a model read events
again, because another had come before them, the segment voids what older ones hold of them. Pending are the events of which a model has
not answered yet: they are in the generation, and nothing that was read out of them as it should be. Earlier are the generations that this
one was folded onto, with how much of the log each had: a question about what changed since one needs no more of it. The profiles stand
outside of the segments, as one run: what is said there replaces what was said before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refold import canonical
from refold.errors import Corrupt, UnsupportedVersion
from refold.keys import crypto
from refold.outside import Random
from refold.state.tables import PROFILES, TABLES

FORMAT = "refold.state/1"
CURRENT = "CURRENT"
RUNS = "runs"
HASH_BYTES = 32
EARLIER_MAX = 1_024  # generations that are remembered: three years of nights
REBUILD = "refold fold --full"
_MANIFEST = re.compile(r"[0-9]{12}")
_RUN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Pointer:
    """The current generation, and the point of the log up to which it folds."""

    number: int
    epoch: int
    size: int
    last_hash: bytes

    @property
    def raw(self) -> bytes:
        return canonical.encode(
            {"epoch": self.epoch, "format": FORMAT, "generation": self.number, "last_hash": self.last_hash.hex(), "size": self.size}
        )

    @classmethod
    def read(cls, raw: bytes, *, path: Path) -> Pointer:
        """Parse CURRENT. Raises Corrupt, UnsupportedVersion."""
        body = _body(raw, path)
        try:
            return cls(
                canonical.count(body["generation"]),
                canonical.count(body["epoch"]),
                canonical.count(body["size"]),
                canonical.unhex(body["last_hash"], HASH_BYTES),
            )
        except (KeyError, TypeError, ValueError):
            raise _damaged(path) from None


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run as a manifest lists it."""

    name: str
    rows: int
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """What was folded together: one run for each table that has rows."""

    runs: Mapping[str, RunRef]
    voids: tuple[int, ...] = ()  # seqs, sorted, of which the rows of older segments do not count

    @property
    def rows(self) -> int:
        return sum(run.rows for run in self.runs.values())


@dataclass(frozen=True, slots=True)
class Manifest:
    """A generation. The digests say with which relations and which search recipe it was folded."""

    pointer: Pointer
    relations: bytes
    recipe: bytes
    segments: tuple[Segment, ...] = ()
    pending: tuple[int, ...] = ()  # seqs, sorted
    earlier: tuple[tuple[int, int], ...] = ()  # generation and size of each that it was folded onto, oldest first
    profiles: RunRef | None = None  # the run of the whole table, where it has rows

    @property
    def chain(self) -> tuple[tuple[int, int], ...]:
        """Return what is earlier for the generation that is folded onto this one."""
        return (*self.earlier, (self.pointer.number, self.pointer.size))[-EARLIER_MAX:]

    @property
    def listed(self) -> Iterator[tuple[str, RunRef]]:
        """Yield all runs, each with its table."""
        for segment in self.segments:
            yield from segment.runs.items()
        if self.profiles is not None:
            yield PROFILES.name, self.profiles

    @property
    def runs(self) -> set[str]:
        """Return the names of all runs."""
        return {run.name for _, run in self.listed}

    def runs_of(self, table: str) -> list[tuple[RunRef, np.ndarray]]:
        """Return the runs of a table, oldest first, each with the seqs of which its rows do not count any more."""
        if table == PROFILES.name:
            return [] if self.profiles is None else [(self.profiles, np.empty(0, np.uint64))]
        gone = zip(self.segments, voided(self.segments), strict=True)
        return [(segment.runs[table], seqs) for segment, seqs in gone if table in segment.runs]

    def seal(self, state_key: bytes, *, random: Random) -> bytes:
        """Return the file of the manifest."""
        body = {
            "current": self.pointer.raw.decode(),
            "earlier": [list(one) for one in self.earlier],
            "format": FORMAT,
            "pending": _ranges(self.pending),
            "recipe": self.recipe.hex(),
            "relations": self.relations.hex(),
            "segments": [{table: asdict(run) for table, run in segment.runs.items()} for segment in self.segments],
            "voids": [_ranges(segment.voids) for segment in self.segments],
            **({} if self.profiles is None else {PROFILES.name: asdict(self.profiles)}),
        }
        nonce = random(crypto.NONCE_BYTES)
        return nonce + crypto.seal(_key(state_key), nonce, canonical.encode(body), _aad(self.pointer.number))

    @classmethod
    def unseal(cls, raw: bytes, state_key: bytes, *, number: int, path: Path) -> Manifest:
        """Open the manifest of a generation. Raises Corrupt, UnsupportedVersion."""
        try:
            opened = crypto.unseal(_key(state_key), raw[: crypto.NONCE_BYTES], raw[crypto.NONCE_BYTES :], _aad(number))
        except (crypto.Unauthentic, ValueError):
            raise _damaged(path) from None
        body = _body(opened, path)
        try:
            return cls(
                Pointer.read(body["current"].encode(), path=path),
                canonical.unhex(body["relations"], HASH_BYTES),
                canonical.unhex(body["recipe"], HASH_BYTES),
                tuple(
                    Segment({table: _run(table, run) for table, run in segment.items()}, _seqs(voids))
                    for segment, voids in zip(body["segments"], body.get("voids", [[]] * len(body["segments"])), strict=True)
                ),
                _seqs(body.get("pending", [])),
                tuple((canonical.count(number), canonical.count(size)) for number, size in body.get("earlier", [])),
                _run(PROFILES.name, body[PROFILES.name]) if PROFILES.name in body else None,
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise _damaged(path) from None


def file_name(number: int) -> str:
    """Return the name of a generation's manifest within `state/`."""
    return f"{number:012d}"


def numbers(names: list[str]) -> list[int]:
    """Return the generations whose manifests are among the names in `state/`."""
    return sorted(int(name) for name in names if _MANIFEST.fullmatch(name))


def is_run(name: str) -> bool:
    return _RUN.fullmatch(name) is not None


def voided(segments: Sequence[Segment]) -> list[np.ndarray]:
    """Return for each of some segments which seqs the later ones among them void, sorted."""
    found: list[np.ndarray] = []
    later = np.empty(0, np.uint64)
    for segment in reversed(segments):
        found.append(later)
        if segment.voids:
            later = np.union1d(later, np.array(segment.voids, np.uint64))
    return found[::-1]


def _ranges(seqs: Sequence[int]) -> list[list[int]]:
    """Return sorted numbers as half-open ranges."""
    ranges: list[list[int]] = []
    for seq in seqs:
        if ranges and ranges[-1][1] == seq:
            ranges[-1][1] += 1
        else:
            ranges.append([seq, seq + 1])
    return ranges


def _seqs(ranges: list[list[int]]) -> tuple[int, ...]:
    return tuple(seq for first, end in ranges for seq in range(canonical.count(first), canonical.count(end)))


def _run(table: str, run: dict[str, Any]) -> RunRef:
    if table not in TABLES or not is_run(run["name"]):
        raise ValueError
    return RunRef(run["name"], canonical.count(run["rows"]), canonical.count(run["size"]))


def _body(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        body = canonical.decode(raw)
    except ValueError:
        raise _damaged(path) from None
    if not isinstance(body, dict) or not isinstance(found := body.get("format"), str):
        raise _damaged(path)
    if found != FORMAT:
        raise UnsupportedVersion("the state has a format that this release does not know", path=path, hint=REBUILD)
    return body


def _damaged(path: Path) -> Corrupt:
    return Corrupt("a file of the state is not what was written", path=path, hint=REBUILD)


def _key(state_key: bytes) -> bytes:
    return crypto.mac(state_key, crypto.label("refold/manifest/v1"))


def _aad(number: int) -> bytes:
    return number.to_bytes(8, "big")
