"""Frozen values: what datasets, cubes, conditions and plans are, and how loose input becomes one of them."""
