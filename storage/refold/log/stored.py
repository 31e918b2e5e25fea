"""The last verdict on a log, kept in <vault>/cache/verdict: a hint by which an append refuses, so that nothing is built on damage.

It is never trusted alone. That the log was whole proves nothing now; and where every file that was damaged has become what was signed,
it is out of date. What cannot be read refuses, until a verification writes it anew.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from refold import canonical, files, times
from refold.errors import Blocked, Corrupt, Usage

FORMAT = "refold.verdict/1"
PATH = Path("cache", "verdict")
HINT = "refold recover --log"


@dataclass(frozen=True, slots=True)
class Stored:
    """A verdict as it is kept."""

    kind: str
    is_intact: bool
    is_deep: bool
    size: int
    digest: str  # over all that the verdict rests on
    damaged: tuple[tuple[str, str | None], ...] = ()  # files within the store, each with the SHA-256 that was signed, where one was
    at: int | None = None  # µs, when the log was judged so; None in what an earlier release kept

    @property
    def raw(self) -> bytes:
        return canonical.encode(
            {
                "format": FORMAT,
                "kind": self.kind,
                "intact": self.is_intact,
                "deep": self.is_deep,
                "size": self.size,
                "digest": self.digest,
                "damaged": [list(each) for each in self.damaged],
            }
            | ({} if self.at is None else {"at": self.at})
        )


def read(vault: Path) -> Stored | None:
    """Return the verdict that is kept; None where there is none. Raises Blocked where it is damaged."""
    path = vault / PATH
    try:
        document = canonical.decode(files.read(path))
        kept = Stored(
            document["kind"],
            document["intact"],
            document["deep"],
            canonical.count(document["size"]),
            document["digest"],
            tuple((path, sha256) for path, sha256 in document["damaged"]),
            canonical.count(document["at"]) if "at" in document else None,
        )
        exact = canonical.decode(kept.raw) == document and isinstance(kept.is_intact, bool)
        exact = exact and all(isinstance(path, str) for path, _ in kept.damaged)
        times.iso(kept.at or 0)
    except FileNotFoundError:
        return None
    except (Corrupt, Usage, ValueError, TypeError, KeyError):
        exact = False
    if not exact:
        raise Blocked("the verdict that was kept of the log is damaged, so nothing is added", path=path, hint=HINT)
    return kept


def require_intact(vault: Path, store: Path) -> None:
    """Refuse to add to a log that was found damaged, and is not better since. Raises Blocked."""
    kept = read(vault)
    if kept is not None and not kept.is_intact and not is_mended(kept, store):
        raise Blocked(
            f"the log was found damaged ({kept.kind}), so nothing is added",
            path=store / kept.damaged[0][0] if kept.damaged else None,
            hint=HINT,
        )


def is_mended(kept: Stored, store: Path) -> bool:
    """Whether every file that was damaged is what was signed by now."""
    return bool(kept.damaged) and all(sha256 is not None and _digest(store / path) == sha256 for path, sha256 in kept.damaged)


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(files.read(path)).hexdigest()
    except (FileNotFoundError, Corrupt):
        return None
