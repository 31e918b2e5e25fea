"""migrate: moving in from another memory system, in steps of which only the last changes the store."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers
from refold.cli.command import FORMAT_VERSION, Command
from refold.cli.envelope import Finding, Outcome
from refold.cli.imports import DIFFERING
from refold.cli.visible import plural, table, visible
from refold.errors import NotAllowed, Usage

if TYPE_CHECKING:
    from refold.migrate.capture import Move
    from refold.migrate.drafting import Outcome as Drafted
    from refold.migrate.finalize import Preview
    from refold.store import Store

SHOWN_MAX = 20  # lines for a person; a program gets all
DECISIONS_BYTES_MAX = 64 << 20


@contextmanager
def _store(given: Namespace) -> Generator[Store]:
    """Open the store that the command line names, for an operator."""
    from refold import settings
    from refold.store import open_store, places

    if given.principal is not None:
        settings.load().principal(given.principal).need_everything()
    with open_store(places(given.store, given.vault, given.root)) as store:
        yield store


def _configure_id(command: ArgumentParser) -> None:
    command.add_argument("move", metavar="ID", help="the move; the first letters of its id are enough")


def _configure_prepare(command: ArgumentParser) -> None:
    command.add_argument("paths", nargs="+", type=Path, metavar="SOURCE", help="a file that another memory system wrote")


def _prepare(given: Namespace) -> Outcome:
    from refold.migrate import capture
    from refold.outside import clock

    with _store(given) as store:
        move = capture.prepare(store, given.paths, now=clock)
    lines = [f"captured as move {move.id}", *_sources(move), "", f"next: refold migrate canonicalize {move.id[:8]}"]
    return Outcome({"move": _move(move.id, move)}, lines, format_version=FORMAT_VERSION)


def _sources(move: Move) -> list[str]:
    rows = [
        (
            str(at),
            each.format,
            plural(each.records, "record") + (f", {each.unreadable:,} unreadable" if each.unreadable else ""),
            each.path,
        )
        for at, each in enumerate(move.sources)
    ]
    return table(rows, indent="  ")


def _move(move_id: str, move: Move | None) -> dict[str, object]:
    from refold import times

    if move is None:
        return {"move_id": move_id, "prepared_at": None, "sources": []}
    sources = [
        {
            "source": at,
            "path": each.path,
            "reader": each.format,
            "bytes": each.size,
            "records": each.records,
            "unreadable": each.unreadable,
        }
        for at, each in enumerate(move.sources)
    ]
    return {"move_id": move_id, "prepared_at": times.iso(move.prepared_at), "sources": sources}


def _configure_canonicalize(command: ArgumentParser) -> None:
    _configure_id(command)
    command.add_argument("--decide", type=Path, metavar="FILE", help="your answers (`refold help migrate`); without them, none")


def _canonicalize(given: Namespace) -> Outcome:
    from refold.migrate import capture, decisions

    answers = decisions.read(_file(given.decide)) if given.decide else decisions.Decisions()
    with _store(given) as store:
        move = capture.find(store, given.move)
        drafted = capture.canonicalize(store, move, answers)
    waiting = [
        {"place": each.place, "missing": [need.value for need in each.needs], "reason": each.reason or None} for each in drafted.open
    ]
    data = {"move_id": move.id, **_counts(drafted), "needs_input": waiting}
    rows = [(each.place, ", ".join(each.needs), each.reason) for each in drafted.open[:SHOWN_MAX]]
    lines = [_counted(drafted), *table(rows, indent="  ")] if rows else [_counted(drafted)]
    if len(drafted.open) > SHOWN_MAX:
        lines.append(f"  and {len(drafted.open) - SHOWN_MAX:,} more (--format json shows all)")
    lines += ["", f"next: refold migrate {'canonicalize' if waiting else 'finalize'} {move.id[:8]}" + (" --decide FILE" if waiting else "")]
    return Outcome(data, lines, format_version=FORMAT_VERSION)


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            raw = handle.read(DECISIONS_BYTES_MAX + 1)
    except FileNotFoundError:
        raise Usage("there is no such file", path=path) from None
    except PermissionError:
        raise NotAllowed("this file may not be read", path=path) from None
    except OSError:
        raise Usage("this is not a file that can be read", path=path) from None
    if len(raw) > DECISIONS_BYTES_MAX:
        raise Usage(f"decisions have at most {DECISIONS_BYTES_MAX >> 20} MiB", path=path)
    return raw


def _counts(drafted: Drafted) -> dict[str, int]:
    return {"ready": len(drafted.drafts), "open": len(drafted.open), "left_out": drafted.left_out, "empty": drafted.empty}


def _counted(drafted: Drafted) -> str:
    names = {"ready": "ready", "open": "need input", "left_out": "left out", "empty": "without words"}
    return ", ".join(f"{count:,} {names[name]}" for name, count in _counts(drafted).items() if count or name == "ready")


def _configure_finalize(command: ArgumentParser) -> None:
    _configure_id(command)
    command.add_argument("--confirm", metavar="ID", help="move in; the first letters of the id confirm it")


def _finalize(given: Namespace) -> Outcome:
    from refold.migrate import finalize
    from refold.outside import clock

    with _store(given) as store:
        if given.confirm is None:
            return _previewed(store, given.move)
        done = finalize.finalize(store, given.move, confirm=given.confirm, now=clock)
    data = {"move_id": done.id, "done": True, "added": done.added, "already": done.already}
    if done.added is None:
        lines = [f"move {done.id} was interrupted, and is complete now"]
    else:
        already = f", {done.already:,} were there already" if done.already else ""
        lines = [f"moved in: {plural(done.added, 'event')}{already}; what was captured is removed from the vault", "", "next: refold fold"]
    return Outcome(data, lines, _conflicts(done.differing), (disclaimers.TRANSACTION,), FORMAT_VERSION)


def _conflicts(differing: int) -> list[Finding]:
    """Return a warning where what is there already would have been for others, or about more people."""
    if not differing:
        return []
    conflict = f"{plural(differing, 'event')} of these were there already, for another audience or fewer people: they stay so"
    return [Finding(DIFFERING, "warning", conflict, remediation="refold help import")]


def _previewed(store: Store, move_id: str) -> Outcome:
    from refold import times
    from refold.migrate import finalize
    from refold.outside import clock

    seen = finalize.preview(store, move_id, now=clock)
    drafts, added, people = seen.outcome.drafts, seen.rehearsal.events, seen.rehearsal.people
    by_role = Counter(draft.role.value for draft in drafts)
    said = [draft.said_at for draft in drafts if draft.said_at is not None]
    data = {
        "move_id": seen.move.id,
        "done": False,
        **_counts(seen.outcome),
        "added": added,
        "already": len(drafts) - added,
        "people": people,
        "roles": dict(sorted(by_role.items())),
        "users": len({draft.scope.user for draft in drafts if draft.scope.user is not None}),
        "said_from": times.iso(min(said)) if said else None,
        "said_to": times.iso(max(said)) if said else None,
        "stale": seen.is_stale,
        "drifted": [str(path) for path in seen.drifted],
    }
    already = f", {len(drafts) - added:,} are there already" if len(drafts) > added else ""
    lines = [f"would add {plural(added, 'event')}{already}, and {plural(people, 'person', 'people')} not known yet"]
    lines += [f"  said by {role}s: {count:,}" for role, count in sorted(by_role.items())]
    lines += [f"  said from {times.day(min(said))} to {times.day(max(said))}"] if said else []
    lines += ["", *_next(seen)]
    return Outcome(data, lines, _conflicts(seen.rehearsal.differing), (disclaimers.TRANSACTION,), FORMAT_VERSION)


def _next(seen: Preview) -> list[str]:
    """Say what stands in the way, or how to go on."""
    move_id = seen.move.id
    if seen.drifted:
        return ["it would stop, because these are not what was captured:", *(visible(f"  {path}") for path in seen.drifted)]
    if seen.is_stale:
        return ["it would stop, because the sources become something else now", f"next: refold migrate canonicalize {move_id[:8]}"]
    if seen.outcome.open:
        return [f"it would stop: {_counted(seen.outcome)}", f"next: refold migrate canonicalize {move_id[:8]} --decide FILE"]
    return [f"to do it: refold migrate finalize {move_id[:8]} --confirm {move_id[:8]}"]


def _list(given: Namespace) -> Outcome:
    from refold import times
    from refold.migrate import capture

    with _store(given) as store:
        found = capture.moves(store)
    rows = [
        (name, times.short(move.prepared_at), plural(len(move.sources), "source")) if move else (name, "dark since an erasure", "")
        for name, move in found.items()
    ]
    lines = table(rows) if rows else ["no move is prepared"]
    return Outcome({"moves": [_move(name, move) for name, move in found.items()]}, lines, format_version=FORMAT_VERSION)


def _drop(given: Namespace) -> Outcome:
    from refold.migrate import capture

    with _store(given) as store:
        move_id = capture.name_of(store.places, given.move)
        capture.drop(store.places, move_id)
    return Outcome({"move_id": move_id, "dropped": True}, [f"move {move_id} is gone; its sources are where they were"])


def _nothing(command: ArgumentParser) -> None:
    """Take no arguments of its own."""


RUNS = {
    "migrate prepare": Command(_configure_prepare, _prepare),
    "migrate canonicalize": Command(_configure_canonicalize, _canonicalize),
    "migrate finalize": Command(_configure_finalize, _finalize),
    "migrate list": Command(_nothing, _list),
    "migrate drop": Command(_configure_id, _drop),
}
