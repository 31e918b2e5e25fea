"""Heads: what the log was at a moment, signed, kept beside it and remembered by witnesses, and the proofs that lead to one."""
