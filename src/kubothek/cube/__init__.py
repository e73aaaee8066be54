"""Workflows on a cube: load, decide, do."""
