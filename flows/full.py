"""The full flow: fold the whole log anew, as the settings say; with a model from its recordings, or fresh.

It is the nightly flow's program from the first entry on. Run it by hand, or deploy it without a schedule.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import cast

from prefect import flow
from prefect.client.schemas.objects import State as RunState

from flows.nightly import UNSTORED, Counts, called, coded, night, say
from refold.store import places


@flow(
    name="full", flow_run_name=called("full"), description="Fold the whole log anew and publish it.", validate_parameters=True, **UNSTORED
)
def full(origin: str, fresh: bool = False) -> Counts:
    """Fold the store that the environment names; it must be the one of that origin. `fresh` asks a model about everything again."""
    return coded(lambda: night(origin, full=True, fresh=fresh))


def main(*argv: str) -> int:
    """Run the flow once, with `--fresh` if that is said, and print how it ended, as one JSON object."""
    return say(cast("Callable[..., RunState[Counts]]", full)(places().origin, fresh="--fresh" in argv, return_state=True))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
