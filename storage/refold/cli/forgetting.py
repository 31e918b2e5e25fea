"""How `refold demo` ends: somebody is forgotten, what is left is looked for, and the backup of before is tried."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refold.cli.planned import fact_row
from refold.cli.visible import plural, table

if TYPE_CHECKING:
    from refold.erase.plan import Plan
    from refold.extractors import Choice
    from refold.memory import Memory

FACTS_SHOWN_MAX = 8


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Somebody who was forgotten, and what that is worth."""

    name: str
    plan: Plan
    events: int  # of theirs
    mentions: int  # events of others that mention them
    certificate: dict[str, Any]
    papers: tuple[bytes, bytes]  # the certificate, as it is signed and as a page
    dark: int  # of the events that went, as many are dark in the backup that was made before
    gone: int

    @property
    def data(self) -> dict[str, object]:
        """Return it for a program."""
        return {
            "events": self.events,
            "mentions": self.mentions,
            "facts_gone": len(self.plan.diff.gone),
            "facts_again": len(self.plan.diff.again),
            "certificate": self.certificate,
            "dark_in_backup": self.dark,
        }


def forget(folder: Path, where: Path, name: str, by: Choice) -> Forgotten:
    """Back up the memory that lies in a folder to another, and forget somebody in it. Raises as `Memory.erase` does."""
    from refold.copies.backup import backup
    from refold.erase.model import Decision
    from refold.erase.page import page
    from refold.memory import Memory
    from refold.outside import clock

    with Memory.open(folder) as memory:
        backup(memory.places, where, now=clock, random=os.urandom)
        plan = memory.plan_erasure(user_id=name, mentions=Decision.CONCERNS)
        request_id = plan.target.request_id
        found = memory.erase_show(request_id).found
        assert found is not None, "it was searched for"
        memory.erase(plan, by=by)
        raw = memory.erase_certificate(request_id)
        before, after = _readable(where, memory)
    mentions = len({one.seq for one in found.candidates})
    body: dict[str, Any] = json.loads(raw)["body"]
    return Forgotten(name, plan, found.declared, mentions, body, (raw, page(raw, body).encode()), before - after, plan.events)


def _readable(where: Path, memory: Memory) -> tuple[int, int]:
    """Return how many events a backup holds, and how many of them the keys that live now can open."""
    from refold.log.head import Place
    from refold.log.log import Log

    vault, dark = memory.store.vault.reopened(), Counter[str]()
    old = Log(Place(where / "log", memory.store.origin, vault.public_keys), vault, random=os.urandom)
    read = sum(len(events) for events in old.events(tally=dark))
    old.close()
    return read + dark["dark"], read


def lines(done: Forgotten) -> list[str]:
    """Return what a person reads of it."""
    scan, others = done.certificate["scan"], done.plan.diff.of_others(done.plan.target.subjects)
    shown = [fact_row(mark, fact) for mark, facts in (("-", others.gone), ("+", others.again)) for fact in facts]
    elsewhere = ", ".join(sorted({f"{one['kind']}, {one['state']}" for one in done.certificate["copies"]}))
    theirs = len(done.plan.diff.gone) - len(others.gone)
    return [
        f"forget   {done.name}: {plural(done.events, 'event')} of theirs, {plural(done.mentions, 'mention')} by others; "
        f"{plural(theirs, 'fact')} of theirs, and of what others know",
        *_indented(table(shown[:FACTS_SHOWN_MAX])),
        *([f"         and {len(shown) - FACTS_SHOWN_MAX} more"] if len(shown) > FACTS_SHOWN_MAX else []),
        f"proof    {plural(scan['hits'], 'trace')} in {plural(scan['files'], 'file')} and {plural(scan['rows'], 'row')}, "
        f"{plural(scan['encodings'], 'encoding')} met; control, something that is still there: {scan['control']}",
        f"         {done.dark} of {done.gone} events are dark in the backup made before",
        f"         {done.certificate['state']}, in a copy of this memory: it all stays here",
        *([f"         elsewhere, and not reached: {elsewhere} (certificate.html)"] if elsewhere else []),
    ]


def _indented(rows: Iterable[str]) -> list[str]:
    return [f"         {row}" for row in rows]
