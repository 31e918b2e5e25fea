"""Extractors: what reads the events of a fold, the patterns or a model by a recipe, as a caller or the settings say."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from refold import folding, recipes, settings
from refold.asking import Asking, Estimate, Model
from refold.calls.gateway import Gateway
from refold.calls.mode import Mode
from refold.calls.pace import Budget
from refold.closed import fold as closed_fold
from refold.closed.closure import Level
from refold.closed.worker import Worker
from refold.errors import Usage
from refold.fold import worker
from refold.fold.recipe import ModelRecipe
from refold.folding import FoldPlan, FoldReport, Report
from refold.heads.configured import sign
from refold.outside import Clock, Random
from refold.state.generation import State
from refold.state.profiles import pending
from refold.store import Store
from refold.units import NANOS
from refold.vectors import Vectoring, owing, vectoring


@dataclass(frozen=True, slots=True)
class Choice:
    """By what a fold reads: a recipe, None for the patterns, and where the answers come from."""

    recipe: ModelRecipe | None = None
    mode: Mode = Mode.LIVE
    said: tuple[str, ...] = ()  # recipe, model and address as they were named, for another process

    @classmethod
    def of(
        cls, recipe: Path | str | None = None, *, model: str | None = None, api_base: str | None = None, calls: str | None = None
    ) -> Choice:
        """Return what a caller chose, by the settings where nothing is said. `calls` is a `Mode`. Raises Usage."""
        own = settings.load().fold
        if recipe is None and model is None:
            recipe, model, api_base = own.recipe, own.model or None, api_base or own.api_base or None
        chosen = recipes.model(recipe or recipes.OF_A_MODEL, model=model, api_base=api_base)
        if calls is not None and calls not in list(Mode):
            raise Usage(f"answers come from none of {', '.join(Mode)}", hint="refold help fold")
        if chosen is None and (api_base is not None or (calls is not None and not _makes_vectors())):
            raise Usage("this fold asks no model: name a recipe or a model", hint="refold help recipes")
        said = (str(recipe or recipes.OF_A_MODEL), model or "", api_base or "")
        return cls(chosen, Mode(calls or Mode.LIVE), said if chosen else ())


def plan(store: Store, state: State, choice: Choice, *, full: bool, now: Clock) -> FoldPlan:
    """Return what a fold would do; with a model also what it would ask, and what that would cost."""
    relations = recipes.relations()
    head, _ = store.log.refresh()
    made = folding.make_plan(head, state, relations=relations, recipe=recipes.search(), by=choice.recipe, full=full)
    made = replace(made, vectors=_vectors(store, state, choice, made, now=now))
    if choice.recipe is None:
        return made
    asking = Asking(store, None if made.full else state, choice.recipe, relations, first=made.first, end=made.end)
    profiles = None if choice.recipe.profile is None else 0 if made.full else pending(state)
    with gateway(store, choice, now=now) as to:
        return replace(made, estimate=asking.estimate(to), profiles=profiles)


def fold(
    store: Store, choice: Choice, *, full: bool, require: Level | None, now: Clock, random: Random, progress: Report | None
) -> FoldReport:
    """Fold what is new, or all of it, and sign the head of the log."""
    with (
        modelled(store, choice, require=require, now=now, random=random) as (model, level),
        vectoring(store, choice.mode, now=now, random=random) as vectors,
    ):
        report = folding.fold(
            store,
            State.open(store),
            relations=recipes.relations(),
            recipe=recipes.search(),
            full=full,
            now=now,
            random=random,
            progress=progress,
            require_closure=None if model else require,
            model=model,
            vectors=vectors,
        )
    report = replace(report, closure_level=level) if model else report
    return replace(report, checkpoint=sign(store, full=False, random=random))


def _makes_vectors() -> bool:
    """Whether a model makes vectors, by the search recipe."""
    search = recipes.search().vectors
    return search is not None and search.model is not None


def _vectors(store: Store, state: State, choice: Choice, made: FoldPlan, *, now: Clock) -> Estimate | None:
    """Return what the vectors of a planned fold would cost; None where no model makes them."""
    late = [] if made.full else [store.log.event(seq) for seq in owing(state)]
    with vectoring(store, choice.mode, now=now) as vectors:
        return None if vectors is None else vectors.estimate([late, *store.log.events(made.first, made.end)])


@contextmanager
def modelled(
    store: Store, choice: Choice, *, require: Level | None, now: Clock, random: Random = os.urandom
) -> Generator[tuple[Model | None, Level]]:
    """Give the model of a choice while a fold runs, and how far what reads its answers is closed: as far as can be had, if not said.

    Raises NotAllowed where less than `require` can be had, WorkerFailed.
    """
    if choice.recipe is None:
        yield None, Level.DECLARED
        return
    given = recipes.relations().text.encode()
    with gateway(store, choice, now=now, random=random) as to:
        if require is Level.DECLARED:
            yield Model(choice.recipe, to, worker.answering(given)), Level.DECLARED
            return
        with Worker("refold.fold.worker:answering", given=given, require=require) as closed:
            yield Model(choice.recipe, to, closed.ask), closed.closure.level


@dataclass(frozen=True, slots=True)
class Means:
    """What reads the events of a fold: a model, or else what folds them; and how far that is closed."""

    model: Model | None
    fold_events: closed_fold.FoldEvents
    level: Level
    vectors: Vectoring | None = None  # what makes vectors, where a model does


@contextmanager
def means(store: Store, choice: Choice, *, require: Level | None, now: Clock) -> Generator[Means]:
    """Give what reads the events while a fold runs. Raises NotAllowed where less than `require` can be had, WorkerFailed."""
    with (
        modelled(store, choice, require=require, now=now) as (model, level),
        closed_fold.folding(recipes.relations(), require=None if model else require) as (fold_events, own),
        vectoring(store, choice.mode, now=now) as vectors,
    ):
        yield Means(model, fold_events, level if model else own, vectors)


@contextmanager
def gateway(store: Store, choice: Choice, *, now: Clock, random: Random = os.urandom) -> Generator[Gateway]:
    """Give the gateway to a recipe's model, within the recipe's limits."""
    recipe = choice.recipe
    assert recipe is not None
    recipe.require_model()
    budget = Budget(cost=round(recipe.limits.cost * NANOS) or None)
    made = Gateway(store, limits=recipe.limits, price=recipe.price, budget=budget, mode=choice.mode, now=now, random=random)
    try:
        yield made
    finally:
        made.close()
