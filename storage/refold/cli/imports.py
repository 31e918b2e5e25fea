"""import: chats and documents become events."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, cautions, opened
from refold.cli.envelope import Finding, Outcome
from refold.cli.progress import progress
from refold.cli.visible import plural
from refold.model import normalise

if TYPE_CHECKING:
    from refold.imports.driver import ImportReport, Progress
    from refold.memory import Memory


UNDATED = "RF-IMPORT-003"  # nobody says when some events were said
STRANGERS = "RF-IMPORT-004"  # an author may be the user, under another name
ATTACHED = "RF-IMPORT-005"  # files that came with what was read are not read
DIFFERING = "RF-IMPORT-002"  # an event was there already, for others or about fewer people


def _configure(command: ArgumentParser) -> None:
    from refold.imports.recognise import NAMES

    command.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, and folders of them")
    formats = f"the format, recognised by default: {', '.join(NAMES)}"
    command.add_argument("--reader", default="auto", metavar="auto|NAME", help=formats)
    command.add_argument("--mapping", type=Path, metavar="FILE", help="how to read JSON lines of another form (`refold help mapping`)")
    arguments.add_scope(command)
    command.add_argument("--author", metavar="NAME", help="who speaks where the file names nobody")
    command.add_argument("--said-at", type=arguments.said_at, metavar="TIME", help="when it was said, where the file does not say so")
    command.add_argument(
        "--subject", action="append", default=[], metavar="NAME", help="a further person that all of it concerns; may be repeated"
    )
    command.add_argument("--audience", action="append", default=[], metavar="LABEL", help="who may see it; may be repeated")


def _run(given: Namespace) -> Outcome:
    from refold.imports.reader import Options

    options = Options(given.user, given.agent, given.run_id, given.author, tuple(given.subject), tuple(given.audience), given.said_at)
    with opened(given) as memory, progress() as show:
        report = memory.import_files(
            given.paths, reader=given.reader, mapping=given.mapping, options=options, progress=lambda done: show(_so_far(done))
        )
        findings = [*cautions(memory, **arguments.scope(given)), *_strangers(memory, given.user, report.alike)]
    outcome = imported(report)
    return replace(outcome, findings=[*findings, *outcome.findings])


def _strangers(memory: Memory, user: str, authors: Sequence[str]) -> list[Finding]:
    """Return the warning that authors who are called like the user count as other people. No name of theirs is said."""
    if not authors or memory.is_limited:
        return []
    people = [{normalise(alias) for entry in entries for _, alias in entry.aliases} for entries in memory.subjects().values()]
    strangers = sum(not any({normalise(author), normalise(user)} <= aliases for aliases in people) for author in authors)
    if not strangers:
        return []
    alike = f"{plural(strangers, 'author')} called like the user and another person to this memory"
    what = f"{alike}: if it is the same one, join the two by the user's id, which refold subject list says"
    return [Finding(STRANGERS, "warning", what, remediation="refold subject alias ID AUTHOR")]


def _so_far(done: Progress) -> str:
    return f"{done.files:,} of {plural(done.files_found, 'file')}, {plural(done.events, 'event')}"


def imported(report: ImportReport) -> Outcome:
    """Return what an import did; what it left out is a warning each."""
    data = {
        "ingest": report.ingest.hex(),
        "files": report.files,
        "added": report.added,
        "already": report.already,
        "empty": report.empty,
        "malformed": report.malformed_count,
        "undated": report.undated,
        "sources": list(report.sources),
        "conflicts": list(report.conflicts),
        "suppressed": report.suppressed,
        "attachments": report.attachments,
    }
    known = f", {report.already:,} were there already" if report.already else ""
    left_out = f", {report.malformed_count:,} left out" if report.malformed_count else ""
    erased = f", {report.suppressed:,} left out because what they hold was erased" if report.suppressed else ""
    lines = [f"added {plural(report.added, 'event')} from {plural(report.files, 'file')}{known}{left_out}{erased}"]
    lines += ["next: refold fold, which reads them into facts"] if report.added else []
    findings = [
        Finding(
            "RF-IMPORT-001",
            "warning",
            f"left out: {each.reason}",
            path=each.path or None,
            details={"place": each.place} if each.place else {},
        )
        for each in report.malformed
    ]
    if report.undated:
        undated = f"{plural(report.undated, 'event')} of files that say no time: they count as said now, unless --said-at names a time"
        findings.append(Finding(UNDATED, "warning", undated, remediation="refold help import"))
    if report.attachments:
        kept = f"{plural(report.attachments, 'file')} attached to what was read: what they say is not in memory; import them by themselves"
        findings.append(Finding(ATTACHED, "warning", kept, remediation="refold help import"))
    if report.conflicts:
        conflict = f"{plural(len(report.conflicts), 'source')} had events already, for another audience or fewer people: they stay so"
        findings.append(
            Finding(DIFFERING, "warning", conflict, details={"sources": ", ".join(report.conflicts)}, remediation="refold help import")
        )
    return Outcome(data, lines, findings, format_version=FORMAT_VERSION, sums_up=True)


RUNS = {"import": Command(_configure, _run)}
