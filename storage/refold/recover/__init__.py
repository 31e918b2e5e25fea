"""Recover: looking at a store without changing it, and taking a store away by the same rules by which it is changed."""
