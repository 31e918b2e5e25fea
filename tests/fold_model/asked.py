"""Events, a recipe and answers made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from refold import recipes, settings
from refold.fold import prompt
from refold.fold.ground import Told
from refold.fold.job import Answered, Job, Reading, decode_result, encode_job
from refold.fold.recipe import ModelRecipe
from refold.fold.request import Request
from refold.fold.worker import answering
from refold.model import Event, Role, Source
from tests.fold.said import event

CALL = b"c" * 16


@cache
def recipe() -> ModelRecipe:
    """Return the shipped recipe, for a model that is none."""
    text = settings.text("recipes/openai.toml")
    return ModelRecipe.load(text, name="openai.toml", prompt=lambda name: settings.text(f"prompts/{name}")).asking(model="small")


@cache
def wording() -> prompt.Wording:
    """Return what the requests by it have in common."""
    return prompt.Wording.of(recipe(), recipes.relations())


@cache
def worker() -> Callable[[bytes], bytes]:
    """Return the worker for the shipped relations."""
    return answering(recipes.relations().text.encode())


def turn(text: str, part: int, *, seq: int | None = None, role: Role = Role.USER) -> Event:
    """Return a turn of one chat."""
    said = event(text, role=role, author="ada" if role is Role.USER else None, seq=part if seq is None else seq)
    return replace(said, source=Source("chat", "7", str(part)))


def asked(context: list[Event], events: list[Event]) -> Request:
    """Return the request about some events."""
    refs = {one.event_id: prompt.ref(wording(), one, bytes([one.seq]) * 32) for one in [*context, *events]}
    return prompt.request(wording(), context, events, refs)


def fact(value: str | None, words: str, **changed: object) -> dict[str, object]:
    """Return a fact as a model states it: Ada lives somewhere."""
    plain = {"event": "e1", "relation": "lives_in", "act": "say", "modality": "asserted", "entity": None, "entity_in": "e1"}
    return plain | {"value": value, "qualifier": None, "words": words, "when": None} | changed


def content(*facts: dict[str, object], aliases: tuple[dict[str, object], ...] = ()) -> str:
    """Return an answer."""
    return json.dumps({"facts": facts, "aliases": aliases}, ensure_ascii=False)


def reading(context: list[Event], events: list[Event], said: str, *, characters: int = 1_000) -> Reading:
    """Return what an answer about some events comes to, through the bytes of the worker."""
    named = prompt.aliases(context, events)
    told = {alias: Told(one, bytes([one.seq]) * 32) for alias, one in named.items()}
    job = Job("openai/small", characters, (Answered(CALL, told, said),))
    return decode_result(worker()(encode_job(job)))[0]
