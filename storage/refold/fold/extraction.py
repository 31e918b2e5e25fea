"""What an extractor hands to the gate: candidates and edges, every string of them a quote."""

from __future__ import annotations

from dataclasses import dataclass

from refold.model import Act, Span
from refold.reading import Candidate

EXTRACTOR = "symbolic/en-1"  # how what the patterns read is marked: another reading is another name


@dataclass(frozen=True, slots=True)
class EdgeCandidate:
    """A statement that two mentions are one person (SAY) or are not (DENY). `a` None is whoever speaks."""

    a: str | None
    a_span: Span | None
    b: str
    b_span: Span
    act: Act
    relation_span: Span  # the words that state it


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that one event was read to state."""

    candidates: tuple[Candidate, ...] = ()
    edges: tuple[EdgeCandidate, ...] = ()
    is_cut: bool = False  # the event is too long: its end was not read


NOTHING = Extraction()
