"""Where the tasks of a flow run that do not build on one another: threads of its process, a Dask cluster, or Ray."""

from __future__ import annotations

import importlib
from typing import Any

from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from refold.errors import Usage

# Per runner of an extra: its module, and the class there.
EXTRAS = {"dask": ("prefect_dask", "DaskTaskRunner"), "ray": ("prefect_ray", "RayTaskRunner")}


def runner(name: str) -> TaskRunner[Any]:
    """Return the task runner that the setting nightly.runner names. Raises Usage where what it needs is not installed."""
    if name not in EXTRAS:
        return ThreadPoolTaskRunner()
    module, made = EXTRAS[name]
    try:
        return getattr(importlib.import_module(module), made)()
    except ImportError:
        raise Usage(f"the setting nightly.runner is {name}, which is not installed", hint=f"pip install 'refold[{name}]'") from None
