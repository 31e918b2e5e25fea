"""subject report: the answer to a person who asks what is known of them, as a letter for them and as data for their own use."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from refold import disclaimers, times
from refold.cli import selectors
from refold.cli.command import FORMAT_VERSION, opened
from refold.cli.envelope import Outcome
from refold.cli.planned import recipients_data
from refold.cli.progress import progress
from refold.cli.visible import plural, visible

if TYPE_CHECKING:
    from refold.calls.recordings import Recorded
    from refold.erase.report import Mentioned, Report
    from refold.model import Event
    from refold.reading import Fact


def run(given: Namespace) -> Outcome:
    """Answer an access request."""
    with opened(given) as memory, progress() as show:
        made = memory.subject_report(selectors.selector(given), progress=lambda done, whole: show(f"read {done:,} of {whole:,} entries"))
    return Outcome(_report_data(made), _lines(made), disclaimers=(disclaimers.GROUNDED, disclaimers.FOUND), format_version=FORMAT_VERSION)


def _lines(made: Report) -> list[str]:
    aliases = [alias for person in made.people.meant for _, alias in person.aliases]
    lines = ["What this memory knows of you", "", f"You are known here as: {visible(', '.join(dict.fromkeys(aliases)))}"]
    sections = (
        (f"What was said by you or about you ({plural(len(made.events), 'event')})", map(_event_line, made.events)),
        (f"Where others may have mentioned you ({len(made.mentions)})", dict.fromkeys(map(_mention_line, made.mentions))),
        (f"What was concluded from it ({plural(len(made.facts), 'fact')})", map(_fact_line, made.facts)),
        (
            f"Who was told: hosts of language models ({plural(len(made.calls), 'call')})",
            (f"{one.host}, {one.model}: {times.day(one.first)} to {times.day(one.last)}" for one in made.recipients),
        ),
    )
    for title, entries in sections:
        told = list(entries)
        lines += ["", title, *(f"  {line}" for line in told or ["nothing"])]
    return lines


def _event_line(event: Event) -> str:
    text = visible(" ".join(event.text.split()))
    return f"{times.day(event.said_at)}  {visible(str(event.source))}  {visible(event.speaker_name)}: {text}"


def _mention_line(mentioned: Mentioned) -> str:
    return f"{times.day(mentioned.event.said_at)}  {visible(str(mentioned.event.source))}  {visible(_sentence(mentioned))}"


def _sentence(mentioned: Mentioned) -> str:
    """Return the sentence of a mention, and no more of what another said."""
    from refold.state.telling import quoted

    span = mentioned.candidate.span
    return quoted(mentioned.event.text, [span]) if span[1] else mentioned.candidate.variant


def _fact_line(fact: Fact) -> str:
    relation = f"{fact.relation} ({fact.qualifier})" if fact.qualifier else fact.relation
    return visible(f"{fact.entity}: {relation} {fact.value}".rstrip()) + f"  [{fact.standing}]"


def _report_data(made: Report) -> dict[str, object]:
    return {
        "subjects": sorted(one.hex() for one in made.people.subjects),
        "aliases": [{"kind": str(kind), "alias": alias} for person in made.people.meant for kind, alias in person.aliases],
        "events": list(map(_event, made.events)),
        "mentions": [
            _place(one.event) | {"span": list(one.candidate.span), "variant": one.candidate.variant, "sentence": _sentence(one)}
            for one in made.mentions
        ],
        "facts": list(map(_fact, made.facts)),
        "calls": list(map(_call, made.calls)),
        "recipients": recipients_data(made.recipients),
    }


def _place(event: Event) -> dict[str, object]:
    return {"event_id": event.event_id.hex(), "seq": event.seq, "source": str(event.source), "said_at": times.iso(event.said_at)}


def _event(event: Event) -> dict[str, object]:
    scope = {"user_id": event.scope.user, "agent_id": event.scope.agent, "run_id": event.scope.run}
    rest = {"speaker": event.speaker_name, "role": str(event.role), "audience": list(event.audience), "metadata": event.metadata}
    return _place(event) | {"text": event.text, "recorded_at": times.iso(event.recorded_at), **scope, **rest}


def _fact(fact: Fact) -> dict[str, object]:
    said = {name: getattr(fact, name) for name in ("entity", "relation", "qualifier", "value", "quote")}
    support = [{"event_id": event_id.hex(), "span": list(span)} for event_id, span in fact.support]
    return {"fact_id": fact.fact_id.hex(), **said, "standing": str(fact.standing), "said_at": times.iso(fact.said_at), "support": support}


def _call(one: Recorded) -> dict[str, object]:
    made = one.recording
    return {"call_id": one.call_id.hex(), "host": made.host, "model": made.model, "started_at": times.iso(made.started_at)}
