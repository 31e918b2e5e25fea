"""subject add, list, show: the people that events concern, and the aliases they go by."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from refold import given as given_as
from refold import times
from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Outcome
from refold.cli.visible import plural, table
from refold.errors import Usage
from refold.model import AliasKind, SubjectId, normalise

if TYPE_CHECKING:
    from refold.log.events import SubjectEntry

Subjects = Mapping[SubjectId, Sequence["SubjectEntry"]]
KINDS = [kind.value for kind in AliasKind]


def _configure_add(command: ArgumentParser) -> None:
    command.add_argument("alias", nargs="+", metavar="ALIAS", help="what one person is called; `-` reads standard input, one a line")
    command.add_argument(
        "--kind", type=arguments.one_of(*KINDS), metavar="|".join(KINDS), help="what the aliases are; by default seen from their form"
    )


def _add(given: Namespace) -> Outcome:
    words = arguments.read_stdin().splitlines() if given.alias == ["-"] else given.alias
    aliases = [(AliasKind(given.kind) if given.kind else given_as.alias_kind(word), word) for word in words if word.strip()]
    with opened(given) as memory:
        subject = memory.subject_add(aliases)
    return Outcome({"subject": subject.hex(), "aliases": len(aliases)}, [f"subject {subject.hex()}"], format_version=FORMAT_VERSION)


def _configure_list(command: ArgumentParser) -> None:
    arguments.add_limit(command, None)


def _list(given: Namespace) -> Outcome:
    with opened(given) as memory:
        found = [*memory.subjects().items()]
    shown = found[: given.limit]
    rows = [(subject.hex(), ", ".join(_names(entries))) for subject, entries in shown]
    data = {"subjects": [_data(subject, entries) for subject, entries in shown], "total": len(found)}
    return Outcome(data, [*table(rows), *([""] if rows else []), plural(len(found), "subject")], format_version=FORMAT_VERSION)


def _configure_show(command: ArgumentParser) -> None:
    command.add_argument("entity", metavar="ALIAS|ID", help="an alias, or a subject id in hex; `-` reads standard input")


def _show(given: Namespace) -> Outcome:
    with opened(given) as memory:
        subject, entries = _person(memory.subjects(), given.entity)
    rows = [(kind.value, alias, times.short(entry.recorded_at)) for entry in entries for kind, alias in entry.aliases]
    lines = [*(f"subject {one}" for one in _ids(entries)), "", *table(rows)]
    return Outcome({"subjects": [_data(subject, entries)]}, lines, format_version=FORMAT_VERSION)


def _person(subjects: Subjects, asked: str) -> tuple[SubjectId, Sequence[SubjectEntry]]:
    """Return the person with an alias or id. Raises Usage."""
    name = normalise(asked)
    for subject, entries in subjects.items():
        if asked.lower() in _ids(entries) or name in {normalise(alias) for alias in _names(entries)}:
            return subject, entries
    raise Usage("nobody is known by this alias or id", hint="refold subject list")


def _ids(entries: Sequence[SubjectEntry]) -> list[str]:
    return list(dict.fromkeys(entry.subject.hex() for entry in entries))


def _names(entries: Sequence[SubjectEntry]) -> list[str]:
    return list(dict.fromkeys(alias for entry in entries for _, alias in entry.aliases))


def _data(subject: SubjectId, entries: Sequence[SubjectEntry]) -> dict[str, object]:
    aliases = [
        {"kind": kind.value, "alias": alias, "seq": entry.seq, "recorded_at": times.iso(entry.recorded_at)}
        for entry in entries
        for kind, alias in entry.aliases
    ]
    return {"subject": subject.hex(), "ids": _ids(entries), "aliases": aliases}


RUNS = {
    "subject add": Command(_configure_add, _add),
    "subject list": Command(_configure_list, _list),
    "subject show": Command(_configure_show, _show),
}
