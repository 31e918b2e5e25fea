"""Giving up the end of a log that nobody has any more: by a person's word, under signed `restored` entries, and never silently.

Allowed where nothing is wrong but the end: commits that cannot be read stand there, or a head of more entries was signed or witnessed.
What cannot be read goes to quarantine, the log goes on from the newest commit that verifies, and entries name each head, of size and root,
that it does not reach: so a witness takes what follows for a successor and not for a fork. Nothing is cut short.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from refold import canonical, files, journal, quarantine
from refold.copies import restore
from refold.errors import Blocked
from refold.heads.kept import CHECKPOINTS
from refold.journal import Intent, Intents, LogCommit, OpenStore, Step
from refold.log import commit as commits
from refold.log.head import Head, at, commit_of
from refold.log.head import Place as LogPlace
from refold.outside import Clock, Random
from refold.recover import heads, heal, replay
from refold.recover.history import COMMITS
from refold.recover.survey import read_file
from refold.recover.verify import place_of
from refold.store import Places, Store, open_store, vault_of
from refold.verdict import Damage, DamageKind, SeenHead, Verdict

GIVE_UP = journal.Kind("give-up", blocks_appends=True)
INTENT = "give-up"


@dataclass(frozen=True, slots=True)
class Ending:
    """Where a log could go on from, and what it would give up."""

    size: int  # entries that are left
    version: int  # the newest commit that is left
    given_up: tuple[SeenHead, ...]  # heads that were signed or seen and are not reached, the largest last
    unreadable: tuple[str, ...]  # commits that stand behind it, as paths within the store

    @property
    def lost(self) -> tuple[int, int] | None:
        """Return the sequence numbers [first, end) that are known to be lost; None where nobody ever saw any."""
        return (self.size, self.given_up[-1].size) if self.given_up else None


class Ended:
    """A store whose log ends in what cannot be read, as far as the journal has to know it."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._place = place_of(places)

    @property
    def log(self) -> Ended:
        return self

    @property
    def head(self) -> Head:
        return at(self._place, _versions(self._place)[-1] - len(_unreadable(self._place)))

    def committed(self, txn: str, *, after: int = 0) -> bool:
        """Whether the log has a commit of this transaction id, newer than version `after`."""
        return commit_of(self._place, self.head, txn, after=after) is not None

    def close(self) -> None:
        """Nothing is held."""


def ending(places: Places, verdict: Verdict, seen: Sequence[SeenHead]) -> Ending | None:
    """Return where a log could go on from; None where more is wrong with it than its end. Raises VerificationIncomplete."""
    place = place_of(places)
    unreadable = tuple(f"{COMMITS}/{commits.file_name(version)}" for version in _unreadable(place))
    found = {each.path for each in verdict.damage if not _is_cut(each, unreadable)}
    left = len(_versions(place)) - len(unreadable)
    if not verdict.damage or not left or found != set(unreadable):
        return None
    head = Ended(places).head
    signed = [SeenHead(each.head.size, each.head.root, is_external=False) for each in heads.signed(places)]
    return Ending(head.size, head.version, restore.beyond(head.size, [*seen, *signed]), unreadable)


def _is_cut(damage: Damage, unreadable: Collection[str]) -> bool:
    """Whether nothing is wrong but that more was there once: a head was seen, or a key follows that the log does not name."""
    names_no_newest_key = damage.kind is DamageKind.SIGNATURE and damage.first == damage.end and damage.path not in unreadable
    return damage.kind is DamageKind.CUT or names_no_newest_key


def _versions(place: LogPlace) -> list[int]:
    return sorted(version for name in files.names(place.commits) if (version := commits.version_of(name)) is not None)


def _unreadable(place: LogPlace) -> list[int]:
    """Return the commits behind the newest that its own signature vouches for."""
    found: list[int] = []
    for version in reversed(_versions(place)):
        raw = read_file(place.commit(version))
        if raw is not None and heal.is_commit(raw, place, version):
            break
        found.insert(0, version)
    return found


def give_up(places: Places, turn: journal.Turn, found: Ending, *, now: Clock, random: Random) -> None:
    """Go on from where a log can go on. Raises Blocked, Corrupt, WriteFailed."""
    place = place_of(places)
    head = at(place, found.version)
    epoch = vault_of(places).live_epoch()
    if epoch != head.epoch:
        # Whatever was erased since would come back: it has to be erased again before anything goes on.
        message = f"the log that is left is of epoch {head.epoch}, the keys of epoch {epoch}: an erasure lies between"
        raise Blocked(message, path=place.folder, hint="refold help damage")
    if head.fence is not False:
        raise Blocked("the log that is left ends under the fence of an erasure", path=place.folder, hint="refold recover")
    keys = restore.keys_since(vault_of(places), head)
    named = found.given_up or (SeenHead(found.size, restore.root_at(place, head, found.size), is_external=False),)
    away = {path: files.read(places.store / path) for path in found.unreadable}
    kept = [step for path, raw in away.items() for step in quarantine.keep(places, path, raw)]
    entries = [_entry(each, away, keys=() if at else keys, now=now, random=random) for at, each in enumerate(named)]
    beside = [*restore.forgotten(places, found.size), *_beside(places, found.size), *replay.unfolded(places, found.size)]
    turn.commit(GIVE_UP, [*quarantine.folder(places), *kept, *entries, *beside], store=Ended(places), intents=INTENTS)


def _entry(given_up: SeenHead, away: Mapping[str, bytes], *, keys: Sequence[bytes], now: Clock, random: Random) -> LogCommit:
    """Return the step of one head; `keys` are the statements of the signing keys that came with what is given up."""
    said = {
        "root": given_up.root.hex(),
        "size": given_up.size,
        "time": now(),
        "unreadable": [[path, journal.digest(raw).hex()] for path, raw in away.items()],
        **({"keys": [canonical.decode(each) for each in keys]} if keys else {}),
    }
    return LogCommit(txn=random(16).hex(), intent=INTENT, data=canonical.encode(said))


def run(store: OpenStore, txn: str, data: bytes) -> None:
    """Take away what cannot be read, of which quarantine has the bytes by now, and commit the entry that says what was given up."""
    assert isinstance(store, Ended | Store)
    places, said = store.places, cast("dict[str, Any]", canonical.decode(data))
    for path, digest in said["unreadable"]:
        raw = read_file(places.store / path)
        if raw is not None and journal.digest(raw).hex() == digest:
            files.remove(places.store / path)
    with restore.half_open(places, os.urandom) as opened:
        restore.run(opened, txn, data)


def opening(places: Places, kind: str | None) -> Callable[[], OpenStore]:
    """Return what opens the store for whoever recovers a transaction of a kind."""
    return (lambda: Ended(places)) if kind == GIVE_UP.name else (lambda: open_store(places))


def _beside(places: Places, size: int) -> Iterator[Step]:
    """Yield the steps that move to quarantine what was signed of more entries than are left."""
    folder = places.store / CHECKPOINTS
    for name in sorted(files.names(folder)) if files.look(folder) is not None else ():
        number = name[: len(f"{size:020d}")]
        if number.isdigit() and int(number) > size:
            yield from quarantine.remove(places, f"{CHECKPOINTS}/{name}")


INTENTS: Intents = {INTENT: Intent(run)}
