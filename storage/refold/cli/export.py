"""export: what is known, in files that other programs read."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers, times
from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, opened, shortfalls
from refold.cli.envelope import Outcome
from refold.cli.register import OWNERS
from refold.cli.visible import from_here, plural, table

if TYPE_CHECKING:
    from refold.export.folder import Exported

FORMS = ("jsonl", "parquet", "graphml")
ROWS = {"facts": ("fact", "facts"), "entities": ("entity", "entities"), "events": ("event", "events")}


def _configure(command: ArgumentParser) -> None:
    command.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder, outside of the memory and its copies")
    command.add_argument(
        "--files",
        action="append",
        type=arguments.one_of(*FORMS),
        metavar="FORM",
        help=f"{', '.join(FORMS)}; jsonl by default; may be given several times",
    )
    command.add_argument("--all", action="store_true", help="also what holds no more, and what never did: denials, plans, hearsay")
    command.add_argument("--events", action="store_true", help="also what was said, word for word")
    arguments.add_scope(command)
    command.add_argument("--for", dest="seen_by", metavar="NAME", help="only what this principal may see")
    group = command.add_argument_group("in the register of copies")
    group.add_argument(
        "--owner",
        type=arguments.one_of(*OWNERS),
        default="operator",
        metavar="WHO",
        help=f"who owes that it goes: {', '.join(OWNERS)}; operator by default",
    )
    group.add_argument("--due", type=_day, metavar="DATE", help="by when it has to be gone")


def _day(text: str) -> str:
    times.parse(text, what="--due")
    return text


def _export(given: Namespace) -> Outcome:
    with opened(given) as memory:
        missing = shortfalls(memory)
        done = memory.export(
            given.folder,
            files=given.files or ("jsonl",),
            **arguments.scope(given),
            seen_by=given.seen_by or given.principal,
            all=given.all,
            events=given.events,
            owner=given.owner,
            due=given.due,
        )
    data = {
        "path": str(done.folder),
        "copy_id": done.copy.copy_id,
        "owner": str(done.copy.owner),
        "due": None if done.copy.due is None else times.iso(done.copy.due),
        "rows": done.rows,
        "files": done.files,
    }
    return Outcome({"export": data}, _lines(done), missing, (disclaimers.ERASURE,), format_version=FORMAT_VERSION)


def _lines(done: Exported) -> list[str]:
    rows = ", ".join(plural(count, *ROWS[name]) for name, count in done.rows.items())
    due = "" if done.copy.due is None else f", due {times.day(done.copy.due)}"
    return [
        f"{rows}: {from_here(done.folder)}",
        *(f"  {line}" for line in table([(name, f"{size:,} bytes") for name, size in done.files.items()])),
        "",
        f"copy {done.copy.copy_id} in the register, owed by the {done.copy.owner}{due}",
        "nothing in it is encrypted, and no erasure reaches it",
        f"once it is gone: refold copies confirm {done.copy.copy_id[:8]} --evidence TEXT",
    ]


RUNS = {"export": Command(_configure, _export)}
