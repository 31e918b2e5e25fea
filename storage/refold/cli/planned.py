"""A plan of an erasure as people and programs are told it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from refold import times
from refold.cli.visible import plural, table, visible
from refold.model import SubjectId

if TYPE_CHECKING:
    from refold.erase.plan import Elsewhere, Plan, Recipient
    from refold.reading import Fact

SHOWN_MAX = 20  # facts of each kind that a person is shown


def plan_lines(made: Plan, names: Mapping[SubjectId, str]) -> list[str]:
    """Return a plan for a person."""
    others = made.diff.of_others(made.target.subjects)
    rows = [
        ("events", f"{made.events:,}, {made.shared:,} of them concern others too"),
        (
            "facts",
            f"{len(made.diff.gone):,} go, {len(others.gone):,} of them others know from shared events; {len(made.diff.again):,} hold again",
        ),
        *([("kept", f"{plural(len(made.target.kept), 'redacted version')} for others")] if made.target.kept else []),
        *([("profiles", f"{plural(len(made.diff.sentences), 'sentence')} go; a model may be asked anew")] if made.diff.sentences else []),
        ("calls", f"{made.calls:,} recordings go dark"),
        *(
            (
                "told",
                f"{one.host} ({one.model}): {plural(one.calls, 'call')}, {times.day(one.first)} to {times.day(one.last)}{kept_until(one)}",
            )
            for one in made.recipients
        ),
        *(("held", f"{plural(one.events, 'event')} by hold {one.request_id.hex()[:8]}") for one in made.holds),
    ]
    if made.unread:
        rows.append(("unread", f"{plural(made.unread, 'entry', 'entries')} that nobody can open"))
    if made.alike:
        rows.append(("alike", f"{plural(len(made.alike), 'other person', 'other people')} may be the same under another id"))
    lines = table(rows)
    if made.others:
        shared = [(visible(names.get(one, one.hex()[:8])), plural(count, "event")) for one, count in list(made.others.items())[:SHOWN_MAX]]
        lines += ["", "whom else these events concern", *table(shared, indent="  ")]
    told = (
        ("what others will not know any more", "-", (*others.gone, *others.sentences)),
        ("what others go on knowing, by redacted versions", "=", made.kept),
        ("what holds again", "+", made.diff.again),
    )
    for title, mark, facts in told:
        if facts:
            lines += ["", title, *table([fact_row(mark, fact) for fact in facts[:SHOWN_MAX]], indent="  ")]
            lines += [f"  and {len(facts) - SHOWN_MAX:,} more (--format json)"] if len(facts) > SHOWN_MAX else []
    return [*lines, *_copy_lines(made.copies)]


def _copy_lines(copies: Sequence[Elsewhere]) -> list[str]:
    rows = [
        (
            one.copy.copy_id[:8],
            str(one.copy.kind),
            str(one.state),
            str(one.copy.owner),
            times.day(one.copy.due) if one.copy.due is not None else "",
            visible(one.copy.place),
        )
        for one in copies
    ]
    if not rows:
        return []
    head = ("copy", "kind", "then", "owed by", "due", "place")
    return ["", "what is elsewhere, and what it is then", *table(rows, head=head, indent="  ")]


def fact_row(mark: str, fact: Fact) -> tuple[str, ...]:
    """Return a fact as a row, with what becomes of it."""
    relation = f"{fact.relation}({fact.qualifier})" if fact.qualifier else fact.relation
    return (mark, visible(fact.entity), visible(relation), visible(fact.value))


def plan_data(made: Plan) -> dict[str, object]:
    """Return a plan for a program."""
    return {
        "request_id": made.target.request_id.hex(),
        "size": made.target.size,
        "last_hash": made.target.last_hash.hex(),
        "mode": str(made.target.mode),
        "subjects": sorted(one.hex() for one in made.target.subjects),
        "events": made.events,
        "shared_events": made.shared,
        "concerned": [{"subject": one.hex(), "events": count} for one, count in made.others.items()],
        "facts_gone": facts_data(made.diff.gone),
        "facts_again": facts_data(made.diff.again),
        "facts_kept": facts_data(made.kept),
        "versions": [{"event_id": one.event_id.hex(), "text": one.text} for one in made.target.kept],
        "sentences_gone": facts_data(made.diff.sentences),
        "claims": made.diff.claims,
        "calls": made.calls,
        "recipients": recipients_data(made.recipients),
        "holds": [{"request_id": one.request_id.hex(), "events": one.events} for one in made.holds],
        "undecided": made.undecided,
        "alike": sorted(one.hex() for one in made.alike),
        "unread": made.unread,
        "suppressed": len(made.target.suppressed),
        "copies": [
            {
                "copy_id": one.copy.copy_id,
                "kind": str(one.copy.kind),
                "place": one.copy.place,
                "owner": str(one.copy.owner),
                "state": str(one.state),
                "due": None if one.copy.due is None else times.iso(one.copy.due),
            }
            for one in made.copies
        ],
    }


def kept_until(one: Recipient) -> str:
    """Return how long a host keeps what it was told, as a person is told that."""
    return "; how long it keeps them is not in the settings" if one.due is None else f"; kept until {times.day(one.due)}"


def recipients_data(found: Sequence[Recipient]) -> list[dict[str, object]]:
    """Return who was told, for a program."""
    return [
        {
            "host": one.host,
            "model": one.model,
            "calls": one.calls,
            "first": times.iso(one.first),
            "last": times.iso(one.last),
            "due": None if one.due is None else times.iso(one.due),
        }
        for one in found
    ]


def facts_data(facts: Sequence[Fact]) -> list[dict[str, object]]:
    """Return facts of a plan, for a program."""
    return [
        {
            "fact_id": one.fact_id.hex(),
            "entity": one.entity,
            "relation": one.relation,
            "qualifier": one.qualifier,
            "value": one.value,
            "rule": one.rule,
        }
        for one in facts
    ]
