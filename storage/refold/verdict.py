"""The verdict on a log: what is damaged, what can be had back, and whether to go on. Values only; who looks at the disk is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The four verdicts."""

    INTACT = "WAL_INTACT"
    RECOVERABLE = "RECOVERABLE_FROM_CHECKPOINT"
    BOUNDARY = "CORRUPTION_BOUNDARY_DETECTED"
    UNRECOVERABLE = "UNRECOVERABLE_CORRUPTION"


class DamageKind(StrEnum):
    """What is wrong with a range of entries."""

    PAYLOAD = "payload"  # the ciphertext is not that of its commitment
    HEADER = "header"
    LINK = "link"  # the entry hash does not follow the one before it
    GAP = "gap"
    DUPLICATE = "duplicate"
    ORDER = "order"
    PART = "part"  # the file is not what was signed, and no single entry in it is to blame, or none can be told from another
    MISSING = "file missing"
    COMMIT = "commit"
    SIGNATURE = "signature"
    CUT = "cut against witness"
    FORK = "fork"


class Directive(StrEnum):
    """Whether a machine may go on by itself."""

    PROCEED = "PROCEED"
    HALT = "HALT"


class Completeness(StrEnum):
    """What is known of the end of the log. Without an outside memory a cut tail cannot be told from a short log."""

    UNWITNESSED = "UNWITNESSED"
    LOCAL = "LOCAL_WITNESS"
    EXTERNAL = "EXTERNAL_WITNESS"


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged half-open range of sequence numbers, and the file in which it was found.

    An empty range is damage that hides no entry: a commit that is not the newest and replaces parts, say.
    """

    first: int
    end: int
    kind: DamageKind
    path: str  # within the store, POSIX
    version: int | None = None  # of the commit that lists the range
    sha256: str | None = None  # of the file, as a signed commit names it, where the file is not that
    has: str | None = None  # SHA-256 of the file as it was found, where there is one

    def is_below(self, size: int) -> bool:
        """Whether entries from `size` on are untouched by it."""
        return max(self.end, self.first + 1) <= size


@dataclass(frozen=True, slots=True)
class SeenHead:
    """A head of the log as a witness remembers it."""

    size: int  # entries
    root: bytes  # RFC 6962, 32 bytes
    is_external: bool  # kept on another host, under another user id, or in a locked object store


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A signed head with the attestation of the state that was folded from it."""

    size: int
    root: bytes
    generation: int  # of the state
    epoch: int  # of the keys
    attested: bytes  # HMAC(attest_key of the epoch, state hash)
    path: str  # within the store, POSIX
    last_hash: bytes | None = None  # of the entry before `size`, where the attestation says it: it stands where a root cannot be recomputed


@dataclass(frozen=True, slots=True)
class Signed:
    """A head that lies beside the log and that its key has signed, whether or not anything is attested of a state."""

    size: int  # entries
    root: bytes
    path: str  # within the store, POSIX


@dataclass(frozen=True, slots=True)
class Unasked:
    """A witness that could not be asked: what it has seen was compared with nothing."""

    name: str
    found: str  # why


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known of a log beside its own files."""

    seen: Sequence[SeenHead] = ()
    checkpoints: Sequence[Checkpoint] = ()
    signed: Sequence[Signed] = ()  # those of which there is no checkpoint
    unasked: Sequence[Unasked] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator demands before a machine may go on."""

    require_checkpoint: bool = False
    allow_partial_replay: bool = False
    require_witness: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a verification of the log found. Nothing in it was supplied: everything is recomputed from the files."""

    kind: Kind
    size: int  # entries: the larger of the newest validly signed head and the newest witnessed one
    root: bytes | None  # over all of them; None where they are not all there
    replay_from: int | None
    replay_until: int | None
    first_bad: int | None
    last_good: int | None
    damage: tuple[Damage, ...]
    completeness: Completeness
    directive: Directive
    reason: str  # one sentence
    policy: Policy
    digest: bytes  # over all inputs: files read with their digests, checkpoints, heads seen, policy
    next: str  # a command
    verified_from: int = 0  # entries below were not looked at
    is_deep: bool = False  # whether every entry was recomputed, or only every file
    unasked: tuple[Unasked, ...] = ()  # witnesses that may have seen more than what this rests on

    @property
    def is_whole(self) -> bool:
        """Whether nothing at all is wrong, from the first entry on."""
        return self.kind is Kind.INTACT and self.verified_from == 0
