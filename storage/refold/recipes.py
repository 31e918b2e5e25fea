"""The recipes in force: what the shipped configs say of relations, rules and search, read once."""

from __future__ import annotations

from functools import cache

from refold import settings
from refold.fold.relations import Relations
from refold.fold.rules import Rules
from refold.state import recipe


@cache
def relations() -> Relations:
    """Return the relations of configs/relations.toml."""
    return Relations.load(settings.text("relations.toml"))


@cache
def rules() -> Rules:
    """Return the rules of configs/rules.toml."""
    known = relations()
    return Rules.load(settings.text("rules.toml"), relations=known.names, policy_of=known.policy)


def search() -> recipe.Recipe:
    """Return the recipe of configs/search.toml."""
    return recipe.shipped()
