"""Terms: the keyed tags of the words of a text, as postings know them."""

from __future__ import annotations

from collections.abc import Iterable

from refold.state.tags import Tags
from refold.words import Stems

REMEMBERED_MAX = 1 << 18


class Terms:
    """From words to terms, with what was met remembered: a text is mostly words that were met."""

    def __init__(self, tags: Tags, stems: Stems) -> None:
        self._tags, self._stems = tags, stems
        self._known: dict[str, int | None] = {}

    def of(self, words: Iterable[str]) -> list[int]:
        """Return the terms of the words that are kept, in order."""
        known = self._known
        found = [known[word] if word in known else self._learn(word) for word in words]
        return [term for term in found if term is not None]

    def _learn(self, word: str) -> int | None:
        if len(self._known) >= REMEMBERED_MAX:
            self._known = {}
        stem = self._stems.of(word)
        term = self._known[word] = None if stem is None else self._tags.term(stem)
        return term
