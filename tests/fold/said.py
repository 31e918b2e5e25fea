"""Events made by hand, and what is read from them in a form that a test can be read by."""

from __future__ import annotations

from functools import cache

from refold.fold.ground import fold_event
from refold.fold.relations import Relations
from refold.model import Event, EventId, Modality, Role, Scope, Source, SubjectId
from refold.reading import Assertion, Folded
from refold.times import parse
from tests.fold.score import relations

ADA = SubjectId(b"ada".ljust(16, b"\0"))
FACT_KEY = b"\x07" * 32
SAID_AT = "2024-03-05T10:00:00Z"  # a Tuesday


@cache
def shipped() -> Relations:
    """Return the relations as shipped, read once."""
    return relations()


def event(
    text: str,
    *,
    role: Role = Role.USER,
    author: str | None = "ada",
    said_at: str = SAID_AT,
    metadata: dict[str, object] | None = None,
    seq: int = 0,
) -> Event:
    """Return an event with a text."""
    return Event(
        event_id=EventId(seq.to_bytes(16, "big")),
        seq=seq,
        recorded_at=0,
        ingest=bytes(16),
        text=text,
        source=Source("doc" if role is Role.DOCUMENT else "chat", "7", "3"),
        said_at=parse(said_at),
        author=author,
        speaker=ADA if author else None,
        role=role,
        scope=Scope(),
        audience=(),
        subjects=(),
        metadata=metadata or {},
    )


def folded(said: Event | str, *, using: Relations | None = None, fact_key: bytes = FACT_KEY) -> Folded:
    """Extract and ground one event, or one text that Ada says."""
    return fold_event(event(said) if isinstance(said, str) else said, fact_key, using or shipped())


def line(fact: Assertion) -> str:
    """Write a fact as `entity relation(qualifier) value`, with `-` for a denial, `!` for an end, and its modality if not asserted."""
    sign = ("", "-", "!")[fact.act]
    qualifier = f"({fact.qualifier})" if fact.qualifier else ""
    modality = "" if fact.modality is Modality.ASSERTED else f" {fact.modality.name.lower()}"
    return f"{sign}{fact.entity_text} {fact.relation}{qualifier} {fact.value}{modality}".rstrip()


def read(said: Event | str) -> list[str]:
    """Return the facts read from a text as lines, sorted."""
    return sorted(line(fact) for fact in folded(said).assertions)
