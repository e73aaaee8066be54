"""Workflows on one dataset: load, decide, do."""
