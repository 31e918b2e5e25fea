"""What a command says: for people as text, for programs as one JSON object, also when it fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TextIO

from refold.cli.visible import visible
from refold.errors import RefoldError

OUTPUT_SCHEMA_VERSION = 1
ALIKE_MAX = 3  # warnings of one kind that a person is told one by one


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a command noticed: a warning beside its result, or the error that ended it."""

    code: str
    severity: str  # "error" or "warning"; in an audit "blocker", "incomplete", "warning" or "notice"
    message: str
    path: str | None = None
    entry_id: str | None = None
    remediation: str | None = None  # a command to run next
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command returns: data for programs, lines for people, both saying the same."""

    data: Mapping[str, object] = field(default_factory=dict)
    lines: Sequence[str] = ()  # ready to print: what came from outside went through visible()
    findings: Sequence[Finding] = ()
    disclaimers: Sequence[str] = ()
    format_version: int | None = None  # of the store that was opened
    exit_code: int = 0
    exit_class: str = "ok"
    said: bool = False  # already printed: the command went on after it
    sums_up: bool = False  # a person is told the first of many warnings of one kind, and how many there are


def failure(error: RefoldError) -> Outcome:
    """Return the outcome that reports an error."""
    finding = Finding(error.code, "error", error.message, error.path, error.entry_id, error.hint, error.details)
    return Outcome(findings=(finding,), exit_code=error.exit_code, exit_class=error.exit_class)


def as_json(command: str | None, outcome: Outcome) -> str:
    """Return the envelope: one line, ASCII only, so that no terminal and no pipe can trip over it."""
    envelope = {
        "output_schema_version": OUTPUT_SCHEMA_VERSION,
        "command": command,
        "format_version": outcome.format_version,
        "status": "PASS" if outcome.exit_code == 0 else "FAIL",
        "exit_class": outcome.exit_class,
        "data": outcome.data,
        "findings": [_finding(each) for each in outcome.findings],
        "disclaimers": list(outcome.disclaimers),
    }
    return json.dumps(envelope, allow_nan=False)


def _finding(finding: Finding) -> dict[str, object]:
    return {name: getattr(finding, name) for name in Finding.__slots__}


def say(command: str | None, outcome: Outcome, form: str, *, out: TextIO | None = None, err: TextIO | None = None) -> None:
    """Print an outcome: as JSON, all of it to stdout; as text, results to stdout and findings to stderr."""
    out, err = out or sys.stdout, err or sys.stderr
    if form == "json":
        print(as_json(command, outcome), file=out, flush=True)
        return
    for line in outcome.lines:
        print(line, file=out)
    out.flush()
    for finding in summed(outcome.findings) if outcome.sums_up else outcome.findings:
        print("\n".join(finding_lines(finding)), file=err)
    err.flush()


def summed(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings for a person: of many warnings of one kind the first, which says how many there are."""
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.code, finding.severity), []).append(finding)
    told: list[Finding] = []
    for (_, severity), alike in kinds.items():
        if severity != "warning" or len(alike) <= ALIKE_MAX:
            told += alike
        else:
            more = f"{alike[0].message}; and {len(alike) - 1:,} more such warnings, which --format json lists"
            told.append(replace(alike[0], message=more))
    return told


def finding_lines(finding: Finding) -> list[str]:
    """Return a finding for a person: what, where, and what to run next."""
    mark = "refold: " if finding.severity == "error" else f"refold: {finding.severity}: "
    where = " ".join(part for part in (finding.path, finding.entry_id and f"entry {finding.entry_id}") if part)
    details = ", ".join(f"{name} {value}" for name, value in finding.details.items())
    verb = "run" if (finding.remediation or "").startswith("refold ") else "try"
    lines = [mark + finding.message, where and f"    at: {where}", details and f"    with: {details}"]
    return [visible(line) for line in (*lines, finding.remediation and f"    {verb}: {finding.remediation}") if line]
