"""Frozen values: what datasets, cubes, conditions and plans are. Nothing here reads or decides."""
