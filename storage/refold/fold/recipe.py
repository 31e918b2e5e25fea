"""A recipe: with which model, asked how, events are read. One file of configs/recipes/, checked key by key.

What a request is made of (adapter, api base, model, parameters, extra body, headers, prompt, blocks, context) is in its digest: changing
any of it folds anew, and asks again what it changes. Prices and limits are not: they change no answer.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from refold import canonical
from refold.errors import Usage
from refold.fold.request import RESERVED, SECRET_HEADERS, Field, Template, json_fields

VERSION = 1
SYMBOLIC = "symbolic"  # the name under which no model is meant
WIRE = "openai"  # the adapter whose bytes are rendered exactly
HINT = "refold help recipes"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PROMPT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.md")


@dataclass(frozen=True, slots=True)
class Blocks:
    """Which events go into one request: those of `parts` part numbers, and before them up to `context` earlier ones of the session."""

    parts: int
    context: int
    characters: int  # of all texts of a block; where they are more, each of its events is asked about alone
    event_characters: int  # of one text: what lies behind is not told


@dataclass(frozen=True, slots=True)
class Profiles:
    """How a model tells an entity in sentences, where it is asked to: from which prompt, and within which bounds."""

    prompt: Template
    facts: int  # told in one request: where more hold, those said last
    facts_min: int  # that must hold of an entity
    sentences: int  # of one profile
    characters: int  # of one sentence


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost."""

    currency: str
    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Limits:
    """How fast and how much is asked. Nought is without a limit."""

    concurrency: int
    requests_per_minute: int
    tokens_per_minute: int
    timeout_seconds: float
    attempts: int
    cost: float  # of one fold, in the price's currency


@dataclass(frozen=True, slots=True)
class ModelRecipe:
    """All of a recipe file, and the words of its prompt."""

    name: str
    adapter: str
    api_base: str
    model: str
    parameters: tuple[Field, ...]
    extra_body: tuple[Field, ...]
    headers: tuple[tuple[str, str], ...]
    prompt: Template
    blocks: Blocks
    answer_tokens: int  # that the answer about one event is reckoned with
    price: Price | None
    limits: Limits
    profile: Profiles | None = None  # no profiles without it

    @classmethod
    def load(cls, text: str, *, name: str, prompt: Callable[[str], str]) -> ModelRecipe:
        """Read a recipe; `prompt` gives the words of a prompt file. Raises Usage, naming the key and what is expected."""
        reader = Reader(name)
        top = reader.table(reader.parsed(text), "", needed=("adapter", "model", "api_base", "extract"), optional=OPTIONAL)
        extract = reader.table(top["extract"], "extract", needed=("prompt", *_of(Blocks), "answer_tokens"))
        return cls(
            name=name,
            **reader.asked(top),
            prompt=reader.prompt(extract["prompt"], "extract.prompt", prompt),
            blocks=Blocks(**{key: reader.count(extract[key], f"extract.{key}", least=key != "context") for key in _of(Blocks)}),
            answer_tokens=reader.count(extract["answer_tokens"], "extract.answer_tokens"),
            profile=reader.profiles(top["profile"], prompt) if "profile" in top else None,
        )

    def asking(self, *, model: str | None = None, api_base: str | None = None) -> ModelRecipe:
        """Return the same recipe for another model or at another address. `openai/small` names the adapter too. Raises Usage."""
        reader = Reader(self.name)
        recipe = self
        if model is not None:
            adapter, slash, rest = model.partition("/")
            recipe = replace(recipe, adapter=adapter, model=rest) if slash and adapter == WIRE else replace(recipe, model=model)
        if api_base is not None:
            recipe = replace(recipe, api_base=reader.address(api_base))
        return recipe

    def require_model(self) -> None:
        """Refuse a recipe that leaves open which model is meant, or where. Raises Usage."""
        if not self.model:
            raise Usage("the recipe names no model", path=self.name, hint="refold fold --recipe FILE --model NAME")
        if self.adapter == WIRE and not self.api_base:
            raise Usage("the recipe names no address", path=self.name, hint="refold fold --recipe FILE --api-base URL")

    @property
    def extractor(self) -> str:
        """Return the name under which facts that it gave are shown."""
        return f"{self.adapter}/{self.model}"

    @property
    def digest(self) -> bytes:
        """Return SHA-256 over what requests are made of."""
        asked = [self.adapter, self.api_base, self.model, self.parameters, self.extra_body, self.headers]
        read = [self.prompt.name, self.prompt.text, [getattr(self.blocks, key) for key in _of(Blocks)]]
        told = [] if self.profile is None else [[_prompt(getattr(self.profile, key)) for key in _of(Profiles)]]
        return sha256(canonical.encode([VERSION, asked, read, *told])).digest()


OPTIONAL = ("parameters", "extra_body", "headers", "price", "limits", "profile")
LIMITS = {"concurrency": 8, "requests_per_minute": 0, "tokens_per_minute": 0, "timeout_seconds": 60, "attempts": 5, "cost": 0}


def _of(section: type) -> tuple[str, ...]:
    return tuple(section.__annotations__)


def _prompt(value: Template | int) -> object:
    return [value.name, value.text] if isinstance(value, Template) else value


class Reader:
    """Checks values of one recipe file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def fault(self, key: str, expected: str) -> Usage:
        return Usage(f"the recipe's {key or 'top'} is not as expected: {expected}", path=self._name, hint=HINT)

    def table(self, value: object, where: str, *, needed: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.fault(where, "a table")
        dot = f"{where}." if where else ""
        for key in sorted(value.keys() - {*needed, *optional}):
            raise self.fault(f"{dot}{key}", f"no such key, known are {', '.join((*needed, *optional))}")
        for key in needed:
            if key not in value:
                raise self.fault(f"{dot}{key}", "missing")
        return value

    def parsed(self, text: str) -> object:
        """Return what a file says. Raises Usage."""
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            raise Usage("the recipe is not valid TOML", path=self._name, hint=HINT) from None

    def asked(self, top: Mapping[str, Any]) -> dict[str, Any]:
        """Return what every recipe of a model says: who is asked and how, its price and its limits."""
        found = {
            "adapter": self.matching(top["adapter"], "adapter", _NAME, "the name of a litellm provider, such as openai"),
            "api_base": self.address(top["api_base"]),
            "model": self.text(top["model"], "model"),
            "parameters": self.fields(top.get("parameters", {}), "parameters"),
            "extra_body": self.fields(top.get("extra_body", {}), "extra_body"),
            "headers": self.headers(top.get("headers", {})),
            "price": self.price(top["price"]) if "price" in top else None,
            "limits": self.limits(top.get("limits", {})),
        }
        if twice := {key for key, _ in found["parameters"]} & {key for key, _ in found["extra_body"]}:
            raise self.fault(f"extra_body.{min(twice)}", "not also among the parameters")
        return found

    def text(self, value: object, where: str) -> str:
        if not isinstance(value, str) or value != value.strip():
            raise self.fault(where, "a text")
        return value

    def matching(self, value: object, where: str, pattern: re.Pattern[str], expected: str) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self.fault(where, expected)
        return value

    def prompt(self, value: object, where: str, words_of: Callable[[str], str]) -> Template:
        file = self.matching(value, where, _PROMPT, "the name of a file that ends in .md")
        return Template(file, words_of(file))

    def profiles(self, value: object, words_of: Callable[[str], str]) -> Profiles:
        table = self.table(value, "profile", needed=_of(Profiles))
        counts = {key: self.count(table[key], f"profile.{key}") for key in _of(Profiles) if key != "prompt"}
        return Profiles(self.prompt(table["prompt"], "profile.prompt", words_of), **counts)

    def count(self, value: object, where: str, *, least: int = 1) -> int:
        if type(value) is not int or value < least:
            raise self.fault(where, f"a whole number from {int(least)}")
        return value

    def number(self, value: object, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise self.fault(where, "a number from 0")
        return value

    def address(self, value: object) -> str:
        address = self.text(value, "api_base")
        parts = urlsplit(address)
        if address and (parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query):
            raise self.fault("api_base", "a URL with http or https, without a password or a query")
        return address.rstrip("/")

    def fields(self, value: object, where: str) -> tuple[Field, ...]:
        table = self.table(value, where, optional=tuple(value) if isinstance(value, dict) else ())
        for key in sorted(RESERVED & table.keys()):
            raise self.fault(f"{where}.{key}", "left out: the request sets it itself")
        try:
            return json_fields(table)
        except (TypeError, ValueError):
            raise self.fault(where, "values that JSON has") from None

    def headers(self, value: object) -> tuple[tuple[str, str], ...]:
        table = self.table(value, "headers", optional=tuple(value) if isinstance(value, dict) else ())
        for key in table:
            if key.lower() in SECRET_HEADERS:
                raise self.fault(f"headers.{key}", "left out: keys are read from the environment")
        return tuple((key, self.text(table[key], f"headers.{key}")) for key in sorted(table))

    def price(self, value: object) -> Price:
        table = self.table(value, "price", needed=_of(Price))
        currency = self.matching(table["currency"], "price.currency", re.compile("[A-Z]{3}"), "three letters, such as USD")
        return Price(currency, *(float(self.number(table[key], f"price.{key}")) for key in ("input", "output")))

    def limits(self, value: object) -> Limits:
        table = {**LIMITS, **self.table(value, "limits", optional=tuple(LIMITS))}
        counts = {key: self.count(table[key], f"limits.{key}", least=key in ("concurrency", "attempts")) for key in _WHOLE}
        rest = {key: float(self.number(table[key], f"limits.{key}")) for key in LIMITS.keys() - counts.keys()}
        if not rest["timeout_seconds"]:
            raise self.fault("limits.timeout_seconds", "above nought")
        return Limits(**counts, **rest)


_WHOLE = ("concurrency", "requests_per_minute", "tokens_per_minute", "attempts")
