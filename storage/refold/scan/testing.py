"""For the tests of other programs: `assert_forgotten` says that nothing below a path holds what somebody is known by.

Call it from a test, or let conftest.py say `pytest_plugins = ["refold.scan.testing"]`, which makes it a fixture of the same name. It is
no entry point of pytest, so that no suite loads it that does not ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from refold.scan.needles import Needles
from refold.scan.walk import scan

SHOWN_MAX = 20


@pytest.fixture(name="assert_forgotten")
def forgotten() -> Callable[..., None]:
    """Give `assert_forgotten` to a test."""
    return assert_forgotten


def assert_forgotten(path: Path | str, aliases: Sequence[str], *, control: str | None = None) -> None:
    """Fail where something below a path holds one of the aliases, cannot be decoded, or `control` is not found. Says where, not what.

    Raises AssertionError, Usage where there is nothing to look for or nothing at the path.
    """
    found = scan([Path(path)], Needles.of(aliases, control=control))
    lines = [f"{hit.path}: alias {hit.needle} as {hit.encoding} at byte {hit.offset}" for hit in found.hits]
    lines += [f"{where}: not decoded: {reason}" for where, reason in found.undecodable]
    lines += ["the control was found nowhere, so that finding nothing means nothing"] if found.is_control_missing else []
    if lines:
        more = f"\nand {len(lines) - SHOWN_MAX} more" if len(lines) > SHOWN_MAX else ""
        raise AssertionError("not forgotten:\n" + "\n".join(lines[:SHOWN_MAX]) + more)
