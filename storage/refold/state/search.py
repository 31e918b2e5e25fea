"""Search: the events that say most about a query, folded or not, among those that the view may see.

What a view may not see takes no part at all: not in how rare a word is, not in whose names are known, not in what is a neighbour. So
its results are those of a memory that never held the rest.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from refold import recipes
from refold.errors import KeyMissing, Usage
from refold.model import Event, View
from refold.reading import Hit
from refold.search_recipe import UNIT, Cues, Recipe, fixed
from refold.state import score
from refold.state.corpus import NOBODY, Corpus
from refold.state.cues import Cue, Dates, asks_when
from refold.state.embedding import embedder
from refold.state.generation import State
from refold.state.likeness import Likeness
from refold.state.rows import without
from refold.state.runs import Run
from refold.state.score import Matched
from refold.state.seen import Seen, see_folded, see_more
from refold.state.tables import ROLES
from refold.state.terms import Terms
from refold.times import DAY
from refold.words import Stems, words_of

if TYPE_CHECKING:
    from refold.log.log import Log

GROUPS_REMEMBERED_MAX = 96  # row groups of postings: about 32,768 rows and 0.6 MB each
VIEWS_REMEMBERED_MAX = 12
CONTEXT_ONLY = [place for place, role in enumerate(ROLES) if not role.asserts]


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, and what was left out, in counts of what the view may see."""

    hits: list[Hit]
    left_out: dict[str, int]
    unmeant: str = ""  # why a model gave no vector of the query, where one is asked: what was found shares words with it
    unranked: str = ""  # why a model did not rerank what was found, where one is asked: a fault of the call, or the code of an error


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is scored."""

    terms: dict[int, int]  # term: its weight in 1/4096
    persons: frozenset[int]  # speaker codes of the only person named; empty where none or several are
    dates: Dates
    when: bool
    stop_words: int
    vector: np.ndarray | None  # int8; None where there are no vectors, or nothing to make one of


def search(
    state: State,
    tail: Sequence[Event],
    log: Log,
    view: View,
    query: str,
    *,
    limit: int = 10,
    explain: bool = False,
    recipe: Recipe | None = None,
    meant: bytes | None = None,
    points: Mapping[int, int] | None = None,
) -> list[Hit]:
    """Return the events that say most about a query, best first. `tail` is every event of the log behind the state, in order.

    The view must be one that somebody chose: with an empty scope and no labels it is the operator's, who sees everything. `meant` is the
    query's vector where a model makes them: without it, words alone are compared. `points` is what a model that reranks gives some events,
    by their seqs, in 1/4096.
    """
    return find(state, tail, log, view, query, limit=limit, explain=explain, recipe=recipe, meant=meant, points=points).hits


def find(
    state: State,
    tail: Sequence[Event],
    log: Log,
    view: View,
    query: str,
    *,
    limit: int = 10,
    explain: bool = False,
    recipe: Recipe | None = None,
    meant: bytes | None = None,
    points: Mapping[int, int] | None = None,
) -> Found:
    """Search, and say what was left out. Raises Usage, Corrupt."""
    if limit < 1:
        raise Usage("the limit is below one")
    searcher = searcher_of(state, recipe or recipes.search())
    with searcher.turn:
        scored, left_out = searcher.score(tail, view, query, meant)
    scored = scored.reranked(points) if points else scored
    hits: list[Hit] = []
    for row in range(len(scored.seqs)):
        if len(hits) == limit:
            break
        try:
            hits.append(scored.hit(row, log, explain=explain))
        except KeyMissing:
            left_out["unreadable"] += 1
    left_out["beyond_limit"] = left_out["matched"] - len(hits) - left_out["unreadable"]
    return Found(hits, left_out)


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidates, best first: their events, and the parts of their scores in 1/4096."""

    seqs: np.ndarray
    tail: list[Event | None]
    parts: dict[str, np.ndarray]

    def reranked(self, points: Mapping[int, int]) -> Scored:
        """Return the same candidates in the order that these points give them, which are added to the scores of events by their seqs."""
        given = np.array([points.get(seq, 0) for seq in self.seqs.tolist()], np.int64)
        return _in_order(self.seqs, self.tail, {**self.parts, "reranked": given})

    def hit(self, row: int, log: Log, *, explain: bool) -> Hit:
        """Return one candidate with its text. Raises KeyMissing where the event was erased."""
        event = self.tail[row] or log.event(int(self.seqs[row]))
        parts = {name: int(part[row]) for name, part in self.parts.items()}
        return Hit(
            event_id=event.event_id,
            seq=event.seq,
            text=event.text,
            source=str(event.source),
            said_at=event.said_at,
            speaker=event.speaker_name,
            role=event.role,
            score=sum(parts.values()) / UNIT,
            folded=self.tail[row] is None,
            explain={name: part / UNIT for name, part in parts.items() if part} if explain else {},
            redacted_at=event.redacted_at,
        )


def searcher_of(state: State, recipe: Recipe) -> Searcher:
    """Return what searches a state; it is made once and kept with it. Raises Usage where it lacks vectors that are asked for."""
    kept = state.kept.get("search")
    if not isinstance(kept, Searcher) or kept.recipe is not recipe:
        if recipe.vectors and state.absent is None and state.manifest.recipe != recipe.digest:
            raise Usage("the search recipe asks for vectors, and the state was folded by another search recipe", hint="refold fold --full")
        kept = state.kept["search"] = Searcher(state, recipe)
    return kept


class Searcher:
    """The corpus of one state in memory, with the postings and views that were used last."""

    def __init__(self, state: State, recipe: Recipe) -> None:
        self.recipe = recipe
        self.turn = threading.RLock()
        self._state = state
        self._corpus = Corpus(state, recipe)
        self._stems = Stems(recipe.index.stop)
        self._terms = Terms(state.tags, self._stems)
        self._groups: OrderedDict[tuple[int, int], tuple[np.ndarray, ...]] = OrderedDict()
        self._views: OrderedDict[tuple[View, int], Seen] = OrderedDict()

    def score(self, tail: Sequence[Event], view: View, query: str, meant: bytes | None = None) -> tuple[Scored, dict[str, int]]:
        """Return the candidates of a query, best first, and counts of what was left out."""
        self._corpus.follow(tail)
        seen = self._seen(view)
        asked = self._asked(query, seen, meant)
        matched, unknown = self._matched(asked, seen)
        total = score.sums(matched, self.recipe.query, seen.layout.size) if matched else np.zeros(seen.layout.size, np.int64)
        occupied = seen.layout.event_at != NOBODY  # the empty places between sessions were reached as well
        seqs, count = self._corpus.columns.seq, self.recipe.query.candidates
        at = score.best(total, occupied, lambda places: seqs[seen.layout.event_at[places]], count)
        likeness = self._likeness(asked, seen)
        if likeness:
            at = np.union1d(at, self._alike(likeness, total, lambda places: seqs[seen.layout.event_at[places]]))
        scored = self._scored(at, total[at], matched, asked, seen, likeness)
        left_out = {
            "matched": int(np.count_nonzero(occupied & (total > 0)) + np.count_nonzero(total[at] == 0)),
            "stop_words": asked.stop_words,
            "unknown_words": unknown,
            "later": seen.later,
            "unreadable": 0,
        }
        return scored, left_out

    def _seen(self, view: View) -> Seen:
        """Return what a view may see, remembered until the tail grows; what it sees of the folded part is remembered longer."""
        folded = self._remembered((view, 0), lambda: see_folded(self._corpus, view))
        tail = len(self._corpus.tail)
        return self._remembered((view, tail), lambda: see_more(self._corpus, view, folded)) if tail else folded

    def _remembered(self, key: tuple[View, int], look: Callable[[], Seen]) -> Seen:
        seen = self._views.pop(key, None)
        self._views[key] = seen = look() if seen is None else seen
        while len(self._views) > VIEWS_REMEMBERED_MAX:
            self._views.popitem(last=False)
        return seen

    def _asked(self, query: str, seen: Seen, meant: bytes | None) -> Asked:
        words, names, person = words_of(query), self._corpus.names, self._corpus.names.person
        kept = [word for word in words if self._stems.of(word) is not None]
        speakers = {word: [code for code in names.by_word.get(word, ()) if seen.speaks[code]] for word in kept}
        named = {person[code] for codes in speakers.values() for code in codes}
        persons = frozenset(code for codes in speakers.values() for code in codes) if len(named) == 1 else frozenset()
        weights: dict[int, int] = {}
        for word in kept:
            [term] = self._terms.of([word])
            weight = fixed(self.recipe.query.names) if speakers[word] else UNIT
            weights[term] = min(weight, weights.get(term, UNIT))
        vector = self._vector(without(words, {word for word in kept if speakers[word]}), meant) if kept else None
        return Asked(weights, persons, Dates(query), asks_when(query), len(words) - len(kept), vector)

    def _vector(self, words: Sequence[str], meant: bytes | None) -> np.ndarray | None:
        """Return the vector of a query: a model's, which was told it as it is, or that of its words but for the names of who speaks."""
        if self.recipe.vectors and self.recipe.vectors.model is None:
            meant = embedder().vector(words)
        vector = np.frombuffer(meant, np.int8) if self.recipe.vectors and meant else None
        return vector if vector is not None and vector.any() else None

    def _likeness(self, asked: Asked, seen: Seen) -> Likeness | None:
        columns = self._corpus.columns
        if self.recipe.vectors is None or asked.vector is None:
            return None
        return Likeness(asked.vector, self.recipe.vectors, seen.layout.event_at, columns.vector, columns.vector_length)

    def _alike(self, likeness: Likeness, total: np.ndarray, seq_of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the places of the events most alike to a query, of those that share no word with it and are alike enough."""
        assert self.recipe.vectors is not None, "there is no likeness without vectors"
        mixed = likeness.mixed()
        at = score.best(mixed, mixed > 0, seq_of, self.recipe.query.candidates)
        at = at[total[at] == 0]
        return at[likeness.at(at) >= fixed(self.recipe.vectors.least)]

    def _matched(self, asked: Asked, seen: Seen) -> tuple[list[Matched], int]:
        """Return where the terms of a query occur among what may be seen, and how many of them occur nowhere."""
        matched: list[Matched] = []
        for term, weight in asked.terms.items():
            place, x, y = self._hits(term, seen)
            if len(place):
                rarity = score.idf(seen.events, int(np.count_nonzero(x))) * weight // UNIT
                matched.append(Matched(rarity, place, x, y))
        return matched, len(asked.terms) - len(matched)

    def _hits(self, term: int, seen: Seen) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the visible occurrences of a term: places, x and y. Reads only row groups that can hold it."""
        key = np.array([term], np.uint64)
        runs = self._state.runs("postings")
        found = [_slice(self._group(number, run, group), key[0]) for number, run in enumerate(runs) for group in run.groups_for(key)]
        placed = [(seen.place_of_seq[seqs.view(np.int64)], x, y) for seqs, x, y in found]
        tail = self._corpus.tail_hits(term)
        placed.append((seen.place_of_tail[tail.event], tail.x, tail.y))
        place, x, y = (np.concatenate(column) for column in zip(*placed, strict=True))
        if not seen.whole:
            shown = np.flatnonzero(place)
            place, x, y = place[shown], x[shown], y[shown]
        return place.astype(np.intp), x.astype(np.int32), y.astype(np.int32)

    def _group(self, number: int, run: Run, group: int) -> tuple[np.ndarray, ...]:
        known = self._groups.get((number, group))
        if known is None:
            rows = run.read([group])
            columns = (rows["term"], rows["seq"], rows["x"], rows["y"])
            known = self._groups[number, group] = tuple(column.to_numpy() for column in columns)
            if len(self._groups) > GROUPS_REMEMBERED_MAX:
                self._groups.popitem(last=False)
        self._groups.move_to_end((number, group))
        return known

    def _scored(
        self, at: np.ndarray, total: np.ndarray, matched: list[Matched], asked: Asked, seen: Seen, likeness: Likeness | None
    ) -> Scored:
        """Return candidates with their context and cues, best first, by (score, seq)."""
        query, folded = self.recipe.query, len(self._corpus.folded)
        events = seen.layout.event_at[at]
        seqs = self._corpus.columns.seq[events].astype(np.int64)
        parts = {
            "coverage": score.coverages(total, matched, query.saturation) * fixed(query.coverage) // UNIT,
            "context": score.context_coverages(matched, query.context, at, seen.layout.size) * fixed(query.context.weight) // UNIT,
            "first": np.where((seen.layout.event_at[at - 1] == NOBODY) & ~self._context_only(events), fixed(query.cues.first), 0),
            **self._cues(events, asked),
        }
        if likeness and self.recipe.vectors:
            parts["likeness"] = likeness.at(at) * fixed(self.recipe.vectors.weight) // UNIT
        tail = [self._corpus.tail[event - folded] if event >= folded else None for event in events.tolist()]
        return _in_order(seqs, tail, parts)

    def _cues(self, events: np.ndarray, asked: Asked) -> dict[str, np.ndarray]:
        weights, columns = self.recipe.query.cues, self._corpus.columns
        shows = columns.cues[events]
        parts = {
            "length": _lengths(weights)[columns.words[events]],
            "context_only": np.where(self._context_only(events), fixed(weights.context_only), 0),
            "question": np.where(shows & Cue.ASKS, fixed(weights.question), 0),
            "speaker": np.where(np.isin(columns.speaker[events], list(asked.persons)), fixed(weights.speaker), 0),
            "when": np.where(shows & Cue.TIME, fixed(weights.when), 0) * asked.when,
        }
        if asked.dates:
            reach = weights.days * DAY
            away = [asked.dates.distance(moment) for moment in columns.said_at[events].tolist()]
            near = [0 if distance is None or distance >= reach else fixed(weights.date * (1 - distance / reach)) for distance in away]
            parts["date"] = np.array(near, np.int64)
        return parts

    def _context_only(self, events: np.ndarray) -> np.ndarray:
        """Return which events are nobody's words."""
        return np.isin(self._corpus.columns.role[events], CONTEXT_ONLY)


def _in_order(seqs: np.ndarray, tail: Sequence[Event | None], parts: dict[str, np.ndarray]) -> Scored:
    """Return candidates best first, by (score, seq)."""
    order = np.lexsort((seqs, -np.sum(list(parts.values()), axis=0)))
    return Scored(seqs[order], [tail[row] for row in order.tolist()], {name: part[order] for name, part in parts.items()})


@lru_cache(maxsize=4)
def _lengths(weights: Cues) -> np.ndarray:
    """Return what each number of words counts."""
    return np.array([fixed(weights.length * (math.log1p(words) - weights.length_centre)) for words in range(1 << 16)], np.int64)


def _slice(group: tuple[np.ndarray, ...], term: np.uint64) -> tuple[np.ndarray, ...]:
    terms, seqs, x, y = group
    first, after = np.searchsorted(terms, term), np.searchsorted(terms, term, side="right")
    return seqs[first:after], x[first:after], y[first:after]
