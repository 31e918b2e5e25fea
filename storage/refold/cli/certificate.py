"""erase certificate: what was certified of an erasure, to read, to print and to hand on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Outcome
from refold.cli.proofs import check_new
from refold.cli.visible import visible


def _configure(command: ArgumentParser) -> None:
    command.add_argument("request", metavar="ID", help="the request, or how its id begins")
    command.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page for people to a new file: to print, readable without scripts"
    )
    command.add_argument("--receipt", type=Path, metavar="FILE", help="write the signed certificate to a new file, for `refold verify`")


def _certificate(given: Namespace) -> Outcome:
    from refold import files
    from refold.erase.page import page
    from refold.erase.requests import chosen
    from refold.heads.checkpoint import known_keys
    from refold.receipts.verify import verify

    for path in (given.html, given.receipt):
        check_new(path)
    with opened(given) as memory:
        memory._operator_only()
        raw = memory.erase_certificate(chosen(memory.store, given.request))
        checked = verify(raw, known_keys(memory.store))
    written = [(given.html, page(raw, checked.body).encode()), (given.receipt, raw)]
    for path, data in written:
        if path is not None:
            files.create(path.absolute(), data)
    files_made = [visible(f"written: {path}") for path, _ in written if path is not None]
    verdict = [line for at, line in enumerate(checked.lines) if at == 0 or line.startswith("because ")]
    lines = [*verdict, *files_made] if files_made else checked.lines
    data = {"certificate": dict(checked.body)}
    return Outcome(data, lines, disclaimers=tuple(checked.body["disclaimers"]), format_version=FORMAT_VERSION)


RUNS = {"erase certificate": Command(_configure, _certificate)}
