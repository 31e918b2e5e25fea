"""Arguments: one small parser per command, the flags that commands share, and what `-` reads from standard input.

A complaint names the option and what was expected, never the value: a value may be what somebody said.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

from refold import times
from refold.cli.catalogue import COMMANDS, Entry
from refold.errors import Usage

STDIN_BYTES_MAX = 64 << 20
EVERYWHERE = ("--store", "--vault", "--root", "--format", "--as")  # options that may stand before the command, each with a value
# What `-` reads one line for, in this order.
LINES = ("user", "agent", "run_id", "author", "source", "key", "entity", "from_entity", "subject_id", "fact", "control")
REST = ("text", "query", "place", "needles", "reason", "absent")  # what `-` reads all the rest for


class HelpWanted(Exception):
    """Somebody asked for help; carries the text."""


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises Usage instead of exiting, and quotes nothing that was typed."""

    def error(self, message: str) -> NoReturn:
        raise Usage(re.split(r"['\"]", message)[0].rstrip(" :("), hint=f"{self.prog} --help")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse all of the arguments. Raises Usage, HelpWanted."""
        found, extra = self.parse_known_args(arguments)
        if extra:
            known = [option for action in self._actions for option in action.option_strings]
            close = [near for each in extra if each.startswith("-") for near in difflib.get_close_matches(each.split("=")[0], known, 1)]
            what = "an argument that this command does not take" if len(extra) == 1 else f"{len(extra)} arguments too many"
            what = "an option that this command does not have" if extra[0].startswith("--") else what
            raise Usage(what + (f" (did you mean {close[0]}?)" if close else ""), hint=f"{self.prog} --help")
        return found


class _Help(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        raise HelpWanted(parser.format_help().rstrip("\n"))


def parser(entry: Entry, configure: Callable[[argparse.ArgumentParser], object]) -> Parser:
    """Return the parser of one command: its own arguments and the options that stand everywhere."""
    made = Parser(
        prog=f"refold {entry.name}",
        description=entry.summary[0].upper() + entry.summary[1:] + ".",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28, width=100),
        allow_abbrev=False,
        add_help=False,
    )
    configure(made)
    group = made.add_argument_group("everywhere")
    group.add_argument("--store", type=Path, metavar="DIR", help="the store; else REFOLD_STORE, else ./memory")
    group.add_argument("--vault", type=Path, metavar="DIR", help="its keys; else REFOLD_VAULT, else your state directory")
    group.add_argument("--root", type=Path, metavar="DIR", help="what opens the keys; else REFOLD_ROOT, else your config directory")
    group.add_argument("--as", dest="principal", metavar="NAME", help="the principal who asks (`refold help principals`)")
    group.add_argument("--format", type=one_of("text", "json"), default="text", metavar="text|json", help="for people, or for programs")
    group.add_argument("-h", "--help", action=_Help, nargs=0, help="show this")
    return made


def choose(argv: Sequence[str]) -> tuple[Entry | None, list[str]]:
    """Split a command line into its command (None where there is none) and all other arguments. Raises Usage."""
    before, rest = [], list(argv)
    while rest and rest[0].startswith("-"):
        before.append(rest.pop(0))
        if before[-1] in EVERYWHERE and rest:
            before.append(rest.pop(0))
    for words in (2, 1):
        if entry := COMMANDS.get(" ".join(rest[:words])):
            return entry, before + rest[words:]
    if not rest:
        return None, before
    known = sorted({name.split()[0] for name in COMMANDS})
    members = [name.split()[1] for name in COMMANDS if name.startswith(rest[0] + " ")]
    if members:
        raise Usage(f"refold {rest[0]} needs one of {', '.join(members)}", hint="refold --help")
    close = difflib.get_close_matches(rest[0], known, 1)
    raise Usage("there is no such command" + (f" (did you mean {close[0]}?)" if close else ""), hint="refold --help")


def wants_json(argv: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, even where it cannot be parsed."""
    asked = False
    for at, each in enumerate(argv):
        if each == "--":
            break
        if each == "--format":
            asked = argv[at + 1 : at + 2] == ["json"]
        elif each.startswith("--format="):
            asked = each == "--format=json"
    return asked


def one_of(*words: str) -> Callable[[str], str]:
    """Return an argument type that takes one of a few words."""

    def read(value: str) -> str:
        if value not in words:
            raise argparse.ArgumentTypeError(f"expected one of {', '.join(words)}")
        return value

    return read


def count(low: int, high: int) -> Callable[[str], int]:
    """Return an argument type that takes a whole number from low to high."""

    def read(value: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", value) or not low <= int(value) <= high:
            raise argparse.ArgumentTypeError(f"expected a whole number from {low} to {high:,}")
        return int(value)

    return read


def said_at(text: str) -> int:
    """Read a time, in µs. Raises Usage."""
    return times.parse(text, what="--said-at")


def add_scope(command: argparse.ArgumentParser) -> None:
    """Add the flags that say whose memory is meant."""
    group = command.add_argument_group("whose memory")
    group.add_argument("--user", metavar="ID", help="the user")
    group.add_argument("--agent", metavar="ID", help="the agent")
    group.add_argument("--run", dest="run_id", metavar="ID", help="the run or session")


def add_limit(command: argparse.ArgumentParser, default: int | None) -> None:
    """Add --limit."""
    shown = "all by default" if default is None else f"{default} by default"
    command.add_argument("--limit", type=count(1, 1_000_000), default=default, metavar="N", help=f"at most so many; {shown}")


def scope(given: argparse.Namespace) -> dict[str, str | None]:
    """Return the scope flags as the library's keywords."""
    return {"user_id": given.user, "agent_id": given.agent, "run_id": given.run_id}


def fill_from_stdin(given: argparse.Namespace, stdin: BinaryIO | None = None) -> None:
    """Replace each `-` by what standard input says: a line each for short values, and all that is left for a text. Raises Usage."""
    lines = [name for name in LINES if getattr(given, name, None) == "-"]
    rest = [name for name in REST if getattr(given, name, None) in ("-", ["-"])]
    if lines or rest:
        pieces = read_stdin(stdin).split("\n", len(lines))
        if len(pieces) < len(lines) + len(rest):
            raise Usage("standard input has fewer lines than the command line asks for", hint="refold help stdin")
        for name, value in zip(lines, pieces, strict=False):
            setattr(given, name, value.removesuffix("\r"))
        for name in rest:
            setattr(given, name, pieces[-1].removesuffix("\n"))
    for name, value in vars(given).items():
        values = value if isinstance(value, list | tuple) else [value]
        _refuse_surrogates(name, values)
        _refuse_impossible_paths(name, values)


def read_stdin(stdin: BinaryIO | None = None) -> str:
    """Return all of standard input as text. Raises Usage where it is too long or not UTF-8."""
    if stdin is None:
        if sys.stdin is None:
            raise Usage("standard input is closed, and `-` reads it")
        stdin = sys.stdin.buffer
    read = stdin.read(STDIN_BYTES_MAX + 1)
    if len(read) > STDIN_BYTES_MAX:
        raise Usage(f"standard input is longer than {STDIN_BYTES_MAX >> 20} MiB", hint="refold help import")
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Usage(f"standard input is not UTF-8 text at byte {error.start}") from None


def _refuse_surrogates(name: str, values: Iterable[object]) -> None:
    for value in values:
        if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
            raise Usage(f"the value of {name.removesuffix('_id')} is not valid UTF-8 text")


def _refuse_impossible_paths(name: str, values: Iterable[object]) -> None:
    for value in values:
        try:
            is_possible = not isinstance(value, Path) or bool(value.lstat())
        except OSError as error:
            is_possible = error.errno not in (errno.ENAMETOOLONG, errno.ELOOP)  # whether it is there is another question
        except ValueError:  # a NUL, or what is no text in the system's own encoding
            is_possible = False
        if not is_possible:
            raise Usage(f"the value of {name} is no path that this system can have")
