"""Copies of a store at other places: mirrors, which follow it, and backups, which are of one moment. Neither ever replaces a file."""
