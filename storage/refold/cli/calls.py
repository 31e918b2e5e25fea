"""calls list, calls show: what language models were asked and what they answered."""

from __future__ import annotations

import itertools
import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from refold import times
from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Outcome
from refold.cli.visible import money, plural, table, visible
from refold.given import call_id

if TYPE_CHECKING:
    from refold.calls.costs import Cost
    from refold.calls.recording import Recording
    from refold.calls.recordings import Recorded
    from refold.memory import Memory
    from refold.model import Event

FRAME = -1
COLOURS = {
    "frame": "2",
    "event": "32",
    "fact": "34",
    "template": "36",
    "config": "35",
    "query": "33",
}  # of ANSI: they say no more than words
ENDED = {"embed": "vector", "rerank": "order"}  # of which no provider says how it ended


def _configure_list(command: ArgumentParser) -> None:
    arguments.add_limit(command, 20)
    what = "sum what calls took by the run that made them, or by the source that they were about"
    command.add_argument("--by", type=arguments.one_of("run", "source"), metavar="run|source", help=what)


def _list(given: Namespace) -> Outcome:
    tally: Counter[str] = Counter()
    with opened(given) as memory:
        recordings = memory.recordings()
        if given.by:
            return _summed(given, memory)
        found = list(itertools.islice(recordings.all(tally=tally), given.limit))
        totals = recordings.totals()
    lines = table(map(_row, found), head=("call", "when", "model", "answer", "events", "tokens", "cost")) if found else []
    lines += ["", plural(totals.calls, "call")] if found else [plural(totals.calls, "call")]
    data = {"calls": [_data(one) for one in found], "total": totals.calls}
    return Outcome(data, lines, format_version=FORMAT_VERSION)


def _summed(given: Namespace, memory: Memory) -> Outcome:
    """Sum all that can be opened: what is erased is in the total alone."""
    sums = memory.costs(by=given.by)
    shown = list(sums.items())[: given.limit]
    data = {f"{given.by}s": [{given.by: name} | _counted(cost) for name, cost in shown], "total": memory.recordings().totals().calls}
    rows = [
        (visible(name[:32]) or "not folded yet", f"{cost.calls:,}", f"{cost.prompt_tokens:,} + {cost.completion_tokens:,}")
        for name, cost in shown
    ]
    return Outcome(data, table(rows, head=(given.by, "calls", "tokens")) if rows else ["no calls"], format_version=FORMAT_VERSION)


def _counted(cost: Cost) -> dict[str, int]:
    return {name: getattr(cost, name) for name in ("calls", "prompt_tokens", "completion_tokens", "cost")}


def _row(one: Recorded) -> tuple[str, ...]:
    made = one.recording
    tokens = "" if made.tokens is None else f"{made.tokens.prompt:,} + {made.tokens.completion:,}"
    said = _ended(made) if made.fault is None else made.fault.value
    return one.call_id.hex()[:8], times.short(made.started_at), made.model, said, str(len(one.inputs)), tokens, _cost(made)


def _cost(made: Recording) -> str:
    return "" if made.cost is None else money(made.cost, made.currency)


def _configure_show(command: ArgumentParser) -> None:
    command.add_argument("call", metavar="CALL", help="a call's id, or how it begins; `refold calls list` lists them")


def _show(given: Namespace) -> Outcome:
    wanted = call_id(given.call)
    with opened(given) as memory:
        one = memory.call(wanted)
        events = memory.recordings().events_of(one)
    made = one.recording
    data = _data(one) | {
        "segments": [_segment(segment, events) for segment in made.segments],
        "spans": [{"first_byte": first, "end_byte": end, "segment": None if index == FRAME else index} for first, end, index in made.spans],
        "request": _text(made.request),
        "wire": _text(made.wire) if made.wire else None,
        "answer": _text(made.answer),
    }
    return Outcome({"call": data}, list(_lines(one, events)), format_version=FORMAT_VERSION)


def _data(one: Recorded) -> dict[str, object]:
    made = one.recording
    return {
        "call_id": one.call_id.hex(),
        "seq": one.seq,
        "run": one.run.hex(),
        "events": [event_id.hex() for event_id in one.inputs],
        "task": made.task.value,
        "model": made.model,
        "answered_by": made.answered_by,
        "host": made.host,
        "form": made.form.value,
        "attempt": made.attempt,
        "draw": made.draw,
        "status": made.status,
        "fault": None if made.fault is None else made.fault.value,
        "finish_reason": made.finish_reason,
        "started_at": times.iso(made.started_at),
        "ended_at": times.iso(made.ended_at),
        "prompt_tokens": None if made.tokens is None else made.tokens.prompt,
        "completion_tokens": None if made.tokens is None else made.tokens.completion,
        "cost_nanos": made.cost,
        "currency": made.currency,
        "replay_tag": made.replay_tag.hex(),
    }


def _segment(segment: list[str], events: Mapping[str, Event]) -> dict[str, object]:
    kind, name, *_ = segment
    data: dict[str, object] = {"kind": kind, "name": name}
    if name in events:
        data |= {"seq": events[name].seq, "source": str(events[name].source)}
    return data


def _lines(one: Recorded, events: Mapping[str, Event]) -> Iterator[str]:
    made = one.recording
    yield f"call {one.call_id.hex()}"
    fault = "" if made.fault is None else f": {made.fault.value}"
    took = (made.ended_at - made.started_at) / 1e6
    tokens = "not counted" if made.tokens is None else f"{made.tokens.prompt:,} read, {made.tokens.completion:,} written"
    yield from table(
        [
            ("  model", f"{made.model} at {made.host}, answered by {made.answered_by or 'nobody'}"),
            ("  when", f"{times.short(made.started_at)}, {took:.1f} s, attempt {made.attempt}, draw {made.draw}"),
            (
                "  came to",
                f"HTTP {made.status}, {_ended(made) or 'no answer'}{fault}",
            ),
            ("  tokens", f"{tokens}; cost {_cost(made) or 'unknown'}"),
            ("  checked", "these bytes left, and no others" if made.form == "wire" else "handed to litellm; its own bytes were not seen"),
        ]
    )
    yield ""
    yield f"request  {plural(len(made.request), 'byte')} from {plural(len(made.segments), 'segment')}"
    for first, end, index in made.spans:
        kind, label = _label(made.segments[index] if index != FRAME else ["frame", ""], events)
        yield f"  {_coloured(kind, f'{kind:<8}  {label}{visible(_text(made.request[first:end]))}')}"
    yield ""
    yield f"answer  {plural(len(made.answer), 'byte')}"
    yield f"  {visible(_text(made.answer))}"


def _ended(made: Recording) -> str:
    """Return how an answer ended: in the provider's words, or with what was asked for where it says none."""
    return made.finish_reason or (ENDED.get(made.task, "") if made.fault is None else "")


def _label(segment: list[str], events: Mapping[str, Event]) -> tuple[str, str]:
    kind, name, *_ = segment
    shown = f"seq {events[name].seq} {events[name].source}" if name in events else name[:8] if kind in ("event", "fact") else name
    return kind, f"{visible(shown)}  " if shown else ""


def _coloured(kind: str, line: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return line
    return f"\x1b[{COLOURS[kind]}m{line}\x1b[0m"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


RUNS = {
    "calls list": Command(_configure_list, _list),
    "calls show": Command(_configure_show, _show),
}
