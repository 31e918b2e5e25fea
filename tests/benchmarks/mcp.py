"""What the tools cost: until the server is ready, against importing what it stands on, and a call over it against the same in process."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from refold.cli import demo
from refold.memory import Memory
from tests.benchmarks import Row, median_ms

QUERY = "where does Ada live?"
SLACK_MS = 5
SERVED = ["-c", "import sys; from refold.cli import main; sys.exit(main())", "mcp", "--as", "operator", "--store"]


def rows(size: str) -> Iterator[Row]:
    """Yield how soon the server answers its first question, and what a search over it costs."""
    rounds = 9 if size == "full" else 5
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "demo"
        demo.fill(folder)
        with Memory.open(folder, principal="operator") as memory:
            memory.fold()
            in_process = median_ms(lambda: memory.search(QUERY, limit=5), rounds=50)
        ready, imported, called = asyncio.run(_measured(folder, rounds))
    note = f"{ready * 1e3:.0f} ms until a client has the tools, against {imported * 1e3:.0f} ms"
    yield Row("MCP server ready, of importing fastmcp, duckdb and pyarrow", ready / imported, 1.5, note=note)
    limit = 2 * in_process + SLACK_MS
    yield Row("search over MCP; at most 2 x in process + 5 ms", called, limit, unit="ms", note=f"{in_process:.2f} ms in process")


async def _measured(folder: Path, rounds: int) -> tuple[float, float, float]:
    """Return the medians of becoming ready and of the imports, in s, by turns, and of a call, in ms."""
    ready, imported, called = [], [], []
    for _ in range(rounds):
        start = time.perf_counter()
        async with Client(StdioTransport(sys.executable, [*SERVED, str(folder)], keep_alive=False)) as client:
            await client.list_tools()
            ready.append(time.perf_counter() - start)
            await client.call_tool("memory_search", {"query": QUERY})
            for _ in range(20):
                began = time.perf_counter()
                await client.call_tool("memory_search", {"query": QUERY})
                called.append((time.perf_counter() - began) * 1e3)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import fastmcp; from fastmcp import FastMCP; import duckdb, pyarrow"], check=True)
        imported.append(time.perf_counter() - start)
    return statistics.median(ready), statistics.median(imported), statistics.median(called)
