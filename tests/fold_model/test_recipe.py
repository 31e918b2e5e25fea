"""A recipe is checked key by key, and its digest covers what requests are made of, and nothing else."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from refold import settings
from refold.errors import Usage
from refold.fold.recipe import Blocks, ModelRecipe, Price, Profiles
from refold.fold.request import Template, json_fields
from tests.fold_model.asked import recipe
from tests.fold_model.telling import RULES

SHIPPED = settings.text("recipes/openai.toml")


def load(text: str) -> ModelRecipe:
    return ModelRecipe.load(text, name="own.toml", prompt=lambda name: "words")


CHANGED = {
    "adapter": "anthropic",
    "api_base": "http://127.0.0.1:1/v1",
    "model": "large",
    "parameters": json_fields({"temperature": 1}),
    "extra_body": json_fields({"top_k": 1}),
    "headers": (("x-title", "a"),),
    "prompt": Template("extract-1.md", "other words"),
    "blocks": replace(recipe().blocks, context=1),
    "profile": RULES,
}
UNASKED = {"name": "other.toml", "answer_tokens": 7, "price": Price("EUR", 1.0, 2.0), "limits": replace(recipe().limits, attempts=1)}


def test_the_digest_covers_what_is_asked_and_not_what_it_costs():
    assert CHANGED.keys() | UNASKED.keys() == {field.name for field in fields(ModelRecipe)}
    asked = {replace(recipe(), **{name: value}).digest for name, value in CHANGED.items()}
    asked |= {replace(recipe(), blocks=replace(recipe().blocks, **{field.name: 99})).digest for field in fields(Blocks)}
    told: dict[str, Any] = {field.name: 99 for field in fields(Profiles)} | {"prompt": Template("profile-1.md", "other words")}
    asked |= {replace(recipe(), profile=replace(RULES, **{name: value})).digest for name, value in told.items()}
    assert len(asked) == len(CHANGED) + len(fields(Blocks)) + len(told)
    assert recipe().digest not in asked
    assert {replace(recipe(), **{name: value}).digest for name, value in UNASKED.items()} == {recipe().digest}


@pytest.mark.parametrize(
    ("found", "instead", "named"),
    [
        ('adapter = "openai"', "", "adapter"),
        ('adapter = "openai"', 'adapter = "Open AI"', "adapter"),
        ("https://api.openai.com/v1", "ftp://host", "api_base"),
        ("https://api.openai.com/v1", "https://key@host/v1", "api_base"),
        ("https://api.openai.com/v1", "https://host/v1?key=1", "api_base"),
        ("temperature = 0", "temperature = nan", "parameters"),
        ("temperature = 0", "model = 'x'", "parameters.model"),
        ("temperature = 0", "when = 2024-01-01", "parameters"),
        ("[limits]", "[headers]\nAuthorization = 'Bearer x'\n[limits]", "headers.Authorization"),
        ("[limits]", "[extra_body]\ntemperature = 1\n[limits]", "extra_body.temperature"),
        ("parts = 8", "parts = 0", "extract.parts"),
        ("context = 4", "context = -1", "extract.context"),
        ("context = 4", "turns = 4", "extract.turns"),
        ("extract-1.md", "../secret.md", "extract.prompt"),
        ("concurrency = 8", "concurrency = 0", "limits.concurrency"),
        ("timeout_seconds = 60", "timeout_seconds = 0", "limits.timeout_seconds"),
        ("attempts = 5", "attempts = true", "limits.attempts"),
        ("# [price]", "[price]\ncurrency = 'USD'\ninput = 1", "price.output"),
        ("# [price]", "[price]\ncurrency = 'usd'\ninput = 1\noutput = 1", "price.currency"),
        ("# [profile]", "[profile]\nprompt = 'profile-1.md'\nfacts = 64", "profile.facts_min"),
        ("# [profile]", "[profile]\nprompt = 'profile-1.md'\nfacts = 0\nfacts_min = 1\nsentences = 1\ncharacters = 1", "profile.facts"),
        ("[limits]", "[limit]", "limit"),
        ("[limits]", "[limits", "not valid TOML"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said_with_its_key(found, instead, named):
    assert found in SHIPPED
    with pytest.raises(Usage) as wrong:
        load(SHIPPED.replace(found, instead, 1))
    assert named in wrong.value.message
    assert wrong.value.path == "own.toml"


def test_a_recipe_can_be_asked_of_another_model_at_another_address():
    other = load(SHIPPED).asking(model="openai/org/small:8b", api_base="http://127.0.0.1:8000/v1/")
    assert (other.adapter, other.model, other.api_base) == ("openai", "org/small:8b", "http://127.0.0.1:8000/v1")
    assert other.extractor == "openai/org/small:8b"
    assert load(SHIPPED).asking(model="org/small").model == "org/small"


def test_a_recipe_that_leaves_the_model_open_is_not_used():
    with pytest.raises(Usage, match="no model"):
        load(SHIPPED).require_model()
    load(SHIPPED).asking(model="small").require_model()
