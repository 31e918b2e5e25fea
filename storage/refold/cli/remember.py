"""init, add, fold, status: the commands that make a memory, fill it, fold it, and say how it is."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers, times
from refold.cli import arguments, model_fold, shown, supposed, vector_fold
from refold.cli.command import FORMAT_VERSION, Command, behind, cautions, cut, incomplete_since, opened
from refold.cli.envelope import Finding, Outcome
from refold.cli.progress import progress
from refold.cli.visible import from_here, money, plural, table
from refold.closed.closure import Level
from refold.model import WITHHELD, Role
from refold.reading import Standing

if TYPE_CHECKING:
    from refold.calls.totals import Totals
    from refold.folding import FoldPlan, FoldReport
    from refold.ingest import Added
    from refold.memory import Memory
    from refold.status import Status
    from refold.store import Places


def _configure_init(command: ArgumentParser) -> None:
    what = "what keeps the root for good: file, or pkcs11 for a key in a hardware token; file by default (`refold help keys`)"
    command.add_argument("--custody", type=arguments.one_of(*disclaimers.OF_ROOT), metavar="file|pkcs11", help=what)


def _init(given: Namespace) -> Outcome:
    from refold.memory import Memory

    with Memory.create(given.store, vault=given.vault, root=given.root, custody=given.custody) as memory:
        places, origin, custody = memory.places, memory.store.origin, memory.store.vault.roots.custody
    data = {"origin": origin, "places": _places(places), "custody": custody}
    meaning = (
        ("store", from_here(places.store), "log and state, sealed: copy it, back it up"),
        ("vault", from_here(places.vault), "its keys, wrapped: back it up, but never with the store"),
        ("root", _root(places, custody), "opens the vault: in no backup of it; lost is lost"),
    )
    lines = table([row for name, path, what in meaning for row in ((name, path), ("", what))])
    lines += ["", "next   refold import FILES --user YOU, then refold fold"]
    return Outcome(data, lines, disclaimers=(disclaimers.OF_ROOT[custody],), format_version=FORMAT_VERSION)


def _root(places: Places, custody: str) -> str:
    """Return where the root is, as a person is told."""
    return "in a token (PKCS #11)" if custody == "pkcs11" else from_here(places.root)


def _places(places: Places) -> dict[str, str]:
    return {"store": str(places.store), "vault": str(places.vault), "root": str(places.root)}


def _metadata(text: str) -> dict[str, object]:
    try:
        read = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise ArgumentTypeError("expected a JSON object") from None
    if not isinstance(read, dict):
        raise ArgumentTypeError("expected a JSON object")
    return read


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of pairs, of which no two have one name: one of them would be lost without a word."""
    if len(dict(pairs)) < len(pairs):
        raise ArgumentTypeError("expected a JSON object in which each name stands once")
    return dict(pairs)


def _configure_add(command: ArgumentParser) -> None:
    command.add_argument("text", metavar="TEXT", help="what was said; `-` reads standard input")
    arguments.add_scope(command)
    command.add_argument("--author", metavar="NAME", help="who said it; the user by default")
    command.add_argument("--role", type=arguments.one_of(*Role), default="user", metavar="|".join(Role), help="user by default")
    command.add_argument("--said-at", type=arguments.said_at, metavar="TIME", help="when it was said; now by default")
    command.add_argument("--source", metavar="KIND:REF#PART", help="where it was said (`refold help source`)")
    command.add_argument("--subject", action="append", default=[], metavar="NAME", help="a further person it concerns; may be repeated")
    command.add_argument("--audience", action="append", default=[], metavar="LABEL", help="who may see it; may be repeated")
    command.add_argument("--metadata", type=_metadata, metavar="JSON", help="an object that is kept with it, sealed")
    command.add_argument("--corrects", metavar="FACT", help="the id of a fact that this puts right (`refold facts --format json`)")
    command.add_argument("--key", metavar="KEY", help="idempotency key: the same key again in this scope adds nothing")


def _add(given: Namespace) -> Outcome:
    with opened(given) as memory:
        added = memory.add(
            given.text,
            **arguments.scope(given),
            author=given.author,
            source=given.source,
            said_at=None if given.said_at is None else times.iso(given.said_at),
            role=given.role,
            subjects=given.subject,
            audience=given.audience,
            metadata=given.metadata,
            key=given.key,
            corrects=given.corrects,
        )
        findings = cautions(memory, **arguments.scope(given)) if given.corrects is None else _unread(memory, added, given)
    data = {"event_id": added.event_id.hex(), "seq": shown.number(added.seq), "new": added.new}
    lines = [
        f"event {added.event_id.hex()}"
        + ("" if added.seq == WITHHELD else f"  seq {added.seq}")
        + ("" if added.new else "  (was there already)")
    ]
    return Outcome(data, lines, findings, format_version=FORMAT_VERSION)


def _unread(memory: Memory, added: Added, given: Namespace) -> list[Finding]:
    """Return a warning where a correction says nothing that is read as a statement of what it corrects."""
    if memory.is_limited:  # what reads an event is the operator's to know
        return []
    relation = memory.why(given.corrects, **arguments.scope(given)).fact.relation
    if memory.store.log.event(added.seq).asserts and memory.reads_as(added, relation):
        return []
    message = "this is kept as a correction, and the patterns read no statement of that relation in it: the fact stays until one is said"
    return [Finding("RF-CORRECTS-001", "warning", message, remediation="refold help relations")]


def _configure_fold(command: ArgumentParser) -> None:
    command.add_argument("--plan", action="store_true", help="say what would be done, and do nothing")
    command.add_argument("--full", action="store_true", help="fold the whole log anew, not only what is new")
    command.add_argument(
        "--require-closure",
        type=arguments.one_of(*Level),
        metavar="LEVEL",
        help="read events in a closed process: tripwire or kernel (`refold help closure`)",
    )
    what = "fold the log again in another process, and write a signed receipt that the state is the same to a new file"
    command.add_argument("--receipt", type=Path, metavar="FILE", help=what)
    model_fold.configure(command)
    supposed.configure(command)


def _fold(given: Namespace) -> Outcome:
    if given.without:
        return supposed.run(given)
    supposed.require_unselected(given)
    return _folding(given)


def _folding(given: Namespace) -> Outcome:
    from refold.cli.proofs import check_new, write_receipt
    from refold.receipts import replay
    from refold.receipts.refolded import refolded

    check_new(given.receipt)
    full, by = given.full or given.fresh, model_fold.choice(given)
    with opened(given) as memory:
        if given.plan:
            return _planned(memory.fold_plan(full=full, by=by))
        with progress() as show:
            report = memory.fold(
                full=full,
                by=by,
                require_closure=given.require_closure,
                progress=lambda done, whole: show(f"folded {done:,} of {whole:,} entries"),
            )
            if given.receipt:
                show("folding the log again in another process")
                write_receipt(given.receipt, replay.KIND, refolded(memory.store, by.said), memory.store)
    return _folded(report)


def _plan(plan: FoldPlan) -> dict[str, object]:
    return {
        "first": plan.first,
        "end": plan.end,
        "entries": plan.entries,
        "batches": len(plan.batches),
        "reason": plan.reason.value,
        "full": plan.full,
        **model_fold.plan_data(plan),
        **vector_fold.plan_data(plan),
    }


def _planned(plan: FoldPlan) -> Outcome:
    lines = [
        f"would fold {plural(plan.entries, 'entry', 'entries')} in {plural(len(plan.batches), 'batch', 'batches')}: {plan.reason.value}"
    ]
    lines += [*model_fold.plan_lines(plan), *vector_fold.plan_lines(plan)]
    return Outcome({"plan": _plan(plan)}, lines, format_version=FORMAT_VERSION)


def _folded(report: FoldReport) -> Outcome:
    data: dict[str, object] = {"generation": report.generation, "size": report.size, "plan": _plan(report.plan), **report.counts}
    head = report.checkpoint
    data["head"] = head and {"size": head.head.size, "root": head.head.root.hex(), "stands_on": head.stands_on, "taken": head.taken}
    data["closure_level"] = report.closure_level.value
    added = f"{plural(report.assertions, 'assertion')}, {plural(report.edges, 'alias', 'aliases')}"
    events = f"{report.events:,} of them {'an event' if report.events == 1 else 'events'}"
    lines = [
        f"folded     {plural(report.plan.entries, 'entry', 'entries')}, {events} ({report.plan.reason.value})",
        f"gave       {added}, {report.rejected:,} rejected",
        f"state      generation {report.generation}, {plural(report.size, 'entry', 'entries')} of the log",
    ]
    if report.closure_level is not Level.DECLARED:
        lines.append(f"closure    {report.closure_level}")
    data |= vector_fold.told_data(report)
    lines += vector_fold.told_lines(report)
    return model_fold.told(report, Outcome(data, lines, format_version=FORMAT_VERSION))


def _status(given: Namespace) -> Outcome:
    with opened(given) as memory:
        status = memory.status()
    return Outcome(_status_data(status), status_lines(status), _status_findings(status), (disclaimers.UNWITNESSED,), FORMAT_VERSION)


def _status_findings(status: Status) -> list[Finding]:
    """Return what a person should see to; `refold audit` says more about it."""
    found = []
    if status.unfinished:
        what = f"{plural(status.unfinished, 'transaction')} unfinished: nothing is changed until a person decides"
        found.append(Finding("RF-STATUS-001", "warning", what, remediation="refold recover"))
    if status.finding:
        found.append(Finding("RF-STATUS-002", "warning", status.finding, remediation="refold audit --state"))
    if status.blocked:
        found.append(Finding("RF-STATUS-004", "warning", status.blocked, remediation="refold recover --log"))
    found += [*incomplete_since(status.incomplete_since), *cut(status.lost), *behind(status.behind)]
    if status.pending:
        what = f"{plural(status.pending, 'event')} pending: a model did not answer about them; the next fold asks again"
        found.append(Finding("RF-STATUS-003", "warning", what, remediation="refold fold"))
    if waiting := status.profiles.get("pending"):
        what = f"{plural(waiting, 'profile')} pending: a model did not answer about them; the next fold asks again"
        found.append(Finding("RF-STATUS-005", "warning", what, remediation="refold fold"))
    return found


def _status_data(status: Status) -> dict[str, object]:
    return {
        "origin": status.origin,
        "places": _places(status.places),
        "epoch": status.epoch,
        "custody": status.custody,
        "fenced": status.fenced,
        "log": {
            "entries": status.entries,
            "commits": status.commits,
            "parts": status.parts,
            "bytes": status.log_bytes,
            "recorded_until": None if status.recorded_until is None else times.iso(status.recorded_until),
        },
        "state": {
            "generation": status.generation,
            "absent": status.absent,
            "folded": status.folded,
            "unfolded": status.unfolded,
            "pending": status.pending,
        },
        "events": status.events,
        "sources": status.sources,
        "subjects": status.subjects,
        "named": status.named,
        "assertions": status.assertions,
        "facts": status.standings,
        "edges": status.edges,
        "rejections": status.rejections,
        "profiles": status.profiles,
        "vectors": status.vectors,
        "rerank": status.rerank,
        "calls": {
            "total": status.calls.calls,
            "failed": status.calls.failed,
            "prompt_tokens": status.calls.prompt_tokens,
            "completion_tokens": status.calls.completion_tokens,
            "uncounted": status.calls.uncounted,
            "cost_nanos": dict(status.calls.cost),
        },
        "unfinished": status.unfinished,
        "incomplete_since": status.incomplete_since,
    }


def facts_line(status: Status) -> str:
    """Return how many facts hold, and how many held before."""
    if status.standings is None:
        return "too many to count every morning: refold sql 'select standing, count(*) from facts group by standing'"
    held = sum(status.standings.get(standing, 0) for standing in (Standing.SUPERSEDED, Standing.DENIED, Standing.ENDED))
    holding = status.standings.get(Standing.HOLDS, 0)
    return f"{plural(holding, 'fact')} {'holds' if holding == 1 else 'hold'}, {held:,} held before"


def status_lines(status: Status) -> list[str]:
    """Return the status as a screen that a person reads every morning."""
    until = "" if status.recorded_until is None else f", until {times.short(status.recorded_until)}"
    size = f"{status.log_bytes / (1 << 20):,.1f} MiB" if status.log_bytes >= 1 << 20 else f"{status.log_bytes / 1024:,.1f} KiB"
    log = (
        f"{plural(status.entries, 'entry', 'entries')} in {plural(status.commits, 'commit')}, {plural(status.parts, 'part')}, {size}{until}"
    )
    held = f"{plural(status.events, 'event')}, {plural(status.sources, 'source')}, {plural(status.subjects, 'subject')}"
    held += f", {status.named:,} named without one" if status.named else ""
    state = status.absent or f"generation {status.generation}: {held}"
    rejected = ", ".join(f"{count:,} {code}" for code, count in status.rejections.items()) or "none"
    rows = [
        ("log", log),
        ("state", state),
        ("to fold", f"{plural(status.unfolded, 'entry', 'entries')}" if status.unfolded else "nothing"),
        *([("pending", plural(status.pending, "event"))] if status.pending else []),
        ("facts", facts_line(status)),
        ("said", f"{plural(status.assertions, 'assertion')}, {plural(status.edges, 'alias', 'aliases')}; rejected: {rejected}"),
        *([("profiles", _profiles(status.profiles))] if status.profiles else []),
        *([("vectors", f"{status.vectors}: the words of events and queries are sent there")] if status.vectors else []),
        *([("rerank", f"{status.rerank}: the words of queries and of what they find are sent there")] if status.rerank else []),
        *([("calls", _calls(status.calls))] if status.calls.calls else []),
        ("keys", f"epoch {status.epoch}" + (", fenced: an erasure is under way" if status.fenced else "")),
        ("store", from_here(status.places.store)),
        ("vault", from_here(status.places.vault)),
        ("root", _root(status.places, status.custody)),
    ]
    return table(rows)


def _profiles(fates: Mapping[str, int]) -> str:
    """Return how many sentences models wrote that stand, and what became of the others."""
    dropped = ", ".join(f"{count:,} {why}" for why, count in fates.items() if why not in ("stands", "pending"))
    waiting = f"; {plural(fates['pending'], 'profile')} pending" if "pending" in fates else ""
    return f"{plural(fates.get('stands', 0), 'sentence')}; dropped: {dropped or 'none'}{waiting}"


def _calls(totals: Totals) -> str:
    """Return what models were asked so far, and what it cost."""
    failed = f", {totals.failed:,} without an answer" if totals.failed else ""
    tokens = f"{totals.prompt_tokens:,} tokens read, {totals.completion_tokens:,} written"
    return ", ".join([f"{plural(totals.calls, 'call')}{failed}", tokens, *(money(cost, of) for of, cost in sorted(totals.cost.items()))])


RUNS = {
    "init": Command(_configure_init, _init),
    "add": Command(_configure_add, _add),
    "fold": Command(_configure_fold, _fold),
    "status": Command(lambda command: None, _status),
}
