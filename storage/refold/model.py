"""The nouns: frozen values that every room shares. No IO, no clock, no randomness."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NewType

from refold.errors import Usage

EventId = NewType("EventId", bytes)  # 16 random bytes, never derived from content or chain
SubjectId = NewType("SubjectId", bytes)  # 16 random bytes, never a hash of a name
REDACTED_AT = "redacted_at"  # the member of an event's metadata that says so, and when
WITHHELD = -1  # in place of a sequence number: there is none, or whoever asks may not know it
Span = tuple[int, int]  # half-open, in characters of the event's text


class EntryKind(IntEnum):
    """What a log entry is; the u8 in the clear header. From 16 up: control entries, clear and closed."""

    EVENT = 1
    SUBJECT = 2
    CALL = 3
    TOTALS = 4
    ERASURE = 16
    FENCE = 17
    LIFT = 18
    GAP = 19
    RESTORED = 20
    KEY = 21

    @property
    def is_control(self) -> bool:
        """Whether the payload is clear canonical JSON of ids and integers (suite 0x00)."""
        return self >= EntryKind.ERASURE


BLANKING = frozenset({EntryKind.ERASURE, EntryKind.GAP})  # each names entries whose payloads are gone: destroyed, or damaged for good


class Role(StrEnum):
    """Who speaks in an event. Only users and documents assert; the others are context."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    DOCUMENT = "document"

    @property
    def asserts(self) -> bool:
        """Whether facts are extracted from such an event (recalled memories must not come back as facts)."""
        return self in (Role.USER, Role.DOCUMENT)


class AliasKind(StrEnum):
    """What kind of handle a data subject is known by."""

    HANDLE = "handle"  # a user_id, an author, a login
    NAME = "name"
    EMAIL = "email"
    PHONE = "phone"


class Act(IntEnum):
    """What a statement does to a claim."""

    SAY = 0
    DENY = 1
    END = 2


class Modality(IntEnum):
    """How firmly a statement is made. Only ASSERTED fills a relation with cardinality one."""

    ASSERTED = 0
    PLANNED = 1
    HEDGED = 2
    REPORTED = 3


class Precision(IntEnum):
    """How exact a resolved date is."""

    DAY = 0
    MONTH = 1
    YEAR = 2


@dataclass(frozen=True, slots=True)
class Source:
    """Where an event was said: `chat:7#3` is kind `chat`, ref `7`, part `3`."""

    kind: str
    ref: str
    part: str = ""

    @classmethod
    def parse(cls, text: str) -> Source:
        """Read `KIND:REF#PART`; the part may be missing. Raises Usage."""
        if not isinstance(text, str):
            raise Usage("a source is not text")
        kind, colon, rest = text.partition(":")
        ref, _, part = rest.partition("#")
        if not colon or not re.fullmatch(r"[a-z][a-z0-9_-]{0,31}", kind) or not ref:
            raise Usage("a source is not of the form KIND:REF#PART", hint="refold help add")
        return cls(kind, ref, part)

    @property
    def document(self) -> str:
        """Kind and ref without the part: the session or document an event belongs to."""
        return f"{self.kind}:{self.ref}"

    def __str__(self) -> str:
        return f"{self.document}#{self.part}" if self.part else self.document


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory an event belongs to. In a query, each field that is given must be equal."""

    user: str | None = None
    agent: str | None = None
    run: str | None = None

    def admits(self, other: Scope) -> bool:
        """Whether an event of scope `other` lies within this query scope."""
        pairs = ((self.user, other.user), (self.agent, other.agent), (self.run, other.run))
        return all(mine is None or mine == theirs for mine, theirs in pairs)

    @property
    def is_empty(self) -> bool:
        return self.user is None and self.agent is None and self.run is None


@dataclass(frozen=True, slots=True)
class Draft:
    """An event as a caller hands it in, before it has an id, a time of recording and sealed subjects."""

    text: str
    source: Source | None = None
    said_at: int | None = None  # µs since 1970 UTC; recorded_at where None
    author: str | None = None
    role: Role = Role.USER
    scope: Scope = Scope()
    audience: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()  # aliases of further data subjects it concerns
    metadata: dict[str, object] = field(default_factory=dict)  # free JSON, sealed
    key: str | None = None  # the caller's idempotency key


@dataclass(frozen=True, slots=True)
class Event:
    """An event as read back from the log."""

    event_id: EventId
    seq: int
    recorded_at: int  # µs, the sealing time
    ingest: bytes  # 16 random bytes: the ingestion run
    text: str
    source: Source
    said_at: int  # µs: the time the statement speaks at
    author: str | None  # as declared
    speaker: SubjectId | None  # the subject of the author, or of scope.user where a user speaks without an author
    role: Role
    scope: Scope
    audience: tuple[str, ...]  # sorted, distinct
    subjects: tuple[SubjectId, ...]  # sorted, distinct
    metadata: dict[str, object]
    key: str | None = None  # the caller's idempotency key
    epoch: int = 1  # of the keys that sealed it

    @property
    def asserts(self) -> bool:
        """Whether facts are extracted from it. What somebody said anew, on another branch of a chat, was taken back."""
        return self.role.asserts and self.metadata.get("branch") != "abandoned"

    @property
    def redacted_at(self) -> int | None:
        """When somebody put these words in the place of others, in µs: they are not what was said. None where they are."""
        at = self.metadata.get(REDACTED_AT)
        return at if type(at) is int else None

    @property
    def speaker_name(self) -> str:
        """The alias by which the speaker is shown; the document where nobody speaks."""
        return self.author or (self.scope.user if self.role is Role.USER else None) or self.source.document


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as one speaker names it.

    `owner` is the hex of the author's subject id, or the document (`doc:1`) where there is no author.
    `name` is the normalised name; None is the owner itself: the first person, or the document.
    """

    owner: str
    name: str | None = None

    @property
    def is_first_person(self) -> bool:
        return self.name is None


@dataclass(frozen=True, slots=True)
class Validity:
    """The time a statement claims for itself, resolved against said_at. Serves reads, never the order of the merge."""

    start: int | None = None  # µs, inclusive
    end: int | None = None  # µs, exclusive
    precision: Precision | None = None
    words: str = ""  # as written


@dataclass(frozen=True, slots=True)
class View:
    """What a reader may see and which time is meant. `labels` None is the operator, who sees every audience."""

    scope: Scope = Scope()
    labels: frozenset[str] | None = None
    as_of_seq: int | None = None  # newest support seq, inclusive
    as_of_time: int | None = None  # newest recorded_at of the support, µs, inclusive
    valid_at: int | None = None  # µs

    def is_in_time(self, seq: int, recorded_at: int) -> bool:
        """Whether an entry had come by the time that is asked for."""
        return (self.as_of_seq is None or seq <= self.as_of_seq) and (self.as_of_time is None or recorded_at <= self.as_of_time)

    def admits(self, event: Event) -> bool:
        """Whether an event may be seen."""
        return self.scope.admits(event.scope) and (self.labels is None or self.labels.issuperset(event.audience))


def normalise(name: str) -> str:
    """Fold a name or alias to the form under which it is compared: NFKC, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def part_key(part: str) -> str:
    """Return a string that sorts parts with digit runs as numbers, in Python and in SQL alike.

    Each digit run is replaced by its length (three digits) and itself without leading zeros:
    `p9` < `p10`, `3.2` < `12`.
    """
    if part.isascii() and (part.isdigit() or not part):  # most are plain numbers, and every comparison asks anew
        return _sortable(part) if part else part
    return re.sub(r"[0-9]+", lambda run: _sortable(run.group()), part)


def _sortable(digits: str) -> str:
    bare = digits.lstrip("0")
    return f"{len(bare):03d}{bare}"


def identity_part(role: Role, part: str) -> str:
    """Return what of a part says whether an imported event is known already.

    In a chat it is all of it. In a document it is only which of several equal blocks this is (`2` of `p9~2`): a paragraph
    that an insertion above it has moved is still the same one.
    """
    return part.partition("~")[2] if role is Role.DOCUMENT else part
