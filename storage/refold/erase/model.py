"""The nouns of an erasure. Values only: no IO, no clock, no randomness."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from refold.model import AliasKind, EventId, Source, Span, SubjectId


class Stage(StrEnum):
    """How far a request has come."""

    REQUESTED = "requested"
    FOUND = "found"
    REVIEWED = "reviewed"
    PLANNED = "planned"
    APPROVED = "approved"
    RUNNING = "running"
    ERASED = "erased"  # and not certified yet
    CERTIFIED = "certified"
    CERTIFIED_EXCEPT = "certified-except"
    REFUSED = "refused"
    HELD = "held"  # no erasure, but what forbids one: what it selects has to be kept
    RELEASED = "released"
    DARK = "dark"  # it named somebody whom another request erased, and went dark with them before it was carried out


class Mode(StrEnum):
    """How bytes go."""

    SHRED = "shred"  # keys, then bytes
    KEEP_CIPHERTEXT = "keep-ciphertext"  # keys only: the files of the log are left untouched, for media that only append


# An event's key is made with the secrets of all whom it declares, so no decision of a review can leave it to the others.
DECLARED = (
    "what is declared to be about the person goes dark with their key, whatever is decided: let others keep a redacted version of it "
    "(12,redacted,TEXT), or add it again without declaring them"
)


class Decision(StrEnum):
    """Whether a mention is one of the person meant. What is undecided stops certification."""

    CONCERNS = "concerns"
    NAMESAKE = "namesake"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Selector:
    """What a request asks to be erased: people, or events by where they came from."""

    subjects: tuple[SubjectId, ...] = ()
    aliases: tuple[tuple[AliasKind, str], ...] = ()
    sources: tuple[Source, ...] = ()  # without a part: the whole document or session
    events: tuple[EventId, ...] = ()
    ingests: tuple[bytes, ...] = ()  # 16 bytes each
    before: int | None = None  # µs: said before
    before_kind: str | None = None  # of the source, where only that kind is meant

    @property
    def is_empty(self) -> bool:
        return self == Selector()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mention that nobody declared, found in an event."""

    event_id: EventId
    seq: int
    span: Span
    variant: str  # how it was recognised: `initials`, `e-mail`, ...; never the words themselves
    decision: Decision = Decision.UNDECIDED


@dataclass(frozen=True, slots=True)
class Found:
    """What a search through the log found of a request, up to an entry. No word of anybody: ids, places and how each was recognised."""

    subjects: frozenset[SubjectId]  # every id of the people meant
    events: frozenset[EventId]  # selected by source, event, ingest or time
    declared: int  # events that concern one of the people
    candidates: tuple[Candidate, ...]  # in the order of the log; of what is declared or selected anyway there are none
    alike: frozenset[SubjectId]  # other people with an alias that could mean the same person
    unread: int  # events that are dark: nothing can be found in them, nor read by anybody
    size: int  # entries of the log that were read
    last_hash: bytes


@dataclass(frozen=True, slots=True)
class Redaction:
    """What others keep of an event that goes: the words of whoever reviewed it, in place of those that were said."""

    event_id: EventId  # of the event that goes
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Target:
    """What an erasure removes, as it was planned on one head of the log. The only thing that a run takes.

    `subjects` lose their secrets, so that every event that concerns one goes dark. `events` lose their shares: undeclared mentions,
    and what was selected by source, event, ingest or time.
    """

    request_id: bytes  # 16 bytes, random
    subjects: frozenset[SubjectId]
    events: frozenset[EventId]  # beside those of the subjects
    suppressed: frozenset[bytes]  # tags under the suppress key that must not come back by an import
    size: int  # entries of the log when it was planned
    last_hash: bytes  # of the entry before `size`
    mode: Mode = Mode.SHRED
    kept: tuple[Redaction, ...] = ()  # of events that it reaches, in the order of the log


@dataclass(frozen=True, slots=True)
class Footprint:
    """What must not be found afterwards: sealed before an erasure, opened by the scan, and gone with the request's key."""

    needles: tuple[str, ...]  # aliases in their variants, canaries, known values
    digests: tuple[bytes, ...]  # SHA-256 of event texts, for files that hold digests of plaintext; kept sealed like the needles
    control: str  # something of a living subject that must be found in the same run
    shared: int = 0  # needles that are left out, because they stand in what stays too
    unsought: int = 0  # aliases that are too short to be looked for


@dataclass(frozen=True, slots=True)
class Reached:
    """What a run did, in counts: what a certificate tells."""

    epoch_before: int
    epoch_after: int
    erasure_seqs: tuple[int, ...]  # of the erasure entries
    events: int  # that went dark
    shared_events: int  # of these, that concerned others too
    calls: int  # recordings that went dark
    calls_replayed: int
    calls_made: int
    parts_replaced: int
    generation: int  # of the state that was published; 0 where nothing was folded yet
    kept: int = 0  # redacted versions that were added for others
    readers_drained: bool = True  # else a query of before was still open when its files went


@dataclass(frozen=True, slots=True)
class Request:
    """A request for erasure, or a hold that forbids some, and how far it has come. Times in µs."""

    request_id: bytes  # 16 bytes, random
    selector: Selector
    received: int
    due: int
    stage: Stage
    history: tuple[tuple[Stage, int], ...]  # every stage it came to, and when
    reason: str = ""  # of a hold or a refusal, in an officer's words
    asked_by: str = ""  # the principal; "" where nobody was named
    approved_by: tuple[str, ...] = ()
    mode: Mode = Mode.SHRED
    suppresses: bool = True  # the declared handles must not come back by an import
    suppresses_aliases: bool = False  # nor any other alias
    found: Found | None = None
    target: Target | None = None
    kept: tuple[Redaction, ...] = ()  # as it was decided in the review
