"""scan: the command that looks for what should be gone, in any folder, also of other programs. It needs no store."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers, files
from refold.cli.command import FORMAT_VERSION, Command
from refold.cli.envelope import Finding, Outcome
from refold.cli.progress import progress
from refold.cli.visible import plural, visible
from refold.errors import Drifted, Usage, VerificationIncomplete

if TYPE_CHECKING:
    from refold.scan.found import Scanned

SHOWN_MAX = 20


def _configure(command: ArgumentParser) -> None:
    command.add_argument("folder", type=Path, metavar="DIR", help="what to look into, with everything below it")
    add_needles(command, required=True)


def add_needles(command: ArgumentParser, *, required: bool = False) -> None:
    """Add what says what to look for, where else, and what has to be found."""
    command.add_argument(
        "--for",
        dest="needles",
        required=required,
        type=_sought,
        metavar="-",
        help="what to look for, one a line: - reads standard input",
    )
    command.add_argument("--extra", type=Path, action="append", default=[], metavar="DIR", help="look into this too; may be repeated")
    command.add_argument(
        "--control", metavar="TEXT", help="something that is there and has to be found; - reads standard input's first line"
    )


def _sought(text: str) -> str:
    """Return what to look for. The name of a file is no needle: that nothing was found of it would say nothing. Raises Usage."""
    if text != "-" and "\n" not in text and files.look(text, follow=True) is not None:
        raise Usage("a file or folder has this name: to look for what its lines say, hand them in with `--for - < FILE`", path=text)
    return text


def _run(given: Namespace) -> Outcome:
    from refold.scan.needles import Needles
    from refold.scan.walk import scan

    needles = Needles.of(lines_of(given.needles), control=given.control)
    with progress() as show:
        found = scan([given.folder, *given.extra], needles, progress=lambda files, size: show(f"read {files:,} files, {size >> 20:,} MB"))
    return outcome(found)


def lines_of(text: str) -> list[str]:
    """Return what to look for, one a line."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def outcome(found: Scanned) -> Outcome:
    """Return what a scan says: it passes where nothing was found, everything could be decoded, and the control was found."""
    findings = list(_findings(found))
    unlike = ((found.short, disclaimers.SHORT), (found.prescribed, disclaimers.PRESCRIBED))
    claimed_not = (disclaimers.SCAN, *(said for count, said in unlike if count))
    said = Outcome(scan_data(found), scan_lines(found), findings, claimed_not, FORMAT_VERSION)
    if found.hits:
        return replace(said, exit_code=Drifted.exit_code, exit_class=Drifted.exit_class)
    if not found.is_clean:
        return replace(said, exit_code=VerificationIncomplete.exit_code, exit_class=VerificationIncomplete.exit_class)
    return said


def scan_data(found: Scanned) -> dict[str, object]:
    """Return what a program is told of a scan."""
    return {
        "files": found.files,
        "bytes": found.bytes,
        "rows": found.rows,
        "needles": found.needles,
        "needles_short": found.short,
        "needles_prescribed": found.prescribed,
        "hits": [{"path": hit.path, "needle": hit.needle, "encoding": hit.encoding, "offset": hit.offset} for hit in found.hits],
        "undecodable": [{"path": path, "reason": reason} for path, reason in found.undecodable],
        "sealed": len(found.sealed),
        "encodings": found.encodings,
        "control": "found" if found.controls else "missing" if found.has_control else "none",
    }


def scan_lines(found: Scanned) -> list[str]:
    """Return what a person reads of a scan."""
    rows = f", {plural(found.rows, 'row')} of the store by their keys" if found.rows else ""
    lines = [f"scan      {plural(len(found.hits), 'trace')} in {plural(found.files, 'file')}, {found.bytes:,} bytes{rows}"]
    control = {True: "missing: finding nothing means nothing", False: "a trace of what is there was found" if found.has_control else "none"}
    lines.append(f"control   {control[found.is_control_missing]}")
    if found.encodings:
        lines.append(f"decoded   {', '.join(found.encodings)}")
    if found.sealed:
        unlike = f"; {found.short:,} of what was looked for {'is' if found.short == 1 else 'are'} too short to be told from chance in it"
        lines.append(f"sealed    {plural(len(found.sealed), 'file')} of Refold's own ciphertext{unlike if found.short else ''}")
    if found.prescribed:
        lines.append(f"aside     {found.prescribed:,} of what was looked for, where forms of Refold's own files prescribe that word")
    return lines


def _findings(found: Scanned) -> Iterator[Finding]:
    for hit in found.hits[:SHOWN_MAX]:
        message = f"what was looked for (line {hit.needle + 1}) is here, as {hit.encoding}"
        yield Finding("RF-SCAN-001", "blocker", message, visible(hit.path), details={"offset": hit.offset, "needle": hit.needle})
    for path, reason in found.undecodable[:SHOWN_MAX]:
        yield Finding("RF-SCAN-002", "incomplete", f"not decoded, so nothing is claimed of it: {reason}", visible(path))
    if found.is_control_missing:
        yield Finding("RF-SCAN-003", "incomplete", "the control was not found, so that finding nothing means nothing")
    more = max(len(found.hits) - SHOWN_MAX, 0) + max(len(found.undecodable) - SHOWN_MAX, 0)
    if more:
        yield Finding("RF-SCAN-004", "notice", f"{more:,} more findings stand in the data")


RUNS = {"scan": Command(_configure, _run)}
