"""An explanation as lines for people: the fact, the words it rests on, what made it, what it beat and what beat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from refold import times
from refold.cli.shown import SHORT_ID, redacted, relation, since, source, value
from refold.cli.visible import table, visible
from refold.model import WITHHELD, Span
from refold.reading import Fact

if TYPE_CHECKING:
    from refold.state.why import Explanation, Saying

AROUND = 60  # characters shown before the first and after the last span
MEANING = {
    "latest": "the latest statement wins",
    "contested": "each speaker keeps their own",
    "source": "who speaks of themselves outranks others",
}


def lines(explanation: Explanation) -> list[str]:
    """Return an explanation, with the spans of each saying in brackets."""
    return list(_lines(explanation, ""))


def _lines(explanation: Explanation, indent: str) -> Iterator[str]:
    fact = explanation.fact
    when = f"  {since(fact)}" if since(fact) else ""
    yield indent + visible(f"{fact.entity}  {relation(fact)}  {value(fact)}{when}  ({fact.standing.value})")
    for saying in explanation.sayings:
        yield from _saying(saying, explanation.asserted_as, indent)
    for saying in explanation.named:
        yield from _saying(saying, "the entity itself", indent)
    yield from table(_reasons(explanation), indent=indent + "  ")
    for premise in explanation.premises:
        yield indent + "  because"
        yield from _lines(premise, indent + "    ")


def _saying(saying: Saying, asserted_as: str, indent: str) -> Iterator[str]:
    rank = "" if asserted_as == "the entity itself" else f", as {asserted_as}"
    said = f"said by {saying.speaker}, {times.short(saying.said_at)}{rank}"
    number = "" if saying.seq == WITHHELD else f"  seq {saying.seq}"
    yield indent + visible(f"  {said}  {source(saying.source)}{number}") + redacted(saying.redacted_at)
    yield indent + "    " + marked(saying.text, saying.spans)


def marked(text: str, spans: Sequence[Span]) -> str:
    """Return the part of a text around its spans, with each span in brackets."""
    spans = _joined(spans)
    first, end = (spans[0][0], spans[-1][1]) if spans else (0, 0)
    start, stop = max(0, first - AROUND), min(len(text), end + AROUND)
    pieces, at = ["…" if start else ""], start
    for begin, close in spans:
        pieces += [visible(text[at:begin]), "[", visible(text[begin:close]), "]"]
        at = close
    return "".join([*pieces, visible(text[at:stop]), "…" if stop < len(text) else ""])


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return spans in order, those that touch or overlap as one."""
    joined: list[Span] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def _reasons(explanation: Explanation) -> Iterator[tuple[str, ...]]:
    policy = explanation.policy
    yield ("id", explanation.fact.fact_id.hex())
    yield ("made by", explanation.rule or explanation.fact.extractor)
    if explanation.fact.call_id:
        yield ("call", f"refold calls show {explanation.fact.call_id.hex()}")
    if policy:
        yield ("policy", f"{policy.cardinality} at once, {MEANING[str(policy.conflict)]}")
    for beaten in explanation.beat:
        yield ("beat", _other(beaten))
    if explanation.beaten_by:
        yield ("beaten by", _other(explanation.beaten_by))
    for other in explanation.against:
        yield ("contested", _other(other))
    for saying in explanation.aliases:
        yield ("same as", f"{source(saying.source)}  {marked(saying.text, saying.spans)}")


def _other(fact: Fact) -> str:
    said = f"said by {fact.asserted_by}, {times.short(fact.said_at)}"
    return f"{fact.fact_id.hex()[:SHORT_ID]}  {value(fact)}  ({fact.standing.value})  {said}  {source(fact.source)}"
