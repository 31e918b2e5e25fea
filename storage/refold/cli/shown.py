"""Facts and events, as data for programs and as cells of a table for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from refold import times
from refold.cli.visible import plural, quoted, table, visible
from refold.model import WITHHELD, Modality, normalise
from refold.reading import Fact, Hit, Profile, Standing

if TYPE_CHECKING:
    from refold.state.search import Found

QUOTED_MAX = 2_000  # characters of what was said
SHORT_ID = 8  # hex digits of a fact id that a person types
_NOTE = re.compile(r"note:[0-9a-f]{32}")  # what has no source but itself


def number(seq: int) -> int | None:
    """Return a sequence number; None where whoever asks may not know it."""
    return None if seq == WITHHELD else seq


def fact_data(fact: Fact) -> dict[str, object]:
    """Return a fact under the keys of the envelope."""
    return {
        "fact_id": fact.fact_id.hex(),
        "entity": fact.entity,
        "relation": fact.relation,
        "qualifier": fact.qualifier,
        "value": fact.value,
        "act": fact.act.name.lower(),
        "modality": fact.modality.name.lower(),
        "standing": fact.standing.value,
        "contested": fact.contested,
        "asserted_by": fact.asserted_by,
        "said_at": times.iso(fact.said_at),
        "valid_from": moment(fact.valid_from),
        "valid_to": moment(fact.valid_to),
        "valid_precision": None if fact.valid_precision is None else fact.valid_precision.name.lower(),
        "valid_source": fact.valid_source,
        "seq": number(fact.seq),
        "source": fact.source,
        "quote": fact.quote,
        "redacted_at": moment(fact.redacted_at),
        "extractor": fact.extractor,
        "call_id": fact.call_id and fact.call_id.hex(),
        "support": [{"event_id": event.hex(), "span": list(span)} for event, span in fact.support],
        "subjects": [subject.hex() for subject in fact.subjects],
        "beaten_by": fact.beaten_by and fact.beaten_by.hex(),
        "rule": fact.rule,
        "premises": [premise.hex() for premise in fact.premises],
        "depth": fact.depth,
    }


def profile_data(profile: Profile) -> dict[str, object]:
    """Return a profile under the keys of the envelope."""
    said = [
        {"fact_id": one.fact_id.hex(), "text": one.text, "premises": [premise.hex() for premise in one.premises]}
        for one in profile.sentences
    ]
    made = {"extractor": profile.extractor, "call_id": profile.call_id.hex(), "told": profile.told, "held": profile.held}
    return {"entity": profile.entity, "sentences": said, **made}


def profile_lines(profiles: Sequence[Profile]) -> list[str]:
    """Return profiles for people, each under a heading that says who wrote it and from how much."""
    lines: list[str] = []
    for each in profiles:
        of = plural(each.told, "fact") if each.told == each.held else f"{each.told:,} of {plural(each.held, 'fact')}"
        lines += ["", visible(f"{each.entity}, as {each.extractor} tells it from {of}")]
        lines += [f"  {one.fact_id.hex()[:SHORT_ID]}  {visible(one.text)}" for one in each.sentences]
    return lines


def hit_data(hit: Hit) -> dict[str, object]:
    """Return a found event under the keys of the envelope."""
    data: dict[str, object] = {
        "event_id": hit.event_id.hex(),
        "seq": number(hit.seq),
        "text": hit.text,
        "source": hit.source,
        "said_at": times.iso(hit.said_at),
        "speaker": hit.speaker,
        "role": hit.role.value,
        "score": round(hit.score, 6),
        "folded": hit.folded,
        "redacted_at": moment(hit.redacted_at),
        "no_longer": list(hit.no_longer),
    }
    return data | ({"explain": dict(hit.explain)} if hit.explain else {})


def moment(when: int | None) -> str | None:
    """Return a time for a program."""
    return None if when is None else times.iso(when)


def fact_table(facts: Sequence[Fact], *, standing: bool = False, entity: bool = True) -> list[str]:
    """Return one line per fact: with its standing where not all of them hold, and its entity unless that was said before."""
    spelled = _spellings([fact.entity for fact in facts])
    rows = [
        (
            fact.fact_id.hex()[:SHORT_ID],
            *((spelled[normalise(fact.entity)],) if entity else ()),
            relation(fact),
            value(fact),
            since(fact),
            *((fact.standing.value,) if standing else ()),
            f"by rule {fact.rule}" if fact.rule else source(fact.source),
            (quoted(fact.quote) + redacted(fact.redacted_at)) if fact.quote else "",
        )
        for fact in facts
    ]
    return table(rows)


def _spellings(names: Sequence[str]) -> dict[str, str]:
    """Return how a name is spelled in a table where it was not always spelled alike: as it is most often, of several the first."""
    return {normalise(name): name for name, _ in reversed(Counter(names).most_common())}


def source(text: str) -> str:
    """Return where something was said, as short as a person needs it: of a note only how its id begins."""
    return text[: len("note:") + SHORT_ID] if _NOTE.fullmatch(text) else text


def redacted(at: int | None) -> str:
    """Return the mark of words that are not what was said, with the day on which they were put in its place."""
    return "" if at is None else f" (redacted on {times.day(at)})"


def past(values: Sequence[str]) -> str:
    """Return the mark of what an event states and holds no longer."""
    return f" (no longer: {', '.join(map(visible, values))})" if values else ""


def relation(fact: Fact) -> str:
    """Return a relation with its qualifier: `kin(sister)`."""
    return f"{fact.relation}({fact.qualifier})" if fact.qualifier else fact.relation


def value(fact: Fact) -> str:
    """Return a value, with what weakens or closes it."""
    marks = [fact.act.name.lower()] if fact.act else []
    marks += [fact.modality.name.lower()] if fact.modality is not Modality.ASSERTED else []
    marks += ["contested"] if fact.contested and fact.standing is Standing.HOLDS else []
    return " ".join(part for part in (fact.value, f"({', '.join(marks)})" if marks else "") if part)


def since(fact: Fact) -> str:
    """Return the time that a fact claims for itself."""
    return times.span(fact.valid_from, fact.valid_to, fact.valid_precision)


def hit_table(hits: Sequence[Hit]) -> list[str]:
    """Return one line per found event, marked where no fold has read it yet, where nobody said it, and where what it states is over."""
    unfolded = [() if all(each.folded for each in hits) else ("" if hit.folded else "unfolded",) for hit in hits]
    unsaid = [() if all(each.role.asserts for each in hits) else ("" if hit.role.asserts else hit.role.value,) for hit in hits]
    marks = [(*one, *other) for one, other in zip(unfolded, unsaid, strict=True)]
    rows = [
        (
            hit.speaker,
            times.short(hit.said_at),
            source(hit.source),
            *mark,
            quotation(hit.text) + redacted(hit.redacted_at) + past(hit.no_longer),
        )
        for hit, mark in zip(hits, marks, strict=True)
    ]
    return table(rows)


def quotation(text: str) -> str:
    """Return what was said, but for the end of what fills no screen; as JSON it is whole."""
    if len(text) <= QUOTED_MAX:
        return quoted(text)
    return f"{quoted(text[:QUOTED_MAX] + '…')} of {len(text):,} characters"


def explained(found: Found) -> list[str]:
    """Return what each hit's score is made of, and what was left out."""
    left_out = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in found.left_out.items() if count and what != "matched")
    return [
        *table([(source(hit.source), f"{hit.score:.3f}", parts(hit.explain)) for hit in found.hits]),
        f"left out: {left_out or 'nothing'}",
    ]


def parts(numbers: Mapping[str, float]) -> str:
    """Return `cov 3.1, ctx 0.4`, without what is zero."""
    return ", ".join(f"{name} {number:.4g}" for name, number in numbers.items() if number)
