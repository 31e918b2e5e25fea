"""audit: the command that looks at a store, says what was found, and writes nothing."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from refold import disclaimers, times
from refold.cli.command import FORMAT_VERSION, Command
from refold.cli.envelope import Finding, Outcome, finding_lines
from refold.cli.progress import Show, progress
from refold.cli.scan import add_needles, lines_of
from refold.cli.scan import outcome as scanned
from refold.cli.trust import places_of
from refold.cli.visible import plural, table, visible
from refold.errors import Blocked, Usage, VerificationIncomplete

if TYPE_CHECKING:
    from refold.erase.model import Footprint
    from refold.recover.audit import Audit, LogOptions
    from refold.recover.closure import Checked
    from refold.recover.findings import Finding as Found
    from refold.recover.listed import Listed
    from refold.store import Places, Store
    from refold.verdict import Damage, Verdict

AREAS = {
    "transactions": "interrupted changes",
    "keys": "vault and root",
    "log": "every file of the log against what was signed",
    "state": "the folded state",
    "closure": "every recorded call: whether it was made of the log's and the recipes' words alone",
}
DAMAGES_SHOWN_MAX = 20
READ = "refold audit --log"


def _configure(command: ArgumentParser) -> None:
    for area, what in AREAS.items():
        command.add_argument(f"--{area}", action="store_true", help=f"look at {what}; without such a flag, at all, but only list the log")
    command.add_argument("--residue", action="store_true", help="instead, look for what should be gone: by --request, or by --for")
    command.add_argument("--request", metavar="ID", help="of an erasure that is not certified yet: look for all that it erased")
    add_needles(command)
    command.add_argument("--deep", action="store_true", help="also recompute every entry of the log, and read every run of the state whole")
    command.add_argument(
        "--from", dest="from_checkpoint", metavar="CHECKPOINT", help="leave out the log below a checkpoint: its size, or its file"
    )


def _residue(given: Namespace) -> Outcome:
    """Look for what should be gone, in the three places and wherever else is named."""
    from refold.erase.footprint import control_of, needles_of
    from refold.erase.residue import residue
    from refold.scan.needles import Needles
    from refold.store import open_store

    if bool(given.needles) == bool(given.request):
        message = "what should be gone is named by --for - (one a line on standard input), or by --request, and by one of them"
        raise Usage(message, hint="refold help scan")
    with open_store(places_of(given)) as store, progress() as show:
        if given.request:
            needles = needles_of(_footprint(store, given.request))
        else:
            needles = Needles.of(lines_of(given.needles), control=given.control or control_of(store))
        found = residue(store, needles, extra=given.extra, progress=lambda files, size: show(f"read {files:,} files, {size >> 20:,} MB"))
    return scanned(found)


def _footprint(store: Store, prefix: str) -> Footprint:
    """Return what an erasure that is not certified yet must have taken away."""
    from refold.erase.conclusion import awaited
    from refold.erase.requests import chosen

    docket = awaited(store, chosen(store, prefix))
    if docket is None:
        message = "what this request erased is not known: it was not carried out yet, or is certified, and then that is gone too"
        raise Usage(message, hint="refold audit --residue --for -")
    return docket.footprint


def _run(given: Namespace) -> Outcome:
    if given.request and not given.residue:
        raise Usage("--request says what --residue looks for", hint="refold audit --help")
    if given.residue:
        return _residue(given)
    if given.needles or given.extra or given.control:
        raise Usage("--for, --extra and --control go with --residue: without it nothing is looked for", hint="refold audit --help")
    from refold.recover.audit import Area, audit

    places = places_of(given)
    areas = [Area(area) for area in AREAS if getattr(given, area)]
    with progress() as show:
        done = audit(places, areas, deep=given.deep, log=_options(places, given, show))
    return _said(done)


def _options(places: Places, given: Namespace, show: Show) -> LogOptions:
    """Return how the log is verified: as the settings say, on all cores, with progress."""
    from refold import settings
    from refold.recover.audit import options

    return replace(
        options(places, settings.load()),
        from_checkpoint=given.from_checkpoint,
        workers=os.cpu_count() or 1,
        progress=lambda done, total: show(f"verifying the log: {done:,} of {total:,} entries"),
    )


def _said(done: Audit) -> Outcome:
    from refold.recover.audit import AUDIT_SCHEMA_VERSION
    from refold.recover.findings import Severity

    found = [_finding(each) for each in done.findings]
    counts = {severity.value: done.count(severity) for severity in Severity}
    lines = [f"looked at {', '.join(done.areas)}: " + _counted(counts)]
    lines += [f"root      kept {'in a token (PKCS #11)' if done.custody == 'pkcs11' else 'as a file'}"] if done.custody else []
    lines += [*(_verdict_lines(done.verdict, done.left_out) if done.verdict else ()), *(_listed_lines(done.listed) if done.listed else ())]
    lines += _checked_lines(done.checked) if done.checked else ()
    data = {
        "audit_schema_version": AUDIT_SCHEMA_VERSION,
        "areas": [area.value for area in done.areas],
        "counts": counts,
        "custody": done.custody,
        **({"verdict": verdict_data(done.verdict), "left_out": list(done.left_out)} if done.verdict else {}),
        **({"listed": _listed_data(done.listed)} if done.listed else {}),
        **({"closure": asdict(done.checked)} if done.checked else {}),
        "text": "\n".join([*lines, *(line for each in found for line in finding_lines(each))]),
    }
    said = Outcome(data, lines, found, (disclaimers.AUDIT,), FORMAT_VERSION)
    for severity, ends in ((Severity.BLOCKER, Blocked), (Severity.INCOMPLETE, VerificationIncomplete)):
        if counts[severity]:
            return replace(said, exit_code=ends.exit_code, exit_class=ends.exit_class)
    return said


def verdict_data(verdict: Verdict) -> dict[str, object]:
    """Return a verdict as programs are told it."""
    return {
        "kind": verdict.kind.value,
        "size": verdict.size,
        "root": verdict.root and verdict.root.hex(),
        "tier": 2 if verdict.is_deep else 1,
        "verified_from": verdict.verified_from,
        "replay_from": verdict.replay_from,
        "replay_until": verdict.replay_until,
        "first_bad": verdict.first_bad,
        "last_good": verdict.last_good,
        "damages": [
            {"first": each.first, "end": each.end, "kind": each.kind.value, "path": each.path, "commit": each.version}
            for each in verdict.damage
        ],
        "completeness": verdict.completeness.value,
        "unasked": [{"name": each.name, "message": each.found} for each in verdict.unasked],
        "directive": verdict.directive.value,
        "reason": verdict.reason,
        "policy": asdict(verdict.policy),
        "digest": verdict.digest.hex(),
        "next": verdict.next,
    }


def _checked_lines(checked: Checked) -> list[str]:
    """Return how many recorded calls were held against the log, and what of them could not be."""
    counts = {"dark": checked.dark, "sent by litellm itself": checked.by_call, "with words of no recipe here": checked.unknown_words}
    left = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return [f"closure   {plural(checked.calls, 'call')} held against the log and the recipes" + (f"; {left}" if left else "")]


def _verdict_lines(verdict: Verdict, left_out: Sequence[str]) -> Iterator[str]:
    """Yield what an operator reads: the verdict, how much it rests on, what it does not, where the damage is, and what to do."""
    what = "every entry recomputed" if verdict.is_deep else "every file compared with what was signed"
    below = f", none below {verdict.verified_from:,} looked at" if verdict.verified_from else ""
    yield f"log       {verdict.kind}, {plural(verdict.size, 'entry', 'entries')}, {what}{below}"
    yield f"          {verdict.directive}: {verdict.reason}"
    yield f"          its end is {verdict.completeness}"
    yield from (visible(f"          not asked: {each.name}: {each.found}") for each in verdict.unasked)
    yield from (f"          not looked at: {each}" for each in left_out)
    if verdict.first_bad is None:
        return
    shown = [_row(each) for each in verdict.damage[:DAMAGES_SHOWN_MAX]]
    yield from table(shown, head=("entries", "what is damaged", "commit", "file"), indent="          ")
    if len(verdict.damage) > len(shown):
        yield f"          and {len(verdict.damage) - len(shown)} more"
    if verdict.replay_from is not None:
        yield f"          what can be replayed: entries {verdict.replay_from:,} up to {verdict.replay_until:,}"
    yield f"          next: {verdict.next}"


def _listed_data(listed: Listed) -> dict[str, object]:
    """Return as programs are told it that the log was not read, and when it was."""
    last = listed.last and {
        "kind": listed.last.kind,
        "size": listed.last.size,
        "tier": 2 if listed.last.is_deep else 1,
        "at": None if listed.last.at is None else times.iso(listed.last.at),
    }
    return {"files": listed.files, "size": listed.size, "last": last, "next": READ}


def _listed_lines(listed: Listed) -> Iterator[str]:
    last = listed.last
    held = f"{plural(listed.files, 'file')} of {plural(listed.size, 'entry', 'entries')}"
    yield f"log       not read, only listed: {held} there, each as long as was signed"
    if last is None:
        yield "          no verdict on it is kept"
    else:
        what = "every entry recomputed" if last.is_deep else "every file compared"
        when = "at a time that was not kept" if last.at is None else times.short(last.at)
        yield f"          last verdict: {last.kind}, {plural(last.size, 'entry', 'entries')}, {what}, {when}"
    yield f"          next: {READ}"


def _row(each: Damage) -> tuple[str, str, str, str]:
    last = f"from {each.first:,}" if each.first == each.end else f"{each.first:,}"
    entries = last if each.end - each.first < 2 else f"{each.first:,} to {each.end - 1:,}"
    return entries, each.kind.value, "-" if each.version is None else str(each.version), visible(each.path)


def _counted(counts: dict[str, int]) -> str:
    said = [plural(count, severity, severity if severity == "incomplete" else None) for severity, count in counts.items() if count]
    return ", ".join(said) or "nothing found"


def _finding(each: Found) -> Finding:
    path = None if each.path is None else str(each.path)
    which = {"transaction_id": each.transaction_id} if each.transaction_id else {}
    details = which | dict(each.details)
    return Finding(each.code.code, each.code.severity.value, each.code.title, path, None, each.remediation, details)


RUNS = {"audit": Command(_configure, _run)}
