"""Telling: stances as facts, with the events they rest on, who said so and in which words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from refold.fold.merge import Stance, held_until
from refold.model import EventId, Span, Validity
from refold.reading import Claim, Fact, Standing

QUOTE_MAX = 200  # characters
CLOSED = (Standing.SUPERSEDED, Standing.DENIED, Standing.ENDED)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


def fact_of(stance: Stance) -> Fact:
    """Return a stance as a fact, without a quote. Its support is that of all its sayings, of the one shown first."""
    shown = stance.shown
    said = [shown, *(claim for claim in stance.sayings if claim.fact_id != shown.fact_id)]
    validity = stated_validity(stance)
    valid_to, valid_source = validity.end, validity.words
    if valid_to is None and stance.standing in CLOSED and stance.beaten_by:
        valid_to = held_until(shown, stance.beaten_by)
        valid_source = valid_source or stance.standing.value
    return Fact(
        fact_id=shown.fact_id,
        entity=shown.entity,
        relation=shown.relation,
        value=shown.value,
        qualifier=shown.qualifier,
        act=shown.act,
        modality=shown.modality,
        asserted_by=shown.speaker,
        said_at=shown.said_at,
        valid_from=validity.start,
        valid_to=valid_to,
        valid_precision=validity.precision,
        valid_source=valid_source,
        seq=shown.seq,
        extractor=shown.extractor,
        support=tuple(dict.fromkeys(place for claim in said for place in _support(claim))),
        subjects=tuple(sorted({subject for claim in said for subject in claim.subjects})),
        standing=stance.standing,
        contested=stance.contested,
        beaten_by=stance.beaten_by.fact_id if stance.beaten_by else None,
        source=source_of(shown),
        call_id=shown.call_id,
    )


def _support(claim: Claim) -> Iterator[tuple[EventId, Span]]:
    """Yield the places that a claim rests on: in its own event, and in the one that names its entity."""
    yield from ((claim.event_id, span) for span in claim.spans)
    if claim.named_id is not None and claim.named_span is not None:
        yield claim.named_id, claim.named_span


def source_of(claim: Claim) -> str:
    """Return where a claim was made: kind:ref#part."""
    return f"{claim.source}#{claim.part}" if claim.part else claim.source


def stated_validity(stance: Stance) -> Validity:
    """Return the time that a fact claims for itself: that of its latest saying which states one.

    An end stated earlier no longer counts once the value was said again after it.
    """
    shown = stance.shown
    for claim in stance.sayings:
        validity = claim.validity
        past = validity.end is not None and validity.end <= shown.said_at
        if (validity.start is not None or validity.end is not None) and (claim.fact_id == shown.fact_id or not past):
            return validity
    return Validity()


def quoted(text: str, spans: Sequence[Span]) -> str:
    """Return the sentence or sentences of a text that some spans lie in, as one line of at most 200 characters."""
    first, end = min(span[0] for span in spans), max(span[1] for span in spans)
    first, end = around(text, first, end)
    words = " ".join(text[first:end].split())
    return words if len(words) <= QUOTE_MAX else words[: QUOTE_MAX - 1].rstrip() + "…"


def around(text: str, first: int, end: int) -> Span:
    """Widen a place in a text to whole sentences."""
    breaks = [(match.start(), match.end()) for match in _SENTENCE.finditer(text)]
    start = max((after for _, after in breaks if after <= first), default=0)
    stop = min((before for before, _ in breaks if before >= end), default=len(text))
    return start, stop
