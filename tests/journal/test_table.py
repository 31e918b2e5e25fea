"""The table in storage/README.md: each kind of transaction, stopped at each point, and what recovery then really did.

`python -m tests.journal.test_table` writes it anew.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from refold import journal, settings
from refold.copies.mirror import mirror
from refold.heads import rotation
from refold.journal import Direction, Entry
from refold.migrate import capture
from refold.recover import shorter
from refold.recover.intents import KNOWN
from refold.recover.repair import repair
from refold.recover.reset import reset
from refold.recover.sources import known
from refold.store import Places, create, open_store
from refold.store import places as find_places
from tests.conftest import now
from tests.erase.small import erase, filled, ruth
from tests.journal import LISTS, ORIGIN, SAMPLE, ground, in_child, left, picture, stopped_after, unsynced
from tests.migrate import ANSWERS, canonicalized, moved, prepared
from tests.recover.conftest import fill
from tests.recover.damage import flip, flip_payload, path_with

README = Path(journal.__file__).parents[2] / "README.md"
BEGIN, END = "<!-- transactions: written by tests/journal/test_table.py -->", "<!-- end of transactions -->"
HEAD = "| kind | stopped | found as | `recover --complete` | `recover --rollback` |\n|---|---|---|---|---|"


@dataclass(frozen=True)
class Kind:
    """A kind of transaction: places in which it can run, and what runs it."""

    name: str
    make: Callable[[Path], Places]
    run: Callable[[Places], object]
    shown: Callable[[list[str]], Collection[int]] = lambda steps: range(1, len(steps)) if len(steps) < 9 else (1, len(steps) - 1)
    leaves: str = ""  # names that it may leave although it did not happen: they mean nothing
    undone: str = "all is as before"


def commit(name: str) -> Callable[[Places], object]:
    return lambda places: journal.commit(places, SAMPLE, LISTS[name](places))


def with_a_move(folder: Path) -> Places:
    """Make a store with a move that is ready."""
    places = find_places(folder / "store", folder / "vault", folder / "root", env={})
    with unsynced(), create(places, now=now, random=os.urandom) as store:
        canonicalized(store, prepared(store, folder, "mcp"), ANSWERS)
    return places


def move_in(places: Places) -> None:
    with open_store(places) as store:
        (move_id,) = capture.moves(store)
        moved(store, capture.find(store, move_id))


def erase_ruth(places: Places) -> None:
    with open_store(places) as store:
        erase(store, ruth(store))


def decisive_steps(steps: list[str]) -> list[int]:
    """Return behind which steps of an erasure it is shown: its log commits, and what seals and publishes it."""
    telling = [at for at, step in enumerate(steps, 1) if "no return" in step or "CURRENT" in step or "commit" in step]
    return [*telling, len(steps) - 1]


def rotate(places: Places) -> None:
    with open_store(places) as store:
        rotation.rotate(store, random=os.urandom)


def with_a_damaged_part(folder: Path) -> Places:
    places = fill(folder)
    with unsynced():
        mirror(places, folder / "mirror")
    flip(path_with(places, 1), -3)
    return places


def with_a_damaged_payload(folder: Path) -> Places:
    places = fill(folder)
    flip_payload(places, 1)
    return places


def with_an_unreadable_end(folder: Path) -> Places:
    places = fill(folder)
    newest = max((places.store / "log/commits").iterdir())
    newest.write_bytes(b"")
    return places


def heal(places: Places) -> None:
    repaired(places, copies=[places.store.parent / "mirror"])


def go_past(places: Places) -> None:
    repaired(places, past_damage=True)


def give_up(places: Places) -> None:
    repaired(places, give_up=True)


def repaired(places: Places, *, copies: Sequence[Path] = (), past_damage: bool = False, give_up: bool = False) -> None:
    sources = known(places, settings.load({}), copies)
    chosen = {"past_damage": past_damage, "give_up": give_up}
    repair(places, sources, confirm=places.origin, **chosen, now=now, random=os.urandom)


SIGNED = r"store/receipts(/.*)?"  # what was found damaged is signed before anything is done about it
BEGUN = r"store/state/(runs/[0-9a-f]{32}|[0-9]{12})|store/log/(commits|parts)/.*|vault/(requests|keys/epoch-000002(/.*)?)|root/root\.000002"

KINDS = (
    Kind("changes with copies", ground, commit("reversible")),
    Kind("with a point of no return", ground, commit("decisive")),
    Kind("removals without copies", ground, commit("erasing")),
    Kind("reset", fill, lambda places: reset(places, confirm=places.origin)),
    Kind("migrate", with_a_move, move_in),
    Kind("key rotate", fill, rotate, leaves=r"vault/signing/000002\.key"),
    Kind("recover --log, healing", with_a_damaged_part, heal, leaves=SIGNED),
    Kind("recover --log, going past damage", with_a_damaged_payload, go_past, leaves=SIGNED),
    Kind("recover --log, giving up the end", with_an_unreadable_end, give_up, leaves=SIGNED),
    Kind("erase", filled, erase_ruth, decisive_steps, BEGUN, "its fence is lifted, and all else is as before"),
)


def stop_before_it_is_named(kind: Kind, places: Places) -> None:
    def work() -> None:
        from refold import files

        files.rename_folder = lambda *rest: os._exit(0)  # ty: ignore[invalid-assignment]
        with unsynced():
            kind.run(places)

    assert in_child(work) == 0


def stop_before_it_is_cleared_away(kind: Kind, places: Places) -> None:
    def work() -> None:
        from refold.journal import carry

        carry.finish = lambda *rest: os._exit(0)  # ty: ignore[invalid-assignment]
        with unsynced():
            kind.run(places)

    assert in_child(work) == 0


def copied(places: Places, folder: Path) -> Places:
    """Copy three places, which cost more to make."""
    shutil.copytree(places.store.parent, folder)
    if places.origin == ORIGIN:
        return replace(places, store=folder / "store", vault=folder / "vault", root=folder / "root")
    return find_places(folder / "store", folder / "vault", folder / "root", env={})


def stops(kind: Kind, places: Places) -> Iterator[tuple[str, Callable[[Places], object]]]:
    """Yield the points at which a kind is stopped: around its steps, and after each where they are few."""
    stopped_after(lambda: kind.run(places), 1)  # steps that come in several lists are recorded whole once those of the first are done
    (entry,) = left(places)
    assert entry.journal is not None
    steps = entry.journal.steps
    yield "before it is recorded", lambda places: stop_before_it_is_named(kind, places)
    yield "recorded, no step done", lambda places: stopped_after(lambda: kind.run(places), 0)
    for done in kind.shown([what(step) for step in steps]):
        last = len(steps) > 8 and done == len(steps) - 1
        name = "every step but the last done" if last else f"after step {done}: {what(steps[done - 1])}"
        yield name, lambda places, done=done: stopped_after(lambda: kind.run(places), done)
    yield "every step done, its record not cleared away", lambda places: stop_before_it_is_cleared_away(kind, places)


COMMITS = {
    "erase-fence": "a commit of the fence",
    "erase": "the older root destroyed, a commit without the payloads",
    "erase-lift": "a commit of the lift",
    "give-up": "what cannot be read removed, a commit of what is given up",
}


def what(step: object) -> str:
    """Describe a recorded step by what it does to its target."""
    if isinstance(step, journal.RecordedCommit):
        return COMMITS.get(step.intent, "a commit to the log")
    assert isinstance(step, journal.RecordedChange)
    verb = "remove" if step.after.is_absent else "make" if step.before.is_absent else "replace"
    target = re.sub("[0-9a-f]{32}", "<id>", str(step.target))
    target = re.sub(r"[0-9]{20}-[0-9a-f]{16}\.parquet", "<part>", re.sub(r"(?<=\.)[0-9a-f]{16}$", "<digest>", target))
    thing = "a folder" if journal.FOLDER in (step.before.what, step.after.what) else f"`{target}`"
    return f"{verb} {thing}" + (", the point of no return" if step.point_of_no_return else "")


def outcome(places: Places, entry: Entry, direction: Direction) -> str:
    """Recover in a direction, and say where it ended."""
    opening = shorter.opening(places, entry.journal.kind if entry.journal else None)
    inspection = journal.inspect(places, entry.id, open_store=opening, intents=KNOWN)
    if not inspection.is_safe(direction):
        return f"refused: {inspection.against[direction][0].message}"
    with unsynced():
        journal.recover(places, entry.id, direction, open_store=opening, intents=KNOWN)
    return "done"


def shape(seen: dict[str, Any]) -> list[str]:
    """Return the names that there are, without what is drawn in them."""
    return sorted(re.sub(r"[0-9a-f]{16,32}", "#", name) for name in seen)


def as_before(kind: Kind, now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether nothing has changed, but for what a kind may leave."""
    left_over = {name for name in now if name not in before and re.fullmatch(kind.leaves, name)}
    return {name: seen for name, seen in now.items() if name not in left_over} == before


def row(kind: Kind, name: str, stop: Callable[[Places], object], made: Places, folder: Path, after: dict[str, Any]) -> str:
    cells, before = [], picture(made)
    for direction in Direction:
        places = copied(made, folder / direction)
        stop(places)
        entry = next(iter(left(places)), None)
        found = entry.condition.value if entry else "nothing"
        if entry is None:
            with unsynced(), journal.mutating(places):
                assert journal.entries(places) == []
            assert as_before(kind, picture(places), before)
            cells.append("nothing to do: all is as before")
            continue
        said = outcome(places, entry, direction)
        if said == "done":
            now = picture(places)
            whole = direction is Direction.COMPLETE
            assert (shape(now) == shape(after)) if whole else as_before(kind, now, before)
            said = "all is as it should become" if whole else kind.undone
        cells.append(said)
    return f"| {kind.name} | {name} | {found} | {cells[0]} | {cells[1]} |"


def table() -> str:
    """Stop every kind at every point, recover it both ways, and say what came of it."""
    rows = []
    with TemporaryDirectory() as name:
        for number, kind in enumerate(KINDS):
            folder = Path(name, f"{number}")
            made = kind.make(folder / "made")
            end = copied(made, folder / "end")
            stop_before_it_is_cleared_away(kind, end)
            after = picture(end)
            for at, (label, stop) in enumerate(stops(kind, copied(made, folder / "stops"))):
                rows.append(row(kind, label, stop, made, folder / f"{at}", after))
    return "\n".join([HEAD, *rows])


def test_the_table_in_the_documentation_is_what_happens():
    text = README.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == table()


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    start, _, rest = text.partition(BEGIN)
    README.write_text(start + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2], encoding="utf-8")
