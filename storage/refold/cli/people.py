"""subject add, list, find, show, alias, readmit: the people that events concern, and the aliases they go by."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from refold import times
from refold.cli import arguments, reported, selectors
from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Outcome
from refold.cli.visible import plural, table
from refold.errors import Usage
from refold.model import AliasKind, SubjectId, normalise

if TYPE_CHECKING:
    from refold.log.events import SubjectEntry

Subjects = Mapping[SubjectId, Sequence["SubjectEntry"]]
KINDS = [kind.value for kind in AliasKind]
PREFIX_MIN = 8  # of an id, as wherever the first digits of one will do


def _configure_aliases(command: ArgumentParser) -> None:
    command.add_argument("alias", nargs="*", metavar="ALIAS", help="what one person is called; `-` reads standard input, one a line")
    command.add_argument(
        "--kind", type=arguments.one_of(*KINDS), metavar="|".join(KINDS), help="what the aliases are; by default seen from their form"
    )


def _configure_add(command: ArgumentParser) -> None:
    _configure_aliases(command)
    command.add_argument("--from-entity", metavar="NAME", help="whom facts name so, and nobody has declared; `-` reads a line")


def _add(given: Namespace) -> Outcome:
    if given.from_entity is None:
        return _made_known(given, _aliases(given))
    if given.alias:
        raise Usage("a person is added by aliases, or from an entity", hint="refold subject add --help")
    with opened(given) as memory:
        subject = memory.subject_of_entity(given.from_entity)
    return _subject(subject, 1)


def _readmit(given: Namespace) -> Outcome:
    return _made_known(given, _aliases(given), readmit=True)


def _made_known(given: Namespace, aliases: list[tuple[AliasKind, str]], *, readmit: bool = False) -> Outcome:
    with opened(given) as memory:
        subject = memory.subject_add(aliases, readmit=readmit)
    return _subject(subject, len(aliases))


def _subject(subject: SubjectId, aliases: int) -> Outcome:
    return Outcome({"subject": subject.hex(), "aliases": aliases}, [f"subject {subject.hex()}"], format_version=FORMAT_VERSION)


def _aliases(given: Namespace) -> list[tuple[AliasKind, str]]:
    words = arguments.read_stdin().splitlines() if given.alias == ["-"] else given.alias
    return selectors.aliases_of(words, AliasKind(given.kind) if given.kind else None)


def _configure_alias(command: ArgumentParser) -> None:
    command.add_argument("subject_id", metavar="ID", help="the person's id, or how it begins (`refold subject find`)")
    _configure_aliases(command)


def _alias(given: Namespace) -> Outcome:
    """Join further aliases to a person: by an entry with one alias of theirs, which says whose the new ones are."""
    aliases = _aliases(given)
    with opened(given) as memory:
        _, entries = _person(memory.subjects(), given.subject_id)
        known = next(alias for entry in entries for alias in entry.aliases)
        joined = memory.subject_add([known, *aliases])
    return _subject(joined, len(aliases))


def _configure_find(command: ArgumentParser) -> None:
    command.add_argument("entity", metavar="ALIAS", help="how somebody is called; `-` reads standard input")


def _find(given: Namespace) -> Outcome:
    """Find people by an alias, and by whatever could mean one of it."""
    from refold.erase.mentions import Matcher

    wanted = selectors.aliases_of([given.entity])
    if not wanted:
        raise Usage("no alias is given")
    matcher, name = Matcher(wanted), normalise(given.entity)
    with opened(given) as memory:
        known = memory.subjects()
    alike = {name, *_alike(known, name)}
    found = {one: of for one, of in known.items() if any(normalise(each) in alike or matcher.find(each) for each in _names(of))}
    rows = [(subject.hex(), ", ".join(_names(entries))) for subject, entries in found.items()]
    data = {"subjects": [_data(subject, entries) for subject, entries in found.items()], "total": len(found)}
    return Outcome(data, [*table(rows), *([""] if rows else []), plural(len(found), "subject")], format_version=FORMAT_VERSION)


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
    command.add_argument("entity", metavar="ALIAS|ID", help="an alias, or a subject id or how it begins; `-` reads standard input")


def _show(given: Namespace) -> Outcome:
    with opened(given) as memory:
        subject, entries = _person(memory.subjects(), given.entity)
    rows = [(kind.value, alias, times.short(entry.recorded_at)) for entry in entries for kind, alias in entry.aliases]
    lines = [*(f"subject {one}" for one in _ids(entries)), "", *table(rows)]
    return Outcome({"subjects": [_data(subject, entries)]}, lines, format_version=FORMAT_VERSION)


def _person(subjects: Subjects, asked: str) -> tuple[SubjectId, Sequence[SubjectEntry]]:
    """Return the person with an alias, an id, or an id that begins so. Raises Usage."""
    name = normalise(asked)
    for subject, entries in subjects.items():
        if asked.lower() in _ids(entries) or name in {normalise(alias) for alias in _names(entries)}:
            return subject, entries
    begun = [] if len(asked) < PREFIX_MIN else [one for one in subjects.items() if _begins(_ids(one[1]), asked.lower())]
    if len(begun) == 1:
        return begun[0]
    alike = len(_alike(subjects, name))
    spelled = f"; {plural(alike, 'alias', 'aliases')} {'is' if alike == 1 else 'are'} spelled alike" if alike else ""
    raise Usage(f"nobody is known by this alias or id{spelled}", hint="refold subject find ALIAS" if alike else "refold subject list")


def _begins(ids: Sequence[str], prefix: str) -> bool:
    return any(one.startswith(prefix) for one in ids)


def _alike(subjects: Subjects, name: str) -> list[str]:
    """Return the known names that are spelled nearly as one is, normalised."""
    return difflib.get_close_matches(name, sorted({normalise(each) for of in subjects.values() for each in _names(of)}))


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
    "subject find": Command(_configure_find, _find),
    "subject show": Command(_configure_show, _show),
    "subject alias": Command(_configure_alias, _alias),
    "subject readmit": Command(_configure_aliases, _readmit),
    "subject report": Command(reported.configure, reported.run),
}
