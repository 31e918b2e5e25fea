"""What Prefect's log of a run does not hold: tracebacks. They name folders of the machine, and a folder can be called after somebody."""

from __future__ import annotations

import logging

from prefect.exceptions import FailedRun

LOGGER = "prefect.flow_runs"


class Untraced(logging.Filter):
    """Leaves out what Prefect says of a failed run once more, with where it came from, and the traceback of anything else."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is kept; its traceback is not."""
        failed = record.exc_info and isinstance(record.exc_info[1], FailedRun)  # said already, as the state of the run
        record.exc_info = record.exc_text = None
        return not failed


def quiet() -> None:
    """Keep tracebacks out of the log of runs, in this process."""
    logging.getLogger(LOGGER).addFilter(Untraced())
