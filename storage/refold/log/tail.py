"""The tail: what the state's index does not know yet of the log. Aliases, ids that may be used, records seen before."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from refold.keys.keyring import Keyring
from refold.keys.subjects import alias_tag, seen_tags
from refold.log.head import Head
from refold.model import SubjectId

if TYPE_CHECKING:
    from refold.log.log import Log


SHARED_MAX = 65_536  # entries that both the index and the tail know, before the tail forgets them


class Index(Protocol):
    """What a state knows of the log below position `size`, by tags made under the keys of `epoch`."""

    @property
    def size(self) -> int: ...

    @property
    def epoch(self) -> int: ...

    def subjects_of(self, alias_tags: Sequence[bytes]) -> dict[bytes, SubjectId]:
        """Return the subject of each alias that is known; of several, the first minted."""
        ...

    def seen(self, tags: Sequence[bytes]) -> dict[bytes, int]:
        """Return the seq of the event that each tag stands for."""
        ...

    def knows(self, subjects: Sequence[SubjectId]) -> set[SubjectId]:
        """Return those that have a subject entry of the live epoch."""
        ...


class Tail:
    """Follows the log from where an index ends. Threads share one per log."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._mutex = threading.Lock()
        self._restart(log.keyring.epoch, 0)

    def follow(self, head: Head, keyring: Keyring, index: Index | None) -> Known:
        """Read up to the head and return what index and tail know together."""
        if index is not None and index.epoch != keyring.epoch:
            index = None
        with self._mutex:
            start = index.size if index is not None else 0
            if keyring.epoch != self._epoch or not self._joins(start):
                self._restart(keyring.epoch, start)
            if self._end < head.size:
                self._scan(head, keyring)
            return Known(index, self._subjects, self._seen, self._living)

    def recognise(self, keyring: Keyring) -> None:
        """Read back the commits of ours whose records nobody had to recognise until now: an import is about to."""
        with self._mutex:
            if keyring.epoch == self._epoch:
                for first, end in self._unread:
                    self._recognise(keyring, first, end)
                self._unread.clear()

    def learn(
        self, keyring: Keyring, first: int, end: int, *, subjects: dict[bytes, SubjectId], seen: dict[bytes, int], is_all: bool
    ) -> None:
        """Take over what a commit of ours holds, so that it need not be read back.

        Unless `seen` `is_all` by which its records are recognised: then they are read back once they have to be. Most never are, for
        agents add and do not import, and the tags of what was said are a seventh of what adding it costs.
        """
        with self._mutex:
            if (self._epoch, self._end) == (keyring.epoch, first):
                self._living.update(subjects.values())
                for tag, subject in subjects.items():
                    self._subjects.setdefault(tag, subject)
                for tag, seq in seen.items():
                    self._seen.setdefault(tag, seq)
                if not is_all:
                    begin = self._unread.pop()[0] if self._unread and self._unread[-1][1] == first else first
                    self._unread.append((begin, end))
                self._end = end

    def _joins(self, start: int) -> bool:
        """Whether an index that ends at `start` and this tail leave no entry to nobody, and share not too many.

        An index may end below one that was seen before: the state was lost, or a thread still reads the one before.
        """
        return self._start <= start <= min(self._end, self._start + SHARED_MAX)

    def forget(self) -> None:
        """Let go of everything that was read."""
        with self._mutex:
            self._restart(0, 0)

    def _restart(self, epoch: int, start: int) -> None:
        self._epoch = epoch
        self._start = self._end = start
        self._subjects: dict[bytes, SubjectId] = {}
        self._seen: dict[bytes, int] = {}
        self._living: set[SubjectId] = set()
        self._unread: list[tuple[int, int]] = []  # ranges of entries of ours: only their keys are in `_seen`

    def _recognise(self, keyring: Keyring, first: int, end: int) -> None:
        for events, _ in self._log.entries(first, end):
            for event in events:
                for tag in seen_tags(keyring, event):
                    self._seen.setdefault(tag, event.seq)

    def _scan(self, head: Head, keyring: Keyring) -> None:
        for events, subjects in self._log.entries(self._end, head.size):
            for entry in subjects:
                self._living.add(entry.subject)
                for _, alias in entry.aliases:
                    self._subjects.setdefault(alias_tag(keyring, alias), entry.subject)
            for event in events:
                for tag in seen_tags(keyring, event):
                    self._seen.setdefault(tag, event.seq)
        self._end = head.size


class Known:
    """Answers for index and tail together."""

    def __init__(self, index: Index | None, subjects: dict[bytes, SubjectId], seen: dict[bytes, int], living: set[SubjectId]) -> None:
        self._index = index
        self._subjects = subjects
        self._seen = seen
        self._living = living

    def subjects_of(self, tags: Sequence[bytes]) -> dict[bytes, SubjectId]:
        """Return the subject of each alias that is known."""
        found = {tag: self._subjects[tag] for tag in tags if tag in self._subjects}
        return found | (self._index.subjects_of(tags) if self._index else {})

    def seen(self, tags: Sequence[bytes]) -> dict[bytes, int]:
        """Return the seq of the event that each tag stands for."""
        found = {tag: self._seen[tag] for tag in tags if tag in self._seen}
        return found | (self._index.seen(tags) if self._index else {})

    def living(self, subjects: Sequence[SubjectId]) -> set[SubjectId]:
        """Return those that have a readable subject entry: one of the live epoch, or under a secret that was carried over."""
        found = {subject for subject in subjects if subject in self._living}
        return found | (self._index.knows(subjects) if self._index else set())
