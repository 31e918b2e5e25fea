"""Reranking by a model: the recipe, what is sent for a query and the events found for it, and what scores come to. Pure.

A model reads the query together with each event, as its own words and nothing beside them, and says how much that event says about it.
Scores of models have no common scale, so only their differences within one answer count:

    points    weight · (score - least) / (greatest - least), in 1/4096; 0 where all scores are the same

Points are added to what words, cues and likeness come to. None is below 0 and only the first events of a search are asked about, so those
stay before the others: nothing is found or lost by it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from refold.fold.embedding import told
from refold.fold.recipe import Limits, Price, Reader
from refold.fold.request import Declared, EventRef, Field, Message, Query, Request, Task, Voice
from refold.model import Event

UNIT = 4096
WIRE = "hosted_vllm"  # the adapter whose bytes are rendered exactly
HINT = "refold help rerank"
NEEDED = ("adapter", "api_base", "model", "rerank")
OPTIONAL = ("parameters", "headers", "price", "limits")
RERANK = ("candidates", "weight", "characters", "query_seconds")

Known = tuple[Event, bytes]  # an event, and the payload_commit of its entry


@dataclass(frozen=True, slots=True)
class RerankRecipe:
    """All of a recipe file that says which model puts found events in order."""

    name: str
    adapter: str
    api_base: str
    model: str
    parameters: tuple[Field, ...]
    extra_body: tuple[Field, ...]  # none: litellm takes none
    headers: tuple[tuple[str, str], ...]
    candidates: int  # the first events of a search, which are asked about
    weight: float  # of what the model says, beside a score of search
    characters: int  # of one event, or one query: what lies behind is not sent
    query_seconds: float  # that a search waits
    price: Price | None
    limits: Limits

    @classmethod
    def load(cls, text: str, *, name: str) -> RerankRecipe:
        """Read a recipe. Raises Usage, naming the key and what is expected."""
        reader = Reader(name)
        top = reader.table(reader.parsed(text), "", needed=NEEDED, optional=OPTIONAL)
        reader.table(top.get("limits", {}), "limits", optional=("concurrency",))  # a search asks once: no other limit would be kept to
        table = reader.table(top["rerank"], "rerank", needed=RERANK)
        numbers = {key: float(reader.number(table[key], f"rerank.{key}")) for key in ("weight", "query_seconds")}
        for key in numbers:
            if not numbers[key]:
                raise reader.fault(f"rerank.{key}", "above nought")
        made = cls(
            name=name,
            **reader.asked(top),
            candidates=reader.count(table["candidates"], "rerank.candidates", least=2),
            characters=reader.count(table["characters"], "rerank.characters"),
            **numbers,
        )
        if not made.model:
            raise reader.fault("model", "the name of a model")
        if made.adapter == WIRE and not made.api_base:
            raise reader.fault("api_base", "an address")
        return made

    @property
    def maker(self) -> str:
        """Return the name under which the model is shown."""
        return f"{self.adapter}/{self.model}"

    @property
    def host(self) -> str:
        """Return where the words of queries, and of what is found for them, are sent."""
        return urlsplit(self.api_base).netloc or self.adapter


def request(recipe: RerankRecipe, query: str, events: Sequence[Known]) -> Request:
    """Return the request for an order of these events, each with its digest."""
    refs = (EventRef(event.event_id, digest, told(event, recipe.characters)) for event, digest in events)
    return Request(
        adapter=recipe.adapter,
        api_base=recipe.api_base,
        model=recipe.model,
        messages=(Message(Voice.USER, (Query(query[: recipe.characters]), *refs)),),
        parameters=recipe.parameters,
        headers=recipe.headers,
        task=Task.RERANK,
    )


def declared(recipe: RerankRecipe, query: str, events: Sequence[Known]) -> Declared:
    """Return what a request for an order of these events may be made of."""
    known = {event.event_id: (digest, told(event, recipe.characters)) for event, digest in events}
    return Declared(known, frozenset(), {}, query[: recipe.characters])


def points(recipe: RerankRecipe, content: str) -> list[int]:
    """Return what each event gets for what a model said: a list of scores in JSON, in the order in which the events were sent."""
    said = [float(score) for score in json.loads(content)]
    unit = max(map(abs, said)) or 1  # so that no difference is more than a float can be, or too small for one
    scores = [score / unit for score in said]
    least, greatest = min(scores), max(scores)
    if least == greatest:
        return [0] * len(scores)
    return [round(UNIT * recipe.weight * ((score - least) / (greatest - least))) for score in scores]
