"""Embedding by a model: the recipe, what is sent for one event or one query, and what an answer is as a vector. Pure.

An event is sent alone, as its own words from the first character on: so its vector depends on nothing else, its recording goes dark with
it alone, and after a loss nothing of anybody else is asked again. Neither names nor places are told beside the words.

    vector    components · least(127 / greatest, 4000 / length), rounded to nearest, a half to even

Components are small integers, as those of the shipped weights are. The length is kept below 4096, so that every product of two vectors is
an exact integer below 2²⁴ in whatever order a processor adds it up (Cauchy and Schwarz), however many components there are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlsplit

import numpy as np

from refold import canonical
from refold.errors import Usage
from refold.fold.recipe import WIRE, Limits, Price, Reader
from refold.fold.request import Declared, EventRef, Field, Message, Query, Request, Task, Voice
from refold.model import Event

VERSION = 1
COMPONENTS_MAX = 4_096
GREATEST = 127
LENGTH = 4_000
HINT = "refold help vectors"
NEEDED = ("adapter", "api_base", "model", "vector")
OPTIONAL = ("parameters", "extra_body", "headers", "price", "limits")
VECTOR = ("components", "characters", "query_seconds")


@dataclass(frozen=True, slots=True)
class EmbeddingRecipe:
    """All of a recipe file that says by which model vectors are made."""

    name: str
    adapter: str
    api_base: str
    model: str
    parameters: tuple[Field, ...]
    extra_body: tuple[Field, ...]
    headers: tuple[tuple[str, str], ...]
    components: int  # of a vector
    characters: int  # of one text: what lies behind is not sent
    query_seconds: float  # that a search waits for the vector of its query
    price: Price | None
    limits: Limits

    @classmethod
    def load(cls, text: str, *, name: str) -> EmbeddingRecipe:
        """Read a recipe. Raises Usage, naming the key and what is expected."""
        reader = Reader(name)
        top = reader.table(reader.parsed(text), "", needed=NEEDED, optional=OPTIONAL)
        table = reader.table(top["vector"], "vector", needed=VECTOR)
        components = reader.count(table["components"], "vector.components")
        if components > COMPONENTS_MAX:
            raise reader.fault("vector.components", f"at most {COMPONENTS_MAX}")
        seconds = reader.number(table["query_seconds"], "vector.query_seconds")
        if not seconds:
            raise reader.fault("vector.query_seconds", "above nought")
        made = cls(
            name=name,
            **reader.asked(top),
            components=components,
            characters=reader.count(table["characters"], "vector.characters"),
            query_seconds=float(seconds),
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
    def digest(self) -> bytes:
        """Return SHA-256 over what vectors depend on."""
        asked = [self.adapter, self.api_base, self.model, self.parameters, self.extra_body, self.headers]
        return sha256(canonical.encode([VERSION, asked, self.components, self.characters])).digest()


def host(recipe: EmbeddingRecipe) -> str:
    """Return where the words of events and queries are sent."""
    return urlsplit(recipe.api_base).netloc or recipe.adapter


def told(event: Event, characters: int) -> bytes:
    """Return what is sent of an event: its words, and nothing else."""
    return event.text[:characters].encode()


def request(recipe: EmbeddingRecipe, segment: EventRef | Query) -> Request:
    """Return the request for the vector of one event or one query."""
    return Request(
        adapter=recipe.adapter,
        api_base=recipe.api_base,
        model=recipe.model,
        messages=(Message(Voice.USER, (segment,)),),
        parameters=recipe.parameters,
        extra_body=recipe.extra_body,
        headers=recipe.headers,
        task=Task.EMBED,
    )


def ref(recipe: EmbeddingRecipe, event: Event, digest: bytes) -> EventRef:
    """Return an event as it is sent; `digest` is the payload_commit of its entry."""
    return EventRef(event.event_id, digest, told(event, recipe.characters))


def declared(recipe: EmbeddingRecipe, events: Iterable[tuple[Event, bytes]]) -> Declared:
    """Return what requests about these events, each with its digest, may be made of."""
    known: Mapping = {event.event_id: (digest, told(event, recipe.characters)) for event, digest in events}
    return Declared(known, frozenset(), {})


def nothing(recipe: EmbeddingRecipe) -> bytes:
    """Return the vector of a text without words, for which nobody is asked."""
    return bytes(recipe.components)


def vector(recipe: EmbeddingRecipe, content: str) -> bytes:
    """Return what a model said, a list of numbers in JSON, as one signed byte a component. Raises Usage where they are too many or few."""
    found = np.array(json.loads(content), np.float64)
    if found.shape != (recipe.components,):
        said = f"{recipe.maker} gives vectors of {found.size} components, and the recipe says {recipe.components}"
        raise Usage(said, path=recipe.name, hint=HINT)
    greatest = float(np.abs(found).max())
    if not greatest:
        return nothing(recipe)
    found = found / greatest  # before it is squared: no square overflows or vanishes
    length = math.sqrt(math.fsum((found * found).tolist()))
    return np.rint(found * min(GREATEST, LENGTH / length)).astype(np.int8).tobytes()
