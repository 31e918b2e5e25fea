"""The parts that were read last, already verified, up to a bound of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict

from refold.log.parts import Rows


class Cache:
    """Least recently used first out. Threads may share one."""

    def __init__(self, *, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._rows: OrderedDict[str, Rows] = OrderedDict()
        self._mutex = threading.Lock()
        self.bytes = 0

    def get(self, path: str) -> Rows | None:
        """Return what is kept of a part."""
        with self._mutex:
            rows = self._rows.get(path)
            if rows is not None:
                self._rows.move_to_end(path)
            return rows

    def put(self, path: str, rows: Rows) -> None:
        """Keep a part, and let go of others until the bound holds."""
        with self._mutex:
            if path not in self._rows:
                self._rows[path] = rows
                self.bytes += rows.batch.nbytes
            while self.bytes > self._bytes_max and self._rows:
                _, oldest = self._rows.popitem(last=False)
                self.bytes -= oldest.batch.nbytes

    def clear(self) -> None:
        """Let go of everything."""
        with self._mutex:
            self._rows.clear()
            self.bytes = 0
