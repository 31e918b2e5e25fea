"""What an answer says: read from its recorded bytes alone, so that a replay reads the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refold.calls.recording import Fault, Tokens
from refold.calls.strict import parse

MODEL_CHARACTERS_MAX = 200
FINISHED = {"stop": None, "length": Fault.CUT_OFF, "content_filter": Fault.FILTERED}


@dataclass(frozen=True, slots=True)
class Said:
    """What a chat completion holds. `content` is "" where there is a fault."""

    content: str
    fault: Fault | None
    finish_reason: str = ""
    model: str = ""
    tokens: Tokens | None = None


def read(status: int, answer: bytes) -> Said:
    """Return what an answer says, or why it is not usable."""
    if status != 200:
        return Said("", _of_status(status))
    try:
        return _completion(parse(answer))
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return Said("", Fault.MALFORMED)


def _of_status(status: int) -> Fault:
    if status == 429:
        return Fault.RATE_LIMITED
    if status == 408:
        return Fault.TIMEOUT
    return Fault.SERVER_ERROR if status >= 500 or status in (409, 425) else Fault.REFUSED


def _completion(document: Any) -> Said:
    (choice,) = document["choices"]
    reason, content, model = choice["finish_reason"], choice["message"]["content"], document.get("model")
    model = model[:MODEL_CHARACTERS_MAX] if isinstance(model, str) else ""
    tokens = _tokens(document.get("usage"))
    if not isinstance(reason, str):
        return Said("", Fault.UNFINISHED, "", model, tokens)
    fault = FINISHED.get(reason, Fault.UNFINISHED)
    if fault is None and not isinstance(content, str):
        fault = Fault.MALFORMED
    return Said(content if fault is None else "", fault, reason[:MODEL_CHARACTERS_MAX], model, tokens)


def _tokens(usage: Any) -> Tokens | None:
    """Return the tokens that a provider counted; None where it says none: they are never guessed."""
    if not isinstance(usage, dict):
        return None
    counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not all(type(count) is int and 0 <= count < 1 << 48 for count in counts):
        return None
    return Tokens(*counts)
