"""Postings: which words stand in which event, and how much. Derived from the texts in the fold; whole batches at once.

A row is (term, seq, x, y): x is the impact of the event's own text, y that of its other fields, both w·tf/(1 - b + b·length/average)
in units of 1/4096. The neighbours' words are added at query time, so they are stored once only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from refold.model import Event
from refold.search_recipe import UNIT, Index
from refold.state.cues import date_words
from refold.state.tables import POSTINGS
from refold.state.terms import Terms
from refold.words import words_of

U16_MAX = 0xFFFF
CAPTIONS = ("caption", "title", "heading")  # metadata that describes an event in words


class Postings:
    """Gathers the words of events and gives them as rows, sorted by term and event."""

    def __init__(self, index: Index, terms: Terms) -> None:
        self._known = terms
        self._fields = (index.fields.text, index.fields.caption, index.fields.speaker, index.fields.date)
        self._b = index.b
        self._seqs: list[int] = []
        self._terms: list[int] = []
        self._lengths: list[int] = []  # of each field of each event, in words that are kept

    def add(self, event: Event, words: Sequence[str], *, spoken: bool) -> None:
        """Take in the words of one event; `words` are those of its text."""
        speaker = words_of(event.speaker_name) if spoken else []
        date = date_words(event.said_at).split()
        self._seqs.append(event.seq)
        for field in (words, caption_words(event), speaker, date):
            terms = self._known.of(field) if field else []
            self._terms += terms
            self._lengths.append(len(terms))

    def take(self) -> pa.Table:
        """Return the rows of what was added since the last call."""
        terms, lengths, seqs = self._terms, np.array(self._lengths, np.int64), np.array(self._seqs, np.uint64)
        self._terms, self._lengths, self._seqs = [], [], []
        if not terms:
            return POSTINGS.empty
        field = np.repeat(np.arange(len(lengths)), lengths)  # event · 4 + field, for each word
        scale = self._scale(lengths)
        term = np.array(terms, np.uint64)
        order = np.lexsort((field, term))
        term, field = term[order], field[order]
        starts = _starts(term, field)
        counts = np.diff(np.append(starts, len(term)))
        term, field = term[starts], field[starts]
        impact = np.floor(counts * scale[field] + 0.5).astype(np.int64)
        return _rows(term, field, impact, seqs)

    def _scale(self, lengths: np.ndarray) -> np.ndarray:
        """Return the impact of one occurrence of a word in each field of each event."""
        weights = np.array([each.weight for each in self._fields])
        averages = np.array([each.average for each in self._fields])
        relative = lengths.reshape(-1, len(self._fields)) / averages
        return (UNIT * weights / (1.0 - self._b + self._b * relative)).reshape(-1)


def caption_words(event: Event) -> list[str]:
    """Return the words of what describes an event, where its metadata says."""
    if not event.metadata:
        return []
    texts = [event.metadata.get(name) for name in CAPTIONS]
    return [word for text in texts if isinstance(text, str) for word in words_of(text)]


def _rows(term: np.ndarray, field: np.ndarray, impact: np.ndarray, seqs: np.ndarray) -> pa.Table:
    """Add up the fields of one event: own text into x (at least 1, for it counts as an occurrence), the others into y."""
    own = field % 4 == 0
    event = field // 4
    starts = _starts(term, event)
    x = np.add.reduceat(np.where(own, np.maximum(impact, 1), 0), starts)
    y = np.add.reduceat(np.where(own, 0, impact), starts)
    columns = (term[starts], seqs[event[starts]], np.minimum(x, U16_MAX).astype(np.uint16), np.minimum(y, U16_MAX).astype(np.uint16))
    return pa.table([pa.array(column) for column in columns], schema=POSTINGS.schema)


def _starts(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return where a pair of sorted columns takes a new value."""
    new = np.empty(len(first), bool)
    new[0] = True
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return np.flatnonzero(new)
