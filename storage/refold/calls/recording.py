"""A recording: one attempt at a model call, byte for byte. Values and their bytes; who writes them is elsewhere.

    plaintext = u32be length ‖ facts of the attempt, canonical JSON ‖ u32be length ‖ request ‖ u32be length ‖ wire ‖ u32be length ‖ answer

`request` is the rendering, tiled by `spans`. `wire` is what litellm wanted to send where that is spelled otherwise; else it is empty.
It is sealed as an entry of kind CALL in the log of the calls, with the ids of the input events in front of the payload.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from refold import canonical
from refold.fold.request import Spans, Task

VERSION = 1


class Form(StrEnum):
    """How near to the wire a request was checked."""

    WIRE = "wire"  # these bytes, and no others, left as the body
    CALL = "call"  # these were handed to litellm, whose own bytes to the provider were not seen


class Fault(StrEnum):
    """Why an attempt, or a request as a whole, gave no usable answer."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    CUT_CONNECTION = "cut-connection"
    RATE_LIMITED = "rate-limited"
    SERVER_ERROR = "server-error"
    REFUSED = "refused"  # the provider will not take this request
    MALFORMED = "malformed"  # the answer is no chat completion; or no vector, or no score for each text, where that was asked for
    OVERLONG = "overlong"  # more bytes than an answer may have
    CUT_OFF = "cut-off"  # finish_reason is length: the answer is not whole
    FILTERED = "filtered"  # finish_reason is content_filter
    UNFINISHED = "unfinished"  # any other finish_reason but stop
    ADAPTER = "adapter"  # litellm failed before or after the provider
    BUDGET = "budget"  # never sent: the budget of the run is spent


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens as the provider says it counted them."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One attempt. Times are µs since 1970, `cost` is in 10⁻⁹ of the price table's currency."""

    replay_tag: bytes  # 32 bytes
    draw: int
    attempt: int  # from 1, within one run
    form: Form
    host: str  # of the provider
    model: str
    answered_by: str  # the model's name as the provider gives it; "" without an answer
    status: int  # of HTTP; 0 where no response came
    fault: Fault | None
    finish_reason: str
    started_at: int
    ended_at: int
    tokens: Tokens | None
    cost: int | None
    currency: str
    canonical_form: bytes
    spans: Spans
    request: bytes
    wire: bytes
    answer: bytes

    @property
    def task(self) -> Task:
        """What was asked for."""
        form: Any = canonical.decode(self.canonical_form)
        return Task(form.get("task", Task.CHAT))

    @property
    def segments(self) -> list[list[str]]:
        """Return kind, name and digest of the segments that the spans point to."""
        messages: Any = canonical.decode(self.canonical_form)["messages"]
        return [segment for _, segments in messages for segment in segments]


FACTS = (
    *("draw", "attempt", "form", "host", "model", "answered_by", "status", "fault", "finish_reason", "started_at", "ended_at"),
    *("cost", "currency", "spans"),
)


def encode(recording: Recording) -> bytes:
    """Return the plaintext of a recording."""
    facts: dict[str, object] = {name: getattr(recording, name) for name in FACTS}
    facts["version"] = VERSION
    facts["replay_tag"] = recording.replay_tag.hex()
    facts["canonical"] = recording.canonical_form.decode()
    facts["tokens"] = None if recording.tokens is None else [recording.tokens.prompt, recording.tokens.completion]
    pieces = (canonical.encode(facts), recording.request, recording.wire, recording.answer)
    return b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces)


def decode(plaintext: bytes) -> Recording:
    """Read a plaintext that was authenticated, and so is ours. Raises ValueError, KeyError, TypeError where its form is unknown here."""
    pieces, at = [], 0
    while at < len(plaintext):
        end = at + 4 + int.from_bytes(plaintext[at : at + 4], "big")
        pieces.append(plaintext[at + 4 : end])
        at = end
    raw, request, wire, answer = pieces
    facts: dict[str, Any] = json.loads(raw)
    if facts.pop("version") != VERSION:
        raise ValueError("a later version")
    tokens, form = facts.pop("tokens"), facts.pop("canonical")
    facts["replay_tag"] = canonical.unhex(facts["replay_tag"], 32)
    facts["form"] = Form(facts["form"])
    facts["fault"] = None if facts["fault"] is None else Fault(facts["fault"])
    facts["spans"] = tuple(map(tuple, facts["spans"]))
    return Recording(
        **facts,
        tokens=None if tokens is None else Tokens(*tokens),
        canonical_form=form.encode(),
        request=request,
        wire=wire,
        answer=answer,
    )
