"""The recipes in force: what the shipped configs say of relations, rules and search, read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from refold import search_recipe, settings
from refold.errors import Usage
from refold.fold.extraction import EXTRACTOR
from refold.fold.relations import Relations

if TYPE_CHECKING:  # what asks for neither is spared both
    from refold.fold.embedding import EmbeddingRecipe
    from refold.fold.recipe import ModelRecipe
    from refold.fold.reranking import RerankRecipe
    from refold.fold.rules import Rules

OF_A_MODEL = "openai"  # the recipe where a model is named, and no recipe


@cache
def relations() -> Relations:
    """Return the relations of configs/relations.toml."""
    return Relations.load(settings.text("relations.toml"))


@cache
def rules() -> Rules:
    """Return the rules of configs/rules.toml."""
    from refold.fold.rules import Rules

    known = relations()
    return Rules.load(settings.text("rules.toml"), relations=known.names, policy_of=known.policy)


def model(recipe: Path | str, *, model: str | None = None, api_base: str | None = None) -> ModelRecipe | None:
    """Return the recipe of that name in configs/recipes/, or in that file, for a model at an address; None for the patterns.

    Raises Usage.
    """
    from refold.fold.recipe import SYMBOLIC, ModelRecipe

    if str(recipe) in (SYMBOLIC, EXTRACTOR):
        return None
    path = Path(recipe)
    if not path.suffix and path.name == str(recipe):
        path = settings.folder() / "recipes" / f"{recipe}.toml"
    found = ModelRecipe.load(_text(path), name=path.name, prompt=lambda name: _prompt(path, name))
    return found.asking(model=model, api_base=api_base)


def _prompt(recipe: Path, name: str) -> str:
    """Read a prompt beside its recipe, or in `prompts` beside the recipe's folder, or the shipped one."""
    own = (recipe.parent / name, recipe.parent.parent / "prompts" / name)
    return _text(next((path for path in own if path.is_file()), settings.folder() / "prompts" / name))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):  # a NUL in its name, or no UTF-8
        from refold.fold.recipe import HINT, SYMBOLIC

        shipped = sorted(found.stem for found in (settings.folder() / "recipes").glob("*.toml"))
        known = ", ".join((SYMBOLIC, *shipped))
        raise Usage(f"a recipe or its prompt is no readable file; by name there are {known}", path=path, hint=HINT) from None


def search(env: Mapping[str, str] = os.environ) -> search_recipe.Recipe:
    """Return the recipe of search: of the search.toml beside the user's own settings, or else of the shipped configs. Raises Usage."""
    own = Path(env["REFOLD_CONFIG"]).parent / "search.toml" if env.get("REFOLD_CONFIG") else None
    if own is None or not own.is_file():
        return search_recipe.shipped()
    try:
        text = own.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Usage("the search recipe is not a readable UTF-8 file", path=own) from None
    by, order = search_recipe.named(text)
    model = _embedding_of(*_named(own, by, "vectors")) if by not in ("", search_recipe.WORDLLAMA) else None
    return search_recipe.of(text, model, _reranking_of(*_named(own, order, "rerank")) if order else None)


def _named(own: Path, by: str, folder: str) -> tuple[str, str]:
    """Return a recipe that a search recipe names, and its name: a file beside that or elsewhere, or by its name a shipped one."""
    path = own.parent / by
    if not path.suffix and Path(by).name == by:
        path = path.with_suffix(".toml")
        path = path if path.is_file() else settings.folder() / "recipes" / folder / path.name
    return _text(path), path.name


@lru_cache(maxsize=4)
def _embedding_of(text: str, name: str) -> EmbeddingRecipe:
    from refold.fold.embedding import EmbeddingRecipe

    return EmbeddingRecipe.load(text, name=name)


@lru_cache(maxsize=4)
def _reranking_of(text: str, name: str) -> RerankRecipe:
    from refold.fold.reranking import RerankRecipe

    return RerankRecipe.load(text, name=name)
