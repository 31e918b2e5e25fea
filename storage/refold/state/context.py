"""Context: what memory has to say to a question, as cited lines for a prompt, within a budget of tokens.

First what holds of the view's user and of whom the query names, then the events that say most. Every line ends with where it is from.
Texts are data: each stands on one line, quoted, with whatever is not plain text escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from refold import times
from refold.errors import Usage
from refold.model import Event, View
from refold.reading import Fact, Hit
from refold.state.facts import facts
from refold.state.generation import State
from refold.state.search import search
from refold.state.words import words_of

if TYPE_CHECKING:
    from refold.log.log import Log

EVENTS_MAX = 50
EXCERPT_MAX = 480  # characters of one event
NAMES_MAX = 8  # of whom a query names
JOINERS = "\u200c\u200d"
_NAME = re.compile(r"\w[\w'’-]*")
_PIECE = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Context:
    """Lines for a prompt, what they are estimated to cost, and the sources that they cite, in order."""

    text: str
    tokens: int
    citations: tuple[str, ...]


def context(state: State, tail: Sequence[Event], log: Log, view: View, query: str, *, tokens: int = 300) -> Context:
    """Return what helps to answer a query. Facts take at most half of the budget; a line that does not fit is left out. Raises Usage."""
    if tokens < 1:
        raise Usage("the budget of tokens is below one")
    hits = search(state, tail, log, view, query, limit=EVENTS_MAX)
    found = _facts(state, log, view, query, hits)
    told, spent = _fitting([_fact_line(fact) for fact in found], tokens // 2)
    said = {(found[row].source, found[row].quote) for row in told}
    others = [hit for hit in hits if (hit.source, hit.text.strip()) not in said]  # a fact says it more briefly
    heard, also_spent = _fitting([_event_line(hit, query) for hit in others], tokens - spent)
    sources = dict.fromkeys([*(found[row].source for row in told), *(others[row].source for row in heard)])
    return Context("\n".join([*told.values(), *heard.values()]), spent + also_spent, tuple(sources))


def estimate(text: str) -> int:
    """Return about how many tokens a text costs: one for each mark, for six plain letters or digits, and for three bytes of another script.

    No tokenizer is asked: they differ, and are fetched over the network. Common ones count fewer for plain English.
    """
    return sum(_cost(piece) for piece in _PIECE.findall(text))


def one_line(text: str) -> str:
    """Return a text as data: quoted, on one line, what moves a cursor or hides written as an escape."""
    line = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + (line if line.isascii() and line.isprintable() else "".join(map(_plain, line))) + '"'


def _facts(state: State, log: Log, view: View, query: str, hits: Sequence[Hit]) -> list[Fact]:
    """Return the facts that hold, those that the query is about first, then the newest."""
    own = [] if view.scope.user is None else facts(state, log, view, quotes=False)
    found = {fact.fact_id: fact for each in (own, *_of_the_named(state, log, view, query)) for fact in each}
    asked, ranks = set(words_of(query)), {hit.source: rank for rank, hit in enumerate(hits)}

    def rank(fact: Fact) -> tuple[int, int, int, bytes]:
        said = words_of(f"{fact.entity} {fact.relation.replace('_', ' ')} {fact.qualifier} {fact.value}")
        return (-len(asked.intersection(said)), ranks.get(fact.source, len(ranks)), -fact.said_at, fact.fact_id)

    return sorted(found.values(), key=rank)


def _of_the_named(state: State, log: Log, view: View, query: str) -> Iterator[list[Fact]]:
    """Yield what holds of those whom words of a query, or pairs of words, name.

    The bound counts only names of which the view sees something: a name that is known from elsewhere takes nobody's place.
    """
    words = _NAME.findall(query)
    tried = dict.fromkeys([*map(" ".join, pairwise(words)), *words])
    known = (name for name in tried if state.mentions_named(name))
    seen = filter(None, (facts(state, log, view, entity=name, quotes=False) for name in known))
    return islice(seen, NAMES_MAX)


def _fitting(lines: Sequence[str], budget: int) -> tuple[dict[int, str], int]:
    """Return the lines that fit, by their place, and what they cost."""
    kept: dict[int, str] = {}
    spent = 0
    for place, line in enumerate(lines):
        cost = estimate(line) + 1
        if spent + cost <= budget:
            kept[place] = line
            spent += cost
    return kept, spent


def _fact_line(fact: Fact) -> str:
    qualifier = f" ({one_line(fact.qualifier)})" if fact.qualifier else ""
    span = times.span(fact.valid_from, fact.valid_to, fact.valid_precision)
    when = f", {span}" if span else ""
    mark = ", disputed" if fact.contested else ""
    return (
        f"{one_line(fact.entity)} {fact.relation.replace('_', ' ')}{qualifier}: {one_line(fact.value)}{when}{mark} [{cited(fact.source)}]"
    )


def _event_line(hit: Hit, query: str) -> str:
    return f"{times.day(hit.said_at)} {cited(hit.speaker)}: {one_line(_excerpt(hit.text, query))} [{cited(hit.source)}]"


def cited(source: str) -> str:
    """Return a source or speaker so that it stays within its brackets."""
    return one_line(source)[1:-1].replace("[", "(").replace("]", ")")


def _excerpt(text: str, query: str) -> str:
    """Return a long text around the first word of the query that it has."""
    if len(text) <= EXCERPT_MAX:
        return text
    folded = text.casefold()
    places = [at for word in words_of(query) if (at := folded.find(word)) >= 0]
    start = max(min(places, default=0) - EXCERPT_MAX // 4, 0)
    start = 0 if start == 0 else text.find(" ", start, start + 40) + 1 or start
    piece = text[start : start + EXCERPT_MAX]
    return ("… " if start else "") + piece.strip() + (" …" if start + EXCERPT_MAX < len(text) else "")


def _cost(piece: str) -> int:
    plain = sum(character.isascii() for character in piece)
    rest = len(piece.encode()) - plain
    return -(-plain // 6) - (-rest // 3)


def _plain(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return character
    return f"\\u{{{ord(character):x}}}"
