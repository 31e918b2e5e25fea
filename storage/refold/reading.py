"""The nouns of reading: what was read out of events, where it stands, and what a question gets back. Frozen values, as in `model`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from refold.model import Act, EventId, Mention, Modality, Precision, Role, Span, SubjectId, Validity


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an extractor claims to have read, before grounding. Every string is a quote of the event's text.

    `entity` is None for the speaker (or the document that speaks). Spans index the event's text; the entity may be quoted from another
    event that the extractor was told, `entity_seq`, and then its span indexes that one's.
    """

    relation: str
    act: Act
    modality: Modality
    value: str | None  # None: an end or denial without a value closes every open value
    value_span: Span | None
    relation_span: Span  # the words that state it
    entity: str | None = None
    entity_span: Span | None = None
    qualifier: str | None = None
    qualifier_span: Span | None = None
    value_is_entity: bool = False
    validity: Validity = Validity()
    entity_seq: int | None = None


@dataclass(frozen=True, slots=True)
class Assertion:
    """A grounded statement: what the fold adds to the state and never edits."""

    fact_id: bytes  # 16 bytes, an HMAC under the fact keys of its events: it goes dark with them
    entity: Mention
    entity_text: str  # as written, or the speaker's alias
    relation: str
    qualifier: str  # "" for none
    value: str  # as written; "" where a denial or end names none
    value_mention: Mention | None  # where the value is an entity
    act: Act
    modality: Modality
    asserted_by: Mention  # the speaker
    rank: int  # 2 the entity itself speaks, 1 a document, 0 somebody else
    said_at: int
    source: str  # kind:ref
    part: str
    seq: int
    event_id: EventId
    spans: tuple[Span, ...]  # all it rests on, sorted; the value's (or else the relation's) span is `span`
    span: Span
    validity: Validity
    extractor: str
    call_id: bytes | None = None  # of the model's answer that it was read from
    named_seq: int | None = None  # the event that names the entity, where it is another
    named_span: Span | None = None  # and where
    named_id: EventId | None = None


@dataclass(frozen=True, slots=True)
class AliasEdge:
    """A supported statement that two mentions are one entity (act SAY) or are not (DENY)."""

    a: Mention
    b: Mention
    act: Act
    asserted_by: Mention
    said_at: int
    source: str
    part: str
    seq: int
    event_id: EventId
    spans: tuple[Span, ...]


class RejectionCode(IntEnum):
    """Why a candidate did not become an assertion, or an event was not read to its end."""

    UNKNOWN_EVENT = 1
    UNKNOWN_RELATION = 2
    UNGROUNDED_VALUE = 3  # not a token-bounded span of the cited events
    UNGROUNDED_ENTITY = 4  # neither the speaker nor in the cited text
    NOT_THE_SPEAKER = 5  # the relation may be asserted by its own entity only
    NOT_AN_ASSERTING_ROLE = 6
    BAD_SHAPE = 7
    TOO_LONG = 8  # the event has more sentences or characters than are read of one: its beginning was read, its end was not
    UNREADABLE_ANSWER = 9  # a model answered, and not in the form asked for: nothing was read of the event


class Fate(IntEnum):
    """What became of a sentence that a model wrote about an entity."""

    STANDS = 0
    UNCITED = 1  # it names no fact that it rests on
    UNKNOWN_PREMISE = 2  # it names one that was not told
    BAD_SHAPE = 3
    TOO_LONG = 4
    BEYOND_LIMIT = 5  # there are as many before it as were asked for
    UNREADABLE_ANSWER = 6  # a model answered, and not in the form asked for: there is no sentence
    PENDING = 7  # it has not answered yet

    @property
    def written(self) -> str:
        return self.name.lower().replace("_", "-")

    @property
    def drops(self) -> bool:
        """Whether something was said and is not taken."""
        return self not in (Fate.STANDS, Fate.PENDING)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A candidate that the gate refused."""

    seq: int
    relation: str
    code: RejectionCode


@dataclass(frozen=True, slots=True)
class Folded:
    """What one batch of events adds to the state."""

    assertions: tuple[Assertion, ...] = ()
    edges: tuple[AliasEdge, ...] = ()
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """An assertion as a reader gets it from a generation: mentions are keyed 64-bit tags (0 for none)."""

    mention: int
    entity: str  # as written, or the speaker's alias
    relation: str
    qualifier: str
    value: str
    value_mention: int
    act: Act
    modality: Modality
    asserted_by: int
    rank: int
    said_at: int
    source: str
    part: str
    seq: int
    recorded_at: int  # of the newest event that it rests on
    spans: tuple[Span, ...]
    span: Span
    audience: int  # tag of a label set
    scope: int  # tag of a scope
    fact_id: bytes
    validity: Validity
    extractor: str
    event_id: EventId
    speaker: str  # the alias under which the speaker is shown
    subjects: tuple[SubjectId, ...]  # whom the event concerns, sorted
    call_id: bytes | None = None  # of the model's answer that it was read from
    named_seq: int | None = None  # the event that names the entity, where it is another
    named_span: Span | None = None
    named_id: EventId | None = None

    @property
    def newest_seq(self) -> int:
        """The newest event that it rests on: one that names its entity may have come later."""
        return self.seq if self.named_seq is None else max(self.seq, self.named_seq)


class Standing(StrEnum):
    """Where a claim stands in a view. Only HOLDS is what memory believes."""

    HOLDS = "holds"
    SUPERSEDED = "superseded"  # a later value of a relation with cardinality one
    DENIED = "denied"
    ENDED = "ended"
    OUTRANKED = "outranked"  # another source of higher rank speaks in this view
    INERT = "inert"  # an end or denial that closes nothing
    CLOSING = "closing"  # an end or denial that closed a claim
    TENTATIVE = "tentative"  # planned, hedged or reported in a relation that only asserted claims fill


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim with its standing in one view, or what a rule derives from facts that hold. Keys as in the envelope."""

    fact_id: bytes
    entity: str
    relation: str
    value: str
    qualifier: str
    act: Act
    modality: Modality
    asserted_by: str
    said_at: int
    valid_from: int | None
    valid_to: int | None
    valid_precision: Precision | None
    valid_source: str
    seq: int
    extractor: str
    support: tuple[tuple[EventId, Span], ...]
    subjects: tuple[SubjectId, ...]
    standing: Standing
    contested: bool = False
    beaten_by: bytes | None = None  # fact_id of what superseded, denied, ended or outranked it
    source: str = ""  # kind:ref#part of the newest support
    quote: str = ""  # the words of the support, where the reader asked for them
    redacted_at: int | None = None  # µs, of the words that are quoted, where they are not what was said
    call_id: bytes | None = None
    rule: str | None = None  # derived facts only
    premises: tuple[bytes, ...] = ()
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a profile: a model's words, resting on facts that hold. The id goes dark with any of them."""

    fact_id: bytes
    text: str
    premises: tuple[bytes, ...]  # ids of facts


@dataclass(frozen=True, slots=True)
class Profile:
    """What a model says of an entity, from facts of one scope and one set of labels."""

    entity: str
    sentences: tuple[Sentence, ...]
    extractor: str
    call_id: bytes
    told: int  # facts that it was told, of those that
    held: int  # held


@dataclass(frozen=True, slots=True)
class Hit:
    """One event that a search found."""

    event_id: EventId
    seq: int
    text: str
    source: str
    said_at: int
    speaker: str
    role: Role
    score: float
    folded: bool  # False: from the unfolded tail of the log
    explain: dict[str, float] = field(default_factory=dict)
    redacted_at: int | None = None  # µs: when these words were put in the place of others
    no_longer: tuple[str, ...] = ()  # values that it states and that hold no longer
