"""Retention: what is kept longer than the settings allow becomes a request for erasure, as any other that somebody reviews and approves."""

from __future__ import annotations

from collections.abc import Iterable

from refold import times
from refold.erase import requests
from refold.erase.model import Request, Selector
from refold.outside import Clock, Random
from refold.settings import Keep
from refold.state.generation import State
from refold.store import Store


def due(store: Store, state: State, rules: Iterable[Keep], *, now: Clock, random: Random) -> list[Request]:
    """Ask for the erasure of what every rule lets go by now. A rule whose last request is not over asks for nothing more."""
    open_kinds = {one.selector.before_kind for one in requests.living(store) if one.selector.before and one.stage not in requests.OVER}
    made = []
    for rule in rules:
        before = now() - rule.days * times.DAY
        if rule.kind not in open_kinds and _has_older(state, rule.kind, before):
            selector = Selector(before=before, before_kind=rule.kind)
            made.append(requests.ask(store, selector, asked_by="retention", suppresses=False, now=now, random=random))
    return made


def _has_older(state: State, kind: str, before: int) -> bool:
    """Whether an event of a kind was said before a time, of those that are folded."""
    rows = state.table("events", ["said_at", "source"])
    pairs = zip(rows["said_at"].to_pylist(), rows["source"].to_pylist(), strict=True)
    return any(said_at < before and source.startswith(f"{kind}:") for said_at, source in pairs)
