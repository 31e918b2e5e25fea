"""Print the table: `python -m tests.benchmarks [ROOM ...] [--size small|full] [--json FILE]`."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import tests.benchmarks
from tests.benchmarks import SIZES, Row

HELPERS = {"__main__", "corpus", "peer_chat"}  # modules here that measure nothing


def rooms() -> list[str]:
    """Return the names of the modules that have rows."""
    return sorted(m.name for m in pkgutil.iter_modules(tests.benchmarks.__path__) if m.name not in HELPERS)


def measure(names: list[str], size: str) -> Iterator[tuple[str, Row]]:
    """Yield each row with its room, as soon as it is measured."""
    for name in names:
        for row in importlib.import_module(f"tests.benchmarks.{name}").rows(size):
            yield name, row


def line(room: str, row: Row) -> str:
    """Return one row of the table."""
    limit = "" if row.limit is None else f"{'>=' if row.at_least else '<='} {row.limit:,.4g} {row.unit}"
    verdict = "" if row.limit is None else ("ok" if row.holds else "OVER")
    return f"{room:<10} {row.name:<62} {row.ours:>12,.2f} {row.unit:<8} {limit:<16} {verdict:<5} {row.note}".rstrip()


def main() -> int:
    """Measure, print, and exit 1 where a row is over its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"any of {', '.join(rooms())}; all of them by default")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    arguments = parser.parse_args()
    measured = []
    for room, row in measure(arguments.rooms or rooms(), arguments.size):
        measured.append((room, row))
        print(line(room, row), flush=True)
    if arguments.json:
        arguments.json.write_text(
            json.dumps([{"room": room, **asdict(row), "holds": row.holds} for room, row in measured], indent=1) + "\n"
        )
    return 0 if all(row.holds for _, row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
