"""erase: the life of a request for erasure, from the day it is received until nothing is left; and holds, which forbid one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers, times
from refold.cli import arguments, decided, model_fold, selectors
from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Finding, Outcome
from refold.cli.planned import plan_data, plan_lines
from refold.cli.progress import progress
from refold.cli.visible import from_here, plural, table, visible
from refold.erase.model import Decision, Mode, Request, Stage
from refold.errors import KeyMissing, Usage
from refold.model import normalise

if TYPE_CHECKING:
    from refold.erase.form import Outline
    from refold.erase.redaction import Shared
    from refold.memory import Memory

DECIDED = (Decision.CONCERNS, Decision.NAMESAKE)


def _date(text: str) -> int:
    return times.parse(text, what="a date")


def _configure_request(command: ArgumentParser) -> None:
    selectors.configure(command)
    command.add_argument("--received", type=_date, metavar="DATE", help="when it was received; now by default")
    command.add_argument("--due", type=_date, metavar="DATE", help="when it is due; 30 days after it was received by default")
    command.add_argument("--keep-ciphertext", action="store_true", help="destroy keys only, for media that only append")
    command.add_argument("--no-suppress", action="store_true", help="let an import bring the person back")
    command.add_argument("--suppress-aliases", action="store_true", help="keep every alias from coming back, not the declared names alone")


def _request(given: Namespace) -> Outcome:
    with opened(given) as memory:
        selector = selectors.selector(given)
        made = memory.erase_request(
            selector,
            received=given.received,
            due=given.due,
            mode=Mode.KEEP_CIPHERTEXT if given.keep_ciphertext else None,
            suppresses=not given.no_suppress,
            suppresses_aliases=given.suppress_aliases,
        )
        known = {normalise(alias) for entries in memory.subjects().values() for entry in entries for _, alias in entry.aliases}
    unknown = [alias for _, alias in selector.aliases if normalise(alias) not in known]
    message = f"nobody is known by {len(unknown)} of the names that were given: only mentions can be found by them"
    findings = [Finding("RF-UNKNOWN-001", "warning", message, remediation="refold subject find ALIAS")] if unknown else []
    lines = [
        f"request {made.request_id.hex()}",
        f"due     {times.day(made.due)}",
        "",
        f"next    refold erase find {_short(made.request_id)}",
    ]
    return Outcome(_data(made) | {"unknown": len(unknown)}, lines, findings, format_version=FORMAT_VERSION)


def _configure_one(command: ArgumentParser) -> None:
    command.add_argument("request", metavar="ID", help="the request, or how its id begins")


def _find(given: Namespace) -> Outcome:
    with opened(given) as memory, progress() as show:
        request_id = _chosen(memory, given)
        made = memory.erase_find(request_id, progress=lambda done, whole: show(f"read {done:,} of {whole:,} entries"))
    return Outcome(_data(made), _found_lines(made), disclaimers=(disclaimers.FOUND,), format_version=FORMAT_VERSION)


def _found_lines(made: Request) -> list[str]:
    found = made.found
    assert found is not None
    undecided = sum(one.decision is Decision.UNDECIDED for one in found.candidates)
    rows = [
        ("declared", plural(found.declared, "event")),
        ("selected", plural(len(found.events), "event")),
        ("mentions", f"{len(found.candidates)}, {undecided} of them undecided"),
    ]
    if found.alike:
        rows.append(
            ("alike", f"{plural(len(found.alike), 'other person', 'other people')} may be the same: refold subject show, subject alias")
        )
    if found.unread:
        rows.append(("unread", f"{plural(found.unread, 'entry', 'entries')} that nobody can open"))
    step = "review" if undecided else "plan"
    return [*table(rows), "", f"next      refold erase {step} {_short(made.request_id)}"]


def _configure_review(command: ArgumentParser) -> None:
    _configure_one(command)
    command.add_argument(
        "--decide", type=Path, metavar="FILE", help="decisions, a line each: 12:0-9,concerns (or JSON); `-` reads standard input"
    )
    command.add_argument("--all", type=arguments.one_of(*DECIDED), metavar="|".join(DECIDED), help="decide all that is undecided so")
    command.add_argument("--variant", metavar="NAME", help="with --all: only mentions recognised so: 'first name'")
    arguments.add_limit(command, 50)


def _review(given: Namespace) -> Outcome:
    if given.variant is not None and not given.all:
        raise Usage("--variant goes with --all", hint="refold help erase review")
    said = decided.read(selectors.text_of(given.decide)) if given.decide else decided.Decided({}, {})
    decisions = dict(said.mentions)
    with opened(given) as memory:
        request_id = _chosen(memory, given)
        request = memory.erase_show(request_id)
        if request.found is None:
            raise Usage("nothing was searched for yet", hint=f"refold erase find {_short(request_id)}")
        if given.all:
            decisions |= _decided_alike(request, Decision(given.all), given.variant)
        if decisions:
            request = memory.erase_decide(request_id, decisions)
        if said.versions:
            request = memory.erase_keep(request_id, said.versions)
        shown, shared = _shown(memory, request, given.limit), memory.erase_shared(request_id)
    return _reviewed(request, shown, shared, given.limit)


def _decided_alike(request: Request, decision: Decision, variant: str | None) -> dict[tuple[int, int, int], Decision]:
    """Return one decision about all that is undecided, or about what was recognised in one way. Raises Usage where nothing was."""
    assert request.found is not None
    candidates = request.found.candidates
    if variant is not None and variant not in {one.variant for one in candidates}:
        raise Usage("no mention of this request was recognised so", hint=f"refold erase review {_short(request.request_id)}")
    undecided = [one for one in candidates if one.decision is Decision.UNDECIDED]
    return {(one.seq, *one.span): decision for one in undecided if variant in (None, one.variant)}


def _reviewed(request: Request, shown: list[dict[str, object]], shared: list[Shared], limit: int | None) -> Outcome:
    assert request.found is not None
    undecided = sum(one.decision is Decision.UNDECIDED for one in request.found.candidates)
    rows = [(one["id"], one["decision"], one["variant"], visible(str(one["sentence"]))) for one in shown]
    lines = table([tuple(map(str, row)) for row in rows], head=("mention", "decision", "recognised by", "sentence")) if rows else []
    lines += decided.shared_lines(shared, limit)
    tally = f"{plural(len(request.found.candidates), 'mention')}, {undecided} undecided"
    tally += f"; {plural(len(shared), 'event')} of others, {len(request.kept)} kept redacted" if shared else ""
    lines += ["", tally]
    short = _short(request.request_id)
    lines += [f"next: refold erase plan {short}"] if not undecided else []
    lines += [f"next: refold erase review {short} --decide FILE, or --all concerns where each is meant"] if undecided else []
    data = {"request_id": request.request_id.hex(), "candidates": shown, "total": len(request.found.candidates), "undecided": undecided}
    data |= {"shared": decided.shared_data(shared, limit), "shared_total": len(shared), "kept": len(request.kept)}
    return Outcome(data, lines, disclaimers=(disclaimers.FOUND,), format_version=FORMAT_VERSION)


def _shown(memory: Memory, request: Request, limit: int | None) -> list[dict[str, object]]:
    """Return mentions in their sentences, undecided ones first."""
    from refold.erase.find import candidate_id
    from refold.state.telling import around

    assert request.found is not None
    ordered = sorted(request.found.candidates, key=lambda one: one.decision is not Decision.UNDECIDED)
    shown: list[dict[str, object]] = []
    for one in ordered[:limit]:
        event, (start, end) = memory.store.log.event(one.seq), one.span
        first, last = around(event.text, start, end)
        sentence = f"{event.text[first:start]}[{event.text[start:end]}]{event.text[end:last]}" if end else event.text[:200]
        words = " ".join(sentence.split())
        shown.append(
            {
                "id": candidate_id(one),
                "event_id": one.event_id.hex(),
                "seq": one.seq,
                "span": list(one.span),
                "variant": one.variant,
                "decision": str(one.decision),
                "source": str(event.source),
                "said_at": times.iso(event.said_at),
                "sentence": words,
            }
        )
    return shown


def _plan(given: Namespace) -> Outcome:
    with opened(given) as memory:
        request_id = _chosen(memory, given)
        made = memory.erase_plan(request_id)
        names = {one: entries[0].aliases[0][1] for entries in memory.subjects().values() for one in {each.subject for each in entries}}
        is_approved = memory.erase_show(request_id).stage is Stage.APPROVED
    short = _short(request_id)
    step = f"refold erase run {short} --confirm {short}" if is_approved else f"refold erase approve {short}"
    findings = []
    if made.holds:
        message = f"a hold stands against this erasure: {sum(one.events for one in made.holds)} of its events have to be kept"
        findings.append(Finding("RF-HOLD-001", "warning", message, remediation="refold erase status"))
    if made.undecided:
        message = f"{plural(made.undecided, 'mention')} undecided: nothing is erased before somebody has decided"
        findings.append(Finding("RF-UNDECIDED-001", "warning", message, remediation=f"refold erase review {_short(request_id)}"))
    lines = [*plan_lines(made, names), "", f"next: {step}"]
    return Outcome(plan_data(made), lines, findings, (disclaimers.ERASURE, disclaimers.FOUND), FORMAT_VERSION)


def _approve(given: Namespace) -> Outcome:
    with opened(given) as memory:
        made = memory.erase_approve(_chosen(memory, given))
    done = made.stage is Stage.APPROVED
    short = _short(made.request_id)
    step = f"next: refold erase run {short} --confirm {short}" if done else "another person has to approve it too"
    return Outcome(_data(made), [f"approved by {plural(len(made.approved_by), 'person', 'people')}", step], format_version=FORMAT_VERSION)


def _configure_run(command: ArgumentParser) -> None:
    _configure_one(command)
    command.add_argument("--confirm", metavar="ID", help="the id again: from here there is no way back")
    model_fold.configure_model(command)


def _run(given: Namespace) -> Outcome:
    from refold.erase.prove import path_of
    from refold.extractors import Choice

    with opened(given) as memory, progress() as show:
        request_id = _chosen(memory, given)
        _require_startable(memory, request_id)
        if given.confirm is None or len(given.confirm) < 8 or not request_id.hex().startswith(given.confirm.lower()):
            hint = f"refold erase run {_short(request_id)} --confirm {_short(request_id)}"
            raise Usage("an erasure is run with the id of its request as --confirm: there is no way back", hint=hint)
        by = Choice.of(given.recipe, model=given.model, api_base=given.api_base)
        done = memory.erase_run(request_id, by=by, progress=lambda read, whole: show(f"read {read:,} of {whole:,} entries"))
        stage = next(one.stage for one in memory.erase_requests() if one.request_id == request_id)
        path, custody = path_of(memory.store, request_id), memory.store.vault.roots.custody
    rows = [
        ("events", f"{done.events:,} dark, {done.shared_events:,} of them shared"),
        *([("kept", f"{plural(done.kept, 'redacted version')} for others")] if done.kept else []),
        ("calls", f"{done.calls:,} dark, {done.calls_replayed:,} replayed, {done.calls_made:,} made again"),
        ("epoch", f"{done.epoch_before} destroyed, {done.epoch_after} live"),
        *([] if done.readers_drained else [("readers", "a query of before had not ended when its files went: it may still show them")]),
    ]
    rows += [("state", str(stage)), ("paper", from_here(path)), ("next", _after(stage, request_id))]
    data = {name: getattr(done, name) for name in type(done).__slots__}
    data |= {"request_id": request_id.hex(), "stage": str(stage), "path": str(path)}
    return Outcome(data, table(rows), disclaimers=(disclaimers.ERASURE, disclaimers.OF_ROOT[custody]), format_version=FORMAT_VERSION)


def _require_startable(memory: Memory, request_id: bytes) -> None:
    """Say what is missing before it can be run; to ask for the id again would sound as if nothing were. Raises Usage, Blocked."""
    from refold.erase import requests

    if request_id not in memory.erase_waiting():
        requests.start(memory.erase_show(request_id))


def _after(stage: Stage, request_id: bytes) -> str:
    """Return what to run when an erasure was carried out: the paper says what is excepted from it, and can be handed on."""
    read = f"refold erase certificate {_short(request_id)}"
    return f"{read} --html FILE" if stage is Stage.CERTIFIED else f"{read}, which says why it is not certified without exception"


def _configure_status(command: ArgumentParser) -> None:
    command.add_argument("request", nargs="?", metavar="ID", help="one request; all by default")


def _status(given: Namespace) -> Outcome:
    with opened(given) as memory:
        if given.request:
            return _one_status(memory, _chosen(memory, given))
        found, now = memory.erase_requests(), memory._now()
        steps = [_certifying(one) for one in memory.erase_waiting()]
    rows = [(_short(one.request_id), str(one.stage), _due(one, now), times.day(one.received)) for one in found]
    lines = table(rows, head=("request", "stage", "due", "received")) if rows else []
    data = {"requests": [_outline(one) for one in found], "total": len(found)}
    return Outcome(data, [*lines, *([""] if rows else []), plural(len(found), "request"), *steps], format_version=FORMAT_VERSION)


def _certifying(request_id: bytes) -> str:
    short = _short(request_id)
    return f"{short} is erased and not certified: refold erase run {short} --confirm {short}"


def _one_status(memory: Memory, request_id: bytes) -> Outcome:
    outline = next(one for one in memory.erase_requests() if one.request_id == request_id)
    rows = [(times.short(at), str(stage)) for stage, at in outline.history]
    try:
        request = memory.erase_show(request_id)
    except KeyMissing:
        lines = [*table(rows), "", "what it was about is dark, as it was meant to be"]
        if request_id in memory.erase_waiting():
            lines.append(_certifying(request_id))
        elif outline.stage is Stage.RUNNING:
            lines.append("the run was interrupted after that: refold recover")
        return Outcome(_outline(outline), lines, format_version=FORMAT_VERSION)
    lines = [*table(rows), "", f"due {times.day(request.due)}", *([visible(request.reason)] if request.reason else [])]
    return Outcome(_data(request), lines, format_version=FORMAT_VERSION)


def _due(one: Outline, now: int) -> str:
    from refold.erase.requests import BEFORE_RUN

    if one.stage not in BEFORE_RUN:
        return ""
    return f"{times.day(one.due)} (overdue)" if one.due < now else times.day(one.due)


def _configure_refuse(command: ArgumentParser) -> None:
    _configure_one(command)
    command.add_argument("--reason", required=True, metavar="TEXT", help="why; `-` reads standard input")


def _refuse(given: Namespace) -> Outcome:
    with opened(given) as memory:
        made = memory.erase_refuse(_chosen(memory, given), given.reason)
    return Outcome(_data(made), [f"request {_short(made.request_id)} is refused"], format_version=FORMAT_VERSION)


def _configure_hold(command: ArgumentParser) -> None:
    selectors.configure(command)
    command.add_argument("--reason", required=True, metavar="TEXT", help="who asks for it and why; `-` reads standard input")


def _hold(given: Namespace) -> Outcome:
    with opened(given) as memory:
        made = memory.erase_hold(selectors.selector(given), given.reason)
    return Outcome(_data(made), [f"hold {made.request_id.hex()}"], disclaimers=(disclaimers.HELD,), format_version=FORMAT_VERSION)


def _release(given: Namespace) -> Outcome:
    with opened(given) as memory:
        made = memory.erase_release(_chosen(memory, given))
    return Outcome(_data(made), [f"hold {_short(made.request_id)} is released"], format_version=FORMAT_VERSION)


def _nothing(command: ArgumentParser) -> None:
    """Take no arguments of its own."""


def _retained(given: Namespace) -> Outcome:
    with opened(given) as memory:
        made = memory.erase_due()
    lines = [f"request {one.request_id.hex()}  {one.selector.before_kind}" for one in made]
    data = {"requests": [_data(one) for one in made], "total": len(made)}
    return Outcome(data, [*lines, plural(len(made), "request")], format_version=FORMAT_VERSION)


def _chosen(memory: Memory, given: Namespace) -> bytes:
    from refold.erase.requests import chosen

    memory._operator_only()
    return chosen(memory.store, given.request)


def _short(request_id: bytes) -> str:
    return request_id.hex()[:8]


def _outline(one: Outline | Request) -> dict[str, object]:
    history = [{"stage": str(stage), "at": times.iso(at)} for stage, at in one.history]
    dates = {"received": times.iso(one.received), "due": times.iso(one.due)}
    return {"request_id": one.request_id.hex(), "stage": str(one.stage), **dates, "history": history}


def _data(made: Request) -> dict[str, object]:
    found = made.found
    counts = found and {
        "declared": found.declared,
        "selected": len(found.events),
        "candidates": len(found.candidates),
        "undecided": sum(one.decision is Decision.UNDECIDED for one in found.candidates),
        "alike": sorted(one.hex() for one in found.alike),
        "unread": found.unread,
        "size": found.size,
    }
    return _outline(made) | {"mode": str(made.mode), "approvals": len(made.approved_by), "reason": made.reason, "found": counts}


RUNS = {
    "erase request": Command(_configure_request, _request),
    "erase find": Command(_configure_one, _find),
    "erase review": Command(_configure_review, _review),
    "erase plan": Command(_configure_one, _plan),
    "erase approve": Command(_configure_one, _approve),
    "erase run": Command(_configure_run, _run),
    "erase status": Command(_configure_status, _status),
    "erase refuse": Command(_configure_refuse, _refuse),
    "erase hold": Command(_configure_hold, _hold),
    "erase release": Command(_configure_one, _release),
    "erase due": Command(_nothing, _retained),
}
