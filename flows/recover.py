"""The recover flow: verify the whole log and say what is damaged; on demand also heal it, by what a hash vouches for.

On its schedule it only looks. It never goes past damage: that takes a person. The parameters are the log's random origin and a switch; what
it says of damage are numbers, kinds and the names of files of the log, none of which says anything about anybody.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, cast

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State as RunState
from prefect.states import Failed

from flows.nightly import UNSTORED, Counts, called, coded, step
from flows.verdicts import damaged, tell
from refold import settings
from refold.errors import Usage
from refold.outside import clock
from refold.recover import repair as repairs
from refold.recover.repair import Plan, Repaired
from refold.recover.sources import known
from refold.store import Places, places
from refold.verdict import Verdict


@flow(
    name="recover",
    flow_run_name=called("recover"),
    description="Verify the whole log; heal it if asked to.",
    validate_parameters=True,
    **UNSTORED,
)
def recover(origin: str, heal: bool = False) -> Counts:
    """Verify the log of the store that the environment names. Ends Completed with counts, or Failed with a code where damage is left."""
    return coded(lambda: check(origin, heal=heal))


def check(origin: str, *, heal: bool) -> Counts:
    """Carry out the steps of one run."""
    where = places()
    if where.origin != origin:
        raise Usage("the store that the environment names has another origin")
    if not heal:
        found = step(look, where)
        return ended(found.verdict, {"healable": len(found.healing.goods), "lost": len(found.lost)})
    done = step(mend, where)
    replayed = done.replay.ended - done.replay.began if done.replay else 0
    return ended(done.after, {"healed": len(done.healed), "replayed": replayed})


@task(name="verify", task_run_name="verify", cache_policy=NO_CACHE, **UNSTORED)
def look(where: Places) -> Plan:
    """Verify the log, and look what copies have for it. Changes nothing."""
    return coded(lambda: repairs.plan(where, known(where, settings.load())))


@task(name="heal", task_run_name="heal", cache_policy=NO_CACHE, **UNSTORED)
def mend(where: Places) -> Repaired:
    """Heal what can be healed, and replay what verifies."""

    def mended() -> Repaired:
        sources = known(where, settings.load())
        return repairs.repair(where, sources, confirm=where.origin, now=clock, random=os.urandom)

    return coded(mended)


def ended(verdict: Verdict, counts: Counts) -> Counts:
    """Tell a verdict, and end as it demands: a log that is damaged is a failed run, which somebody sees."""
    tell(verdict, counts)
    if not verdict.is_whole:
        state: Any = Failed(message=damaged(verdict))
        return state
    return {"entries": verdict.size, **counts}


def main() -> int:
    """Run the flow once, as a check, and print how it ended, as one JSON object."""
    run = cast("Callable[..., RunState[Counts]]", recover)(places().origin, return_state=True)
    done = run.is_completed()
    print(json.dumps({"state": run.name, "message": run.message, "counts": run.result() if done else None}))
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
