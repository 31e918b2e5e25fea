"""What memory would be without some events, for people and for programs: `fold --without`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from refold.cli import model_fold
from refold.cli.command import FORMAT_VERSION, opened, shortfalls
from refold.cli.envelope import Outcome
from refold.cli.planned import SHOWN_MAX, fact_row, facts_data
from refold.cli.visible import plural, table
from refold.errors import Usage

if TYPE_CHECKING:
    from refold.erase.without import Supposed

CONFLICTING = ("plan", "full", "fresh", "require_closure", "receipt", "calls")


def configure(command: ArgumentParser) -> None:
    """Add the flag, and what it takes to say what is meant."""
    from refold.cli import selectors  # here, as below: the other commands of this group need nothing of it

    what = "say what memory would be without what is selected below; publish nothing, and ask no model"
    command.add_argument("--without", action="store_true", help=what)
    selectors.configure(command)


def run(given: Namespace) -> Outcome:
    """Say what memory would be. Raises Usage."""
    from refold.cli import selectors

    if any(getattr(given, name) for name in CONFLICTING):
        raise Usage("--without folds nothing, and goes with none of the flags that say how", hint="refold help fold")
    selector, by = selectors.selector(given), model_fold.choice(given)
    with opened(given) as memory:
        missing = shortfalls(memory)
        found = memory.fold_without(selector, by=by)
    return Outcome(_data(found), _lines(found), missing, format_version=FORMAT_VERSION)


def require_unselected(given: Namespace) -> None:
    """Refuse a fold of some events alone: what is selected would be left out without a word. Raises Usage."""
    from refold.cli import selectors

    if not selectors.selector(given).is_empty:
        raise Usage("what is selected goes with --without; a fold reads everything that is new", hint="refold help fold")


def _lines(found: Supposed) -> list[str]:
    rows = [
        ("events", f"{found.events:,} would not be there"),
        ("facts", f"{len(found.diff.gone):,} go, {len(found.diff.again):,} hold again"),
    ]
    rows += [("stay", f"{plural(found.mentions, 'mention')} by others that nobody declared")] if found.mentions else []
    rows += [("read anew", f"{plural(found.reread, 'event')}, by recorded answers")] if found.reread else []
    lines = table(rows)
    for title, mark, some in (("what would not be known", "-", found.diff.gone), ("what would hold again", "+", found.diff.again)):
        if some:
            lines += ["", title, *table([fact_row(mark, fact) for fact in some[:SHOWN_MAX]], indent="  ")]
            lines += [f"  and {len(some) - SHOWN_MAX:,} more (--format json)"] if len(some) > SHOWN_MAX else []
    if not (found.events or found.mentions):
        lines += ["", "nothing in this memory is meant by what was selected"]
    return [*lines, "", "nothing was changed"]


def _data(found: Supposed) -> dict[str, object]:
    return {
        "events": found.events,
        "facts_gone": facts_data(found.diff.gone),
        "facts_again": facts_data(found.diff.again),
        "claims": found.diff.claims,
        "mentions": found.mentions,
        "reread": found.reread,
    }
