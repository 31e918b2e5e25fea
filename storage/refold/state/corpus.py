"""The corpus: what search keeps in memory of every event, folded or not. Numbers only; texts stay in the log.

The folded part is read once per generation. The tail grows with the log: only what is new is taken in, and only its sessions are put
in order anew, so that what was just said is found at once and the next query pays for it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from refold.errors import Corrupt
from refold.model import Event
from refold.search_recipe import Recipe
from refold.state.cues import Cue
from refold.state.embedding import DIMENSIONS
from refold.state.generation import State
from refold.state.likeness import lengths
from refold.state.manifest import REBUILD
from refold.state.places import by_first_event, ordered
from refold.state.rows import Rows
from refold.state.segments import RATIO, newest_to_merge
from refold.state.tables import VECTORS
from refold.state.visible import Labels
from refold.words import words_of

COLUMNS = ("seq", "recorded_at", "said_at", "scope", "audience", "session", "place", "role", "speaker_name", "words", "cues")
NUMBERS = {
    "seq": np.uint64,
    "recorded_at": np.int64,
    "said_at": np.int64,
    "session": np.uint64,
    "place": np.uint64,
    "role": np.uint8,
    "words": np.uint16,
    "cues": np.uint8,
}
NOBODY = -1


class Names:
    """Speakers' names: a code for each, and which of them a word names."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.by_word: dict[str, set[int]] = {}
        self.person: list[tuple[str, ...]] = []  # the words of a name: names that differ in spelling alone are one person

    def code(self, name: str) -> int:
        known = self.codes.get(name)
        if known is None:
            known = self.codes[name] = len(self.codes)
            words = tuple(words_of(name))
            self.person.append(words)
            for word in words:
                if len(word) > 1 and not word.isdecimal():
                    self.by_word.setdefault(word, set()).add(known)
        return known


@dataclass(frozen=True, slots=True)
class Columns:
    """What is known of each event, by ordinal. `scope`, `audience` and `speaker` are codes: small numbers that stand for tags and names."""

    seq: np.ndarray
    recorded_at: np.ndarray
    said_at: np.ndarray
    session: np.ndarray
    place: np.ndarray
    role: np.ndarray
    words: np.ndarray
    cues: np.ndarray
    scope: np.ndarray
    audience: np.ndarray
    speaker: np.ndarray  # NOBODY where no one speaks
    vector: np.ndarray  # i8, events by components; no components where the recipe asks for no vectors
    vector_length: np.ndarray  # f64

    def __len__(self) -> int:
        return len(self.seq)


class Growing:
    """Columns that take in rows at their end, without copying what is there each time."""

    def __init__(self, rows: Columns) -> None:
        self._buffers = {name: getattr(rows, name) for name in Columns.__slots__}
        self.rows = rows

    def add(self, rows: Columns) -> None:
        """Append rows. Earlier views of the columns stay as they are."""
        count, wanted = len(self.rows), len(self.rows) + len(rows)
        for name, buffer in self._buffers.items():
            if len(buffer) < wanted:
                buffer = self._buffers[name] = np.concatenate(
                    [buffer[:count], np.empty((wanted - count + wanted // 8, *buffer.shape[1:]), buffer.dtype)]
                )
            buffer[count:wanted] = getattr(rows, name)
        self.rows = Columns(**{name: buffer[:wanted] for name, buffer in self._buffers.items()})


@dataclass(frozen=True, slots=True)
class Hits:
    """Occurrences of one term in the tail: positions of events, and the impact of their own text (x) and of their other fields (y)."""

    event: np.ndarray
    x: np.ndarray
    y: np.ndarray


class Corpus:
    """All events of a state and of the tail behind it."""

    def __init__(self, state: State, recipe: Recipe) -> None:
        self.state = state
        self.names = Names()
        self.scopes: dict[int, int] = {}
        self.audiences: dict[int, int] = {}
        self.labels = Labels(state.table("labels"))
        self._by_model = recipe.vectors.model if recipe.vectors else None
        self._components = (self._by_model.components if self._by_model else DIMENSIONS) if recipe.vectors else 0
        self.folded = self._columns(state.table("events", COLUMNS), state.table("vectors") if recipe.vectors else VECTORS.empty)
        self._grown = Growing(self.folded)
        self.tail: list[Event] = []
        by_session = ordered(self.folded.session, self.folded.place, self.parts)
        self._by_session, self._sessions = by_session, self.folded.session[by_session]
        self.order = by_first_event(by_session, self._sessions)  # of what is folded
        self.moved = np.empty(0, np.int64)  # all events of the sessions that the tail has events of, in order
        self._rows = Rows(state.tags, recipe)
        self._chunks: list[pa.Table] = []

    @property
    def columns(self) -> Columns:
        """Return what is known of each event, folded ones first."""
        return self._grown.rows

    def follow(self, tail: Sequence[Event]) -> None:
        """Take in what the log has behind the state: all of it, in order; what was taken in before is not read again."""
        known = len(self.tail)
        if known > len(tail) or any(mine.seq != theirs.seq for mine, theirs in zip(self.tail[-1:], tail[known - 1 : known], strict=False)):
            self.tail, self._chunks, known = [], [], 0
            self._grown, self.moved = Growing(self.folded), self.moved[:0]
        if known == len(tail):
            return
        new = tail[known:]
        self._rows.add(new)
        taken = self._rows.take()
        self.tail.extend(new)
        self._keep(taken["postings"], {event.seq: at for at, event in enumerate(new, known)})
        self.labels.add(taken["labels"])
        self._grown.add(self._columns(taken["events"], taken["vectors"]))
        self.moved = self._sessions_of_tail()

    def tail_hits(self, term: int) -> Hits:
        """Return the occurrences of a term in the tail."""
        found = [chunk.slice(*_range(chunk["term"].to_numpy(), term)) for chunk in self._chunks]
        rows = (
            pa.concat_tables(found)
            if found
            else pa.table({"event": pa.array([], pa.int64()), "x": pa.array([], pa.uint16()), "y": pa.array([], pa.uint16())})
        )
        return Hits(*(rows[name].to_numpy() for name in ("event", "x", "y")))

    def parts(self, events: np.ndarray) -> list[str]:
        """Return the parts of some events. Those of folded ones are read from the state."""
        folded = len(self.folded)
        column = self.state.table("events", ["part"])["part"] if (events < folded).any() else None
        return [column[int(at)].as_py() if column is not None and at < folded else self.tail[int(at) - folded].source.part for at in events]

    def _columns(self, rows: pa.Table, vectors: pa.Table) -> Columns:
        numbers = {name: rows[name].to_numpy().astype(kind, copy=False) for name, kind in NUMBERS.items()}
        speaker = _codes(rows["speaker_name"], self.names.code)
        speaker[(numbers["cues"] & Cue.SPOKEN) == 0] = NOBODY
        vector = self._vectors(vectors, numbers["seq"])
        return Columns(
            **numbers,
            scope=_codes(rows["scope"], lambda tag: self.scopes.setdefault(tag, len(self.scopes))),
            audience=_codes(rows["audience"], lambda tag: self.audiences.setdefault(tag, len(self.audiences))),
            speaker=speaker,
            vector=vector,
            vector_length=lengths(vector),
        )

    def _vectors(self, rows: pa.Table, seqs: np.ndarray) -> np.ndarray:
        """Return the vectors of events as one array; zeros for those that a model was not asked about yet.

        Raises Corrupt where they are not those of the events.
        """
        found = np.zeros((len(seqs), self._components), np.int8)
        if not self._components:
            return found
        given, raw = rows["seq"].to_numpy(), b"".join(map(_contents, rows["vector"].chunks))
        is_whole, are_some = np.array_equal(given, seqs), bool(self._by_model) and bool(np.isin(given, seqs).all())
        if len(raw) != len(given) * self._components or not (is_whole or are_some):
            raise Corrupt("the vectors of the state are not those of its events", hint=REBUILD)
        vectors = np.frombuffer(raw, np.int8).reshape(len(given), self._components)
        if is_whole:
            return vectors
        found[np.searchsorted(seqs, given)] = vectors
        return found

    def _sessions_of_tail(self) -> np.ndarray:
        """Return all events of the sessions that the tail has events of, in order."""
        new = np.arange(len(self.folded), len(self.columns))
        sessions = np.unique(self.columns.session[new])
        first, after = np.searchsorted(self._sessions, sessions), np.searchsorted(self._sessions, sessions, side="right")
        old = [self._by_session[start:end] for start, end in zip(first, after, strict=True) if start < end]
        members = np.concatenate([*old, new])
        return members[ordered(self.columns.session[members], self.columns.place[members], lambda at: self.parts(members[at]))]

    def _keep(self, postings: pa.Table, event_of: dict[int, int]) -> None:
        """Keep the postings of the tail as a few sorted chunks."""
        events = [event_of[seq] for seq in postings["seq"].to_pylist()]
        chunk = pa.table([postings["term"], pa.array(events, pa.int64()), postings["x"], postings["y"]], ["term", "event", "x", "y"])
        self._chunks.append(chunk)
        count = newest_to_merge([each.num_rows for each in self._chunks], RATIO)
        if count:
            joined = pa.concat_tables(self._chunks[-count:])
            order = np.argsort(joined["term"].to_numpy(), kind="stable")
            self._chunks[-count:] = [joined.take(pa.array(order)).combine_chunks()]


def _contents(chunk: pa.Array) -> bytes:
    """Return the values of a chunk of binary, one after the other."""
    _, offsets, content = chunk.buffers()
    if content is None:
        return b""
    first, end = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
    return content[int(first) : int(end)].to_pybytes()


def _codes(column: pa.ChunkedArray, code: Any) -> np.ndarray:
    """Return a small number for each value, the same for the same value."""
    codes = np.empty(len(column), np.int32)
    at = 0
    for chunk in column.chunks:
        encoded = chunk.dictionary_encode()
        known = np.array([code(value) for value in encoded.dictionary.to_pylist()], np.int32)
        codes[at : at + len(chunk)] = known[encoded.indices.to_numpy()]
        at += len(chunk)
    return codes


def _range(column: np.ndarray, value: int) -> tuple[int, int]:
    """Return the offset and length of a value in a sorted column."""
    key = np.uint64(value)
    first = int(np.searchsorted(column, key))
    return first, int(np.searchsorted(column, key, side="right")) - first
