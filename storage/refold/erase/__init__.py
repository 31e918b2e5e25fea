"""Erasure: a request becomes a target, the target leaves the log, and what was reached is certified."""
