"""What goes into the closed worker and what comes out, as values: `forms` writes them, so that no bytes of either can be anything else.

A job is the answers of one recipe, each with its call and the events of its request by alias. A result is what each of them came to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from refold.fold import forms
from refold.fold.ground import Told
from refold.model import Event, Scope
from refold.reading import Folded

_OF_METADATA = ("title", "heading", "branch")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer of a model, with the events of its request by the aliases under which it cites them."""

    call_id: bytes
    events: Mapping[str, Told]
    content: str


@dataclass(frozen=True, slots=True)
class Job:
    """Answers to be read by one extractor's name."""

    extractor: str
    characters: int  # of an event's text that the model was told
    answers: tuple[Answered, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer came to; nothing where it was not in the form that was asked for."""

    readable: bool
    folded: Folded


@dataclass(frozen=True, slots=True)
class _Sent:
    """An answer as it is sent: its events by their places among those of the job."""

    call_id: bytes
    events: Mapping[str, int]
    content: str


@dataclass(frozen=True, slots=True)
class _SentJob:
    """A job as it is sent: an event that several answers are about, or were told, is sent once."""

    extractor: str
    characters: int
    told: tuple[Told, ...]
    answers: tuple[_Sent, ...]


def encode_job(job: Job) -> bytes:
    """Return a job as bytes, of each event what a statement may depend on."""
    told = {id(one): one for answered in job.answers for one in answered.events.values()}
    places = {key: place for place, key in enumerate(told)}
    answers = tuple(
        _Sent(one.call_id, {alias: places[id(event)] for alias, event in one.events.items()}, one.content) for one in job.answers
    )
    events = tuple(replace(one, event=needed(one.event)) for one in told.values())
    return forms.encode(_SentJob, _SentJob(job.extractor, job.characters, events, answers))


def decode_job(raw: bytes) -> Job:
    """Read a job. Raises ValueError, TypeError where the bytes are none."""
    sent = forms.decode(_SentJob, raw)
    if not all(0 <= place < len(sent.told) for one in sent.answers for place in one.events.values()):
        raise ValueError("an answer is about no event of its job")
    answers = (Answered(one.call_id, {alias: sent.told[place] for alias, place in one.events.items()}, one.content) for one in sent.answers)
    return Job(sent.extractor, sent.characters, tuple(answers))


def encode_result(readings: Sequence[Reading]) -> bytes:
    """Return what a job came to as bytes."""
    return forms.encode(tuple[Reading, ...], tuple(readings))


def decode_result(raw: bytes) -> tuple[Reading, ...]:
    """Read what a job came to. Raises ValueError, TypeError where the bytes are none."""
    return forms.decode(tuple[Reading, ...], raw)


def needed(event: Event) -> Event:
    """Leave out what no statement depends on: whom it concerns, who may see it, how it came in."""
    kept: dict[str, object] = {key: event.metadata[key] for key in _OF_METADATA if isinstance(event.metadata.get(key), str)}
    own = replace(event, scope=Scope(event.scope.user), metadata=kept)
    return replace(own, ingest=b"", recorded_at=0, audience=(), subjects=(), key=None, epoch=0)
