"""The calls room."""
