"""The command line: `refold COMMAND ...`. This is the one edge where errors become an envelope and an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from refold.cli import arguments, catalogue
from refold.cli.envelope import Finding, Outcome, failure, say
from refold.errors import RefoldError, Usage, worded


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    os.umask(0o077)
    if not _stand_in():
        return Usage.exit_code
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        command, outcome = attempt(given)
        if not outcome.said:
            say(command, outcome, "json" if arguments.wants_json(given) else "text")
        return outcome.exit_code
    except KeyboardInterrupt:
        return catalogue.INTERRUPTED
    except BrokenPipeError:
        return _nobody_reads()
    except OSError as error:
        return _cannot_print(error)


def _stand_in() -> bool:
    """Put the null device where a standard stream is closed, so that no file of the store gets its number; False without an output."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stdout is None:
        print("refold: standard output is closed, and every command says there what it did: > /dev/null", file=sys.stderr)
    return sys.stdout is not None


def attempt(given: Sequence[str]) -> tuple[str | None, Outcome]:
    """Run one command line and return the command's name and its outcome, whatever happens."""
    name = None
    try:
        entry, rest = arguments.choose(given)
        if entry is None:
            return None, _without_command(rest)
        name = entry.name
        return name, _run(entry, rest)
    except arguments.HelpWanted as wanted:
        return name, _helped(name, str(wanted))
    except RefoldError as error:
        return name, failure(error)
    except KeyboardInterrupt:
        finding = Finding("RF-INTERRUPTED-001", "error", "interrupted; what was acknowledged stays, and the command can be run again")
        return name, Outcome(findings=(finding,), exit_code=catalogue.INTERRUPTED, exit_class="interrupted")
    except BrokenPipeError:
        raise
    except Exception as error:
        return name, failure(worded(error))


def _run(entry: catalogue.Entry, rest: Sequence[str]) -> Outcome:
    from importlib import import_module

    command = import_module(f"refold.cli.{entry.module}").RUNS[entry.name]
    given = arguments.parser(entry, command.configure).parse(rest)
    arguments.fill_from_stdin(given)
    if given.principal and entry.name not in catalogue.FOR_LIMITED:
        from refold import settings

        settings.load().principal(given.principal).need_everything()
    return command.run(given)


def _helped(name: str | None, text: str) -> Outcome:
    from refold.cli import help as topics

    lines = [*text.split("\n"), *topics.more(name or "")]
    return Outcome(data={"help": "\n".join(lines)}, lines=lines)


def _without_command(options: Sequence[str]) -> Outcome:
    from refold.cli import help as topics

    if "--version" in options:
        return topics.version()
    if "--help" in options or "-h" in options:
        return topics.overview()
    if not options:
        return topics.first_steps()
    raise Usage("no command is given", hint="refold --help")


def _nobody_reads() -> int:
    # The interpreter flushes stdout once more when it ends; it must find something that takes the bytes.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return catalogue.PIPE_CLOSED


def _cannot_print(error: OSError) -> int:
    print(f"refold: the output could not be written: {os.strerror(error.errno or 0)}", file=sys.stderr)
    _nobody_reads()
    return 1
