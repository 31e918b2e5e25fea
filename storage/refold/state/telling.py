"""Telling: stances as facts, with the events they rest on, who said so and in which words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from refold.fold.merge import Stance, held_until
from refold.log.log import Log
from refold.model import Event, EventId, Span, SubjectId, Validity
from refold.reading import Claim, Fact, Standing
from refold.state.generation import State

QUOTE_MAX = 200  # characters
CLOSED = (Standing.SUPERSEDED, Standing.DENIED, Standing.ENDED)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


@dataclass(slots=True)
class Telling:
    """Turns stances into facts; what it looked up about their events it keeps."""

    state: State
    log: Log
    _said: dict[int, tuple[EventId, str]] = field(default_factory=dict)
    _subjects: dict[int, list[SubjectId]] = field(default_factory=dict)

    def facts(self, stances: Sequence[Stance]) -> list[Fact]:
        """Return one fact per stance, in order, without quotes."""
        self._look_up({claim.seq for stance in stances for claim in stance.sayings})
        return [self._fact(stance) for stance in stances]

    def quote(self, claim: Claim) -> str:
        """Return the words of the event in which a claim was made."""
        return quoted(self.log.event(claim.seq), claim.spans)

    def _look_up(self, seqs: Iterable[int]) -> None:
        missing = sorted(set(seqs) - self._said.keys())
        if not missing:
            return
        rows = self.state.lookup("events", missing, ["seq", "event_id", "speaker_name"])
        for seq, event_id, name in zip(*(rows[column].to_pylist() for column in rows.column_names), strict=True):
            self._said[seq] = (EventId(event_id), name)
            self._subjects[seq] = []
        rows = self.state.lookup("event_subjects", missing, ["seq", "subject"])
        for seq, subject in zip(*(rows[column].to_pylist() for column in rows.column_names), strict=True):
            self._subjects[seq].append(SubjectId(subject))

    def _fact(self, stance: Stance) -> Fact:
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
            asserted_by=self._said[shown.seq][1],
            said_at=shown.said_at,
            valid_from=validity.start,
            valid_to=valid_to,
            valid_precision=validity.precision,
            valid_source=valid_source,
            seq=shown.seq,
            extractor=shown.extractor,
            support=tuple(dict.fromkeys((self._said[claim.seq][0], span) for claim in said for span in claim.spans)),
            subjects=tuple(sorted({subject for claim in said for subject in self._subjects[claim.seq]})),
            standing=stance.standing,
            contested=stance.contested,
            beaten_by=stance.beaten_by.fact_id if stance.beaten_by else None,
            source=source_of(shown),
        )


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


def quoted(event: Event, spans: Sequence[Span]) -> str:
    """Return the sentence or sentences of an event that some spans lie in, as one line; at most about 200 characters."""
    first, end = min(span[0] for span in spans), max(span[1] for span in spans)
    first, end = around(event.text, first, end)
    words = " ".join(event.text[first:end].split())
    return words if len(words) <= QUOTE_MAX else words[: QUOTE_MAX - 1].rstrip() + "…"


def around(text: str, first: int, end: int) -> Span:
    """Widen a place in a text to whole sentences."""
    breaks = [(match.start(), match.end()) for match in _SENTENCE.finditer(text)]
    start = max((after for _, after in breaks if after <= first), default=0)
    stop = min((before for before, _ in breaks if before >= end), default=len(text))
    return start, stop
