"""What was read last, already verified, up to a bound of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by key, the least recently used first out. Threads may share one."""

    def __init__(self, *, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._mutex = threading.Lock()
        self.bytes = 0

    def get(self, key: Key) -> Value | None:
        """Return what is kept under a key."""
        with self._mutex:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of so many bytes, and let go of others until the bound holds."""
        with self._mutex:
            if key not in self._kept:
                self._kept[key] = value, size
                self.bytes += size
            while self.bytes > self._bytes_max and self._kept:
                _, (_, gone) = self._kept.popitem(last=False)
                self.bytes -= gone

    def clear(self) -> None:
        """Let go of everything."""
        with self._mutex:
            self._kept.clear()
            self.bytes = 0
