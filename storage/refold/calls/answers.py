"""What an answer says: read from its recorded bytes alone, so that a replay reads the same."""

from __future__ import annotations

import base64
import math
import struct
from dataclasses import dataclass
from typing import Any

from refold.calls.recording import Fault, Tokens
from refold.calls.strict import parse
from refold.fold.request import Task, json_text

MODEL_CHARACTERS_MAX = 200
FINISHED = {"stop": None, "length": Fault.CUT_OFF, "content_filter": Fault.FILTERED}


@dataclass(frozen=True, slots=True)
class Said:
    """What an answer holds; of a vector `content` is its components as a list in JSON, of an order the scores of the texts as sent.

    It is "" where there is a fault.
    """

    content: str
    fault: Fault | None
    finish_reason: str = ""
    model: str = ""
    tokens: Tokens | None = None


def read(status: int, answer: bytes, task: Task) -> Said:
    """Return what an answer says, or why it is not usable."""
    if status != 200:
        return Said("", _of_status(status))
    try:
        document = parse(answer)
        return {Task.EMBED: _vector, Task.RERANK: _order}.get(task, _completion)(document)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, struct.error):
        return Said("", Fault.MALFORMED)


def _of_status(status: int) -> Fault:
    if status == 429:
        return Fault.RATE_LIMITED
    if status == 408:
        return Fault.TIMEOUT
    return Fault.SERVER_ERROR if status >= 500 or status in (409, 425) else Fault.REFUSED


def _completion(document: Any) -> Said:
    (choice,) = document["choices"]
    reason, content, model = choice["finish_reason"], choice["message"]["content"], _model(document)
    tokens = _tokens(document.get("usage"))
    if not isinstance(reason, str):
        return Said("", Fault.UNFINISHED, "", model, tokens)
    fault = FINISHED.get(reason, Fault.UNFINISHED)
    if fault is None and not isinstance(content, str):
        fault = Fault.MALFORMED
    return Said(content if fault is None else "", fault, reason[:MODEL_CHARACTERS_MAX], model, tokens)


def _vector(document: Any) -> Said:
    """Read a vector: numbers, or as base64 the float32 of its components, lowest byte first."""
    (one,) = document["data"]
    found = one["embedding"]
    if isinstance(found, str):
        raw = base64.b64decode(found, validate=True)
        found = list(struct.unpack(f"<{len(raw) // 4}f", raw))
    if not found or not all(type(each) in (int, float) and math.isfinite(each) for each in found):
        return Said("", Fault.MALFORMED)
    return Said(json_text(found), None, "", _model(document), _tokens(document.get("usage"), completion=0))


def _order(document: Any) -> Said:
    """Read the score of every text; each comes with the place that its text had, and none may be missing or twice."""
    found = {one["index"]: one["relevance_score"] for one in document["results"]}
    scores = [found[place] for place in range(len(document["results"]))]
    if not scores or not all(type(each) in (int, float) and math.isfinite(each) for each in scores):
        return Said("", Fault.MALFORMED)
    usage = document.get("usage") or (document.get("meta") or {}).get("tokens") or {}
    counted = next((usage[name] for name in ("prompt_tokens", "input_tokens", "total_tokens") if usage.get(name)), None)
    return Said(json_text(scores), None, "", _model(document), _tokens({"prompt_tokens": counted}, completion=0))


def _model(document: Any) -> str:
    model = document.get("model")
    return model[:MODEL_CHARACTERS_MAX] if isinstance(model, str) else ""


def _tokens(usage: Any, completion: int | None = None) -> Tokens | None:
    """Return the tokens that a provider counted; None where it says none: they are never guessed. `completion` is where none are said."""
    if not isinstance(usage, dict):
        return None
    counts = usage.get("prompt_tokens"), usage.get("completion_tokens", completion)
    if not all(type(count) is int and 0 <= count < 1 << 48 for count in counts):
        return None
    return Tokens(*counts)
