"""`Key: value` lines of a document: what it says of the heading it stands under, or of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refold.fold.patterns import Pattern
from refold.fold.relations import Relations
from refold.fold.sentences import without_listings
from refold.model import Act, Event, Modality
from refold.reading import Candidate

LINE_MAX = 400  # characters: a longer line is prose
KEY_WORDS_MAX = 4
_LINE = re.compile(
    r"^[ \t]{0,8}(?:[-*+\u2022][ \t]+|\d{1,3}[.)][ \t]+)?(?:\*\*|__|\*|_)?(?P<key>[^\W\d_][^:\n*|`<>\"{}]{0,38}?)(?:\*\*|__|\*|_)?[ \t]?:"
    r"(?:\*\*|__|\*|_)?[ \t]{1,8}(?P<value>\S[^\n]*)$",
    re.MULTILINE,
)
_NAME = re.compile(r"[^\W\d_a-z][\w'\u2019.-]{0,30}(?: (?:van|von|de|der|den|da|di|la|le) ?)?(?: [^\W\d_a-z][\w'\u2019-]{0,30}){0,2}")


def line_candidates(event: Event, relations: Relations) -> Iterator[Candidate]:
    """Yield what the `Key: value` lines of a document's event state."""
    heading = next((text for key in ("heading", "title") if isinstance(text := event.metadata.get(key), str) and text.strip()), None)
    plain = without_listings(event.text, event.text)
    for pattern in relations.grammar.lines:
        for match in _LINE.finditer(plain):
            candidate = _candidate(event, pattern, relations, match, heading)
            if candidate:
                yield candidate


def _candidate(event: Event, pattern: Pattern, relations: Relations, match: re.Match[str], heading: str | None) -> Candidate | None:
    key, value = match.group("key").rstrip(), match.group("value").rstrip()
    words = relations.grammar.words
    unless = pattern.slots[0].unless
    barred = bool(unless) and key.split()[0].casefold() in words[unless]
    if match.end() - match.start() > LINE_MAX or len(key.split()) > KEY_WORDS_MAX or barred or not any(char.isalnum() for char in value):
        return None
    begin = match.start("value")
    if value[:2] == value[-2:] in ("**", "__") and len(value) > 4:
        begin, value = begin + 2, value[2:-2]
    key_span = (match.start("key"), match.start("key") + len(key))
    value_span = (begin, begin + len(value))
    is_person = bool(_NAME.fullmatch(value)) and (" " in value or ("PersonKey" in words and key.casefold() in words["PersonKey"]))
    return Candidate(
        relation=pattern.relation,
        act=Act.SAY,
        modality=Modality.ASSERTED,
        value=value,
        value_span=value_span,
        relation_span=(key_span[0], value_span[1]),
        entity=heading,
        entity_span=None,
        qualifier=key,
        qualifier_span=key_span,
        value_is_entity=is_person,
    )
