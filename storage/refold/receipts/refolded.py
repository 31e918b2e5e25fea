"""Fold a log again in another process, under another hash seed, and compare what came of it with the state that is there.

Run as a module it is that other process: it folds the whole log anew, publishes that, and says what it hashes to, as one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

from refold import folding, recipes
from refold.calls.mode import Mode
from refold.errors import Corrupt, Drifted, RefoldError, fault
from refold.extractors import Choice, modelled
from refold.fold.recipe import SYMBOLIC
from refold.outside import clock
from refold.receipts.form import Body
from refold.state.digest import attested
from refold.state.generation import State, reading
from refold.store import Places, Store, open_store, places
from refold.vectors import vectoring

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
    return shared | {"folds": folds, "model_calls": there["model_calls"]}


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
    told = json.loads(done.stdout) if done.stdout else {"failed": None}
    if "failed" in told or done.returncode:
        raise _raised(told.get("failed"), done.returncode)
    return told | {"hash_seed": seed}


def _raised(failed: dict[str, str | None] | None, ended: int) -> RefoldError:
    """Return what the other process failed with: its class, code, place and hint are those of the error there."""
    if failed is None:  # it was ended, or could not even start
        return RefoldError(f"the process that folded again ended with {ended}", hint="refold fold --full")
    kind = next((each for each in _kinds(RefoldError) if each.__name__ == failed["class"]), RefoldError)
    return kind(f"folding again in another process: {failed['message']}", path=failed["path"], hint=failed["hint"])


def _kinds(kind: type[RefoldError]) -> Iterator[type[RefoldError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def main(store: str, vault: str, root: str, recipe: str = SYMBOLIC, model: str = "", api_base: str = "") -> int:
    """Fold the whole log anew, by recordings alone where a model is meant, and say what it hashes to, or why not, as one JSON object."""
    try:
        told = _folded(places(store, vault, root), recipe, model, api_base)
    except RefoldError as error:
        kind = {"class": type(error).__name__, "code": error.code}
        told = {"failed": kind | {"hint": error.hint, "message": error.message, "path": error.path}}
    except Exception as error:  # its words may quote content
        told = {"failed": {"class": RefoldError.__name__, "code": RefoldError.code, "hint": None, "message": fault(error), "path": None}}
    print(json.dumps(told))
    return 1 if "failed" in told else 0


def _folded(where: Places, recipe: str, model: str, api_base: str) -> dict[str, object]:
    asks = recipe != SYMBOLIC
    choice = Choice.of(recipe, model=model or None, api_base=api_base or None, calls=Mode.REPLAY if asks else None)
    relations, search = recipes.relations(), recipes.search()
    with (
        open_store(where) as opened,
        modelled(opened, choice, require=None, now=clock) as (by, _),
        vectoring(opened, Mode.REPLAY, now=clock) as vectors,
    ):
        report = folding.fold(
            opened, State.open(opened), relations=relations, recipe=search, full=True, now=clock, model=by, vectors=vectors
        )
        return _said(State.open(opened)) | {"model_calls": report.spent.calls if report.spent else 0}


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(*sys.argv[1:]))
