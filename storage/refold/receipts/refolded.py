"""Fold a log again in another process, under another hash seed, and compare what came of it with the state that is there.

Run as a module it is that other process: it folds the whole log anew, publishes that, and says what it hashes to, as one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from refold import folding, recipes
from refold.calls.gateway import Mode
from refold.errors import Corrupt, Drifted, RefoldError
from refold.extractors import Choice, modelled
from refold.fold.recipe import SYMBOLIC
from refold.outside import clock
from refold.receipts.form import Body
from refold.state.digest import attested
from refold.state.generation import State, reading
from refold.store import Places, Store, open_store, places

SEEDS = ("1", "2")
DRAWN = "drawn"  # at random, when the process started
HINT = "refold fold --receipt FILE"


def refolded(store: Store, said: Sequence[str] = ()) -> Body:
    """Return what a replay receipt says of the state of a store, after folding the log again elsewhere.

    Where a model read the events, `said` is by what recipe (`Choice.said`), and its answers come from the recordings.

    Raises Corrupt where the state is not what the log gives, Drifted where the log grew meanwhile, and what the other process failed with.
    """
    mine = os.environ.get("PYTHONHASHSEED", DRAWN)
    with reading(store, State.open(store)) as state:
        state.require_rows()
        here = _said(state) | {"hash_seed": mine}
    there = _elsewhere(store.places, next(seed for seed in SEEDS if seed != mine), said)
    if any(here[name] != there[name] for name in ("size", "last_hash", "epoch")):
        raise Drifted("the log grew, or its keys changed, while it was folded again", path=store.places.store, hint=HINT)
    if any(here[name] != there[name] for name in ("attested", "relations", "recipe")):
        raise Corrupt("folding the log again gave another state", path=store.places.store / "state", hint="refold audit --state --deep")
    shared = {name: here[name] for name in ("size", "last_hash", "epoch", "relations", "recipe")}
    folds = [{name: fold[name] for name in ("generation", "hash_seed", "attested")} for fold in (here, there)]
    return shared | {"folds": folds, "model_calls": 0}


def _said(state: State) -> dict[str, object]:
    """Return what a fold came to."""
    manifest = state.manifest
    return {
        "attested": attested(state).hex(),
        "epoch": state.epoch,
        "generation": state.number,
        "last_hash": manifest.pointer.last_hash.hex(),
        "recipe": manifest.recipe.hex(),
        "relations": manifest.relations.hex(),
        "size": state.size,
    }


def _elsewhere(where: Places, seed: str, said: Sequence[str]) -> dict[str, object]:
    argv = [sys.executable, "-s", "-P", "-m", __name__, str(where.store), str(where.vault), str(where.root), *said]
    done = subprocess.run(argv, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise RefoldError(f"the process that folded again ended with {done.returncode}", hint="refold fold --full")
    return json.loads(done.stdout) | {"hash_seed": seed}


def main(store: str, vault: str, root: str, recipe: str = SYMBOLIC, model: str = "", api_base: str = "") -> int:
    """Fold the whole log anew, by recordings alone where a model is meant, and say what it hashes to."""
    asks = recipe != SYMBOLIC
    choice = Choice.of(recipe, model=model or None, api_base=api_base or None, calls=Mode.REPLAY if asks else None)
    relations, search = recipes.relations(), recipes.search()
    with open_store(places(store, vault, root)) as opened, modelled(opened, choice, require=None, now=clock) as (by, _):
        folding.fold(opened, State.open(opened), relations=relations, recipe=search, full=True, now=clock, model=by)
        print(json.dumps(_said(State.open(opened))))
    return 0


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(*sys.argv[1:]))
