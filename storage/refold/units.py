"""Units: what sums of money and lengths of requests are counted in."""

from __future__ import annotations

NANOS = 1_000_000_000  # in one of a currency: prices are integers
BYTES_OF_TOKEN = 4  # by which is reckoned: providers count in tokens of their own
