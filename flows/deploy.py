"""Offer the nightly flow to a Prefect server and run it when its schedule says: what `refold serve` starts beside the server."""

from __future__ import annotations

import sys
from typing import cast

from prefect import serve
from prefect.deployments.runner import RunnerDeployment
from prefect.flows import EntrypointType
from prefect.schedules import Cron

from flows.nightly import nightly
from refold import settings
from refold.store import places


def main() -> int:
    """Serve the deployment until SIGTERM."""
    when = settings.load().nightly
    deployment = nightly.to_deployment(
        name="nightly",
        schedule=Cron(when.cron, timezone=when.timezone),
        parameters={"origin": places().origin},
        entrypoint_type=EntrypointType.MODULE_PATH,  # a file's path would be stored, and a path can contain a name
    )
    serve(cast("RunnerDeployment", deployment), pause_on_shutdown=False, print_starting_message=False, limit=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
