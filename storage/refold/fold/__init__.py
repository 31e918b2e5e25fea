"""The fold: a pure program over events. No IO, no clock, no randomness."""
