"""What a limited principal is not told: sequence numbers. The gaps between those that it may see would count the events that it may not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from refold.model import WITHHELD
from refold.reading import Fact, Hit

if TYPE_CHECKING:
    from refold.ingest import Added
    from refold.state.absent import Absence, Ground
    from refold.state.changes import Changes
    from refold.state.why import Explanation, Saying


def added(one: Added) -> Added:
    """Return what became of a draft, without its number."""
    return replace(one, seq=WITHHELD)


def hit(one: Hit) -> Hit:
    """Return a found event, without its number."""
    return replace(one, seq=WITHHELD)


def fact(one: Fact) -> Fact:
    """Return a fact, without its number."""
    return replace(one, seq=WITHHELD)


def explanation(one: Explanation) -> Explanation:
    """Return an explanation, without any number."""
    return replace(
        one,
        fact=fact(one.fact),
        sayings=_sayings(one.sayings),
        named=_sayings(one.named),
        beat=tuple(map(fact, one.beat)),
        beaten_by=None if one.beaten_by is None else fact(one.beaten_by),
        against=tuple(map(fact, one.against)),
        aliases=_sayings(one.aliases),
        premises=tuple(map(explanation, one.premises)),
    )


def changes(one: Changes) -> Changes:
    """Return what changed, without any number."""
    changed = tuple(replace(each, before=fact(each.before), after=fact(each.after)) for each in one.changed)
    return replace(one, learned=tuple(map(fact, one.learned)), unlearned=tuple(map(fact, one.unlearned)), changed=changed)


def absence(one: Absence) -> Absence:
    """Return why something is not held, without any number."""
    return replace(one, grounds=tuple(map(_ground, one.grounds)), instead=tuple(map(fact, one.instead)))


def _ground(one: Ground) -> Ground:
    (saying,) = _sayings((one.saying,)) if one.saying else (None,)
    return replace(one, fact=one.fact and fact(one.fact), by=one.by and fact(one.by), saying=saying)


def _sayings(sayings: tuple[Saying, ...]) -> tuple[Saying, ...]:
    return tuple(replace(saying, seq=WITHHELD) for saying in sayings)
