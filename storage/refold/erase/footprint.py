"""The footprint of an erasure: what must not be found afterwards, gathered before, while there still is something to read.

Needles are the aliases of whoever is meant, and each text that goes, in stretches of a few words. What also stands in events that stay
cannot show that something is left over, so it is left out, and counted. Digests are those of the texts, which other programs like to
keep. The control is something of an event that stays: a scan that does not find it finds nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from hashlib import md5, sha1, sha256

from refold import recipes
from refold.erase.model import Footprint, Target
from refold.model import Event
from refold.scan.look import Looker
from refold.scan.needles import Needles, is_long_enough
from refold.store import Store

STRETCH_WORDS = 6
STRETCH_LETTERS_MIN = 16
NEEDLES_MAX = 2_000
DIGESTS_MAX = 2_000
WORD = re.compile(r"\S+")
VALUE_MIN = 8
VALUE = re.compile(r"\d|.@.")
NUMERIC = re.compile(r"[\d\W]+")
SEPARATOR = b"\n\0\n"
FAR = re.compile(r"\n|[\W_]{8,}")  # more than a scan allows between two words
OWN_WORDS = " ".join(("null", "true", "false", *recipes.relations().by_name))  # that stand in the rows of whatever store
BATCH_BYTES = 4 << 20


@dataclass(slots=True)
class _Read:
    """What was read of a log: what goes, and what stays."""

    gone: list[str] = field(default_factory=list)
    stays: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)  # that a scan reads too: kinds, scopes, names of relations


def build(store: Store, aliases: Iterable[str], target: Target, *, canaries: Iterable[str] = ()) -> Footprint:
    """Return the footprint of the events that a target removes, and of whoever goes by these aliases."""
    aliases = list(aliases)
    read = _Read(beside=[OWN_WORDS])
    for events in store.log.events():
        for event in events:
            if _goes(event, target):
                read.gone.append(_said(event))
            else:
                read.stays.append(_said(event))
                read.beside += _told(astuple(event))
    kept = [one.text for one in target.kept]
    read.stays += kept
    wanted = [text for text in dict.fromkeys([*aliases, *canaries]) if is_searchable(text)]
    values = [value for text in read.gone for value in _values(text)]
    stretches = [stretch for text in read.gone for stretch in _stretches(text)]
    needles = list(dict.fromkeys([*wanted, *values, *stretches]))[:NEEDLES_MAX]
    standing = _found_in(needles, [*read.stays, *read.beside])
    unsought = sum(any(map(str.isalnum, text)) and not is_searchable(text) for text in dict.fromkeys(aliases))
    left = tuple(needle for at, needle in enumerate(needles) if at not in standing)
    lines = dict.fromkeys(text.split("\n")[0] for text in read.gone[: DIGESTS_MAX // 3])
    known = [digest for line in lines if line not in kept for digest in digests(line)]
    return Footprint(left, tuple(known), _control(read.stays, store.origin), shared=len(standing), unsought=unsought)


def control_of(store: Store) -> str:
    """Return something that a scan of a store has to find: what somebody said, or where nobody said anything the name of the log."""
    return _control((_said(event) for events in store.log.events() for event in events), store.origin)


def digests(text: str) -> Iterator[bytes]:
    """Yield the digests that other programs keep of texts."""
    raw = text.encode()
    for algorithm in (sha256, sha1, md5):
        yield algorithm(raw, usedforsecurity=False).digest()


def is_searchable(text: str) -> bool:
    """Whether something can be looked for: it has a word, or is a number, that does not stand everywhere."""
    return is_long_enough(text)


def needles_of(footprint: Footprint) -> Needles:
    """Return what a scan looks for."""
    return Needles.of(footprint.needles, digests=footprint.digests, control=footprint.control)


def _goes(event: Event, target: Target) -> bool:
    return event.event_id in target.events or not target.subjects.isdisjoint(event.subjects)


def _said(event: Event) -> str:
    """Return everything that an event says in words, its text first."""
    parts = [
        event.text,
        event.author or "",
        event.source.ref,
        event.source.part,
        *event.metadata.keys(),
        *map(str, event.metadata.values()),
    ]
    return "\n".join(part for part in parts if part)


def _told(value: object) -> Iterator[str]:
    """Yield whatever else a scan of the rows reads of an event: its kind and role, its scope, whom it is for."""
    if isinstance(value, dict | list | tuple):
        for each in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _told(each)
    elif isinstance(value, str):
        yield value


def _stretches(text: str) -> Iterator[str]:
    """Yield a text in stretches of a few words, one after the other, as far as they can be told from what others say."""
    for line in FAR.split(text):
        words = WORD.findall(line)
        for at in range(0, len(words), STRETCH_WORDS):
            stretch = " ".join(words[max(min(at, len(words) - STRETCH_WORDS), 0) :][:STRETCH_WORDS])
            if len(stretch) >= STRETCH_LETTERS_MIN and is_searchable(stretch):
                yield stretch


def _values(text: str) -> Iterator[str]:
    """Yield what stands for itself wherever it is found: words with digits among letters, and addresses; no dates and numbers."""
    for word in WORD.findall(text):
        value = word.strip(".,;:!?()[]{}<>\"'")
        if len(value) >= VALUE_MIN and VALUE.search(value) and not NUMERIC.fullmatch(value) and is_searchable(value):
            yield value


def _found_in(needles: list[str], texts: list[str]) -> set[int]:
    """Return which needles stand in texts that stay."""
    if not needles:
        return set()
    looker, found, batch, size = Looker(Needles.of(needles)), set[int](), list[bytes](), 0
    for text in texts:
        batch.append(text.encode())
        size += len(batch[-1])
        if size >= BATCH_BYTES:
            found |= {each.needle for each in looker.look_only(SEPARATOR.join(batch)).seen}
            batch, size = [], 0
    return found | {each.needle for each in looker.look_only(SEPARATOR.join(batch)).seen}


def _control(texts: Iterable[str], origin: str) -> str:
    """Return something that will be found: a stretch of what stays, or where nobody is left the name of the log."""
    return next((stretch for text in texts for stretch in _stretches(text)), origin)
