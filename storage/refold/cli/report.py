"""report: how a store is, as a page for people."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Outcome
from refold.cli.proofs import check_new
from refold.cli.visible import from_here


def _configure(command: ArgumentParser) -> None:
    command.add_argument(
        "file", nargs="?", type=Path, default=Path("refold-report.html"), metavar="FILE", help="a new file; refold-report.html by default"
    )
    command.add_argument("--names", action="store_true", help="say also where the store and its copies lie: a path can contain a name")


def _report(given: Namespace) -> Outcome:
    from refold import files

    check_new(given.file)
    with opened(given) as memory:
        page = memory.report(names=given.names).encode()
    files.create(given.file.absolute(), page)
    data = {"path": str(given.file.absolute()), "bytes": len(page), "names": given.names}
    return Outcome({"report": data}, [f"{from_here(given.file.absolute())}: {len(page):,} bytes"], format_version=FORMAT_VERSION)


RUNS = {"report": Command(_configure, _report)}
