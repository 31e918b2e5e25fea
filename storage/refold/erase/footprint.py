"""The footprint of an erasure: what must not be found afterwards, gathered before, while there still is something to read.

Needles are the aliases of whoever is meant, and each text that goes, in stretches of a few words. What also stands in events that stay
cannot show that something is left over, so it is left out, and counted. Digests are those of the texts, which other programs like to
keep. The control is something of an event that stays: a scan that does not find it finds nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import md5, sha1, sha256

from refold import recipes
from refold.erase.find import FIELDS_REMEMBERED_MAX, strings
from refold.erase.model import Footprint, Target
from refold.erase.reach import Census
from refold.errors import KeyMissing
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


def build(store: Store, aliases: Iterable[str], target: Target, *, canaries: Iterable[str] = ()) -> Footprint:
    """Return the footprint of the events that a target removes, and of whoever goes by these aliases, with a reading of its own."""
    gathering = Gathering(store, aliases, target, canaries=canaries)
    for events in store.log.events():
        gathering.read(events)
    return gathering.footprint


class Gathering:
    """A footprint under way: begun with what goes, and shown every event that stays before it is taken.

    What goes is found by what stands in clear in front of it, and read by itself.
    """

    def __init__(self, store: Store, aliases: Iterable[str], target: Target, *, canaries: Iterable[str] = ()) -> None:
        aliases = list(aliases)
        self._gone = _gone(store, target)
        self._texts = [_said(event) for event in self._gone.values()]
        wanted = [text for text in dict.fromkeys([*aliases, *canaries]) if is_searchable(text)]
        values = [value for text in self._texts for value in _values(text)]
        stretches = [stretch for text in self._texts for stretch in _stretches(text)]
        self._needles = list(dict.fromkeys([*wanted, *values, *stretches]))[:NEEDLES_MAX]
        self._unsought = sum(any(map(str.isalnum, text)) and not is_searchable(text) for text in dict.fromkeys(aliases))
        self._kept = [one.text for one in target.kept]
        self._origin = store.origin
        self._standing: set[int] = set()
        self._control: str | None = None
        self._looker = Looker(Needles.of(self._needles)) if self._needles else None
        self._fields: set[str] = set()
        self._look([OWN_WORDS, *self._kept])

    def read(self, events: Sequence[Event]) -> None:
        """Read on, and leave out what goes. Reading something again changes nothing."""
        events = [event for event in events if event.seq not in self._gone]
        said = [_said(event) for event in events]
        if self._control is None:
            self._control = next((stretch for text in said for stretch in _stretches(text)), None)
        beside = _beside(events) - self._fields  # which repeats from event to event
        if len(self._fields) > FIELDS_REMEMBERED_MAX:
            self._fields.clear()
        self._fields |= beside
        self._look([*said, *sorted(beside)])

    @property
    def footprint(self) -> Footprint:
        """Return what must not be found, by all that was read."""
        left = tuple(needle for at, needle in enumerate(self._needles) if at not in self._standing)
        lines = dict.fromkeys(text.split("\n")[0] for text in self._texts[: DIGESTS_MAX // 3])
        known = tuple(digest for line in lines if line not in self._kept for digest in digests(line))
        control = self._control or _control(self._kept, self._origin)
        return Footprint(left, known, control, shared=len(self._standing), unsought=self._unsought)

    def _look(self, texts: Sequence[str]) -> None:
        """Note which needles stand in texts that stay."""
        if self._looker is None:
            return
        raw = SEPARATOR.join([text.encode() for text in texts])
        if found := {each.needle for each in self._looker.look_only(raw).seen}:
            self._standing |= found
            self._looker = Looker(self._looker.needles.without(found))  # what many say would be met in every text


def _gone(store: Store, target: Target) -> dict[int, Event]:
    """Return the readable events that go, by their sequence numbers."""
    census = Census(target.subjects, target.events, store.keyring.epoch, store.log.erased)
    census.take(store.log.rows())
    gone = {}
    for seq in census.reach.there:
        with suppress(KeyMissing):  # it is dark already
            gone[seq] = store.log.event(seq)
    return gone


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
    """Return what a scan looks for: the control alone where nothing was there of what was asked for, and no name long enough."""
    return Needles.of(footprint.needles, digests=footprint.digests, control=footprint.control, may_be_none=True)


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


def _beside(events: Iterable[Event]) -> set[str]:
    """Return whatever else a scan of the rows reads of events: kind and role, scope, labels, key, and what is deep in the metadata."""
    found = set[str | None]()
    for event in events:
        scope = event.scope
        found.update((event.source.kind, event.role, scope.user, scope.agent, scope.run, event.key), event.audience)
        if event.metadata:
            found.update(strings(event.metadata))
    return {text for text in found if text}


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


def _control(texts: Iterable[str], origin: str) -> str:
    """Return something that will be found: a stretch of what stays, or where nobody is left the name of the log."""
    return next((stretch for text in texts for stretch in _stretches(text)), origin)
