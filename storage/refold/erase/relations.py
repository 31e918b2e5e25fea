"""Relations: how others are related to a person, and where a text refers to them so: Ben's manager, my sister. Pure; no IO.

Thousands of people may have a sister of that name, and a pattern for each, tried on every text, takes longer than all else. So a pattern
is tried only where a word begins as the name in it does, or for whoever speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from refold.erase.aliases import spaced
from refold.erase.letters import words
from refold.model import Span, SubjectId

BEGINS = re.compile(r"(?<![^\W_])[^\W_]{1,3}")  # with what a word begins, a name too


@dataclass(frozen=True, slots=True)
class Relation:
    """Somebody's relation to the person, as a fact names it: Ben's manager. `speakers` call them "my manager"."""

    of: tuple[str, ...]  # what that somebody is called
    what: str
    speakers: frozenset[SubjectId] = frozenset()


class Relations:
    """Finds where texts refer to somebody by a relation of theirs."""

    def __init__(self, relations: Iterable[Relation]) -> None:
        self._theirs: dict[str, dict[str, set[str]]] = {}  # by what a name begins with, and by what they are: names
        self._mine: dict[SubjectId, set[str]] = {}
        self._patterns: dict[tuple[str, str], re.Pattern[str]] = {}
        for one in relations:
            for name in one.of:
                if begins := BEGINS.match(" ".join(words(name))):
                    self._theirs.setdefault(begins[0], {}).setdefault(one.what, set()).add(name)
            for speaker in one.speakers:
                self._mine.setdefault(speaker, set()).add(one.what)

    def find(self, text: str, speaker: SubjectId | None) -> Iterator[Span]:
        """Yield the places of a text in its plain form that refer to the person so, in no promised order."""
        begun = {found[0][:size] for found in BEGINS.finditer(text) for size in (1, 2, 3)} if self._theirs else ()
        for begins in self._theirs.keys() & begun:
            for what, names in self._theirs[begins].items():
                yield from (found.span() for found in self._of_somebody(begins, what, names).finditer(text))
        for what in self._mine.get(speaker, ()) if speaker else ():
            yield from (found.span() for found in self._of_me(what).finditer(text))

    def _of_somebody(self, begins: str, what: str, names: Iterable[str]) -> re.Pattern[str]:
        if (begins, what) not in self._patterns:
            called = "|".join(rf"{spaced(name)}(?:['’]s|s|['’])?" for name in sorted(names, key=lambda name: (-len(name), name)))
            self._patterns[begins, what] = re.compile(rf"(?<![^\W_])(?:{called})\s+{spaced(what)}(?![^\W_])")
        return self._patterns[begins, what]

    def _of_me(self, what: str) -> re.Pattern[str]:
        if ("", what) not in self._patterns:
            self._patterns["", what] = re.compile(rf"(?<![^\W_])(?:my|our)\s+{spaced(what)}(?![^\W_])")
        return self._patterns["", what]
