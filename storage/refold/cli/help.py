"""`refold help`, `--help` and `--version`: commands by group, exit codes, topics."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, Namespace
from importlib import import_module

from refold import disclaimers
from refold.cli import arguments
from refold.cli.catalogue import COMMANDS, EXIT_CODES, GROUPS
from refold.cli.command import Command
from refold.cli.envelope import Outcome
from refold.cli.glossary import MORE
from refold.cli.topics import TOPICS
from refold.cli.visible import table
from refold.errors import Usage

USAGE = "usage: refold COMMAND ... [--store DIR] [--as NAME] [--format text|json]"

NAMES_WIDTH = max(map(len, COMMANDS)) + 2


def overview() -> Outcome:
    """Return what `refold --help` says."""
    topics = [*TOPICS, *MADE]
    lines = [USAGE, "", "Long-term memory for agents: state = fold(log).", ""]
    for group in GROUPS:
        lines += [f"{group.title}", *(f"  {entry.name:<{NAMES_WIDTH}}{entry.summary}" for entry in group.entries), ""]
    lines += [
        "topics (refold help TOPIC; `refold help topics`: what each is about)",
        *textwrap.wrap(", ".join(topics), 90, initial_indent="  ", subsequent_indent="  "),
        "",
    ]
    lines += _exit_codes()
    data = {
        "commands": [
            {"command": entry.name, "group": group.title, "summary": entry.summary} for group in GROUPS for entry in group.entries
        ],
        "topics": topics,
        "exit_codes": {str(code): name for code, name, _ in EXIT_CODES},
    }
    return Outcome(data, lines)


FIRST = (
    ("try it", "refold demo", "the whole path on a shipped example, in ./memory-demo"),
    ("begin", "refold init", "a store of your own, in ./memory"),
    ("tell it", 'refold add "I live in Berlin." --user you', "or: refold import FILES --user you"),
    ("read", "refold fold", "what was said becomes facts"),
    ("ask", "refold facts --user you", 'or: refold search "where do I live?" --user you'),
    ("forget", "refold erase request --user you", "each step names the next; nothing goes before the last"),
    ("an agent", "refold mcp config claude-code --user you", "the memory as tools of an agent"),
)


def first_steps() -> Outcome:
    """Return what `refold` says where nothing is asked of it."""
    steps = [{"for": what, "command": command, "meaning": meaning} for what, command, meaning in FIRST]
    end = ["", "refold --help lists every command, refold help TOPIC explains."]
    return Outcome({"first_steps": steps}, ["Long-term memory for agents: state = fold(log).", "", *table(FIRST), *end])


def version() -> Outcome:
    """Return what `refold --version` says."""
    from importlib.metadata import version as installed

    return Outcome({"version": installed("refold")}, [f"refold {installed('refold')}"])


def _exit_codes() -> list[str]:
    return ["exit codes", *(f"  {code:>3}  {name:<13}{meaning}" for code, name, meaning in EXIT_CODES)]


def _relations() -> list[str]:
    """Return the relations that memory can know, each with one sentence that states it."""
    import tomllib  # in here, because `--help` must start at once

    from refold import settings

    read = tomllib.loads(settings.text("relations.toml"))
    defaults = read.pop("defaults", {})
    told = [(name, defaults | each) for name, each in read.items() if name not in ("aliases", "words")]
    rows = [(name, each["cardinality"], each["about"], each["say"][0]) for name, each in told]
    return [
        f"relations: {ABOUT['relations']}",
        "",
        *table(rows, head=("relation", "at once", "said by", "for example")),
        "",
        "`one` value at once: the latest wins. `speaker`: of themselves only; `anyone`: of others too.",
        f"The whole file: {settings.folder() / 'relations.toml'}",
    ]


def _rules() -> list[str]:
    """Return the rules that derive facts from facts."""
    import tomllib

    from refold import settings

    rules = tomllib.loads(settings.text("rules.toml")).get("rules", {})
    rows = [(name, ", ".join(rule["if"]), ", ".join(rule["then"])) for name, rule in rules.items()]
    return [
        f"rules: {ABOUT['rules']}",
        "",
        *(line for name, body, head in rows for line in (f"{name}", f"    if    {body}", f"    then  {head}")),
        "",
        f"The whole file: {settings.folder() / 'rules.toml'}",
    ]


def _limits() -> list[str]:
    return ["What Refold cannot claim:", "", *(f"- {sentence}" for sentence in disclaimers.ALL)]


def explain(topic: str) -> list[str]:
    """Return the lines on a command or a topic. Raises Usage."""
    if topic in COMMANDS:
        entry = COMMANDS[topic]
        command: Command = import_module(f"refold.cli.{entry.module}").RUNS[topic]
        about = ["", *_told(topic)] if topic in TOPICS else []
        return [*arguments.parser(entry, command.configure).format_help().rstrip("\n").split("\n"), *more(topic), *about]
    if topic in TOPICS:
        return _told(topic)
    if topic in MADE:
        return MADE[topic]()
    if members := [name for name in COMMANDS if name.startswith(topic + " ")]:
        return [line for name in members for line in (*explain(name), "")][:-1]
    raise Usage("there is no such command or topic", hint="refold --help")


def _told(topic: str) -> list[str]:
    summary, text = TOPICS[topic]
    return [f"{topic}: {summary}", *text.rstrip("\n").split("\n")]


def more(command: str) -> list[str]:
    """Return what the help of a command says below its arguments."""
    return ["", *MORE[command]()] if command in MORE else []


def _topics() -> list[str]:
    """Return every topic with what it is about."""
    told = [(name, TOPICS[name][0] if name in TOPICS else ABOUT[name]) for name in (*TOPICS, *MADE)]
    return ["topics (refold help TOPIC)", *table(told, indent="  ")]


ABOUT = {
    "relations": "what a fact can say, from relations.toml",
    "rules": "what follows from facts that hold, from rules.toml",
    "limits": "what Refold cannot claim",
    "exit-codes": "what the exit code of a command says",
    "topics": "this list",
}
MADE = {
    "topics": _topics,
    "relations": _relations,
    "rules": _rules,
    "limits": _limits,
    "exit-codes": _exit_codes,
}  # topics that are made when asked for


def _configure(command: ArgumentParser) -> None:
    command.add_argument("topic", nargs="*", metavar="TOPIC", help="a command or a topic; `refold --help` lists them")


def _run(given: Namespace) -> Outcome:
    if not given.topic:
        return overview()
    lines = explain(" ".join(given.topic))
    return Outcome({"help": "\n".join(lines)}, lines)


RUNS = {"help": Command(_configure, _run)}
