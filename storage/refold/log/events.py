"""What is sealed in an entry: canonical JSON of an event, or of the aliases of a subject."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from refold import canonical
from refold.log.entry import Header
from refold.model import AliasKind, Draft, Event, EventId, Role, Scope, Source, SubjectId


@dataclass(frozen=True, slots=True)
class SubjectEntry:
    """A data subject and aliases it is known by, as one entry of the log says."""

    seq: int
    subject: SubjectId
    aliases: tuple[tuple[AliasKind, str], ...]
    epoch: int
    recorded_at: int


def encode_event(draft: Draft, *, source: Source, said_at: int, speaker: SubjectId | None) -> bytes:
    """Return the plaintext of an event."""
    scope = draft.scope
    return canonical.encode(
        {
            "text": draft.text,
            "source": [source.kind, source.ref, source.part],
            "said_at": said_at,
            "author": draft.author,
            "role": draft.role,
            "speaker": speaker.hex() if speaker is not None else None,
            "scope": [scope.user, scope.agent, scope.run],
            "audience": sorted(set(draft.audience)),
            "metadata": draft.metadata,
            "key": draft.key,
        }
    )


def decode_event(plaintext: bytes, header: Header, seq: int, subjects: tuple[bytes, ...]) -> Event:
    """Return the event that an entry holds."""
    said: dict[str, Any] = json.loads(plaintext)
    speaker = said["speaker"]
    return Event(
        event_id=EventId(header.event_id),
        seq=seq,
        recorded_at=header.recorded_at,
        ingest=header.ingest,
        text=said["text"],
        source=Source(*said["source"]),
        said_at=said["said_at"],
        author=said["author"],
        speaker=None if speaker is None else SubjectId(bytes.fromhex(speaker)),
        role=Role(said["role"]),
        scope=Scope(*said["scope"]),
        audience=tuple(said["audience"]),
        subjects=tuple(map(SubjectId, subjects)),
        metadata=said["metadata"],
        key=said["key"],
        epoch=header.epoch,
    )


def encode_subject(aliases: tuple[tuple[AliasKind, str], ...]) -> bytes:
    """Return the plaintext of a subject entry."""
    return canonical.encode({"aliases": [[kind, text] for kind, text in aliases]})


def decode_subject(plaintext: bytes, header: Header, seq: int, subjects: tuple[bytes, ...]) -> SubjectEntry:
    """Return the subject that an entry declares."""
    aliases = tuple((AliasKind(kind), text) for kind, text in json.loads(plaintext)["aliases"])
    return SubjectEntry(seq, SubjectId(subjects[0]), aliases, header.epoch, header.recorded_at)
