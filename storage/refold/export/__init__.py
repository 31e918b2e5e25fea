"""Exports: what a memory knows, in files that other programs read. An export is a copy, and stands in the register of copies."""
