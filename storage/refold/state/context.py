"""Context: what memory has to say to a question, as cited lines for a prompt, within a budget of tokens.

First what holds of the view's user, what they dislike or forbid, and what holds of whom the query names; then the events that say most. An
event that says no more than a fact is left out, and one of which something holds no longer says so. Every line ends with where it is from.
Texts are data: each stands on one line, quoted, with whatever is not plain text escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refold import times
from refold.errors import Usage
from refold.model import Act, Event, Modality, View
from refold.reading import Fact, Hit, Standing
from refold.state.facts import denials, facts
from refold.state.generation import State
from refold.state.past import no_longer, of_the_named
from refold.state.search import search
from refold.words import words_of

if TYPE_CHECKING:
    from refold.log.log import Log

EVENTS_MAX = 50
EXCERPT_MAX = 480  # characters of one event
FACTS_MAX = 200  # the best are looked at whether they fit
DENIED_TOO = ("likes", "instructs", "condition")  # what is disliked or forbidden is told as well as what is liked or wanted
IN_ITS_WORDS = ("condition", "did")  # what these say hangs on the verb
JOINERS = "\u200c\u200d"
_WORD = re.compile(r"\w[\w'’-]*")
_SPEAKER = re.compile(r"(?:and\s+)?I(?:['\u2019](?:m|ve)|\s+(?:am|have\s+been))?\s+", re.IGNORECASE)
_PIECE = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Context:
    """Lines for a prompt, what they are estimated to cost, and the sources that they cite, in order."""

    text: str
    tokens: int
    citations: tuple[str, ...]
    unmeant: str = ""  # as in what a search found
    unranked: str = ""


def context(
    state: State,
    tail: Sequence[Event],
    log: Log,
    view: View,
    query: str,
    *,
    tokens: int = 300,
    meant: bytes | None = None,
    points: Mapping[int, int] | None = None,
) -> Context:
    """Return what helps to answer a query. Facts take at most half of the budget; a line that does not fit is left out. Raises Usage.

    `meant` and `points` are as in a search.
    """
    if tokens < 1:
        raise Usage("the budget of tokens is below one")
    hits = search(state, tail, log, view, query, limit=EVENTS_MAX, meant=meant, points=points)
    held = _facts(state, log, view, query)
    holding = [fact for fact in held.values() if fact.standing is Standing.HOLDS]
    found = _ranked([*holding, *denials(state, log, view, DENIED_TOO)], query, hits)
    told, spent = _fitting([_fact_line(fact, log) for fact in found], tokens // 2)
    others = [hit for hit in hits if not _is_told(hit, [found[row] for row in told])]  # a fact says it more briefly
    past = no_longer(state, log, view, held, others)
    heard, also_spent = _fitting([_event_line(hit, query, past.get(hit.event_id, ())) for hit in others], tokens - spent)
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
    return f'"{plain(line)}"'


def plain(text: str, *, besides: str = "") -> str:
    """Return a text with what moves a cursor or hides written as an escape, but for the characters `besides`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if each in besides else _plain(each) for each in text)


def _facts(state: State, log: Log, view: View, query: str) -> dict[bytes, Fact]:
    """Return what holds or held of the view's user and of whom the query names, by id."""
    own = [] if view.scope.user is None else facts(state, log, view, history=True, quotes=False)
    return {fact.fact_id: fact for each in (own, *of_the_named(state, log, view, query)) for fact in each}


def _ranked(found: Sequence[Fact], query: str, hits: Sequence[Hit]) -> list[Fact]:
    """Return the best facts: those that the query is about first, then the newest. What a reader does not see decides nothing."""
    asked, ranks = set(words_of(query)), {hit.source: rank for rank, hit in reversed([*enumerate(hits)])}

    def rank(fact: Fact) -> tuple[int, int, int, tuple[str, ...], bytes]:
        told = (fact.relation, fact.entity, fact.qualifier, fact.value, fact.source)
        said = words_of(" ".join(told[:-1]).replace("_", " "))
        return (-len(asked.intersection(said)), ranks.get(fact.source, len(ranks)), -fact.said_at, told, fact.fact_id)

    return sorted(found, key=rank)[:FACTS_MAX]


def _is_told(hit: Hit, told: Sequence[Fact]) -> bool:
    """Whether facts that are told say all that an event says."""
    spans = [span for fact in told for event_id, span in fact.support if event_id == hit.event_id]
    kept = list(hit.text)
    for first, end in spans:
        kept[first:end] = " " * (end - first)
    return bool(spans) and not _WORD.search("".join(kept))


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


def _fact_line(fact: Fact, log: Log) -> str:
    relation = one_line(fact.qualifier) if fact.qualifier else fact.relation.replace("_", " ")
    span = times.span(fact.valid_from, fact.valid_to, fact.valid_precision)
    marks = [span, "disputed" if fact.contested else "", _weakened(fact)]
    value = "".join([one_line(_in_its_words(fact, log)), *(f", {mark}" for mark in marks if mark)])
    relation += " not" if fact.act is Act.DENY else ""
    return f"{one_line(fact.entity)} {relation}: {value} [{cited(fact.source)}]"


def _weakened(fact: Fact) -> str:
    is_plain = fact.modality is Modality.ASSERTED or fact.relation == "plans"
    return "" if is_plain else fact.modality.name.lower()


def _in_its_words(fact: Fact, log: Log) -> str:
    """Return a value as it was stated where the relation does not say how it is meant: "allergic to nuts", "have asthma"."""
    if fact.relation not in IN_ITS_WORDS or fact.rule or fact.act is Act.DENY:
        return fact.value
    spans = [span for event_id, span in fact.support if event_id == fact.support[0][0]]
    first, end = max(spans, key=lambda span: span[1] - span[0])
    words = log.event(fact.seq).text[first:end]
    return _SPEAKER.sub("", words, count=1) if len(words) <= EXCERPT_MAX else fact.value


def _event_line(hit: Hit, query: str, past: Sequence[str]) -> str:
    who = cited(hit.speaker) + ("" if hit.role.asserts else f" ({hit.role})") + ("" if hit.redacted_at is None else " (redacted)")
    no_longer = f" (no longer: {', '.join(map(one_line, past))})" if past else ""
    return f"{times.day(hit.said_at)} {who}: {one_line(_excerpt(hit.text, query))}{no_longer} [{cited(hit.source)}]"


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
