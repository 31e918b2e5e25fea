"""A model that reads what it is told, line by line, by two patterns; and folds that ask it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from refold import folding, ingest, recipes
from refold.asking import Model
from refold.calls.gateway import Gateway
from refold.calls.mode import Mode
from refold.fold.recipe import ModelRecipe
from refold.folding import FoldReport
from refold.model import Draft, Role, Scope, Source
from refold.state.generation import State
from refold.store import Store
from tests.conftest import now
from tests.fold_model.asked import content, fact, recipe, worker
from tests.openai_server import Asked, Reply, Server, answer
from tests.state.made import every_claim

LIVES = re.compile(r"\b(I|She) lives? in (\w+)")
SISTER = re.compile(r"my sister (\w+)", re.IGNORECASE)


def told(asked: Asked) -> list[tuple[str, str]]:
    """Return the alias and the text of each event of a request."""
    lines = [line.partition(" ") for line in asked.text.splitlines() if re.match(r"[ce]\d+ \{", line)]
    return [(alias, json.loads(form)["text"]) for alias, _, form in lines]


def reads(asked: Asked) -> Reply:
    """Answer what the events state: where I live, and where she does, who was named before."""
    facts, sister = [], None
    for alias, text in told(asked):
        if named := SISTER.search(text):
            sister = (named[1], alias)
        for found in LIVES.finditer(text) if alias.startswith("e") else ():
            if found[1] == "I":
                facts.append(fact(found[2], found[0], event=alias, entity_in=alias))
            elif sister:
                facts.append(fact(found[2], found[0], event=alias, entity=sister[0], entity_in=sister[1]))
    return answer(content(*facts))


def says(user: str, part: int | str, text: str, role: Role = Role.USER) -> Draft:
    """Return one turn of a user's chat."""
    return Draft(text, source=Source("chat", user, str(part)), said_at=1_700_000_000_000_000, role=role, scope=Scope(user=user))


def add(store: Store, *drafts: Draft) -> None:
    ingest.add(store, list(drafts), now=now, random=os.urandom)


def asking(server: Server, **blocks: int) -> ModelRecipe:
    """Return a recipe for the server, with other blocks if asked for."""
    own = recipe().asking(api_base=server.url)
    return replace(own, blocks=replace(own.blocks, **blocks), limits=replace(own.limits, attempts=1))


@contextmanager
def gateway(store: Store, by: ModelRecipe, mode: Mode = Mode.LIVE) -> Generator[Gateway]:
    made = Gateway(store, limits=by.limits, price=by.price, mode=mode, now=now, env={}, sleep=lambda seconds: None)
    try:
        yield made
    finally:
        made.close()


def fold(store: Store, by: ModelRecipe, *, full: bool = False, mode: Mode = Mode.LIVE) -> FoldReport:
    """Fold what is new, or all, as the command does."""
    with gateway(store, by, mode) as to:
        state = State.open(store)
        model = Model(by, to, worker())
        report = folding.fold(store, state, relations=recipes.relations(), recipe=recipes.search(), full=full, now=now, model=model)
        state.close()
        return report


def facts(store: Store) -> list[str]:
    """Return what is stated, as lines."""
    claims = every_claim(State.open(store))
    return sorted(f"{claim.entity} {claim.relation} {claim.value}" for claim in claims)


def asked_about(server: Server) -> list[list[str]]:
    """Return the texts of each request, those only told in brackets."""
    return [[text if alias.startswith("e") else f"({text})" for alias, text in told(asked)] for asked in server.asked]


def many(users: Sequence[str], turns: int) -> list[Draft]:
    """Return chats in which everybody moves with every turn."""
    return [says(user, turn, f"I live in Town{turn}.") for turn in range(turns) for user in users]
