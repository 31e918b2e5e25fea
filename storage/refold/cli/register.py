"""copies add, list, confirm: the register of what is elsewhere."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from refold import times
from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Finding, Outcome
from refold.cli.visible import plural, table, visible
from refold.errors import RefoldError
from refold.outside import clock

if TYPE_CHECKING:
    from refold.erase.model import Stage
    from refold.register import Copy
    from refold.store import Places

KINDS = (
    *("backup", "mirror", "escrow", "export", "replica", "notebook", "embeddings", "rerank-cache", "fine-tune", "batch-file"),
    *("provider", "orchestrator", "other"),
)
OWNERS = ("operator", "processor", "provider", "recipient")
STATES = ("open", "done", "dark", "beyond-use")


def noted(places: Places, kind: str, place: str) -> list[Finding]:
    """Write a copy that was just made into the register; a warning where that cannot be done. The copy is whole all the same."""
    from refold import register
    from refold.store import open_store

    try:
        with open_store(places) as store:
            register.add(store, register.Kind(kind), place, now=clock, random=os.urandom)
    except RefoldError as error:
        message = f"the copy is made, and not in the register of copies: {error.message}"
        return [Finding("RF-COPIES-001", "warning", message, remediation=f"refold copies add {kind} PLACE")]
    return []


def _configure_add(command: ArgumentParser) -> None:
    command.add_argument("kind", type=arguments.one_of(*KINDS), metavar="KIND", help=", ".join(KINDS))
    command.add_argument("place", metavar="PLACE", help="where it is, in words or as a path; `-` reads standard input")
    command.add_argument(
        "--owner", type=arguments.one_of(*OWNERS), default="operator", metavar="WHO", help=f"who owes it: {', '.join(OWNERS)}"
    )
    command.add_argument("--due", metavar="DATE", help="by when it has to be gone or dark")
    command.add_argument("--made", metavar="DATE", help="when it was made, if it was found later: the erasures since concern it")
    command.add_argument("--evidence", default="", metavar="TEXT", help="what is known of it")


def _add(given: Namespace) -> Outcome:
    with opened(given) as memory:
        made = memory.copy_add(given.kind, given.place, owner=given.owner, due=given.due, evidence=given.evidence, made=given.made)
        live = memory.store.keyring.epoch
        renewed = memory.erase_renew() if given.made else {}
    data = {"copy": _data(made, live), "certificates": _certificates(renewed)}
    return Outcome(data, [f"copy {made.copy_id}", *_renewed(renewed)], format_version=FORMAT_VERSION)


def _list(given: Namespace) -> Outcome:
    from refold import register

    with opened(given) as memory:
        memory._operator_only()
        known, live = register.copies(memory.store), memory.store.keyring.epoch
    rows = [
        (
            one.copy_id,
            str(one.kind),
            str(one.standing(live)),
            str(one.owner),
            times.day(one.due) if one.due is not None else "",
            visible(one.place),
        )
        for one in known
    ]
    lines = table(rows, head=("copy", "kind", "state", "owed by", "due", "place")) if rows else []
    derived = "the search index, facts and generations are made anew by every erasure: they are no copies"
    data = {"copies": [_data(one, live) for one in known], "total": len(known)}
    return Outcome(data, [*lines, *([""] if rows else []), plural(len(known), "copy", "copies"), derived], format_version=FORMAT_VERSION)


def _configure_confirm(command: ArgumentParser) -> None:
    command.add_argument("copy", metavar="ID", help="the copy, or how its id begins")
    command.add_argument(
        "--state", type=arguments.one_of(*STATES), default="done", metavar="STATE", help=f"{', '.join(STATES)}; done by default"
    )
    command.add_argument("--evidence", required=True, metavar="TEXT", help="how that is known")


def _confirm(given: Namespace) -> Outcome:
    from refold import register

    with opened(given) as memory:
        memory._operator_only()
        state = register.Standing(given.state)
        made = register.confirm(memory.store, given.copy, state, evidence=given.evidence, now=clock, random=os.urandom)
        live = memory.store.keyring.epoch
        renewed = memory.erase_renew()
    data = {"copy": _data(made, live), "certificates": _certificates(renewed)}
    lines = [f"copy {made.copy_id} is {made.standing(live)}", *_renewed(renewed)]
    return Outcome(data, lines, format_version=FORMAT_VERSION)


def _certificates(renewed: Mapping[bytes, Stage]) -> list[dict[str, str]]:
    return [{"request_id": one.hex(), "state": str(stage)} for one, stage in renewed.items()]


def _renewed(renewed: Mapping[bytes, Stage]) -> list[str]:
    return [f"the certificate of {one.hex()[:8]} is made anew: {stage}" for one, stage in renewed.items()]


def _data(one: Copy, live_epoch: int) -> dict[str, object]:
    return {
        "copy_id": one.copy_id,
        "kind": str(one.kind),
        "place": one.place,
        "owner": str(one.owner),
        "state": str(one.standing(live_epoch)),
        "epoch": one.epoch,
        "added_at": one.added_at,
        "due": one.due,
        "evidence": one.evidence,
    }


def _nothing(command: ArgumentParser) -> None:
    """Take no arguments of its own."""


RUNS = {
    "copies add": Command(_configure_add, _add),
    "copies list": Command(_nothing, _list),
    "copies confirm": Command(_configure_confirm, _confirm),
}
