"""The recipe of search: the constants of configs/search.toml as frozen values.

The `index` part is baked into the postings of a generation, which records its digest; the `query` part is used at read. Whether there
are vectors is of the first kind, and what they weigh of the second, as is whether a model puts in order what was found.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from refold import canonical, settings
from refold.errors import Usage
from refold.words import WORDS_VERSION

if TYPE_CHECKING:
    from refold.fold.embedding import EmbeddingRecipe
    from refold.fold.reranking import RerankRecipe

VECTORS_VERSION = "vectors/2"  # part of the digest where there are vectors: change it when the same text gives another one
WORDLLAMA = "wordllama"  # the name under which no model is asked: the weights lie in a wheel
UNIT = 4096  # one, in the fixed-point integers of every score: sums of floats differ from run to run


@dataclass(frozen=True, slots=True)
class Field:
    """One text of an event: its weight, and the length at which it is neither discounted nor favoured."""

    weight: float
    average: float


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of an event that its postings hold."""

    text: Field
    caption: Field
    speaker: Field
    date: Field


@dataclass(frozen=True, slots=True)
class Index:
    """What is baked into the postings."""

    b: float
    stop: frozenset[str]
    fields: Fields


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Weights of the texts of the turns nearby."""

    previous: float
    second_previous: float
    next: float
    second_next: float


@dataclass(frozen=True, slots=True)
class Context:
    """The coverage of the two previous turns alone."""

    weight: float
    saturation: float
    previous: float
    second_previous: float


@dataclass(frozen=True, slots=True)
class Cues:
    """What else speaks for or against an event."""

    speaker: float
    date: float
    days: float
    when: float
    question: float
    context_only: float
    length: float
    length_centre: float
    first: float


@dataclass(frozen=True, slots=True)
class Query:
    """What is used at read."""

    candidates: int
    saturation: float
    names: float
    coverage: float
    neighbours: Neighbours
    context: Context
    cues: Cues


@dataclass(frozen=True, slots=True)
class Vectors:
    """How the likeness of vectors counts, and by what they are made: None are the weights of the wheel."""

    weight: float
    previous: float
    next: float
    least: float
    model: EmbeddingRecipe | None = None

    @property
    def digest(self) -> bytes:
        """Return what names that which vectors depend on."""
        return VECTORS_VERSION.encode() + (self.model.digest if self.model else b"")


WEIGHTS = ("weight", "previous", "next", "least")
RERANK = "rerank"


@dataclass(frozen=True, slots=True)
class Recipe:
    """All of search.toml. `digest` names the part that postings and vectors depend on."""

    index: Index
    query: Query
    digest: bytes
    vectors: Vectors | None = None  # None: there are none
    rerank: RerankRecipe | None = None  # None: nothing puts in another order what was found

    @classmethod
    def load(cls, text: str, model: EmbeddingRecipe | None = None, rerank: RerankRecipe | None = None) -> Recipe:
        """Read search.toml, which names these models or none. Raises Usage where a key is missing, unknown or not a number."""
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            raise Usage("the search recipe is not valid TOML", path="search.toml") from None
        top = _exactly({RERANK: {"by": ""}, **tables}, {"index", "query", "vectors", RERANK}, "")
        if _exactly(top[RERANK], {"by"}, f"{RERANK}.")["by"] != "" and rerank is None:
            raise Usage(
                "the search recipe's rerank.by is neither a recipe's name nor its file", path="search.toml", hint="refold help rerank"
            )
        vectors = _vectors(_exactly(_by_whom(top["vectors"]), {"use", "by", *WEIGHTS}, "vectors."), model)
        index, query = _exactly(top["index"], _names(Index), "index."), _exactly(top["query"], _names(Query), "query.")
        own = _exactly(index["fields"], _names(Fields), "index.fields.")
        return cls(
            Index(
                b=_number(index["b"], "index.b"),
                stop=frozenset(str(index["stop"]).split()),
                fields=Fields(**{name: _numbers(Field, table, f"index.fields.{name}.") for name, table in own.items()}),
            ),
            Query(
                candidates=_count(query["candidates"], "query.candidates"),
                **{name: _number(query[name], f"query.{name}") for name in ("saturation", "names", "coverage")},
                neighbours=_numbers(Neighbours, query["neighbours"], "query.neighbours."),
                context=_numbers(Context, query["context"], "query.context."),
                cues=_numbers(Cues, query["cues"], "query.cues."),
            ),
            hashlib.sha256(WORDS_VERSION.encode() + canonical.encode(index) + (vectors.digest if vectors else b"")).digest(),
            vectors,
            rerank,
        )


@lru_cache(maxsize=4)
def of(text: str, model: EmbeddingRecipe | None = None, rerank: RerankRecipe | None = None) -> Recipe:
    """Return the recipe of the text of a search.toml, which names these models or none: the same one for the same text."""
    return Recipe.load(text, model, rerank)


def named(text: str) -> tuple[str, str]:
    """Return by what the text of a search.toml makes vectors, and by what it reranks: "" where it does not, or is not a recipe."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return "", ""
    vectors, rerank = (table if isinstance(table := tables.get(name), dict) else {} for name in ("vectors", RERANK))
    by = str(_by_whom(vectors)["by"]) if vectors.get("use") is True else ""
    return by, order if isinstance(order := rerank.get("by"), str) else ""


@cache
def shipped() -> Recipe:
    """Return the recipe of the shipped configs."""
    return of(settings.text("search.toml"))


def fixed(value: float) -> int:
    """Return a number in units of 1/4096, rounded to nearest."""
    return round(value * UNIT)


def _by_whom(table: Any) -> Any:
    """Return the section of vectors with what makes them: a file of before there was a choice does not say it."""
    return {"by": WORDLLAMA, **table} if isinstance(table, dict) else table


def _vectors(table: Mapping[str, Any], model: EmbeddingRecipe | None) -> Vectors | None:
    if not isinstance(table["use"], bool):
        raise Usage("the search recipe's vectors.use is neither true nor false", path="search.toml")
    if not isinstance(table["by"], str) or not table["by"]:
        raise Usage(f"the search recipe's vectors.by is neither {WORDLLAMA} nor a recipe's name or file", path="search.toml")
    numbers = {name: _number(table[name], f"vectors.{name}") for name in WEIGHTS}
    if not table["use"]:
        return None
    if model is None and table["by"] != WORDLLAMA:
        raise Usage("the search recipe names a model, and its recipe was not read", path=table["by"], hint="refold help vectors")
    return Vectors(**numbers, model=model)


def _names(section: type) -> set[str]:
    return set(section.__annotations__)


def _numbers(section: type, table: object, where: str) -> Any:
    return section(**{name: _number(value, where + name) for name, value in _exactly(table, _names(section), where).items()})


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Usage(f"the search recipe's {where} is not a number", path="search.toml")
    return float(value)


def _count(value: object, where: str) -> int:
    number = int(_number(value, where))
    if number < 1:
        raise Usage(f"the search recipe's {where} is below one", path="search.toml")
    return number


def _exactly(table: object, names: set[str], where: str) -> Mapping[str, Any]:
    if not isinstance(table, dict):
        raise Usage(f"the search recipe's {where.rstrip('.')} is not a table", path="search.toml")
    for name in sorted(names ^ table.keys()):
        raise Usage(f"the search recipe's {where}{name} is {'unknown' if name in table else 'missing'}", path="search.toml")
    return table
