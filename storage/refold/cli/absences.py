"""Why something is not held, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refold import times
from refold.cli import shown
from refold.cli.explained import marked
from refold.cli.glossary import ABSENCES
from refold.cli.visible import quoted, table, visible
from refold.model import WITHHELD
from refold.reading import Fact

if TYPE_CHECKING:
    from refold.state.absent import Absence, Ground


def lines(absence: Absence) -> list[str]:
    """Return an answer for people: each reason with what it rests on, then what holds instead."""
    return list(_lines(absence))


def _lines(absence: Absence) -> Iterator[str]:
    told = ""
    for ground in absence.grounds:
        if ground.because != told:
            told = ground.because
            yield f"{told}: {ABSENCES[told]}"
        yield from _ground(ground)
    shown_before = {ground.by.fact_id for ground in absence.grounds if ground.by}
    instead = [fact for fact in absence.instead if fact.fact_id not in shown_before]
    if instead and not absence.is_held:
        yield "what holds instead"
        yield from table([_cells(fact) for fact in instead], indent="  ")


def _ground(ground: Ground) -> Iterator[str]:
    rows = [_cells(ground.fact)] if ground.fact else []
    rows += [(f"by {(by := _cells(ground.by))[0]}", *by[1:])] if ground.by else []
    yield from table(rows, indent="  ")
    if ground.saying:
        said = ground.saying
        code = f"{ground.code}  " if ground.code else ""
        number = "" if said.seq == WITHHELD else f"  seq {said.seq}"
        yield visible(f"  {code}said by {said.speaker}, {times.short(said.said_at)}  {shown.source(said.source)}{number}") + shown.redacted(
            said.redacted_at
        )
        yield "    " + (marked(said.text, said.spans) if said.spans != ((0, 0),) else quoted(said.quote))


def _cells(fact: Fact) -> tuple[str, ...]:
    where = f"by rule {fact.rule}" if fact.rule else f"said by {fact.asserted_by}, {times.short(fact.said_at)}  {shown.source(fact.source)}"
    return (fact.fact_id.hex()[: shown.SHORT_ID], fact.entity, shown.relation(fact), shown.value(fact), shown.since(fact), where)


def data(absence: Absence) -> dict[str, object]:
    """Return an answer for programs."""
    return {
        "held": absence.is_held,
        "because": absence.because.value,
        "grounds": [_ground_data(ground) for ground in absence.grounds],
        "instead": [shown.fact_data(fact) for fact in absence.instead],
    }


def _ground_data(ground: Ground) -> dict[str, object]:
    from refold.state.why import saying_data

    return {
        "because": ground.because.value,
        "fact": ground.fact and shown.fact_data(ground.fact),
        "beaten_by": ground.by and shown.fact_data(ground.by),
        "saying": ground.saying and saying_data(ground.saying),
        "code": ground.code or None,
    }
