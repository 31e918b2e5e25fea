"""recover, reset: the commands that carry an interrupted change to its end, and take a store away."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from refold import disclaimers
from refold.cli import repair
from refold.cli.command import FORMAT_VERSION, Command
from refold.cli.envelope import Outcome
from refold.cli.visible import plural, table, visible
from refold.errors import StoreMissing, Usage

if TYPE_CHECKING:
    from refold import journal
    from refold.recover import reset
    from refold.store import Places


def need_operator(given: Namespace) -> None:
    """Refuse a principal that may not see everything. Raises NotAllowed."""
    from refold import settings

    if given.principal is not None:
        settings.load().principal(given.principal).need_everything()


def places_of(given: Namespace) -> Places:
    """Find the places of the store that the command line names, for an operator. Raises StoreMissing, NotAllowed."""
    from refold import files
    from refold.store import places

    need_operator(given)
    where = places(given.store, given.vault, given.root)
    if files.look(where.store / "store.json") is None:
        raise StoreMissing("there is no store here", path=where.store, hint="refold init")
    return where


def _configure_recover(command: ArgumentParser) -> None:
    command.add_argument("--transaction-id", metavar="ID", help="look at one transaction, or act on it; its first letters are enough")
    direction = command.add_mutually_exclusive_group()
    direction.add_argument("--complete", action="store_true", help="carry it to its end")
    direction.add_argument("--rollback", action="store_true", help="take back what it did")
    repair.configure(command)


def _recover(given: Namespace) -> Outcome:
    from refold import journal
    from refold.recover import shorter
    from refold.recover.intents import KNOWN

    repair.check(given)
    places = places_of(given)
    if given.log:
        return repair.run(given, places)
    if given.transaction_id is None:
        if given.complete or given.rollback:
            raise Usage("which transaction: --transaction-id names it", hint="refold recover")
        return _listed(places)
    chosen = _chosen(places, given.transaction_id)
    opening = shorter.opening(places, _kind(chosen))
    if not (given.complete or given.rollback):
        return _inspected(journal.inspect(places, chosen.id, open_store=opening, intents=KNOWN))
    direction = journal.Direction.COMPLETE if given.complete else journal.Direction.ROLL_BACK
    was = journal.recover(places, chosen.id, direction, open_store=opening, intents=KNOWN)
    done = "completed" if given.complete else "rolled back"
    data = {"transaction": {"transaction_id": was.entry.id, "kind": _kind(was.entry), "outcome": done}}
    return Outcome(data, [f"transaction {was.entry.id} is {done}"], format_version=FORMAT_VERSION)


def _chosen(places: Places, given: str) -> journal.Entry:
    """Return what has the id that begins with what was given. Raises Usage."""
    from refold import journal

    found = [entry for entry in journal.entries(places) if entry.id.startswith(given)]
    exact = [entry for entry in found if entry.id == given]
    if len(found) != 1 and not exact:
        raise Usage("no transaction, or more than one, has an id that begins like this", hint="refold recover")
    return (exact or found)[0]


def _kind(entry: journal.Entry) -> str | None:
    return entry.journal.kind if entry.journal else None


def _listed(places: Places) -> Outcome:
    from refold import journal

    at_work = journal.is_running(places)
    found = [
        {
            "transaction_id": entry.id,
            "kind": _kind(entry),
            "phase": entry.journal.phase.value if entry.journal else None,
            "condition": "at work" if at_work and entry.condition == "unfinished" else entry.condition.value,
        }
        for entry in journal.entries(places)
    ]
    rows = [tuple(visible(str(value or "-")) for value in each.values()) for each in found]
    lines = table(rows, head=("id", "kind", "phase", "condition")) if rows else ["nothing is unfinished"]
    return Outcome({"transactions": found}, lines, disclaimers=(disclaimers.TRANSACTION,), format_version=FORMAT_VERSION)


def _inspected(seen: journal.Inspection) -> Outcome:
    from refold.journal import Direction

    entry = seen.entry
    ways = {
        direction.value: {
            "safe": seen.is_safe(direction),
            "obstacles": [{"message": each.message, "path": each.path and str(each.path)} for each in seen.against[direction]],
        }
        for direction in Direction
    }
    data = {
        "transaction_id": entry.id,
        "kind": _kind(entry),
        "phase": entry.journal.phase.value if entry.journal else None,
        "condition": entry.condition.value,
        "steps": [_step(at, each) for at, each in enumerate(seen.steps)],
        **ways,
    }
    lines = [f"transaction {visible(entry.id)}: {entry.condition}", *_steps(seen), *_ways(seen)]
    return Outcome({"transaction": data}, lines, disclaimers=(disclaimers.TRANSACTION,), format_version=FORMAT_VERSION)


def _step(at: int, each: journal.StepSeen) -> dict[str, object]:
    target = getattr(each.step, "target", None)
    return {
        "step": at,
        "place": target.place.value if target else "log",
        "path": target.path if target else None,
        "standing": each.standing.value,
        "found": each.how or None,
    }


def _steps(seen: journal.Inspection) -> list[str]:
    rows = [(str(at), str(getattr(each.step, "target", "a commit to the log")), each.standing.value) for at, each in enumerate(seen.steps)]
    return table(rows, head=("step", "target", "stands as"), indent="  ") if rows else []


def _ways(seen: journal.Inspection) -> Iterator[str]:
    from refold.journal import Direction

    for direction in Direction:
        yield f"--{direction.value}: " + ("safe" if seen.is_safe(direction) else "not safe")
        yield from (visible(f"    {each.message}" + (f": {each.path}" if each.path else "")) for each in seen.against[direction])


def _configure_reset(command: ArgumentParser) -> None:
    command.add_argument(
        "--confirm",
        metavar="ORIGIN-PREFIX",
        help="take the store, its vault and its roots away; the first letters of the origin confirm it",
    )


def _reset(given: Namespace) -> Outcome:
    from refold.recover import reset

    places = places_of(given)
    if given.confirm is None:
        return _surveyed(places, reset.survey(places), done=False)
    return _surveyed(places, reset.reset(places, confirm=given.confirm), done=True)


def _surveyed(places: Places, found: reset.Survey, *, done: bool) -> Outcome:
    from refold.journal import Place

    rows = [(place.value, plural(found.count(place), "file"), str(place.of(places))) for place in Place]
    data = {
        "origin": places.origin,
        "done": done,
        "places": {place.value: {"path": str(place.of(places)), "files": found.count(place)} for place in Place},
        "bytes": found.size,
        "unexpected": [str(path) for path in found.unexpected],
    }
    verb = "removed" if done else "would remove"
    lines = [f"{verb} the store of origin {places.origin}, for good: {found.size:,} bytes", *table(rows, indent="  ")]
    if found.unexpected:
        lines += ["", "it would stop, because Refold did not make:", *(visible(f"  {path}") for path in found.unexpected)]
    elif not done:
        lines += ["", f"to do it: refold reset --confirm {places.origin[:8]}"]
    return Outcome(data, lines, disclaimers=(disclaimers.ERASURE,), format_version=FORMAT_VERSION)


RUNS = {
    "recover": Command(_configure_recover, _recover),
    "reset": Command(_configure_reset, _reset),
}
