"""What a review decides, as it is handed in: whom mentions concern, and what others keep of an event that goes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refold import times
from refold.cli.visible import table, visible
from refold.erase.model import DECLARED, Decision
from refold.errors import Usage
from refold.model import Span

if TYPE_CHECKING:
    from refold.erase.redaction import Shared

DARK, REDACTED = "dark", "redacted"
HEADS = ("id", "mention")


@dataclass(frozen=True, slots=True)
class Decided:
    """Decisions about mentions, by entry and span, and redacted versions by entry: a text, spans to take out, or None for none."""

    mentions: Mapping[tuple[int, int, int], Decision]
    versions: Mapping[int, str | Sequence[Span] | None]


def read(text: str) -> Decided:
    """Read decisions: as JSON by id, as a list of objects with their ids, or as lines of CSV. Raises Usage."""
    try:
        said = [(name.strip(), what) for name, what in _said(text) if name.strip() not in HEADS]
        if any(":" not in name and isinstance(what, str) and what.strip() in tuple(Decision) for name, what in said):
            raise Usage(f"an event as a whole is dark or redacted; {DECLARED}", hint="refold help redaction")
        mentions = {_place(name): Decision(what.strip()) for name, what in said if ":" in name}
        return Decided(mentions, {int(name): _version(what) for name, what in said if ":" not in name})
    except (ValueError, TypeError, LookupError, AttributeError):
        message = "the decisions are not of the form 12:0-3,concerns (concerns, namesake, undecided), or 12,redacted,TEXT (or 12,dark)"
        raise Usage(message, hint="refold help redaction") from None


def _said(text: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip()[:1] not in ("{", "["):
        for name, what, *rest in (row for row in csv.reader(io.StringIO(text)) if row):
            yield name, {"text": rest[0]} if what.strip() == REDACTED else what
        return
    said = json.loads(text)
    for one in said.items() if isinstance(said, dict) else said:
        if isinstance(one, dict):
            yield one["id"], one["decision"] if "decision" in one and one["decision"] != REDACTED else one
        else:
            yield one


def _place(name: str) -> tuple[int, int, int]:
    seq, _, span = name.partition(":")
    start, _, end = span.partition("-")
    return int(seq), int(start), int(end)


def _version(said: Any) -> str | list[Span] | None:
    if isinstance(said, str):
        if said.strip() != DARK:
            raise ValueError("neither a redacted version nor none")
        return None
    if ("text" in said) == ("spans" in said):
        raise ValueError("either a text or spans")
    if "text" in said:
        if not isinstance(said["text"], str):
            raise TypeError("a text that is none")
        return said["text"]
    return [(int(start), int(end)) for start, end in said["spans"]]


def shared_lines(found: Sequence[Shared], limit: int | None) -> list[str]:
    """Return the events of which others can keep something, for a person."""
    rows = [
        (str(one.event.seq), DARK if one.text is None else REDACTED, "declared" if one.declares else "mentioned", _words(one))
        for one in found[:limit]
    ]
    if not rows:
        return []
    return ["", *table(rows, head=("event", "for others", "the person is", "what is said, or what is kept of it"))]


def shared_data(found: Sequence[Shared], limit: int | None) -> list[dict[str, object]]:
    """Return the events of which others can keep something, for a program."""
    return [
        {
            "id": str(one.event.seq),
            "event_id": one.event.event_id.hex(),
            "seq": one.event.seq,
            "source": str(one.event.source),
            "said_at": times.iso(one.event.said_at),
            "speaker": one.event.speaker_name,
            "declared": one.declares,
            "decision": DARK if one.text is None else REDACTED,
            "text": one.event.text,
            "redacted": one.text,
        }
        for one in found[:limit]
    ]


def _words(one: Shared) -> str:
    words = " ".join((one.event.text if one.text is None else one.text).split())
    return visible(words if len(words) <= 200 else words[:199] + "…")
