"""What changed in what is known, for people and for programs: since a point of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from refold.cli import shown
from refold.cli.visible import plural, table
from refold.reading import Fact

if TYPE_CHECKING:
    from refold.state.changes import Changed, Changes

SHOWN_MAX = 50  # of each kind that a person is shown


def lines(changes: Changes) -> list[str]:
    """Return what changed for a person: + what was learned, - what was unlearned, ~ what holds otherwise."""
    told = [
        *_listed("learned", [_row("+", fact) for fact in changes.learned]),
        *_listed("unlearned", [_row("-", fact, fact.standing.value) for fact in changes.unlearned]),
        *_changed(changes.changed),
    ]
    counts = (len(changes.learned), "learned"), (len(changes.unlearned), "unlearned"), (len(changes.changed), "changed")
    summary = ", ".join(f"{count:,} {what}" for count, what in counts)
    return [*told, "nothing changed" if changes.is_empty else summary, *erasures(changes.erasures)]


def erasures(count: int | None) -> list[str]:
    """Return the line about what was erased since; none where nothing was, and always the same where the number is withheld."""
    if count is None:
        return ["what may have been erased after that is in no answer"]
    return [f"{plural(count, 'erasure')} came after that: what was erased is in no answer"] if count else []


def _listed(title: str, rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield title
        yield from table(rows[:SHOWN_MAX], indent="  ")
        if len(rows) > SHOWN_MAX:
            yield f"  and {len(rows) - SHOWN_MAX:,} more (--format json)"
        yield ""


def _changed(changed: Sequence[Changed]) -> Iterator[str]:
    rows = [row for one in changed for row in (_row("~", one.before), _row("", one.after))]
    yield from _listed("changed, each as it was and as it is", rows)


def _row(mark: str, fact: Fact, standing: str = "") -> tuple[str, ...]:
    cells = (fact.fact_id.hex()[: shown.SHORT_ID], fact.entity, shown.relation(fact), shown.value(fact), shown.since(fact))
    return (mark, *cells, *((standing,) if standing else ()), shown.source(fact.source))


def data(changes: Changes) -> dict[str, object]:
    """Return what changed for a program."""
    changed = [{"before": shown.fact_data(one.before), "after": shown.fact_data(one.after)} for one in changes.changed]
    return {
        "learned": [shown.fact_data(fact) for fact in changes.learned],
        "unlearned": [shown.fact_data(fact) for fact in changes.unlearned],
        "changed": changed,
        "erasures_after": changes.erasures,
    }
