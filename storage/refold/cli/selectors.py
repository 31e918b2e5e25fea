"""Selectors: what an erasure, a hold or a report is about. Nothing personal has to stand on a command line: `-` reads standard input."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from refold import canonical, times
from refold import given as given_as
from refold.cli import arguments
from refold.erase.model import Selector
from refold.errors import Usage
from refold.model import AliasKind, EventId, Source, SubjectId

FILE_BYTES_MAX = 1 << 20


def configure(command: ArgumentParser) -> None:
    """Add the flags that select."""
    group = command.add_argument_group("what is meant; several may be given")
    group.add_argument("--subject", action="append", default=[], metavar="ID", help="a person, by their id (`refold subject find`)")
    group.add_argument("--user", metavar="ID", help="a person, by their user id or author's name; `-` reads a line")
    group.add_argument("--aliases", type=Path, metavar="FILE", help="a person's aliases, one a line; `-` reads standard input")
    group.add_argument("--source", action="append", default=[], metavar="KIND:REF", help="what was said there; with #PART, only that part")
    group.add_argument("--event", action="append", default=[], metavar="ID", help="one event")
    group.add_argument("--ingest", action="append", default=[], metavar="ID", help="what one import brought in")
    group.add_argument("--before", type=_time, metavar="TIME", help="what was said before")
    group.add_argument("--kind", metavar="KIND", help="with --before: of this kind of source only")


def _time(text: str) -> int:
    return times.parse(text, what="--before")


def selector(given: Namespace) -> Selector:
    """Return what a command line selects. Raises Usage."""
    given_as.check_said({"user": given.user})
    aliases = [(AliasKind.HANDLE, given.user)] if given.user else []
    if given.aliases:
        aliases += aliases_of(lines_of(given.aliases))
    if given.kind and given.before is None:
        raise Usage("--kind goes with --before", hint="refold help requests")
    return Selector(
        tuple(SubjectId(_id(one, "subject")) for one in given.subject),
        tuple(aliases),
        tuple(Source.parse(one) for one in given.source),
        tuple(EventId(_id(one, "event")) for one in given.event),
        tuple(_id(one, "ingest") for one in given.ingest),
        given.before,
        given.kind,
    )


def aliases_of(lines: list[str], kind: AliasKind | None = None) -> list[tuple[AliasKind, str]]:
    """Return aliases, one a line, each of the kind that its form says."""
    return [(kind or given_as.alias_kind(line.strip()), line.strip()) for line in lines if line.strip()]


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, or of standard input for `-`. Raises Usage."""
    return text_of(path).splitlines()


def text_of(path: Path) -> str:
    """Return the text of a file, or of standard input for `-`. Raises Usage."""
    if str(path) == "-":
        return arguments.read_stdin()
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise Usage("a file that was named is not a readable UTF-8 text", path=path) from None
    if len(raw) > FILE_BYTES_MAX:
        raise Usage(f"a file that was named is longer than {FILE_BYTES_MAX >> 20} MiB", path=path)
    return text


def _id(text: str, what: str) -> bytes:
    try:
        return canonical.unhex(text.lower(), 16)
    except ValueError:
        raise Usage(f"an id of {what} is 32 hex digits", hint="refold help requests") from None
