"""Calls: what a language model was sent and what it answered, recorded, and never asked twice."""
