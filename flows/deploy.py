"""Offer the flows to a Prefect server and run them when their schedules say: what `refold serve` starts beside the server."""

from __future__ import annotations

import sys
from typing import cast

from prefect import serve
from prefect.deployments.runner import RunnerDeployment
from prefect.flows import EntrypointType
from prefect.schedules import Cron

from flows.erase import erase
from flows.nightly import nightly
from flows.recover import recover
from refold import settings
from refold.store import places


def main() -> int:
    """Serve the deployments until SIGTERM."""
    chosen, origin = settings.load(), places().origin
    offered = [(nightly, chosen.nightly.cron), (recover, chosen.recover.cron), (erase, chosen.erase.cron)]
    deployments = [
        each.to_deployment(
            name=each.name,
            schedule=Cron(cron, timezone=chosen.nightly.timezone),
            parameters={"origin": origin},
            entrypoint_type=EntrypointType.MODULE_PATH,  # a file's path would be stored, and a path can contain a name
        )
        for each, cron in offered
    ]
    serve(*cast("list[RunnerDeployment]", deployments), pause_on_shutdown=False, print_starting_message=False, limit=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
