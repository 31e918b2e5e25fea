"""subject report: the answer to a person who asks what is known of them, as a letter for them and as data for their own use."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers, times
from refold.cli import selectors
from refold.cli.command import FORMAT_VERSION, opened
from refold.cli.envelope import Outcome
from refold.cli.planned import kept_until, recipients_data
from refold.cli.progress import progress
from refold.cli.proofs import check_new
from refold.cli.shown import moment, profile_data, redacted
from refold.cli.visible import from_here, plural, visible

if TYPE_CHECKING:
    from refold.calls.recordings import Recorded
    from refold.erase.plan import Elsewhere
    from refold.erase.report import Mentioned, Origin, Report
    from refold.memory import Memory
    from refold.model import Event
    from refold.reading import Fact


FORM = "refold.subject_report/1"
OTHERS = "  [also about others]"


def configure(command: ArgumentParser) -> None:
    """Add the arguments."""
    selectors.configure(command)
    what = "write it to a new file that only you may read: JSON where the name ends so, else a letter; it stands in the register of copies"
    command.add_argument("--to", type=Path, metavar="FILE", help=what)


def run(given: Namespace) -> Outcome:
    """Answer an access request."""
    check_new(given.to, what="the answer")
    with opened(given) as memory, progress() as show:
        made = memory.subject_report(selectors.selector(given), progress=lambda done, whole: show(f"read {done:,} of {whole:,} entries"))
        data, lines = _report_data(made), _lines(made)
        said = (disclaimers.GROUNDED, *([disclaimers.PROFILED] if made.profiles else []), disclaimers.FOUND)
        if given.to is not None:
            copy_id = _handed_over(memory, given.to.absolute(), data, [*lines, "", *(f"note: {one}" for one in said)])
            data = {"path": str(given.to.absolute()), "copy_id": copy_id}
            lines = [
                f"written: {from_here(given.to)}",
                f"copy {copy_id} in the register, owed by the operator until you say otherwise",
                "nothing in it is encrypted, and no erasure reaches it",
                f"once it is gone from here: refold copies confirm {copy_id[:8]} --evidence TEXT",
            ]
    return Outcome(data, lines, disclaimers=said, format_version=FORMAT_VERSION)


def _handed_over(memory: Memory, path: Path, data: dict[str, object], lines: list[str]) -> str:
    """Write an answer to a file, which stands in the register before its first byte; return the copy's id."""
    from refold import files
    from refold.copies.folder import require_outside

    require_outside(path, memory.places)
    copy = memory.copy_add("export", str(path))
    is_data = path.suffix.lower() == ".json"
    text = json.dumps({"format": FORM, **data}, ensure_ascii=False, indent=1) if is_data else "\n".join(lines)
    files.create(path, f"{text}\n".encode())
    return copy.copy_id


def _lines(made: Report) -> list[str]:
    aliases = [alias for person in made.people.meant for _, alias in person.aliases]
    lines = [f"What this memory knows of you, on {times.day(made.made_at)}", ""]
    asked = visible(", ".join(dict.fromkeys(aliases)))
    nothing = not (made.events or made.mentions or made.facts or made.calls)
    lines += [f"Nothing was found under: {asked}" if nothing else f"You are known here as: {asked}"]
    mentions = list(dict.fromkeys(map(_mention_line, made.mentions)))  # a sentence that mentions them twice is told once
    sections = (
        (
            f"What was said by you or about you ({plural(len(made.events), 'event')})",
            (_event_line(event) + (OTHERS if made.others(event) else "") for event in made.events),
        ),
        (f"Where others may have mentioned you ({len(mentions)})", mentions),
        (
            f"What was concluded from it ({plural(len(made.facts), 'fact')})",
            (_fact_line(fact) + (OTHERS if made.concerns_others(fact) else "") for fact in made.facts),
        ),
        (
            f"What a model wrote from that ({plural(len(made.profiles), 'profile')})",
            (visible(f"{each.entity}: {sentence.text}  (by {each.extractor})") for each in made.profiles for sentence in each.sentences),
        ),
        (f"Where it came from ({plural(len(made.origins), 'source')})", map(_origin_line, made.origins)),
        (
            f"Who was told: hosts of language models ({plural(len(made.calls), 'call')})",
            (f"{one.host}, {one.model}: {times.day(one.first)} to {times.day(one.last)}{kept_until(one)}" for one in made.recipients),
        ),
        (f"Where copies of this memory are ({len(made.copies)})", map(_copy_line, made.copies)),
    )
    for title, entries in sections:
        told = list(entries)
        lines += ["", title, *(f"  {line}" for line in told or ["nothing"])]
    return lines


def _origin_line(one: Origin) -> str:
    kept = "kept until somebody asks that it goes" if one.due is None else f"the first of it is kept until {times.day(one.due)}"
    said = times.day(one.first) if times.day(one.first) == times.day(one.last) else f"{times.day(one.first)} to {times.day(one.last)}"
    return f"{visible(one.document)}: {plural(one.events, 'event')}, said {said}, taken in by {times.day(one.recorded)}; {kept}"


def _copy_line(one: Elsewhere) -> str:
    due = "" if one.copy.due is None else f", to be gone by {times.day(one.copy.due)}"
    return f"{one.copy.kind} of {times.day(one.copy.added_at)}, owed by the {one.copy.owner}{due}"


def _event_line(event: Event) -> str:
    text = visible(" ".join(event.text.split())) + redacted(event.redacted_at)
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
        "made_at": times.iso(made.made_at),
        "events": [_event(one) | {"others": made.others(one)} for one in made.events],
        "mentions": [
            _place(one.event) | {"span": list(one.candidate.span), "variant": one.candidate.variant, "sentence": _sentence(one)}
            for one in made.mentions
        ],
        "facts": [_fact(one) | {"concerns_others": made.concerns_others(one)} for one in made.facts],
        "profiles": list(map(profile_data, made.profiles)),
        "sources": [
            {
                "document": one.document,
                "events": one.events,
                "first": times.iso(one.first),
                "last": times.iso(one.last),
                "recorded_at": times.iso(one.recorded),
                "due": moment(one.due),
            }
            for one in made.origins
        ],
        "copies": [
            {"copy_id": one.copy.copy_id, "kind": str(one.copy.kind), "owner": str(one.copy.owner), "due": moment(one.copy.due)}
            for one in made.copies
        ],
        "calls": list(map(_call, made.calls)),
        "recipients": recipients_data(made.recipients),
    }


def _place(event: Event) -> dict[str, object]:
    return {"event_id": event.event_id.hex(), "seq": event.seq, "source": str(event.source), "said_at": times.iso(event.said_at)}


def _event(event: Event) -> dict[str, object]:
    scope = {"user_id": event.scope.user, "agent_id": event.scope.agent, "run_id": event.scope.run}
    rest = {"speaker": event.speaker_name, "role": str(event.role), "audience": list(event.audience), "metadata": event.metadata}
    return _place(event) | {
        "text": event.text,
        "recorded_at": times.iso(event.recorded_at),
        "redacted_at": moment(event.redacted_at),
        **scope,
        **rest,
    }


def _fact(fact: Fact) -> dict[str, object]:
    said = {name: getattr(fact, name) for name in ("entity", "relation", "qualifier", "value", "quote")}
    support = [{"event_id": event_id.hex(), "span": list(span)} for event_id, span in fact.support]
    return {"fact_id": fact.fact_id.hex(), **said, "standing": str(fact.standing), "said_at": times.iso(fact.said_at), "support": support}


def _call(one: Recorded) -> dict[str, object]:
    made = one.recording
    return {"call_id": one.call_id.hex(), "host": made.host, "model": made.model, "started_at": times.iso(made.started_at)}
