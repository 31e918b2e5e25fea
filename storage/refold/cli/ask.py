"""search, context, facts, why, diff, sql: the commands that answer."""

from __future__ import annotations

import math
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime

from refold import disclaimers, times
from refold import given as given_as
from refold.cli import absences, arguments, differences, explained, shown
from refold.cli.command import FORMAT_VERSION, Command, opened, shortfalls
from refold.cli.envelope import Outcome
from refold.cli.vector_fold import unmeant, unranked
from refold.cli.visible import plural, table, visible
from refold.errors import Usage


def _when_or_seq(text: str) -> int | str:
    """Read a sequence number or a time; the time stays text, checked."""
    if re.fullmatch(r"(19|2\d)\d\d", text):
        raise ArgumentTypeError("could be a year or a sequence number: write 2024-01 for the year, 02024 for the number")
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    times.parse(text, what="--as-of")
    return text


def _since(text: str) -> int | str:
    return text if given_as.generation(text) is not None else _when_or_seq(text)


def _when(text: str) -> str:
    times.parse(text, what="--valid-at")
    return text


def _ask(command: ArgumentParser) -> None:
    command.add_argument("query", nargs="+", metavar="QUERY", help="words; `-` reads standard input")
    arguments.add_scope(command)


def _query(given: Namespace) -> str:
    query = given.query if isinstance(given.query, str) else " ".join(given.query)
    if not query.strip():
        raise Usage("the query is empty", hint="refold help search")
    return query


def _configure_search(command: ArgumentParser) -> None:
    _ask(command)
    arguments.add_limit(command, 10)
    command.add_argument("--explain", action="store_true", help="say what each score is made of, and what was left out")


def _search(given: Namespace) -> Outcome:
    with opened(given) as memory:
        missing = shortfalls(memory)
        found = memory.find(_query(given), **arguments.scope(given), limit=given.limit, explain=given.explain)
        unfolded = memory.unfolded(**arguments.scope(given)) if given.explain else 0
    data: dict[str, object] = {"results": [shown.hit_data(hit) for hit in found.hits]}
    lines = shown.hit_table(found.hits) or ["nothing found"]
    if given.explain:
        data |= {"left_out": found.left_out, "unfolded": unfolded}
        lines += ["", *shown.explained(found)]
        lines += [f"searched too: {plural(unfolded, 'event')} that no fold has read yet"] if unfolded else []
        lines += ["what may not be seen from here took no part, and is not counted"]
    findings = [*missing, *unmeant(found.unmeant), *unranked(found.unranked)]
    return Outcome(data, lines, findings, (disclaimers.WORDS,), FORMAT_VERSION)


def _configure_context(command: ArgumentParser) -> None:
    _ask(command)
    command.add_argument("--tokens", type=arguments.count(1, 1_000_000), default=300, metavar="N", help="the budget; 300 by default")


def _context(given: Namespace) -> Outcome:
    with opened(given) as memory:
        missing = shortfalls(memory)
        found = memory.context(_query(given), **arguments.scope(given), tokens=given.tokens)
    data = {"text": found.text, "tokens": found.tokens, "citations": list(found.citations)}
    lines = [visible(line) for line in found.text.split("\n")]
    findings = [*missing, *unmeant(found.unmeant), *unranked(found.unranked)]
    return Outcome(data, lines, findings, format_version=FORMAT_VERSION)


def _configure_facts(command: ArgumentParser) -> None:
    command.add_argument("entity", nargs="?", metavar="ENTITY", help="facts about this person or thing only; the user's own by default")
    command.add_argument("--relation", metavar="NAME", help="facts of this relation only")
    arguments.add_scope(command)
    command.add_argument("--as-of", type=_when_or_seq, metavar="SEQ|TIME", help="as if nothing had been recorded after it")
    command.add_argument("--valid-at", type=_when, metavar="TIME", help="only what claims to hold then")
    command.add_argument("--history", action="store_true", help="also what held before, with what closed it")
    command.add_argument("--all", action="store_true", help="whatever was stated, about whomever: also denials, plans, hearsay")
    arguments.add_limit(command, None)


def _facts(given: Namespace) -> Outcome:
    with opened(given) as memory:
        missing = shortfalls(memory)
        facts = memory.facts(
            **arguments.scope(given),
            entity=given.entity,
            relation=given.relation,
            as_of=given.as_of,
            valid_at=given.valid_at,
            history=given.history,
            all=given.all,
            limit=given.limit,
        )
        scope, moment = arguments.scope(given), {"as_of": given.as_of, "valid_at": given.valid_at}
        profiles = [] if given.relation else memory.profiles(**scope, entity=given.entity, **moment)
        erasures_after = 0 if given.as_of is None else memory.erasures_after(given.as_of)
        unfolded = 0 if given.as_of is not None else memory.unfolded(**arguments.scope(given))
        similar = memory.similar(given.entity, **arguments.scope(given)) if given.entity and not facts else []
    lines = [*(shown.fact_table(facts, standing=given.history or given.all) or ["no facts"]), "", plural(len(facts), "fact")]
    lines += shown.profile_lines(profiles)
    lines += [f"{plural(unfolded, 'event')} not folded yet: refold fold"] if unfolded else []
    lines += differences.erasures(erasures_after)
    lines += [f"nobody is known by this name; alike are {', '.join(map(visible, similar))}"] if similar else []
    data: dict[str, object] = {"facts": list(map(shown.fact_data, facts)), "profiles": list(map(shown.profile_data, profiles))}
    data |= {"unfolded": unfolded, "similar": similar, "erasures_after": erasures_after}
    said = (disclaimers.GROUNDED, *([disclaimers.PROFILED] if profiles else []))
    return Outcome(data, lines, missing, disclaimers=said, format_version=FORMAT_VERSION)


def _configure_why(command: ArgumentParser) -> None:
    command.add_argument("fact", nargs="?", metavar="FACT", help="a fact's id, or how it begins; `refold facts` lists them")
    what = "ENTITY RELATION VALUE: say why that is not held, or that it is; `-` reads a line for each"
    command.add_argument("--not", dest="absent", nargs="+", metavar="WORD", help=what)
    arguments.add_scope(command)


def _why(given: Namespace) -> Outcome:
    if (given.fact is None) == (given.absent is None):
        raise Usage("either a fact or --not is needed", hint="refold help why")
    return _why_held(given) if given.absent is None else _why_not(given)


def _why_not(given: Namespace) -> Outcome:
    words = given.absent.split("\n") if isinstance(given.absent, str) else given.absent
    if len(words) < 3:
        raise Usage("--not needs an entity, a relation and a value", hint="refold help why")
    entity, relation, value = words[0], words[1], " ".join(words[2:])
    with opened(given) as memory:
        missing = shortfalls(memory)
        absence = memory.why_not(entity, relation, value, **arguments.scope(given))
        similar = [] if absence.grounds[0].fact else memory.similar(entity, **arguments.scope(given))
    lines = absences.lines(absence)
    lines += [f"nobody is known by this name; alike are {', '.join(map(visible, similar))}"] if similar else []
    data = {**absences.data(absence), "similar": similar}
    return Outcome(data, lines, missing, disclaimers=(disclaimers.GROUNDED,), format_version=FORMAT_VERSION)


def _why_held(given: Namespace) -> Outcome:
    with opened(given) as memory:
        missing = shortfalls(memory)
        explanation = memory.why(given.fact, **arguments.scope(given))
        from refold.state.why import as_data

        data = as_data(explanation, shown.fact_data)
    return Outcome(data, explained.lines(explanation), missing, disclaimers=(disclaimers.GROUNDED,), format_version=FORMAT_VERSION)


def _configure_diff(command: ArgumentParser) -> None:
    what = "what was known then is compared with now; generation:N is what an earlier fold knew"
    command.add_argument("--since", type=_since, required=True, metavar="SEQ|TIME|GENERATION", help=what)
    arguments.add_scope(command)


def _diff(given: Namespace) -> Outcome:
    with opened(given) as memory:
        missing = shortfalls(memory)
        changes = memory.diff(since=given.since, **arguments.scope(given))
        unfolded = memory.unfolded(**arguments.scope(given))
    lines = differences.lines(changes)
    lines += [f"{plural(unfolded, 'event')} not folded yet: refold fold"] if unfolded else []
    data = {**differences.data(changes), "unfolded": unfolded}
    return Outcome(data, lines, missing, disclaimers=(disclaimers.GROUNDED,), format_version=FORMAT_VERSION)


def _configure_sql(command: ArgumentParser) -> None:
    command.add_argument("query", metavar="QUERY", help="one statement that reads; `-` reads standard input")
    arguments.add_limit(command, None)


def _sql(given: Namespace) -> Outcome:
    with opened(given) as memory:
        missing = shortfalls(memory)
        found = memory.sql(given.query)
    rows = [[_plain(cell) for cell in row.values()] for row in found.slice(0, given.limit).to_pylist()]
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    lines = [*table(cells, head=found.column_names), "", plural(found.num_rows, "row")]
    return Outcome({"columns": found.column_names, "rows": rows, "total": found.num_rows}, lines, missing, format_version=FORMAT_VERSION)


def _plain(cell: object) -> object:
    """Return a cell as JSON can hold it."""
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, datetime):
        return (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else str(cell)
    if isinstance(cell, list | tuple):
        return [_plain(each) for each in cell]
    if isinstance(cell, dict):
        return {str(name): _plain(each) for name, each in cell.items()}
    return cell if cell is None or isinstance(cell, bool | int | str) else str(cell)


RUNS = {
    "search": Command(_configure_search, _search),
    "context": Command(_configure_context, _context),
    "facts": Command(_configure_facts, _facts),
    "why": Command(_configure_why, _why),
    "diff": Command(_configure_diff, _diff),
    "sql": Command(_configure_sql, _sql),
}
